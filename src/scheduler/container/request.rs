//! What applications ask for and are granted: request types, rows, and the interface to the code that keeps containers.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{Capability, Placement, TrackerId};
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

impl fmt::Display for RequestType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { priority, request_id, capability } = self;
        write!(f, "priority {priority}, request id {request_id}, {capability}")
    }
}

/// A row as it is from now on: it replaces the one of the same type and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedRow {
    pub(crate) request: RequestType,
    pub(crate) name: Placement,
    /// How many containers are wanted here. Zero for a host or rack: a closed gate.
    pub(crate) count: u32,
    /// Of a rack: whether its nodes are served beyond hosts with rows of their own. Of `*`: whether nodes without rows
    /// are. Without effect for a host.
    pub(crate) relax_locality: bool,
    /// Most containers of the type at a time; only of `*`.
    pub(crate) max_running: Option<NonZeroU32>,
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
    pub(crate) fn row_name(&self) -> Placement {
        let CountedRows { host, rack } = &self.counted;
        let named = match self.level {
            Level::Node => host.as_deref().map(|host| Placement::Host(host.to_owned())),
            Level::Rack => rack.as_deref().map(|rack| Placement::Rack(rack.to_owned())),
            Level::Any => None,
        };
        named.unwrap_or(Placement::Any)
    }
}
