//! `RefreshUserMappingsProtocol` 1: `hadoop mradmin -refreshUserToGroupsMappings` and its like.

use super::table::protocol;

protocol! {
    /// Calls of administrators about users.
    RefreshUserMappingsCall {
        /// Forgets which groups users belong to.
        RefreshUserToGroupsMappings = "refreshUserToGroupsMappings" -> Void;
        /// Reads anew who may act for whom.
        RefreshSuperUserGroupsConfiguration = "refreshSuperUserGroupsConfiguration" -> Void;
    }
}
