//! The ruling scheduler, what a switch to another one does to groups and jobs, and its sentences for commands and pages.

use serde::{Deserialize, Serialize};

use crate::model::{JobId, PerKind, PerPool, counted};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SchedulerStatus {
    pub(crate) scheduler: String,
    pub(crate) since_ms: i64,
    /// The user who chose it; absent: the configuration did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// The class that the configuration named then.
    pub(crate) configured: String,
    /// Slots of the trackers in service, and those that workers have for containers beside them.
    #[serde(default)]
    pub(crate) slots: PerPool<u32>,
    /// Queues, accounts or pools, by name.
    pub(crate) groups: Vec<GroupStatus>,
    /// The switch that waits for the next tick of the market.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<WaitingSwitch>,
}

/// A group under the ruling scheduler, or under the one that is planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStatus {
    pub(crate) name: String,
    /// Its settings, such as `capacity 30%`; empty where the scheduler has none for groups.
    pub(crate) settings: Vec<String>,
    pub(crate) jobs: u32,
    #[serde(default)]
    pub(crate) applications: u32,
    /// Slots that its attempts hold.
    pub(crate) held: PerKind<u32>,
    /// Slots that its containers stand for.
    #[serde(default)]
    pub(crate) container_slots: u32,
    /// Slots that are due to it; absent where the scheduler promises none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<PerKind<u32>>,
    /// Slots that are due to its containers beside what its attempts hold; absent where the scheduler promises none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due_container_slots: Option<u32>,
}

/// A switch that waits for the next tick of the market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingSwitch {
    /// Class name of the scheduler that begins then.
    pub(crate) scheduler: String,
    /// The user who waits for it.
    pub(crate) by: String,
    pub(crate) until_ms: i64,
}

/// What a switch does, or would do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchPlan {
    /// Class name of the scheduler that rules now.
    pub from: String,
    /// Class name of the scheduler that is planned: the same where its files are read again.
    pub to: String,
    /// Slots of the trackers in service, and those that workers have for containers beside them.
    #[serde(default)]
    pub slots: PerPool<u32>,
    /// Its groups, by name, as they are with today's jobs in them.
    pub groups: Vec<GroupStatus>,
    /// Jobs that wait to begin and that it lets begin at once, by id.
    pub begins: Vec<JobId>,
    /// Jobs that wait to begin and still do, by id.
    pub waits: Vec<JobId>,
    /// Jobs that get another queue, by id.
    pub moves: Vec<MovedJob>,
    /// Jobs that run without a claim on any slot, by id: the market has no account that pays for them.
    pub without_claim: Vec<JobId>,
    /// Jobs whose deadlines it does not keep with the slots of now, by id; they run on.
    #[serde(default)]
    pub at_risk: Vec<JobId>,
    /// Keys that count and are set, with their places.
    pub keys: Vec<SetKey>,
    /// What the operator should look at.
    pub warnings: Vec<String>,
    /// Why the switch is refused; empty: it is not.
    pub refusals: Vec<SwitchRefusal>,
    /// Until when the switch waits for the market's next tick, epoch ms; absent: it waits for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until_ms: Option<i64>,
}

/// A job that gets another queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedJob {
    pub(crate) job: JobId,
    /// Its queue so far.
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A key of the configuration that is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetKey {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// File and line, or the command line.
    pub place: String,
}

/// Why a switch is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchRefusal {
    /// An administrator turned safe mode on.
    #[error("safe mode is on, set by {by}")]
    SafeMode {
        /// The administrator.
        by: String,
    },
    /// Another switch waits for the next tick of the market.
    #[error("the switch to {scheduler} that {by} wants waits for the market's next tick")]
    SwitchWaits {
        /// The class that it is to.
        scheduler: String,
        /// Its user.
        by: String,
    },
    /// Jobs are in queues that the configuration does not name.
    #[error(
        "{} in queue {queue}, which mapred.queue.names does not name: {}; --move-to QUEUE moves jobs",
        count(jobs),
        names(jobs)
    )]
    QueueMissing {
        /// The queue.
        queue: String,
        /// Its unfinished jobs.
        jobs: Vec<JobId>,
    },
    /// Jobs cannot move to a queue that the configuration does not name.
    #[error("--move-to {queue}: expected a queue of mapred.queue.names ({known})")]
    TargetMissing {
        /// The queue.
        queue: String,
        /// The queues that there are.
        known: String,
    },
    /// Jobs are in pools that the allocation file does not declare, and only declared ones are allowed.
    #[error(
        "{} in pool {pool}, which the allocation file does not declare, and mapred.fairscheduler.allow.undeclared.pools \
         is false: {}",
        count(jobs),
        names(jobs)
    )]
    PoolUndeclared {
        /// The pool.
        pool: String,
        /// Its unfinished jobs.
        jobs: Vec<JobId>,
    },
    /// The scheduler needs a market, and there is none.
    #[error("there is no market: {missing}")]
    NoMarket {
        /// What is missing.
        missing: String,
    },
    /// The state cannot be written.
    #[error("{0}")]
    Store(String),
}

/// Most jobs that a refusal names, or of one sort a plan.
const NAMED_JOBS: usize = 20;

fn count(jobs: &[JobId]) -> String {
    match jobs.len() {
        1 => "1 job is".to_owned(),
        count => format!("{count} jobs are"),
    }
}

fn names(jobs: &[JobId]) -> String {
    let mut names: Vec<String> = jobs.iter().take(NAMED_JOBS).map(ToString::to_string).collect();
    if let Some(more) = jobs.len().checked_sub(NAMED_JOBS).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

impl SwitchPlan {
    /// Whether nothing refuses the switch.
    pub(crate) fn is_permitted(&self) -> bool {
        self.refusals.is_empty()
    }

    /// Whether the files of the ruling scheduler are read again, and no other takes over.
    pub(crate) fn is_reread(&self) -> bool {
        self.from == self.to
    }

    /// The same with what its files say.
    #[must_use]
    pub(crate) fn with_files(self, keys: Vec<SetKey>, warnings: Vec<String>) -> Self {
        let warnings = warnings.into_iter().chain(self.warnings).collect();
        Self { keys, warnings, ..self }
    }

    /// What the switch would do, or why it is refused, a sentence each. `time` shows a moment, epoch ms.
    pub fn sentences(&self, time: impl Fn(i64) -> String) -> Vec<String> {
        let mut lines = match self.is_reread() {
            true => vec![format!("{} rules: its files are read again", self.to)],
            false => vec![format!("from {}", self.from), format!("to   {}", self.to)],
        };
        lines.extend(self.keys.iter().map(|key| format!("{}: {} = {}", key.place, key.key, key.value)));
        lines.extend(room_sentence(self.slots));
        lines.extend(group_sentences(&self.groups));
        lines.extend(about_jobs("begin", &self.begins));
        lines.extend(about_jobs("wait to begin", &self.waits));
        let moves = self.moves.iter();
        lines.extend(moves.map(|moved| format!("{} moves from queue {} to {}", moved.job, moved.from, moved.to)));
        lines.extend(about_jobs("run without a claim, charged to no account", &self.without_claim));
        lines.extend(about_jobs("AT_RISK, as the slots of now do not keep their deadlines", &self.at_risk));
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        let wait =
            self.waits_until_ms.map(|until_ms| format!("waits for the market's next tick, at {}", time(until_ms)));
        lines.extend(wait);
        lines.extend(self.refusals.iter().map(|refusal| format!("refused: {refusal}")));
        lines
    }
}

/// The slots of the cluster, where workers have room for containers.
pub(crate) fn room_sentence(slots: PerPool<u32>) -> Option<String> {
    (slots.container > 0).then(|| format!("the cluster has {}", pools(slots.slots(), Some(slots.container))))
}

/// A sentence for each group: its jobs, what it holds, what is due to it, its settings.
pub(crate) fn group_sentences(groups: &[GroupStatus]) -> Vec<String> {
    // A cluster without applications is shown as in Hadoop, by slots alone.
    let has_any = groups.iter().any(|group| group.applications > 0 || group.container_slots > 0);
    let sentence = |group: &GroupStatus| {
        let held = pools(group.held, has_any.then_some(group.container_slots));
        let due_containers = group.due_container_slots.filter(|_| has_any);
        let due = group.due.map_or_else(String::new, |due| format!(", due {}", pools(due, due_containers)));
        let settings =
            if group.settings.is_empty() { String::new() } else { format!("; {}", group.settings.join(", ")) };
        let jobs = counted(group.jobs, "job");
        let applications =
            if has_any { format!(", {}", counted(group.applications, "application")) } else { String::new() };
        format!("{}: {jobs}{applications}, holds {held}{due}{settings}", group.name)
    };
    groups.iter().map(sentence).collect()
}

/// Slots, and where containers count the slots that they stand for.
fn pools(slots: PerKind<u32>, containers: Option<u32>) -> String {
    match containers {
        None => format!("{} map and {} reduce slots", slots.map, slots.reduce),
        Some(containers) => {
            format!("{} map and {} reduce slots and {containers} for containers", slots.map, slots.reduce)
        }
    }
}

fn about_jobs(what: &str, jobs: &[JobId]) -> Option<String> {
    (!jobs.is_empty()).then(|| format!("{} {what}: {}", jobs.len(), names(jobs)))
}
