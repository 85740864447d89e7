//! What the worker and the process that runs a user's container send each other, after the user's identity.

use serde::{Deserialize, Serialize};

use crate::api::{ContainerEnd, ContainerKill};

/// To the process. First comes the order, and the descriptors of the two logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToContainer {
    Kill(ContainerKill),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FromContainer {
    Started {
        /// The command's supervisor.
        pid: u32,
        /// Epoch ms.
        started_ms: i64,
    },
    Alive,
    /// Nothing of its command is left.
    Ended(ContainerEnd),
}
