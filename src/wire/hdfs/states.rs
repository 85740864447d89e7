//! Enums that are parameters of their own: their names are `UTF8`.

use crate::wire::error::{WireErrorKind, excerpt};
use crate::wire::object::{Object, ObjectError};
use crate::wire::{Reader, Writer};

/// A safe mode action of a NameNode (1.2.1 `FSConstants.SafeModeAction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafeModeAction {
    /// Leave it.
    Leave,
    /// Enter it.
    Enter,
    /// Report it.
    Get,
}

/// Which DataNodes are wanted (1.2.1 `FSConstants.DatanodeReportType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatanodeReportType {
    /// All.
    All,
    /// Those that send heartbeats.
    Live,
    /// Those that do not.
    Dead,
}

macro_rules! named_objects {
    ($( $type:ident = $class:literal, $what:literal { $($variant:ident = $name:literal,)+ } )+) => {$(
        impl Object for $type {
            const CLASS: &'static str = $class;

            fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
                let start = reader.clone();
                match reader.utf8_bytes($what)? {
                    $( sent if sent == $name.as_bytes() => Ok(Some(Self::$variant)), )+
                    sent => Err(start.error(WireErrorKind::UnknownName(excerpt(sent)), $what).into()),
                }
            }

            fn encode_object(&self, writer: &mut Writer<'_>) {
                writer.utf8(match self {
                    $( Self::$variant => $name, )+
                });
            }
        }
    )+};
}

named_objects! {
    SafeModeAction = "org.apache.hadoop.hdfs.protocol.FSConstants$SafeModeAction", "safe mode action" {
        Leave = "SAFEMODE_LEAVE",
        Enter = "SAFEMODE_ENTER",
        Get = "SAFEMODE_GET",
    }
    DatanodeReportType = "org.apache.hadoop.hdfs.protocol.FSConstants$DatanodeReportType", "kind of a DataNode report" {
        All = "ALL",
        Live = "LIVE",
        Dead = "DEAD",
    }
}
