//! `RefreshAuthorizationPolicyProtocol` 1: `hadoop mradmin -refreshServiceAcl`.

use super::table::protocol;

protocol! {
    /// Calls of administrators about who may use which protocol.
    RefreshAuthorizationPolicyCall {
        /// Reads the access lists of the protocols anew.
        RefreshServiceAcl = "refreshServiceAcl" -> Void;
    }
}
