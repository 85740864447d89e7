//! What the stock pages show, as plain values. What reads the cluster fills them.

use std::sync::Arc;

use serde::Serialize;

use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, Priority, RunState, TaskId};
use crate::views::ListedState;

use super::super::page_user::PageLogin;
use super::java_text::access_list;

pub(crate) const GRAPH_GROUPS: u32 = 600;
pub(crate) const TASKS_PER_PAGE: u32 = 2_000;
pub(crate) const MOST_FAILURES: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub struct StockJob {
    pub(crate) id: JobId,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    pub(crate) state: RunState,
    pub(crate) job_file: String,
    pub(crate) submit_host: Option<String>,
    pub(crate) submit_address: Option<String>,
    /// Its access lists; none while they are off.
    pub(crate) acls: Option<StockAcls>,
    /// When it was submitted, epoch ms.
    pub(crate) submit_ms: i64,
    /// When it ended, epoch ms; none while it has not.
    pub(crate) finish_ms: Option<i64>,
    /// Why it failed; `NA` when it did not.
    pub(crate) failure_info: String,
    /// What the policy says of it.
    pub(crate) scheduling_info: Option<String>,
    /// Progress of its maps and reduces, 0 to 1.
    pub(crate) progress: PerKind<f32>,
    /// Its maps and reduces.
    pub(crate) work: PerKind<StockTally>,
    /// Both variants of its setup.
    pub(crate) setup: StockTally,
    /// Both variants of its cleanup.
    pub(crate) cleanup: StockTally,
    /// Hosts that it avoids, with the failures of its attempts there.
    pub(crate) flaky: Vec<(String, u32)>,
    pub(crate) counters: Vec<StockCounterGroup>,
    /// The progress of its tasks; none of a job with too many of them.
    pub(crate) graphs: PerKind<StockGraph>,
}

/// Access lists of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StockAcls {
    pub(crate) view: String,
    /// Who may change it.
    pub(crate) modify: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct StockTally {
    #[serde(rename = "numTotalTasks")]
    pub(crate) total: u32,
    #[serde(rename = "numPendingTasks")]
    pub(crate) pending: u32,
    #[serde(rename = "numRunningTasks")]
    pub(crate) running: u32,
    #[serde(rename = "numFinishedTasks")]
    pub(crate) finished: u32,
    /// Those that were given up.
    #[serde(rename = "numKilledTasks")]
    pub(crate) killed: u32,
    /// Attempts that ended so; 0 of a setup or cleanup.
    #[serde(rename = "numFailedTaskAttempts")]
    pub(crate) failed_attempts: u32,
    #[serde(rename = "numKilledTaskAttempts")]
    pub(crate) killed_attempts: u32,
}

/// A group of counters of a job, by the names for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StockCounterGroup {
    #[serde(rename = "groupName")]
    pub(crate) name: String,
    #[serde(rename = "jobCountersInfo")]
    pub(crate) counters: Vec<StockCounter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StockCounter {
    pub(crate) name: String,
    /// The sums over maps and over reduces; 0 for a task.
    pub(crate) map_value: i64,
    pub(crate) reduce_value: i64,
    pub(crate) total_value: i64,
}

/// Progress by groups of tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StockGraph {
    pub(crate) tasks: u32,
    pub(crate) per_group: u32,
    /// Mean progress of each group in each of its phases, 0 to 1: of reduces copying, sorting and reducing, of maps one.
    pub(crate) groups: Vec<[f32; 3]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskList {
    /// Its maps or reduces.
    Work(Kind),
    Setup,
    Cleanup,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StockTasks {
    /// The tasks from the first of the page on.
    pub(crate) tasks: Vec<StockTask>,
    pub(crate) total: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StockTask {
    pub(crate) id: TaskId,
    /// Its progress, 0 to 1.
    pub(crate) progress: f32,
    /// The last words of its best attempt.
    pub(crate) status: String,
    /// When it was first launched, epoch ms; 0: never.
    pub(crate) start_ms: i64,
    /// When it was done, epoch ms; 0: it is not.
    pub(crate) finish_ms: i64,
    /// What its attempts say of their failures.
    pub(crate) diagnostics: Vec<String>,
    pub(crate) counters: usize,
}

/// Which tasks of a list, by state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFilter {
    All,
    Listed(ListedState),
    /// By a word that no task is in.
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StockAttempts {
    /// Whether it is a setup or a cleanup of its job.
    pub(crate) is_housekeeping: bool,
    pub(crate) attempts: Vec<StockAttempt>,
    /// Hosts with the input of a map, as paths in the network.
    pub(crate) split_nodes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StockAttempt {
    pub(crate) id: AttemptId,
    pub(crate) state: AttemptState,
    /// Its progress, 0 to 1.
    pub(crate) progress: f32,
    /// Times, epoch ms; 0: not yet.
    pub(crate) start_ms: i64,
    /// When its copying ended.
    pub(crate) shuffle_ms: i64,
    /// When its sorting ended.
    pub(crate) sort_ms: i64,
    pub(crate) finish_ms: i64,
    pub(crate) diagnostics: Vec<String>,
    /// Where it ran.
    pub(crate) tracker: StockPlace,
    /// Where its task-cleanup ran, if one did.
    pub(crate) cleanup_tracker: Option<StockPlace>,
    /// How many counters it has.
    pub(crate) counters: usize,
}

/// A tracker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StockPlace {
    pub(super) name: String,
    pub(super) host: Option<String>,
    http_port: u16,
    /// `http://HOST:PORT`; none where the host is not known.
    pub(super) url: Option<String>,
    pub(super) node: String,
}

/// Failed and killed attempts of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StockFailures {
    /// At most [`MOST_FAILURES`].
    pub(crate) attempts: Vec<StockAttempt>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

/// A part of the list of jobs that are over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StockPastJobs {
    /// The jobs from the first of the part on, the one submitted last in front.
    pub(crate) jobs: Vec<StockPastJob>,
    /// All that the search finds.
    pub(crate) total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StockPastJob {
    pub(crate) id: JobId,
    pub(crate) name: String,
    pub(crate) user: String,
    /// When it was submitted, epoch ms.
    pub(crate) submit_ms: i64,
    /// The path of its history file, or the name alone while it is not written; the name as links have it.
    pub(crate) log_file: String,
}

/// Which failures of a job a page lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureFilter {
    pub(crate) kinds: PerKind<bool>,
    /// With this end; none: both.
    pub(crate) state: Option<AttemptState>,
}

impl FailureFilter {
    pub(crate) fn lists(&self, state: AttemptState) -> bool {
        match self.state {
            Some(wanted) => state == wanted,
            None => matches!(state, AttemptState::Failed | AttemptState::Killed),
        }
    }
}

impl StockAcls {
    /// The names of its lists, and their words.
    pub(super) fn named(&self) -> [(&'static str, String); 2] {
        [("mapreduce.job.acl-view-job", &self.view), ("mapreduce.job.acl-modify-job", &self.modify)]
            .map(|(name, list)| (name, access_list(list)))
    }
}

impl StockPlace {
    /// `host`: none if it is not connected, and has left no address; `node`: its host as a path in the network.
    pub(crate) fn new(name: String, host: Option<String>, http_port: u16, node: String) -> Self {
        let url = host.as_ref().map(|host| format!("http://{host}:{http_port}"));
        Self { name, host, http_port, url, node }
    }
}

/// A job that is over, with all its attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct StockPast {
    pub(crate) job: StockJob,
    /// When its setup had succeeded, epoch ms; 0: it never did.
    pub(crate) launch_ms: i64,
    /// As [`StockPastJob::log_file`](super::StockPastJob::log_file).
    pub(crate) log_file: String,
    /// By task and number.
    pub(crate) attempts: Vec<PastAttempt>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastAttempt {
    pub(crate) kind: PastKind,
    pub(crate) attempt: StockAttempt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PastKind {
    Setup,
    Map,
    Reduce,
    Cleanup,
}

impl StockPast {
    /// How it ended, as history files say it.
    pub(super) fn status(&self) -> &'static str {
        match self.job.state {
            RunState::Succeeded => "SUCCESS",
            RunState::Failed => "FAILED",
            RunState::Killed => "KILLED",
            RunState::Prep | RunState::Running => "RUNNING",
        }
    }
}

impl PastKind {
    /// With their words, as pages list them.
    pub(super) const ALL: [(&'static str, Self); 4] =
        [("Setup", Self::Setup), ("Map", Self::Map), ("Reduce", Self::Reduce), ("Cleanup", Self::Cleanup)];

    /// The name that history files have for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Setup => "SETUP",
            Self::Map => "MAP",
            Self::Reduce => "REDUCE",
            Self::Cleanup => "CLEANUP",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.map(|(_, kind)| kind).into_iter().find(|kind| kind.name() == name)
    }
}

/// What the configuration says of these pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StockSettings {
    /// Host of the JobTracker's address (`mapred.job.tracker`); cut at the first dot where it is shown.
    pub host: String,
    /// Whether access lists of jobs are enforced (`mapred.acls.enabled`).
    pub are_acls_on: bool,
    /// Whether the log is for administrators (`hadoop.security.authorization`).
    pub is_authorization_on: bool,
    /// Whether numbers and configuration are for administrators (`hadoop.security.instrumentation.requires.admin`).
    pub are_numbers_for_administrators: bool,
    /// How requests say who asks (`hadoop.http.filter.initializers`).
    pub login: PageLogin,
    /// Whether jobs are changed by GET, too (`jobtracker.web.get-changes`).
    pub takes_get_changes: bool,
    /// The configuration in force, by name, secrets blanked.
    pub conf: Arc<[ConfProperty]>,
}

/// A value of the configuration, as 1.2.1 writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfProperty {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) is_final: bool,
    /// Where it comes from.
    pub(crate) resource: String,
}
