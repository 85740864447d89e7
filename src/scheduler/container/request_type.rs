//! What the containers of one request have in common, and the names of its rows.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::Capability;

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
