//! The classes in which a policy that sells slots serves its groups.

use serde::{Deserialize, Serialize};

/// A group's class under a policy that sells slots, in the order in which groups are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderClass {
    /// It holds fewer slots than it has bought.
    UnderQuota,
    /// It pays and holds at least the slots that it has bought.
    Funded,
    /// It pays nothing.
    Unfunded,
}
