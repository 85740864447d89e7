//! `hadoop mradmin`: `AdminOperationsProtocol` 3, `RefreshAuthorizationPolicyProtocol` 1, `RefreshUserMappingsProtocol` 1.

use crate::wire::error::{WireErrorKind, excerpt};
use crate::wire::object::{Object, ObjectError, named_objects};
use crate::wire::{Reader, Writer};

use super::table::protocol;

/// A safe mode action (1.2.1 `JobTracker.SafeModeAction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafeModeAction {
    /// Leave it.
    Leave,
    /// Enter it.
    Enter,
    /// Report it.
    Get,
}

protocol! {
    /// Calls of administrators.
    AdminOperationsCall {
        /// Reloads the queue configuration.
        RefreshQueues = "refreshQueues" -> Void;
        /// Reloads the include and exclude lists.
        RefreshNodes = "refreshNodes" -> Void;
        /// Leaves, enters or reports safe mode; returns whether it is on afterwards.
        SetSafeMode = "setSafeMode" {
            /// The action.
            action: SafeModeAction,
        } -> Boolean;
    }
}

named_objects! {
    SafeModeAction = "org.apache.hadoop.mapred.JobTracker$SafeModeAction", "safe mode action" {
        Leave = "SAFEMODE_LEAVE",
        Enter = "SAFEMODE_ENTER",
        Get = "SAFEMODE_GET",
    }
}

protocol! {
    /// Calls of administrators about access to protocols.
    RefreshAuthorizationPolicyCall {
        /// Reloads the access lists of the protocols.
        RefreshServiceAcl = "refreshServiceAcl" -> Void;
    }
}

protocol! {
    /// Calls of administrators about users.
    RefreshUserMappingsCall {
        /// Drops the cached groups of users.
        RefreshUserToGroupsMappings = "refreshUserToGroupsMappings" -> Void;
        /// Reloads which users may act for others.
        RefreshSuperUserGroupsConfiguration = "refreshSuperUserGroupsConfiguration" -> Void;
    }
}
