//! What the stock pages show, as plain values. What reads the cluster fills them.

use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, Priority, RunState, TaskId};

/// Most groups of tasks in a graph.
pub const GRAPH_GROUPS: u32 = 600;
/// Tasks on a page.
pub const TASKS_PER_PAGE: u32 = 2_000;
/// Most attempts on a page of failures.
pub const MOST_FAILURES: usize = 2_000;

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct StockJob {
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// Its priority.
    pub priority: Priority,
    /// Its state.
    pub state: RunState,
    /// URI of its job.xml.
    pub job_file: String,
    /// The host that submitted it.
    pub submit_host: Option<String>,
    /// The address of that host.
    pub submit_address: Option<String>,
    /// Its access lists; none while they are off.
    pub acls: Option<StockAcls>,
    /// When it was submitted, epoch ms.
    pub submit_ms: i64,
    /// When it ended, epoch ms; none while it has not.
    pub finish_ms: Option<i64>,
    /// Why it failed; `NA` when it did not.
    pub failure_info: String,
    /// What the policy says of it.
    pub scheduling_info: Option<String>,
    /// Progress of its maps and reduces, 0 to 1.
    pub progress: PerKind<f32>,
    /// Its maps and reduces.
    pub work: PerKind<StockTally>,
    /// Both variants of its setup.
    pub setup: StockTally,
    /// Both variants of its cleanup.
    pub cleanup: StockTally,
    /// Its attempts that ended without success: FAILED, KILLED.
    pub bad_ends: PerKind<(u32, u32)>,
    /// Hosts that it avoids, with the failures of its attempts there.
    pub flaky: Vec<(String, u32)>,
    /// Its counters.
    pub counters: Vec<StockCounterGroup>,
    /// The progress of its tasks; none of a job with too many of them.
    pub graphs: PerKind<StockGraph>,
}

/// Access lists of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockAcls {
    /// Who may see it.
    pub view: String,
    /// Who may change it.
    pub modify: String,
}

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StockTally {
    /// All.
    pub total: u32,
    /// Those that wait.
    pub pending: u32,
    /// Those that run.
    pub running: u32,
    /// Those that are done.
    pub finished: u32,
    /// Those that were given up.
    pub killed: u32,
}

/// A group of counters of a job, by the names for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockCounterGroup {
    /// Its name.
    pub name: String,
    /// Its counters.
    pub counters: Vec<StockCounter>,
}

/// A counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockCounter {
    /// Its name.
    pub name: String,
    /// The sum over maps and over reduces; 0 for a task.
    pub of_kind: PerKind<i64>,
    /// The sum.
    pub total: i64,
}

/// Progress by groups of tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StockGraph {
    /// Tasks of the kind.
    pub tasks: u32,
    /// Tasks in a group.
    pub per_group: u32,
    /// Mean progress of each group in each of its phases, 0 to 1: of reduces copying, sorting and reducing, of maps one.
    pub groups: Vec<[f32; 3]>,
}

/// Which tasks of a job a page lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskList {
    /// Its maps or reduces.
    Work(Kind),
    /// Its setup.
    Setup,
    /// Its cleanup.
    Cleanup,
}

/// A page of tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StockTasks {
    /// The tasks from the first of the page on.
    pub tasks: Vec<StockTask>,
    /// All tasks that the list has.
    pub total: u32,
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct StockTask {
    /// Its id.
    pub id: TaskId,
    /// Its progress, 0 to 1.
    pub progress: f32,
    /// The last words of its best attempt.
    pub status: String,
    /// When it was first launched, epoch ms; 0: never.
    pub start_ms: i64,
    /// When it was done, epoch ms; 0: it is not.
    pub finish_ms: i64,
    /// What its attempts say of their failures.
    pub diagnostics: Vec<String>,
    /// How many counters it has.
    pub counters: usize,
}

/// Which tasks of a list, by state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFilter {
    /// Each.
    All,
    /// With a running attempt.
    Running,
    /// Done.
    Completed,
    /// Given up.
    Killed,
    /// Neither.
    Pending,
    /// By a word that no task is in.
    Nothing,
}

/// The attempts of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct StockAttempts {
    /// Whether it is a setup or a cleanup of its job.
    pub is_housekeeping: bool,
    /// They themselves.
    pub attempts: Vec<StockAttempt>,
    /// Hosts with the input of a map, as paths in the network.
    pub split_nodes: Vec<String>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct StockAttempt {
    /// Its id.
    pub id: AttemptId,
    /// Its state.
    pub state: AttemptState,
    /// Its progress, 0 to 1.
    pub progress: f32,
    /// Times, epoch ms; 0: not yet.
    pub start_ms: i64,
    /// When its copying ended.
    pub shuffle_ms: i64,
    /// When its sorting ended.
    pub sort_ms: i64,
    /// When it ended.
    pub finish_ms: i64,
    /// What it says of its failure.
    pub diagnostics: Vec<String>,
    /// Where it ran.
    pub tracker: StockPlace,
    /// Where its task-cleanup ran, if one did.
    pub cleanup_tracker: Option<StockPlace>,
    /// How many counters it has.
    pub counters: usize,
}

/// A tracker of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StockPlace {
    /// Its name.
    pub name: String,
    /// Its host; none if it is not connected, and has left no address.
    pub host: Option<String>,
    /// The port of its web server.
    pub http_port: u16,
    /// Its host as a path in the network.
    pub node: String,
}

/// Failed and killed attempts of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StockFailures {
    /// At most [`MOST_FAILURES`].
    pub attempts: Vec<StockAttempt>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A part of the list of jobs that are over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StockPastJobs {
    /// The jobs from the first of the part on, the one submitted last in front.
    pub jobs: Vec<StockPastJob>,
    /// All that the search finds.
    pub total: u64,
}

/// A job that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockPastJob {
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub user: String,
    /// When it was submitted, epoch ms.
    pub submit_ms: i64,
    /// The path of its history file, or the name alone while it is not written; the name as links have it.
    pub log_file: String,
}

/// Which failures of a job a page lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureFilter {
    /// Of these kinds of tasks.
    pub kinds: PerKind<bool>,
    /// With this end; none: both.
    pub state: Option<AttemptState>,
}

// === impl FailureFilter ===

impl FailureFilter {
    /// Whether an attempt in this state is listed.
    pub fn lists(&self, state: AttemptState) -> bool {
        match self.state {
            Some(wanted) => state == wanted,
            None => matches!(state, AttemptState::Failed | AttemptState::Killed),
        }
    }
}

// === impl StockPlace ===

impl StockPlace {
    /// `http://HOST:PORT`; none where the host is not known.
    pub fn url(&self) -> Option<String> {
        self.host.as_ref().map(|host| format!("http://{host}:{}", self.http_port))
    }
}

// === impl StockCounterGroup ===

impl StockCounterGroup {
    /// How many counters groups have.
    pub fn count(groups: &[StockCounterGroup]) -> usize {
        groups.iter().map(|group| group.counters.len()).sum()
    }
}
