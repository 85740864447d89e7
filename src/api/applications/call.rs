//! Calls of applications, checked, and their answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ApplicationId, Capability, ContainerExit, ContainerId, LaunchContext, PartsPerMillion, Placement, Priority,
};

use super::states::FinalStatus;

/// `POST /apps`: a new application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// One that `new-application` gave.
    pub application_id: ApplicationId,
    /// 1 to 255 characters.
    pub name: String,
    /// Up to 32 characters.
    pub application_type: String,
    /// None: the owner's under a market, else `default`.
    pub queue: Option<String>,
    /// Its place among applications and jobs, where a scheduler asks for it.
    pub priority: Priority,
    /// Silence after which it has failed, 10,000 to 86,400,000 ms.
    pub expiry_ms: u64,
    /// Whether a closed gate stays closed at every distance.
    pub strict_gates: bool,
    /// Where people look at it.
    pub tracking_url: Option<String>,
    /// Stored contexts.
    pub specs: BTreeMap<String, LaunchContext>,
    /// Requests of an unattended one; none: a program registers.
    pub unattended: Option<Vec<AskRow>>,
    /// A master to run in a container.
    pub master: Option<Box<SubmittedMaster>>,
}

/// A master that runs in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmittedMaster {
    pub(crate) context: LaunchContext,
    pub(crate) capability: Capability,
    /// How often it may be started, 1 to 100.
    pub(crate) max_attempts: u32,
}

/// `POST /apps/{id}/register`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterCall {
    /// Where people look at it.
    pub(crate) tracking_url: Option<String>,
}

/// `POST /apps/{id}/allocate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocateCall {
    /// The attempt that `register` gave.
    pub attempt: u32,
    /// The id of the last answer.
    pub response_id: u64,
    /// How far it says it is; none: unchanged.
    pub progress: Option<PartsPerMillion>,
    /// How long to wait for something to say, 0 to 30,000 ms.
    pub wait_ms: u64,
    /// Rows that changed.
    pub ask: Vec<AskRow>,
    /// Containers to give back.
    pub release: Vec<ContainerId>,
    /// Contexts to store.
    pub specs: BTreeMap<String, LaunchContext>,
    /// Containers to start.
    pub launch: Vec<ContainerStart>,
    /// Hosts and racks that it wants nothing of.
    pub blacklist: Blacklist,
}

/// Changes of a blacklist: hosts, and racks that begin with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blacklist {
    /// From now on without.
    pub(crate) additions: Vec<String>,
    /// From now on with.
    pub(crate) removals: Vec<String>,
}

/// A row of a table of requests, as it stands from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AskRow {
    /// 0 to 2^31-1, smaller first.
    pub priority: u32,
    /// 0 to 2^63-1.
    pub allocation_request_id: u64,
    /// Where.
    pub resource_name: Placement,
    /// What of it, as it was asked: not rounded.
    pub capability: Capability,
    /// How many containers, 0 to 2^31-1. With items: their number, or 0 where it was left out.
    pub num_containers: u32,
    /// Whether containers may come from farther away than this row.
    pub relax_locality: bool,
    /// Starts each container when it is granted; of rows for any node only.
    pub launch: Option<LaunchOnGrant>,
}

/// `POST /apps/{id}/unregister`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnregisterCall {
    /// The attempt that `register` gave.
    pub(crate) attempt: u32,
    pub(crate) final_status: FinalStatus,
    pub(crate) diagnostics: String,
}

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AllocatedContainer {
    pub container_id: ContainerId,
    /// Its node, `host:web port`.
    pub node_id: String,
    pub node_http_address: String,
    /// The node's rack.
    pub rack: String,
    /// How near it is.
    pub locality: Locality,
    /// The row that gave the level.
    pub resource_name: Placement,
    pub capability: Capability,
    pub priority: u32,
    pub allocation_request_id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Its state, in the answer of `register` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CompletedContainer {
    pub(crate) container_id: ContainerId,
    /// `COMPLETE`.
    pub(crate) state: String,
    pub(crate) exit_status: ContainerExit,
    pub(crate) diagnostics: String,
    pub(crate) node_id: String,
    pub(crate) allocation_request_id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<u32>,
}

/// A launch that was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefusedLaunch {
    pub(crate) container_id: ContainerId,
    pub(crate) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LaunchSource {
    /// A context that the application stored under this name.
    Spec(String),
    Context(Box<LaunchContext>),
}

/// `launch` of an allocate call: a container that was granted starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ContainerStart {
    pub(crate) container_id: ContainerId,
    #[serde(flatten)]
    pub(crate) source: LaunchSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<u32>,
}

/// `launch` of a row for any node: each container of the type starts as soon as it is granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LaunchOnGrant {
    /// The stored context.
    pub spec: String,
    /// The items as they are written, such as `1-1000`; none: containers without items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// Most containers of the type at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_running: Option<u32>,
    /// What becomes of failures; of unattended applications only.
    #[serde(flatten)]
    pub rules: ItemRules,
}

/// What becomes of failed items of an unattended application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ItemRules {
    /// How often an item may fail, 1 to 100; none: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_attempts: Option<u32>,
    /// So many items may fail for good; one more ends the rest. None: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_fails: Option<u32>,
}
