//! What applications ask for and are granted: request types, rows, and the interface to the code that keeps containers.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{Capability, TrackerId};
use crate::scheduler::{AppId, Level};

/// A request type of an application. Types are served in this order: by priority, then request id, then capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestType {
    /// 0 to 2^31-1, smaller is served first; orders the types of one application only.
    pub priority: u32,
    /// 0 to 2^63-1: lets one priority and capability carry several types.
    pub request_id: u64,
    /// What each container takes of its node, after rounding up to the minimum.
    pub capability: Capability,
}

/// The name of a row. Hosts come before racks, racks before `*`, each by name.
///
/// Names, not ids of the topology: a row may name a host or rack where no node stands yet, and stays good when a host
/// moves to another rack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RowName {
    Host(Arc<str>),
    /// A rack; begins with `/`.
    Rack(Arc<str>),
    /// Any node: `*`.
    Any,
}

impl fmt::Display for RequestType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { priority, request_id, capability } = self;
        write!(f, "priority {priority}, request id {request_id}, {capability}")
    }
}

impl From<&str> for RowName {
    fn from(name: &str) -> Self {
        match name {
            "*" => Self::Any,
            rack if rack.starts_with('/') => Self::Rack(rack.into()),
            host => Self::Host(host.into()),
        }
    }
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) | Self::Rack(name) => f.write_str(name),
            Self::Any => f.write_str("*"),
        }
    }
}

pub(crate) const MAX_TYPES: usize = 100;
/// Most rows of an application, all types together.
pub(crate) const MAX_ROWS: usize = 20_000;
pub(crate) const MAX_HOST_ROWS: usize = 10_000;
pub(crate) const MAX_COUNT: u32 = i32::MAX.unsigned_abs();

/// A row as it is from now on: it replaces the one of the same type and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedRow {
    pub(crate) request: RequestType,
    pub(crate) name: RowName,
    /// How many containers are wanted here, at most [`MAX_COUNT`]. Zero for a host or rack: a closed gate.
    pub(crate) count: u32,
    /// Of a rack: whether its nodes are served beyond hosts with rows of their own. Of `*`: whether nodes without rows
    /// are. Without effect for a host.
    pub(crate) relax_locality: bool,
    /// Most containers of the type at a time; only of `*`.
    pub(crate) max_running: Option<NonZeroU32>,
}

/// A grant that the application had not received when it sent its rows: its numbers still include it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreportedGrant<'a> {
    pub(crate) request: RequestType,
    pub(crate) counted: &'a CountedRows,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    #[error("{0} is not known")]
    UnknownApp(AppId),
    #[error("{name} at {request} wants {count} containers, more than {MAX_COUNT}")]
    CountTooLarge { request: RequestType, name: RowName, count: u32 },
    #[error("{0} request types, more than {MAX_TYPES}")]
    TooManyTypes(usize),
    #[error("{0} rows in all, more than {MAX_ROWS}")]
    TooManyRows(usize),
    /// A type would have more than [`MAX_HOST_ROWS`].
    #[error("{rows} host rows at {request}, more than {MAX_HOST_ROWS}")]
    TooManyHostRows { request: RequestType, rows: usize },
}

/// The host and rack rows that a grant has lowered, beside `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountedRows {
    pub(crate) host: Option<Arc<str>>,
    pub(crate) rack: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerGrant {
    pub(crate) app: AppId,
    pub(crate) request: RequestType,
    pub(crate) node: TrackerId,
    /// How near the node is to what was asked.
    pub(crate) level: Level,
    pub(crate) counted: CountedRows,
    /// Slots that it stands for in quotas, orders and charges.
    pub(crate) slots: u32,
}

pub(crate) trait ContainerSource {
    /// Takes a container; false: not now, for example because the application holds as many as it may. Nothing was
    /// counted then, and this application is passed over until the node is offered again.
    fn take_container(&mut self, grant: &ContainerGrant) -> bool;
}

impl ContainerGrant {
    /// The row that gave the level.
    pub(crate) fn row_name(&self) -> RowName {
        let CountedRows { host, rack } = &self.counted;
        match self.level {
            Level::Node => host.clone().map_or(RowName::Any, RowName::Host),
            Level::Rack => rack.clone().map_or(RowName::Any, RowName::Rack),
            Level::Any => RowName::Any,
        }
    }
}
