//! Where containers are wanted: the name of a row.

use serde::{Deserialize, Serialize};

/// The name of a row of a request: hosts come before racks, racks before `*`, each by name.
///
/// Names, not ids of the topology: a row may name a host or rack where no node stands yet, and stays good when a host
/// moves to another rack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Placement {
    /// On this host.
    Host(String),
    /// In this rack; begins with `/`.
    Rack(String),
    /// Anywhere: `*`.
    Any,
}

impl Placement {
    /// Bytes of its text.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Host(name) | Self::Rack(name) => name.len() as u64,
            Self::Any => 0,
        }
    }
}

impl From<String> for Placement {
    fn from(name: String) -> Self {
        match name.as_str() {
            "*" => Self::Any,
            rack if rack.starts_with('/') => Self::Rack(name),
            _ => Self::Host(name),
        }
    }
}

impl From<Placement> for String {
    fn from(placement: Placement) -> Self {
        match placement {
            Placement::Host(name) | Placement::Rack(name) => name,
            Placement::Any => "*".to_owned(),
        }
    }
}
