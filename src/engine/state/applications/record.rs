//! What is stored of an application: each part as it stands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api::applications::{ApplicationState, FinalStatus, ItemRules, RefusedLaunch};
use crate::model::{ApplicationId, ApplicationSecret, Capability, ContainerId, Priority};

use super::container_totals::ContainerTotals;

/// What an application is submitted with; never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedApplication {
    pub id: ApplicationId,
    pub user: Arc<str>,
    pub name: String,
    pub application_type: String,
    pub queue: Arc<str>,
    /// Its place among applications and jobs.
    pub priority: Priority,
    pub digest: [u8; 32],
    /// What it signs with; stored beside the rest.
    #[serde(skip, default = "unread_secret")]
    pub secret: ApplicationSecret,
    /// Silence after which it has failed, ms.
    pub expiry_ms: u64,
    /// Whether a closed gate stays closed at every distance.
    pub strict_gates: bool,
    /// Whether it needs no program.
    pub is_unattended: bool,
    pub master: Option<Master>,
    /// When it was submitted, epoch ms.
    pub submitted_ms: i64,
    /// Its number in the order of submissions, jobs' too.
    pub order: u64,
}

/// A master that the daemon starts; its context is that with the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Master {
    /// What it takes, rounded.
    pub capability: Capability,
    /// How often it may be started.
    pub max_attempts: u32,
}

/// How an application stands, apart from its requests and containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub state: ApplicationState,
    pub final_status: Option<FinalStatus>,
    /// When it ended, epoch ms.
    pub finished_ms: Option<i64>,
    pub diagnostics: String,
    pub tracking_url: Option<String>,
    /// The attempt that registered last; 0: none.
    pub attempt: u32,
    pub response_id: u64,
    /// The call with that id that was taken in and is not answered.
    #[serde(default)]
    pub taken_in: Option<TakenIn>,
    /// How far it says it is, millionths.
    pub progress_ppm: u64,
    /// How often its master was started.
    pub master_starts: u32,
    /// Whether containers of it were taken back because its program did not launch them, and it has not called since.
    #[serde(default)]
    pub has_lapsed: bool,
    /// What its containers leave, once it is over and none of them lives. None: they are to be counted.
    #[serde(default)]
    pub totals: Option<ContainerTotals>,
}

/// A call that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenIn {
    /// SHA-256 of its body.
    pub digest: [u8; 32],
    /// What its answer says of its releases.
    pub unknown_releases: Vec<ContainerId>,
    /// What its answer says of its launches.
    pub unknown_launches: Vec<RefusedLaunch>,
}

/// What starts the containers of a type as soon as they are granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLaunch {
    /// What they run.
    pub source: GrantSource,
    /// The items as they were asked for; none: containers without items.
    pub items: Option<Arc<str>>,
    /// Most containers of the type at a time.
    pub max_running: Option<u32>,
    pub rules: ItemRules,
}

/// What containers run that start when they are granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantSource {
    /// The context that is stored under this name then.
    Spec(String),
    /// The context of the master, and it gets the secret.
    Master,
}

/// An item that did not end well at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTrouble {
    /// Ends by its own fault.
    pub failures: u32,
    /// Other ends.
    pub faultless: u32,
    pub standing: ItemStanding,
}

/// Where an item is that did not end well at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemStanding {
    /// It waits behind the others; those with smaller numbers come first.
    Waits(u64),
    /// A container runs it.
    Held,
    Failed,
}

/// Stands for all containers of a type that run no item, beyond all items.
pub const WITHOUT_ITEM: u32 = u32::MAX;

/// In the place of a secret until it is read.
const fn unread_secret() -> ApplicationSecret {
    ApplicationSecret::new([0; 20])
}

impl Standing {
    /// One that has just been submitted.
    #[must_use]
    pub fn new(tracking_url: Option<String>) -> Self {
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
    pub fn outcome(&self) -> ApplicationState {
        match (self.state, self.final_status) {
            (ApplicationState::Finished, Some(FinalStatus::Failed)) => ApplicationState::Failed,
            (ApplicationState::Finished, Some(FinalStatus::Killed)) => ApplicationState::Killed,
            (state, _) => state,
        }
    }
}
