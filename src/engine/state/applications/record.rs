//! What is stored of an application: each part as it stands, and the memory that it takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api::applications::{
    ApplicationState, ENTRY_BYTES, FinalStatus, ItemRules, Placement, ROW_BYTES, RefusedLaunch,
};
use crate::model::{ApplicationId, ApplicationSecret, Capability, ContainerId, Priority};
use crate::scheduler::RequestType;

use super::container::{Container, ContainerTotals, LoweredRows};
use super::items::Items;

/// What an application is submitted with; never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedApplication {
    pub(crate) id: ApplicationId,
    pub(crate) user: Arc<str>,
    pub(crate) name: String,
    pub(crate) application_type: String,
    pub(crate) queue: Arc<str>,
    /// Its place among applications and jobs.
    pub(crate) priority: Priority,
    pub(crate) digest: [u8; 32],
    /// What it signs with; stored beside the rest.
    #[serde(skip, default = "unread_secret")]
    pub(crate) secret: ApplicationSecret,
    /// Silence after which it has failed, ms.
    pub(crate) expiry_ms: u64,
    /// Whether a closed gate stays closed at every distance.
    pub(crate) strict_gates: bool,
    /// Whether it needs no program.
    pub(crate) is_unattended: bool,
    pub(crate) master: Option<Master>,
    /// When it was submitted, epoch ms.
    pub(crate) submitted_ms: i64,
    /// Its number in the order of submissions, jobs' too.
    pub(crate) order: u64,
}

/// A master that the daemon starts; its context is that with the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Master {
    /// What it takes, rounded.
    pub(crate) capability: Capability,
    pub(crate) max_attempts: u32,
}

/// How an application stands, apart from its requests and containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub(crate) state: ApplicationState,
    pub(crate) final_status: Option<FinalStatus>,
    /// When it ended, epoch ms.
    pub(crate) finished_ms: Option<i64>,
    pub(crate) diagnostics: String,
    pub(crate) tracking_url: Option<String>,
    /// The attempt that registered last; 0: none.
    pub(crate) attempt: u32,
    pub(crate) response_id: u64,
    /// The call with that id that was taken in and is not answered.
    #[serde(default)]
    pub(crate) taken_in: Option<TakenIn>,
    /// How far it says it is, millionths.
    pub(crate) progress_ppm: u64,
    /// How often its master was started.
    pub(crate) master_starts: u32,
    /// Whether containers of it were taken back because its program did not launch them, and it has not called since.
    #[serde(default)]
    pub(crate) has_lapsed: bool,
    /// What its containers leave, once it is over and none of them lives. None: they are to be counted.
    #[serde(default)]
    pub(crate) totals: Option<ContainerTotals>,
}

/// A call that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TakenIn {
    /// SHA-256 of its body.
    pub(crate) digest: [u8; 32],
    /// What its answer says of its releases.
    pub(crate) unknown_releases: Vec<ContainerId>,
    /// What its answer says of its launches.
    pub(crate) unknown_launches: Vec<RefusedLaunch>,
}

/// What starts the containers of a type as soon as they are granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLaunch {
    /// What they run.
    pub(crate) source: GrantedContext,
    /// The items as they were asked for; none: containers without items.
    pub(crate) items: Option<Arc<str>>,
    /// Most containers of the type at a time.
    pub(crate) max_running: Option<u32>,
    pub(crate) rules: ItemRules,
}

/// What containers run that start when they are granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GrantedContext {
    /// The context that is stored under this name then.
    Spec(String),
    /// The context of the master, and it gets the secret.
    Master,
}

/// An item that did not end well at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTrouble {
    /// Ends by its own fault.
    pub(crate) failures: u32,
    /// Other ends.
    pub(crate) faultless: u32,
    pub(crate) standing: ItemStanding,
}

/// Where an item is that did not end well at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ItemStanding {
    /// It waits behind the others; those with smaller numbers come first.
    Waits(u64),
    Held,
    Failed,
}

/// Stands for all containers of a type that run no item, beyond all items.
pub(crate) const WITHOUT_ITEM: u32 = u32::MAX;

/// In the place of a secret until it is read.
const fn unread_secret() -> ApplicationSecret {
    ApplicationSecret::new([0; 20])
}

impl Standing {
    #[must_use]
    pub(crate) fn new(tracking_url: Option<String>) -> Self {
        Self {
            state: ApplicationState::Accepted,
            final_status: None,
            finished_ms: None,
            diagnostics: String::new(),
            tracking_url,
            attempt: 0,
            response_id: 0,
            taken_in: None,
            progress_ppm: 0,
            master_starts: 0,
            has_lapsed: false,
            totals: None,
        }
    }

    /// Its state; of one that has finished, what its program says came of it.
    #[must_use]
    pub(crate) fn outcome(&self) -> ApplicationState {
        match (self.state, self.final_status) {
            (ApplicationState::Finished, Some(FinalStatus::Failed)) => ApplicationState::Failed,
            (ApplicationState::Finished, Some(FinalStatus::Killed)) => ApplicationState::Killed,
            (state, _) => state,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedType {
    /// By name: hosts, racks, any.
    pub(crate) rows: BTreeMap<Placement, RequestRow>,
    /// What starts its containers when they are granted.
    pub(crate) launch: Option<TypeLaunch>,
    pub(crate) items: Items,
    /// How many of them were taken, in the order in which they are written.
    pub(crate) taken: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestRow {
    /// Containers that are still wanted here.
    pub(crate) count: u32,
    /// Whether containers may come from farther away than this row.
    pub(crate) relaxes: bool,
}

impl AskedType {
    pub(crate) fn outstanding(&self) -> u32 {
        self.rows.get(&Placement::Any).map_or(0, |row| row.count)
    }

    pub(crate) fn lowered(&self, lowered: LoweredRows, host: &str, rack: &str) -> Vec<(Placement, RequestRow)> {
        let host = lowered.host.then(|| Placement::Host(host.to_owned()));
        let rack = lowered.rack_of(rack).map(|rack| Placement::Rack(rack.to_owned()));
        let names = host.into_iter().chain(rack).chain([Placement::Any]);
        let lower = |row: &RequestRow| RequestRow { count: row.count.saturating_sub(1), ..*row };
        names.filter_map(|name| self.rows.get(&name).map(lower).map(|row| (name, row))).collect()
    }
}

/// A container, beside its diagnostics.
const CONTAINER_BYTES: u64 = 768;
/// An item that did not end well at once.
pub(super) const TROUBLE_BYTES: u64 = 128;

pub(super) fn text_bytes(text: &str) -> u64 {
    text.len() as u64
}

pub(super) fn table_bytes(table: &AskedType) -> u64 {
    let rows: u64 = table.rows.keys().map(|place| ROW_BYTES + place.bytes()).sum();
    rows + launch_bytes(table)
}

pub(super) fn launch_bytes(table: &AskedType) -> u64 {
    let Some(launch) = &table.launch else { return 0 };
    let spec = match &launch.source {
        GrantedContext::Spec(name) => text_bytes(name),
        GrantedContext::Master => 0,
    };
    // The text, and its parts as numbers.
    ENTRY_BYTES + spec + launch.items.as_deref().map_or(0, |items| 4 * text_bytes(items))
}

pub(super) fn standing_bytes(standing: &Standing) -> u64 {
    let taken_in = standing.taken_in.as_ref().map_or(0, |taken_in| {
        let launches = taken_in.unknown_launches.iter().map(|launch| ENTRY_BYTES + text_bytes(&launch.reason));
        taken_in.unknown_releases.len() as u64 * ENTRY_BYTES + launches.sum::<u64>()
    });
    text_bytes(&standing.diagnostics) + standing.tracking_url.as_deref().map_or(0, text_bytes) + taken_in
}

pub(super) fn container_bytes(container: &Container) -> u64 {
    let of_kill = container.kill.as_ref().map_or(0, |kill| text_bytes(&kill.diagnostics));
    CONTAINER_BYTES + of_kill + container.end.as_ref().map_or(0, |end| text_bytes(&end.diagnostics))
}

/// The request id of masters, beyond all that applications may use.
const MASTER_ID: u64 = u64::MAX;

pub(crate) fn master_request(capability: Capability) -> RequestType {
    RequestType { priority: 0, request_id: MASTER_ID, capability }
}

pub(crate) fn is_master(request: RequestType) -> bool {
    request.request_id == MASTER_ID
}

/// The request id as applications know it.
pub(crate) fn shown_id(request: RequestType) -> u64 {
    if is_master(request) { 0 } else { request.request_id }
}
