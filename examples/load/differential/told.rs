//! What a JobTracker tells trackers and clients, as lines that can be compared.

use std::collections::BTreeSet;

use jobtracker::model::{AttemptId, RunState};
use jobtracker::wire::protocol::{JobSubmissionCall, Value};
use jobtracker::wire::{Action, CompletionStatus, HeartbeatResponse, SkipRanges, Task, TaskReport, TipStatus};

use super::side::Side;

/// The answer to a heartbeat: launches in their order; kills, ended jobs and commits, whose order means nothing, by id.
pub fn answer(answer: &HeartbeatResponse) -> Vec<String> {
    let mut lines = vec![format!("response {}", answer.response_id)];
    let mut others = Vec::new();
    for action in &answer.actions {
        match action {
            Action::LaunchTask(task) => lines.push(launch(task)),
            Action::KillTask(attempt) => others.push(format!("kill {attempt}")),
            Action::KillJob(job) => others.push(format!("over {job}")),
            Action::CommitTask(attempt) => others.push(format!("commit {attempt}")),
            Action::ReinitTracker => lines.push("reinit".to_owned()),
        }
    }
    others.sort();
    lines.extend(others);
    lines
}

fn launch(task: &Task) -> String {
    let mut line = format!("launch {} {:?}", task.status.attempt, task.status.state);
    if task.job_setup {
        line.push_str(" setup");
    }
    if let Some(outcome) = task.job_cleanup {
        line.push_str(&format!(" cleanup {outcome:?}"));
    }
    if task.task_cleanup {
        line.push_str(" task-cleanup");
    }
    if task.partition != task.status.attempt.task.number || task.num_slots != 1 {
        line.push_str(&format!(" partition {} slots {}", task.partition, task.num_slots));
    }
    if task.skipping || task.skip_ranges != SkipRanges::default() {
        line.push_str(" skipping");
    }
    line
}

/// What a client sees of a job at any time. Events of the end of `asked` attempts are left out: of one that a user asked to
/// end Java may tell what the tracker said, and of one that waits for its task-cleanup when its job ends, nothing. Its
/// progress of maps is not to be had once it `is_stale`.
pub async fn job(
    side: &mut Side,
    place: usize,
    asked: &BTreeSet<AttemptId>,
    is_stale: bool,
) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    if let Value::JobStatus(Some(status)) = side.ask(place, |job| JobSubmissionCall::GetJobStatus { job }).await? {
        let mut progress =
            [status.setup_progress, status.map_progress, status.reduce_progress, status.cleanup_progress];
        if is_stale {
            progress[1] = 0.0;
        }
        lines.push(format!("job {place}: {:?} {:?} {}", status.run_state, status.priority, percents(&progress)));
        // Ours says who killed a job, Java does not.
        if status.run_state == RunState::Failed {
            lines.push(format!("job {place}: {}", side.text_of_script(&status.failure_info.0)));
        }
    }
    let events = |job| JobSubmissionCall::GetTaskCompletionEvents { job, from: 0, max: 10_000 };
    if let Value::CompletionEvents(events) = side.ask(place, events).await? {
        lines.extend(events.iter().filter_map(|event| {
            let attempt = side.attempt_of_script(event.attempt);
            let kind = if event.is_map { " map" } else { "" };
            // Reduces fetch from where a map succeeded; of other attempts Java tells whichever tracker has that name now.
            let is_read = matches!(event.status, CompletionStatus::Succeeded | CompletionStatus::Obsolete);
            let http = event.tracker_http.0.as_deref().filter(|_| is_read).unwrap_or_default();
            if !is_read && asked.contains(&attempt) {
                return None;
            }
            let (status, index) = (event.status, event.id_within_job);
            Some(format!("job {place}: event {attempt} #{index}{kind} {status:?} {http} {} ms", event.run_time_ms))
        }));
    }
    Ok(lines)
}

/// What a client sees of a job's tasks and counters. Times on the JobTracker's clock are not compared, and neither is
/// what they went into: `is_clocked` when a part of the slots' time did.
pub async fn tasks(side: &mut Side, place: usize, is_clocked: bool, is_stale: bool) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let status = side.ask(place, |job| JobSubmissionCall::GetJobStatus { job }).await?;
    let runs = |state| matches!(state, RunState::Prep | RunState::Running);
    let is_over = matches!(status, Value::JobStatus(Some(status)) if !runs(status.run_state));
    let calls: [fn(_) -> JobSubmissionCall; 4] = [
        |job| JobSubmissionCall::GetSetupTaskReports { job },
        |job| JobSubmissionCall::GetMapTaskReports { job },
        |job| JobSubmissionCall::GetReduceTaskReports { job },
        |job| JobSubmissionCall::GetCleanupTaskReports { job },
    ];
    for call in calls {
        if let Value::TaskReports(reports) = side.ask(place, call).await? {
            lines.extend(reports.iter().map(|report| task(side, report, is_over, is_stale)));
        }
    }
    if let Value::Counters(Some(counters)) = side.ask(place, |job| JobSubmissionCall::GetJobCounters { job }).await? {
        let mut values = Vec::new();
        for group in &counters.groups {
            let group_name = group.name.0.rsplit('.').next().unwrap_or_default();
            for counter in group.counters.iter().filter(|counter| counter.value != 0) {
                let is_clocked = is_clocked && counter.name.0.starts_with("SLOTS_MILLIS");
                let is_stale = is_stale && group_name == "words";
                if !is_clocked && !is_stale {
                    values.push(format!("job {place}: {group_name} {} = {}", counter.name.0, counter.value));
                }
            }
        }
        values.sort();
        lines.extend(values);
    }
    Ok(lines)
}

fn task(side: &Side, report: &TaskReport, is_over: bool, is_stale: bool) -> String {
    // What shows of a map that lost its output: see [`job`].
    let is_stale = is_stale && report.task.kind.is_map() && !matches!(report.status, TipStatus::Complete(_));
    let status = match &report.status {
        // Java shows attempts that were under way when their job ended as running for ever.
        TipStatus::Running(_) if is_over => "Killed".to_owned(),
        TipStatus::Running(attempts) => {
            let mut attempts: Vec<String> =
                attempts.iter().map(|attempt| side.attempt_of_script(*attempt).to_string()).collect();
            attempts.sort();
            format!("Running {}", attempts.join(" "))
        }
        TipStatus::Complete(attempt) => format!("Complete by {}", side.attempt_of_script(*attempt)),
        other => format!("{other:?}"),
    };
    let task = side.attempt_of_script(report.task.attempt(0)).task;
    let diagnostics: Vec<String> =
        report.diagnostics.iter().map(|text| side.text_of_script(text.0.as_deref().unwrap_or("null"))).collect();
    if is_stale {
        return format!("{task}: {status} {diagnostics:?}");
    }
    let counters: i64 =
        report.counters.groups.iter().flat_map(|group| &group.counters).map(|counter| counter.value).sum();
    format!(
        "{task}: {status} {} `{}` {diagnostics:?} counts {counters}",
        percents(&[report.progress]),
        report.state_text.0
    )
}

/// Progress in whole percents; a little more, so that sums in another order come to the same.
fn percents(progress: &[f32]) -> String {
    let one = |progress: &f32| format!("{:.0}%", (progress + 1e-4) * 100.0);
    progress.iter().map(one).collect::<Vec<_>>().join(" ")
}
