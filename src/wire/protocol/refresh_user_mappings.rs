//! `RefreshUserMappingsProtocol` 1: `hadoop mradmin -refreshUserToGroupsMappings` and
//! `-refreshSuperUserGroupsConfiguration`.

use super::table::protocol;

protocol! {
    /// Calls of administrators about users.
    RefreshUserMappingsCall {
        /// Drops the cached groups of users.
        RefreshUserToGroupsMappings = "refreshUserToGroupsMappings" -> Void;
        /// Reloads which users may act for others.
        RefreshSuperUserGroupsConfiguration = "refreshSuperUserGroupsConfiguration" -> Void;
    }
}
