//! `RefreshAuthorizationPolicyProtocol` 1: `hadoop mradmin -refreshServiceAcl`.

use super::table::protocol;

protocol! {
    /// Calls of administrators about access to protocols.
    RefreshAuthorizationPolicyCall {
        /// Reloads the access lists of the protocols.
        RefreshServiceAcl = "refreshServiceAcl" -> Void;
    }
}
