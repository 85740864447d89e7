//! `AdminOperationsProtocol` 3: `hadoop mradmin`.

use super::table::protocol;
use crate::wire::error::{WireErrorKind, excerpt};
use crate::wire::object::{Object, ObjectError};
use crate::wire::{Reader, Writer};

/// What to do about safe mode (1.2.1 `JobTracker.SafeModeAction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafeModeAction {
    /// Leave it.
    Leave,
    /// Enter it.
    Enter,
    /// Only tell.
    Get,
}

protocol! {
    /// Calls of administrators.
    AdminOperationsCall {
        /// Reads the queue configuration anew.
        RefreshQueues = "refreshQueues" -> Void;
        /// Reads the include and exclude lists anew.
        RefreshNodes = "refreshNodes" -> Void;
        /// Safe mode; tells whether it is on afterwards.
        SetSafeMode = "setSafeMode" {
            /// What to do.
            action: SafeModeAction,
        } -> Boolean;
    }
}

// === impl SafeModeAction ===

impl SafeModeAction {
    const NAMES: [(Self, &str); 3] =
        [(Self::Leave, "SAFEMODE_LEAVE"), (Self::Enter, "SAFEMODE_ENTER"), (Self::Get, "SAFEMODE_GET")];
}

/// The only enum that travels as an object of its own: its name is `UTF8`, not `Text`.
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
