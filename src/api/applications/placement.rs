//! Where a request wants its containers.

use serde::{Deserialize, Serialize};

/// Where a row wants its containers.
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
