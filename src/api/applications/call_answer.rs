//! Answers to calls of applications.

use serde::{Deserialize, Serialize};

use crate::model::{Capability, ContainerExit, ContainerId};

use super::placement::Placement;

/// How near a container is to where it was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Locality {
    /// On a host that was named.
    NodeLocal,
    /// In a rack that was named.
    RackLocal,
    /// Elsewhere.
    OffSwitch,
}

/// The answer of `register`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RegisterAnswer {
    /// The attempt, from 1.
    pub attempt: u32,
    /// 0: what the first allocate carries.
    pub response_id: u64,
    /// The application's queue.
    pub queue: String,
    /// The largest container that may be asked for.
    pub maximum_resource_capability: Capability,
    /// What sizes are rounded up to.
    pub minimum_resource_capability: Capability,
    /// Its live containers.
    pub containers: Vec<AllocatedContainer>,
}

/// The answer of `allocate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AllocateAnswer {
    /// The attempt.
    pub attempt: u32,
    /// What the next call carries.
    pub response_id: u64,
    /// Whether more is ready: call again at once.
    pub has_more: bool,
    /// New containers, at most 1,000.
    pub allocated_containers: Vec<AllocatedContainer>,
    /// Containers that are complete, at most 1,000.
    pub completed_container_statuses: Vec<CompletedContainer>,
    /// Containers to release that are unknown, complete or another's.
    pub unknown_releases: Vec<ContainerId>,
    /// Containers to launch that are unknown, complete, another's or launched otherwise.
    pub unknown_launches: Vec<RefusedLaunch>,
    /// What is free for it now on all nodes together.
    pub limit: Capability,
    /// Nodes that take containers.
    pub num_cluster_nodes: u32,
}

/// A container that was granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AllocatedContainer {
    /// Its id.
    pub container_id: ContainerId,
    /// Its node, `host:web port`.
    pub node_id: String,
    /// The web address of its node.
    pub node_http_address: String,
    /// The node's rack.
    pub rack: String,
    /// How near it is.
    pub locality: Locality,
    /// The row that gave the level.
    pub resource_name: Placement,
    /// What it has.
    pub capability: Capability,
    /// The priority it was asked with.
    pub priority: u32,
    /// The id it was asked with.
    pub allocation_request_id: u64,
    /// Its item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Its state, in the answer of `register` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// A container that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CompletedContainer {
    /// Its id.
    pub(crate) container_id: ContainerId,
    /// `COMPLETE`.
    pub(crate) state: String,
    /// How it ended.
    pub(crate) exit_status: ContainerExit,
    /// In words.
    pub(crate) diagnostics: String,
    /// Its node.
    pub(crate) node_id: String,
    /// The id it was asked with.
    pub(crate) allocation_request_id: u64,
    /// Its item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<u32>,
}

/// A launch that was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefusedLaunch {
    /// The container.
    pub(crate) container_id: ContainerId,
    /// Why.
    pub(crate) reason: String,
}
