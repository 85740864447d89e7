//! From the facts about a finished job to the lines of its history file (1.2.1 `JobHistory`, `JobInProgress`). Pure.
//!
//! 1.2.1 writes a line when something happens; here all of them are written at the end, in the order of the times in the
//! facts. Readers go by keys, not by order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::config::job_conf::Workflow;
use crate::config::settings::HistorySettings;
use crate::config::{Configuration, JobConf, JobConfError};
use crate::fs::FileUri;
use crate::mapreduce::{AttemptRole, CounterSum, CounterTotal, CounterValues, JobOutcome, StoredAttempt};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, Kind, TaskId};
use crate::store::StoredHistory;
use crate::wire::{CompletionStatus, Counters};

use super::record::{Record, counter_text, escaped_value};

#[derive(Clone, Debug)]
pub(super) struct HistoryFacts<'a> {
    pub(super) stored: &'a StoredHistory,
    /// What its job.xml says beside that.
    pub(super) values: JobValues,
    /// Racks of the hosts of its trackers.
    pub(super) racks: &'a BTreeMap<String, String>,
    /// Whether access lists of jobs are enforced.
    pub(super) are_acls_enabled: bool,
}

/// What happened at a time, by the positions of attempts.
#[derive(Clone, Copy)]
enum Happened {
    /// A task was launched for the first time.
    TaskBegan(usize),
    AttemptEnded(usize),
}

/// Writes all lines of a job's history file.
pub(super) fn write_history(facts: &HistoryFacts<'_>, out: &mut dyn Write) -> io::Result<()> {
    let lines = Lines::new(facts);
    let mut has_run = facts.stored.running_ms.is_some();
    out.write_all(Record::new("Meta").with("VERSION", "1").into_line().as_bytes())?;
    out.write_all(lines.submitted().as_bytes())?;
    for happened in lines.in_order() {
        match happened {
            Happened::TaskBegan(position) => out.write_all(lines.task_began(position).as_bytes())?,
            Happened::AttemptEnded(position) => {
                out.write_all(lines.attempt_ended(position).as_bytes())?;
                let attempt = lines.attempt(position);
                let is_setup = attempt.role == AttemptRole::JobSetup && attempt.state == AttemptState::Succeeded;
                if is_setup && std::mem::take(&mut has_run) {
                    out.write_all(lines.running().as_bytes())?;
                }
            }
        }
    }
    if has_run {
        out.write_all(lines.running().as_bytes())?;
    }
    out.write_all(lines.ended().as_bytes())
}

/// The host in a tracker's name (1.2.1 `JobInProgress.convertTrackerNameToHostName`).
pub(in crate::server) fn host_of_tracker(tracker: &str) -> &str {
    let name = tracker.split(':').next().unwrap_or_default();
    name.strip_prefix("tracker_").unwrap_or(name)
}

struct Lines<'a> {
    facts: &'a HistoryFacts<'a>,
    /// Ports of the trackers that attempts ended on.
    http_ports: BTreeMap<AttemptId, &'a str>,
    /// Attempts that had succeeded and whose output was lost.
    lost: BTreeSet<AttemptId>,
}

impl<'a> Lines<'a> {
    fn new(facts: &'a HistoryFacts<'a>) -> Self {
        let mut http_ports = BTreeMap::new();
        let mut lost = BTreeSet::new();
        for event in &facts.stored.job.events {
            if let Some((_, port)) = event.http.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()) {
                http_ports.insert(event.attempt, port);
            }
            if event.status == CompletionStatus::Obsolete {
                lost.insert(event.attempt);
            }
        }
        Self { facts, http_ports, lost }
    }

    fn attempts(&self) -> &'a [StoredAttempt] {
        &self.facts.stored.job.attempts
    }

    fn attempt(&self, position: usize) -> &'a StoredAttempt {
        // Positions are those of the list itself.
        &self.attempts()[position]
    }

    /// What happened, in order. Times are those of trackers for ends and our own for launches: no attempt ends before its launch.
    fn in_order(&self) -> Vec<Happened> {
        let mut happened = Vec::with_capacity(2 * self.attempts().len());
        let mut last_task = None;
        for (position, attempt) in self.attempts().iter().enumerate() {
            if last_task.replace(attempt.id.task) != Some(attempt.id.task) {
                happened.push((attempt.launch_ms, Happened::TaskBegan(position)));
            }
            if final_word(attempt.state).is_some() {
                happened.push((attempt.finish_ms.max(attempt.launch_ms), Happened::AttemptEnded(position)));
            }
        }
        happened.sort_by_key(|(at_ms, _)| *at_ms);
        happened.into_iter().map(|(_, happened)| happened).collect()
    }

    fn submitted(&self) -> String {
        let HistoryFacts { stored, values, are_acls_enabled, .. } = self.facts;
        let accepted = &stored.job.accepted;
        let spec = &accepted.spec;
        let job = accepted.id.to_string();
        let acl = |list: &Option<String>| match are_acls_enabled {
            false => "*".to_owned(),
            true => list.clone().unwrap_or_else(|| " ".to_owned()),
        };
        let name = if spec.name.is_empty() { "NA" } else { &spec.name };
        let submitted = Record::new("Job")
            .with("JOBID", &job)
            .with("JOBNAME", name)
            .with("USER", &spec.user)
            .with_number("SUBMIT_TIME", accepted.submit_ms)
            .with("JOBCONF", &spec.job_file)
            .with("VIEW_JOB", &acl(&spec.view_acl))
            .with("MODIFY_JOB", &acl(&spec.modify_acl))
            .with("JOB_QUEUE", &spec.queue)
            .with("WORKFLOW_ID", &values.workflow.id)
            .with("WORKFLOW_NAME", &values.workflow.name)
            .with("WORKFLOW_NODE_NAME", &values.workflow.node)
            .with("WORKFLOW_ADJACENCIES", &values.adjacencies())
            .with("WORKFLOW_TAGS", &values.workflow.tags);
        let priority = Record::new("Job").with("JOBID", &job).with("JOB_PRIORITY", spec.priority.name());
        let inited = Record::new("Job")
            .with("JOBID", &job)
            .with_number("LAUNCH_TIME", accepted.submit_ms)
            .with_number("TOTAL_MAPS", spec.maps)
            .with_number("TOTAL_REDUCES", spec.reduces)
            .with("JOB_STATUS", "PREP");
        [submitted, priority, inited].map(Record::into_line).concat()
    }

    fn running(&self) -> String {
        self.of_job().with("JOB_STATUS", "RUNNING").into_line()
    }

    fn of_job(&self) -> Record {
        Record::new("Job").with_number("JOBID", self.facts.stored.job.accepted.id)
    }

    /// The end of the job; before it the priority, if it was changed.
    fn ended(&self) -> String {
        let stored = self.facts.stored;
        let mut lines = String::new();
        if stored.job.priority != stored.job.accepted.spec.priority {
            lines.push_str(&self.of_job().with("JOB_PRIORITY", stored.job.priority.name()).into_line());
        }
        let status = match stored.outcome {
            JobOutcome::Succeeded => "SUCCESS",
            JobOutcome::Failed => "FAILED",
            JobOutcome::Killed => "KILLED",
        };
        let ended = self
            .of_job()
            .with_number("FINISH_TIME", stored.finish_ms)
            .with("JOB_STATUS", status)
            .with_number("FINISHED_MAPS", self.finished(Kind::Map))
            .with_number("FINISHED_REDUCES", self.finished(Kind::Reduce));
        let ended = match stored.outcome {
            JobOutcome::Succeeded => ended
                .with_number("FAILED_MAPS", self.unsuccessful(Kind::Map))
                .with_number("FAILED_REDUCES", self.unsuccessful(Kind::Reduce))
                .with("MAP_COUNTERS", &counter_text(&self.sum(Kind::Map)))
                .with("REDUCE_COUNTERS", &counter_text(&self.sum(Kind::Reduce)))
                .with("COUNTERS", &text_of(stored.counters.as_ref())),
            // 1.2.1 begins each job with a text for none.
            JobOutcome::Failed if stored.failure_info.is_empty() => ended.with("FAIL_REASON", "NA"),
            JobOutcome::Failed => ended.with("FAIL_REASON", &stored.failure_info),
            JobOutcome::Killed => ended,
        };
        lines.push_str(&ended.into_line());
        lines
    }

    fn work(&self, kind: Kind) -> impl Iterator<Item = &'a StoredAttempt> {
        self.attempts().iter().filter(move |attempt| attempt.role == AttemptRole::Work && attempt.id.task.kind == kind)
    }

    /// Tasks that have succeeded.
    fn finished(&self, kind: Kind) -> usize {
        self.work(kind).filter(|attempt| attempt.state == AttemptState::Succeeded).count()
    }

    /// Attempts that failed or were killed.
    fn unsuccessful(&self, kind: Kind) -> usize {
        let has_failed = |attempt: &&StoredAttempt| matches!(final_word(attempt.state), Some("FAILED" | "KILLED"));
        self.work(kind).filter(has_failed).count()
    }

    fn sum(&self, kind: Kind) -> Counters {
        let mut sum = CounterSum::default();
        let succeeded = self.work(kind).filter(|attempt| attempt.state == AttemptState::Succeeded);
        succeeded.filter_map(|attempt| attempt.counters.as_ref()).for_each(|counters| sum.add(counters));
        let mut total = CounterTotal::default();
        sum.add_to(&mut total);
        total.into_counters()
    }

    fn task_began(&self, position: usize) -> String {
        let attempt = self.attempt(position);
        of_task(attempt.id.task)
            .with("TASK_TYPE", task_type(attempt))
            .with_number("START_TIME", attempt.launch_ms)
            .with("SPLITS", &self.split_nodes(attempt))
            .into_line()
    }

    /// The lines about the end of an attempt, its start included: 1.2.1 writes both then.
    fn attempt_ended(&self, position: usize) -> String {
        let attempt = self.attempt(position);
        let Some(word) = final_word(attempt.state) else { return String::new() };
        let started_ms = if attempt.start_ms == 0 { attempt.launch_ms } else { attempt.start_ms };
        let started = of_attempt(attempt)
            .with_number("START_TIME", started_ms)
            .with("TRACKER_NAME", &attempt.tracker)
            .with("HTTP_PORT", self.http_ports.get(&attempt.id).copied().unwrap_or_default())
            .with("LOCALITY", self.locality(attempt))
            .with("AVATAAR", if self.is_speculative(position) { "SPECULATIVE" } else { "VIRGIN" });
        let host = host_of_tracker(&attempt.tracker);
        let ended = of_attempt(attempt).with("TASK_STATUS", word);
        let lines = match word {
            "SUCCESS" => {
                let is_reduce = attempt.id.task.kind == Kind::Reduce;
                let ended = match is_reduce {
                    true => ended
                        .with_number("SHUFFLE_FINISHED", attempt.shuffle_finish_ms)
                        .with_number("SORT_FINISHED", attempt.sort_finish_ms),
                    false => ended,
                };
                let counters = text_of(attempt.counters.as_ref());
                let ended = ended
                    .with_number("FINISH_TIME", attempt.finish_ms)
                    .with("HOSTNAME", &format!("{}/{host}", self.rack_of(host)))
                    .with("STATE_STRING", &attempt.state_text)
                    .with("COUNTERS", &counters);
                let done = of_task(attempt.id.task)
                    .with("TASK_TYPE", task_type(attempt))
                    .with("TASK_STATUS", word)
                    .with_number("FINISH_TIME", attempt.finish_ms)
                    .with("COUNTERS", &counters);
                vec![started, ended, done]
            }
            _ => {
                let ended = ended
                    .with_number("FINISH_TIME", attempt.finish_ms)
                    .with("HOSTNAME", host)
                    .with("ERROR", &error_text(&attempt.diagnostics));
                let mut lines = vec![started, ended];
                lines.extend(self.task_failed(attempt));
                lines
            }
        };
        lines.into_iter().map(Record::into_line).collect()
    }

    /// The line about a task that failed its job, or that has to run once more because its output was lost.
    fn task_failed(&self, attempt: &StoredAttempt) -> Option<Record> {
        let task = attempt.id.task;
        let because_of = match self.lost.contains(&attempt.id) {
            true => attempt.id.to_string(),
            false if self.has_failed_job(task) && self.is_last_failure(attempt) => String::new(),
            false => return None,
        };
        let failed = of_task(task)
            .with("TASK_TYPE", task_type(attempt))
            .with("TASK_STATUS", "FAILED")
            .with_number("FINISH_TIME", attempt.finish_ms)
            .with("ERROR", &error_text(&attempt.diagnostics))
            .with("TASK_ATTEMPT_ID", &because_of);
        Some(failed)
    }

    /// The text of a failed job ends with the task that failed it (1.2.1 `JobInProgress.failedTask`).
    fn has_failed_job(&self, task: TaskId) -> bool {
        let stored = self.facts.stored;
        stored.outcome == JobOutcome::Failed && stored.failure_info.ends_with(&task.to_string())
    }

    fn is_last_failure(&self, attempt: &StoredAttempt) -> bool {
        let of_task = self.attempts().iter().filter(|other| other.id.task == attempt.id.task);
        let failed = of_task.filter(|other| final_word(other.state) == Some("FAILED"));
        failed.max_by_key(|other| (other.finish_ms, other.id.number)).is_some_and(|last| last.id == attempt.id)
    }

    /// Whether another attempt of the task was running when this one was launched.
    fn is_speculative(&self, position: usize) -> bool {
        let attempt = self.attempt(position);
        let is_of_task = |other: &&StoredAttempt| other.id.task == attempt.id.task;
        // Attempts are in the order of their tasks.
        let before = self.attempts()[..position].iter().rev().take_while(is_of_task);
        let after = self.attempts()[position + 1..].iter().take_while(is_of_task);
        let was_running = |other: &StoredAttempt| {
            other.launch_ms < attempt.launch_ms && (other.finish_ms == 0 || other.finish_ms > attempt.launch_ms)
        };
        before.chain(after).any(was_running)
    }

    /// The hosts of a map's input with their racks.
    fn split_hosts(&self, attempt: &StoredAttempt) -> Vec<(&'a str, &'a str)> {
        if attempt.role != AttemptRole::Work || attempt.id.task.kind != Kind::Map {
            return Vec::new();
        }
        let splits = &self.facts.stored.job.accepted.splits;
        let number = usize::try_from(attempt.id.task.number).unwrap_or(usize::MAX);
        let Some(split) = splits.splits().get(number) else { return Vec::new() };
        let hosts = splits.locations(split).iter().filter_map(|index| splits.hosts().get(*index as usize));
        hosts.map(|host| (host.rack.as_str(), host.host.as_str())).collect()
    }

    /// By rack, as 1.2.1 `TaskInProgress.getSplitNodes`.
    fn split_nodes(&self, attempt: &StoredAttempt) -> String {
        let mut hosts = self.split_hosts(attempt);
        hosts.sort_by_key(|(rack, _)| *rack);
        hosts.iter().map(|(rack, host)| format!("{rack}/{host}")).collect::<Vec<_>>().join(",")
    }

    fn locality(&self, attempt: &StoredAttempt) -> &'static str {
        let host = host_of_tracker(&attempt.tracker);
        let rack = self.rack_of(host);
        let hosts = self.split_hosts(attempt);
        if hosts.iter().any(|(_, of_split)| *of_split == host) {
            "NODE_LOCAL"
        } else if hosts.iter().any(|(of_split, _)| *of_split == rack) {
            "RACK_LOCAL"
        } else {
            "OFF_SWITCH"
        }
    }

    fn rack_of(&self, host: &str) -> &str {
        self.facts.racks.get(host).map_or(DEFAULT_RACK, String::as_str)
    }
}

/// How an attempt ended, in the words of history files. Attempts that were running when their job ended leave no trace
/// there; unclean ones of a job that has ended count as ended.
fn final_word(state: AttemptState) -> Option<&'static str> {
    match state {
        AttemptState::Succeeded => Some("SUCCESS"),
        AttemptState::Failed | AttemptState::FailedUnclean => Some("FAILED"),
        AttemptState::Killed | AttemptState::KilledUnclean => Some("KILLED"),
        AttemptState::Running | AttemptState::Unassigned | AttemptState::CommitPending => None,
    }
}

/// Texts that trackers and the JobTracker itself add to those of a task begin so.
const ADDED_TEXTS: [&str; 8] = [
    "Request received to ",
    "Task has been ",
    "Task attempt_",
    "Task is reported ",
    "Lost task tracker: ",
    "Too many fetch-failures",
    "java.lang.Throwable: Child Error",
    "killed on request",
];

/// The texts of an attempt with a comma between them, as 1.2.1 joins them. They are stored with a line break between them, which texts
/// themselves have too.
fn error_text(diagnostics: &str) -> String {
    let mut text = String::with_capacity(diagnostics.len());
    for (number, line) in diagnostics.split('\n').enumerate() {
        if number > 0 {
            text.push(if ADDED_TEXTS.iter().any(|added| line.starts_with(added)) { ',' } else { '\n' });
        }
        text.push_str(line);
    }
    text
}

fn task_type(attempt: &StoredAttempt) -> &'static str {
    match (attempt.role, attempt.id.task.kind) {
        (AttemptRole::JobSetup, _) => "SETUP",
        (AttemptRole::JobCleanup, _) => "CLEANUP",
        (_, Kind::Map) => "MAP",
        (_, Kind::Reduce) => "REDUCE",
    }
}

fn of_task(task: TaskId) -> Record {
    Record::new("Task").with_number("TASKID", task)
}

fn of_attempt(attempt: &StoredAttempt) -> Record {
    let kind = match attempt.id.task.kind {
        Kind::Map => "MapAttempt",
        Kind::Reduce => "ReduceAttempt",
    };
    Record::new(kind)
        .with("TASK_TYPE", task_type(attempt))
        .with_number("TASKID", attempt.id.task)
        .with_number("TASK_ATTEMPT_ID", attempt.id)
}

fn text_of(counters: Option<&CounterValues>) -> String {
    counters.map(|counters| counter_text(&counters.to_counters())).unwrap_or_default()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobValues {
    pub(super) workflow: Workflow,
    /// `hadoop.job.history.user.location`.
    pub(super) user_location: Option<String>,
    /// `mapred.working.dir`.
    pub(super) working_dir: Option<String>,
}

impl JobValues {
    /// Reads a job.xml over the cluster's values. Its length was checked when it was submitted.
    pub(super) fn read(job_xml: &[u8], cluster: &Configuration, user: &str) -> Result<Self, JobConfError> {
        let configuration = JobConf::configuration(job_xml, job_xml.len() as u64, cluster, user)?;
        let conf = JobConf::from_configuration(&configuration)?;
        Ok(Self { workflow: conf.workflow, user_location: conf.history_user_location, working_dir: conf.working_dir })
    }

    /// Pairs of a node and those after it (1.2.1 `JobInfo.getWorkflowAdjacencies`). They are escaped once more where they stand.
    pub(super) fn adjacencies(&self) -> String {
        let pair =
            |(node, after): &(String, String)| format!("\"{}\"=\"{}\" ", escaped_value(node), escaped_value(after));
        self.workflow.adjacency.iter().map(pair).collect()
    }

    /// The folder below which the user's copy lies; none: there is no copy (1.2.1 `JobInfo.getJobHistoryLogLocationForUser`). A relative
    /// one is below the job's working directory, as its tasks find it.
    pub(super) fn user_folder(&self, output: Option<&str>) -> Option<String> {
        let folder = self.user_location.as_deref().or(output)?;
        if folder == HistorySettings::NO_COPY {
            return None;
        }
        match &self.working_dir {
            Some(working_dir) if FileUri::is_relative(folder) => Some(format!("{working_dir}/{folder}")),
            _ => Some(folder.to_owned()),
        }
    }
}

#[cfg(test)]
#[path = "tests/lines.rs"]
mod tests;
