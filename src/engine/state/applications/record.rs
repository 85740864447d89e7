//! What is stored of an application: each part as it stands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api::applications::{ApplicationState, FinalStatus, ItemRules, RefusedLaunch};
use crate::model::{ApplicationId, ApplicationSecret, Capability, ContainerId, Priority};

use super::container_totals::ContainerTotals;

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
    /// How often it may be started.
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
    pub(crate) source: GrantSource,
    /// The items as they were asked for; none: containers without items.
    pub(crate) items: Option<Arc<str>>,
    /// Most containers of the type at a time.
    pub(crate) max_running: Option<u32>,
    pub(crate) rules: ItemRules,
}

/// What containers run that start when they are granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GrantSource {
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
    /// A container runs it.
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
    /// One that has just been submitted.
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
