//! Jobs, attempts, tasks and counters, as shown to users and written as JSON.

use serde::Serialize;

use crate::api::{killed_by, says_may_not_begin, says_no_worker_can_run, says_paused};
use crate::model::{AttemptId, JobId, Kind, RunState, TaskId};
use crate::wire::{CompletionStatus, Counters, JobProfile, JobStatus, TaskCompletionEvent, TaskReport, TipStatus};

pub(crate) use crate::api::{JobCounter, JobEvent, JobState, TaskTally};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct JobLine {
    pub(crate) job: JobId,
    /// Its state, in Hadoop's spelling.
    pub(crate) state: JobState,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) queue: String,
    /// Its priority, in Hadoop's spelling.
    pub(crate) priority: &'static str,
    /// When it was submitted, epoch ms.
    pub(crate) started_ms: i64,
    /// Progress of its maps, percent; `None` if it failed or was killed, for which Hadoop reports 100.
    pub(crate) map_percent: Option<u32>,
    /// Progress of its reduces, as for maps.
    pub(crate) reduce_percent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    /// Who killed it, where the JobTracker says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) killed_by: Option<String>,
    /// That it is held, or its queue paused: the user and the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<String>,
    /// Why its end is decided, while its cleanup is still to run.
    #[serde(skip)]
    pub(crate) ending: Option<String>,
    /// That no connected worker can run anything that it waits for, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cannot_run: Option<String>,
    /// That a limit of its queue, pool or user keeps it from beginning, and which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) may_not_begin: Option<String>,
    /// Its deadline, while a scheduler rules that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<DeadlineLine>,
    pub(crate) url: String,
}

/// All that the built-in worker says of an attempt that it was asked to end.
const STOPPED: &str = "killed on request";
/// Groups of the framework's counters (1.2.1 `JobInProgress.Counter`, `Task.Counter` and others).
const FRAMEWORK_GROUPS: &str = "org.apache.hadoop.";
/// The group of bytes read and written (1.2.1 `Task`).
const FILE_SYSTEM_GROUP: &str = "FileSystemCounters";

impl JobLine {
    /// From a status and a profile, which may be missing.
    pub(super) fn of(status: &JobStatus, profile: Option<&JobProfile>) -> Self {
        let text = |field: fn(&JobProfile) -> &str| profile.map(field).unwrap_or_default().to_owned();
        let failure = Some(status.failure_info.to_string()).filter(|why| !matches!(why.as_str(), "" | "NA"));
        let is_over = !matches!(status.run_state, RunState::Prep | RunState::Running);
        let is_stopped = matches!(status.run_state, RunState::Failed | RunState::Killed);
        let percent_unless_stopped = |progress| (!is_stopped).then(|| percent(progress));
        Self {
            job: status.id,
            state: JobState::of(status.run_state),
            name: text(|profile| &profile.name),
            user: status.user.to_string(),
            queue: text(|profile| &profile.queue),
            priority: status.priority.name(),
            started_ms: status.start_ms,
            map_percent: percent_unless_stopped(status.map_progress),
            reduce_percent: percent_unless_stopped(status.reduce_progress),
            ending: failure.clone().filter(|_| !is_over),
            failure: failure.filter(|_| status.run_state == RunState::Failed),
            killed_by: Some(status)
                .filter(|status| status.run_state == RunState::Killed)
                .and_then(|status| killed_by(status.id, &status.failure_info)),
            held: Some(status.scheduling_info.to_string()).filter(|text| says_paused(text)),
            cannot_run: Some(status.scheduling_info.to_string()).filter(|text| says_no_worker_can_run(text)),
            may_not_begin: Some(status.scheduling_info.to_string()).filter(|text| says_may_not_begin(text)),
            deadline: DeadlineLine::parse(&status.scheduling_info.to_string()),
            url: text(|profile| &profile.url),
        }
    }
}

impl JobLine {
    /// Why nothing of it starts, where the JobTracker says so.
    pub(crate) fn why_it_waits(&self) -> Option<&String> {
        self.held.as_ref().or(self.cannot_run.as_ref()).or(self.may_not_begin.as_ref())
    }

    /// How late it ended, if it had a deadline and missed it.
    pub(crate) fn late_by(&self) -> Option<String> {
        let late_s = self.deadline.as_ref().filter(|_| self.state.is_finished())?.left_s.strip_prefix('-')?;
        Some(format!("late by {late_s} s"))
    }

    /// The last task that failed of a job that lost too many, and how many of its kind failed, in the words of 1.2.1
    /// `JobInProgress.failedTask`.
    pub(crate) fn last_failed_task(&self) -> Option<(TaskId, u32)> {
        let (_, text) = self.failure.as_ref().or(self.ending.as_ref())?.split_once("FailedCount: ")?;
        let (count, task) = text.split_once(". LastFailedTask: ")?;
        Some((task.trim().parse().ok()?, count.parse().ok()?))
    }

    /// The tasks of a kind: those that failed, which Hadoop reports as killed, apart from those that were stopped when the job ended.
    pub(crate) fn tally_at_end(&self, kind: Kind, tally: TaskTally) -> TaskTally {
        match self.state {
            // All that has not finished is stopped with it.
            JobState::Prep | JobState::Running if self.ending.is_none() => {
                TaskTally { failed: tally.failed.saturating_add(tally.stopped), stopped: 0, ..tally }
            }
            JobState::Prep | JobState::Running | JobState::Failed | JobState::Killed => {
                let failed = self.last_failed_task().filter(|(task, _)| task.kind == kind);
                tally.at_end(failed.map_or(0, |(_, count)| count))
            }
            JobState::Succeeded => {
                TaskTally { failed: tally.failed.saturating_add(tally.stopped), stopped: 0, ..tally }
            }
        }
    }
}

/// Converts Hadoop's progress, 0 to 1, to percent.
fn percent(progress: f32) -> u32 {
    // NaN becomes 0.
    (progress.clamp(0.0, 1.0) * 100.0) as u32
}

impl JobEvent {
    pub(super) fn of(event: &TaskCompletionEvent) -> Self {
        Self {
            number: event.event_id,
            attempt: event.attempt,
            task: event.task(),
            status: event.status.name(),
            tracker: event.tracker_http.0.clone().unwrap_or_default(),
            run_time_ms: event.run_time_ms,
        }
    }

    /// One that has not ended, which has no completion event. `task`: as `/scheduler/tasks` calls it.
    pub(crate) fn running(attempt: AttemptId, task: &str, tracker: String) -> Self {
        let task = match task {
            "map" => "map",
            "reduce" => "reduce",
            _ => "setup or cleanup",
        };
        Self { number: -1, attempt, task, status: "RUNNING", tracker, run_time_ms: 0 }
    }

    pub(crate) fn has_failed(&self) -> bool {
        let status = CompletionStatus::from_name(self.status);
        matches!(status, Some(CompletionStatus::Failed | CompletionStatus::TipFailed))
    }

    /// Whether it was ended because its job did, as the built-in worker says, and did not fail; Hadoop counts its task as failed
    /// nevertheless.
    pub(crate) fn was_stopped(diagnostics: &[String]) -> bool {
        !diagnostics.is_empty() && diagnostics.iter().all(|text| text.trim() == STOPPED)
    }

    pub(crate) fn log_address(&self) -> String {
        format!("{}/tasklog?attemptid={}&all=true", self.tracker, self.attempt)
    }
}

impl JobCounter {
    /// Whether the framework counts it, not the job's own code.
    pub(crate) fn is_of_framework(&self) -> bool {
        self.group_id.starts_with(FRAMEWORK_GROUPS) || self.group_id == FILE_SYSTEM_GROUP
    }

    /// All counters, by group and name.
    pub(super) fn all_of(counters: &Counters) -> Vec<Self> {
        let mut lines: Vec<_> = counters
            .groups
            .iter()
            .flat_map(|group| {
                group.counters.iter().map(|counter| Self {
                    group: group.display_name.trim().to_owned(),
                    group_id: group.name.to_string(),
                    id: counter.name.to_string(),
                    name: counter.display_name.as_ref().unwrap_or(&counter.name).to_string(),
                    value: counter.value,
                    tasks: None,
                })
            })
            .collect();
        lines.sort_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
        lines
    }
}

#[cfg(test)]
impl JobLine {
    pub(crate) fn example() -> Self {
        Self {
            job: "job_202611211200_0001".parse().unwrap(),
            state: JobState::Running,
            name: "word count".into(),
            user: "alice".into(),
            queue: "alice".into(),
            priority: "NORMAL",
            started_ms: 1_700_000_000_000,
            map_percent: Some(66),
            reduce_percent: Some(0),
            failure: None,
            killed_by: None,
            held: None,
            ending: None,
            cannot_run: None,
            may_not_begin: None,
            deadline: None,
            url: String::new(),
        }
    }
}

impl TaskTally {
    /// Tasks that are finished, percent; 100 if there are none.
    pub(crate) fn finished_percent(&self) -> u32 {
        let percent = (u64::from(self.finished) * 100).checked_div(self.total.into()).unwrap_or(100);
        u32::try_from(percent).unwrap_or(100)
    }

    pub(super) fn of(reports: &[TaskReport]) -> Self {
        let mut tally = Self::default();
        for report in reports {
            tally.total += 1;
            let place = match report.status {
                TipStatus::Pending => &mut tally.pending,
                TipStatus::Running(_) => &mut tally.running,
                TipStatus::Complete(_) => &mut tally.finished,
                TipStatus::Failed => &mut tally.failed,
                TipStatus::Killed => &mut tally.stopped,
            };
            *place += 1;
        }
        tally
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DeadlineLine {
    /// Seconds after the submission, with one decimal.
    pub(crate) after_s: String,
    /// Seconds left, with one decimal; negative when it has passed.
    pub(crate) left_s: String,
    /// `ON_TIME`, `AT_RISK` or `LATE`.
    pub(crate) state: String,
    /// Its slots, and when its reduces must start.
    pub(crate) plan: String,
}

impl DeadlineLine {
    /// Reads `Deadline 600.0 s (left 412.5 s, ON_TIME). PLAN`; none: the job has no deadline that the ruling scheduler keeps.
    pub(super) fn parse(scheduling_information: &str) -> Option<Self> {
        let (after, rest) = scheduling_information.strip_prefix("Deadline ")?.split_once(" s (left ")?;
        let (left, rest) = rest.split_once(" s, ")?;
        let (state, plan) = rest.split_once("). ")?;
        let [after_s, left_s, state, plan] = [after, left, state, plan].map(str::to_owned);
        Some(Self { after_s, left_s, state, plan })
    }

    /// When its first map is planned to start, a time of the day with its zone, where slots are promised to it from later on.
    pub(crate) fn planned_start(&self) -> Option<&str> {
        let (_, from) = self.plan.split_once(" minimum from ")?;
        from.split_once(". Reduces ").map(|(start, _)| start)
    }
}

#[cfg(test)]
impl DeadlineLine {
    pub(crate) fn example() -> Self {
        let text = "Deadline 600.0 s (left 412.5 s, ON_TIME). Maps 6/6 minimum. Reduces 0/6 minimum. Reduce start limit 331.9 s.";
        Self::parse(text).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_percentage_whatever_comes() {
        let percents = [0.0, 0.999, 1.0, 7.0, -1.0, f32::NAN].map(percent);
        assert_eq!(percents, [0, 99, 100, 100, 0, 0]);
    }

    #[test]
    fn only_an_attempt_that_was_asked_to_end_was_stopped() {
        let stopped =
            |texts: &[&str]| JobEvent::was_stopped(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            [&["killed on request\n"][..], &["killed on request", "broken pipe"], &[]].map(stopped),
            [true, false, false]
        );
    }

    #[test]
    fn tasks_of_a_failed_job_failed_or_were_stopped() {
        let mut job = JobLine::example();
        let tally = TaskTally { total: 5, finished: 1, running: 2, stopped: 2, ..TaskTally::default() };
        let lost = TaskTally { failed: 2, stopped: 0, ..tally };
        assert_eq!(job.tally_at_end(Kind::Map, tally), lost, "beyond its attempts, within the failures allowed");
        job.ending = Some("Job job_202611211200_0001 was killed by alice".to_owned());
        let stopped = TaskTally { running: 0, failed: 0, stopped: 4, ..tally };
        assert_eq!(job.tally_at_end(Kind::Map, tally), stopped, "what waits when the job is killed did not fail");
        job.state = JobState::Failed;
        let task = "task_202611211200_0001_m_000004";
        let text = format!("# of failed Map Tasks exceeded allowed limit. FailedCount: 1. LastFailedTask: {task}");
        job.failure = Some(text);
        assert_eq!(job.last_failed_task(), Some((task.parse().unwrap(), 1)));
        let at_end = |kind| {
            let TaskTally { running, failed, stopped, .. } = job.tally_at_end(kind, tally);
            [running, failed, stopped]
        };
        assert_eq!([Kind::Map, Kind::Reduce].map(at_end), [[0, 1, 3], [0, 0, 4]]);
    }

    #[test]
    fn what_is_no_deadline_is_left_alone() {
        let text = "Deadline 600.0 s (left -1.5 s, LATE). Maps 6/6 minimum.";
        let line = DeadlineLine::parse(text).unwrap();
        let DeadlineLine { after_s, left_s, state, plan } = &line;
        assert_eq!([&**after_s, left_s, state, plan], ["600.0", "-1.5", "LATE", "Maps 6/6 minimum."]);
        assert_eq!(line.planned_start(), None);
        let plan = "Maps 0/6 minimum from 09:30:00 UTC. Reduces 0/6 minimum. Reduce start limit 331.9 s.";
        let line = DeadlineLine { plan: plan.to_owned(), ..line };
        assert_eq!(line.planned_start(), Some("09:30:00 UTC"));
        for text in ["", "NA", "Deadline", "Deadline 5 s (left", "Deadline 5 s (left 4 s, ON_TIME)"] {
            assert_eq!(DeadlineLine::parse(text), None, "{text}");
        }
    }
}
