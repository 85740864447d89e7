//! Calls of applications, checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, Capability, ContainerId, LaunchContext, PartsPerMillion, Priority};

use super::final_status::FinalStatus;
use super::launch_request::{ContainerStart, LaunchOnGrant};
use super::placement::Placement;

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
    /// What it runs.
    pub(crate) context: LaunchContext,
    /// What it takes.
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
    /// How it went.
    pub(crate) final_status: FinalStatus,
    /// In words.
    pub(crate) diagnostics: String,
}
