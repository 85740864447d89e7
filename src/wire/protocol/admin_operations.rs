//! `hadoop mradmin`: `AdminOperationsProtocol` 3, `RefreshAuthorizationPolicyProtocol` 1, `RefreshUserMappingsProtocol` 1.

use crate::wire::error::{WireErrorKind, excerpt};
use crate::wire::object::{Object, ObjectError};
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

impl SafeModeAction {
    const NAMES: [(Self, &str); 3] =
        [(Self::Leave, "SAFEMODE_LEAVE"), (Self::Enter, "SAFEMODE_ENTER"), (Self::Get, "SAFEMODE_GET")];
}

/// The only enum that is encoded as an object of its own: its name is `UTF8`, not `Text`.
impl Object for SafeModeAction {
    const CLASS: &'static str = "org.apache.hadoop.mapred.JobTracker$SafeModeAction";

    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        const WHAT: &str = "safe mode action";
        let start = reader.clone();
        let sent = reader.utf8_bytes(WHAT)?;
        match Self::NAMES.into_iter().find(|(_, name)| name.as_bytes() == sent) {
            Some((action, _)) => Ok(Some(action)),
            None => Err(start.error(WireErrorKind::UnknownName(excerpt(sent)), WHAT).into()),
        }
    }

    fn encode_object(&self, writer: &mut Writer<'_>) {
        for (action, name) in Self::NAMES {
            if action == *self {
                writer.utf8(name);
            }
        }
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
