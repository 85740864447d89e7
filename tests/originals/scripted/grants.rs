//! Answers as short texts.
//!
//! A submission is `y`, or `n` if it is refused. A heartbeat is what it launches in this order, then the attempts it kills,
//! joined by `,`; `-` is nothing. `2m5` is map 5 of job 2, counted from 1, `2r0` a reduce, `2s` and `2c` the job's setup and
//! cleanup; `2m5.1` is a second attempt, `2m5*3` one that takes three slots, `!2m5` a kill.

use jobtracker::model::{AttemptId, Kind};
use jobtracker::wire::{Action, HeartbeatResponse, Task};

/// The text of a submission.
pub(super) fn of_submission(is_accepted: bool) -> String {
    if is_accepted { "y" } else { "n" }.to_owned()
}

/// The text of an answer to a tracker; kills count of what it runs only, since the originals repeat others.
pub(super) fn of_answer(answer: &HeartbeatResponse, runs: impl Fn(AttemptId) -> bool) -> String {
    let mut launches = Vec::new();
    let mut kills = Vec::new();
    for action in &answer.actions {
        match action {
            Action::LaunchTask(task) => launches.push(launch(task)),
            Action::KillTask(id) if runs(*id) => kills.push(format!("!{}", attempt(*id))),
            Action::ReinitTracker => launches.push("reinit".to_owned()),
            _ => {}
        }
    }
    kills.sort();
    launches.append(&mut kills);
    if launches.is_empty() { "-".to_owned() } else { launches.join(",") }
}

/// How many tasks an answer launches.
pub(super) fn launches(answer: &HeartbeatResponse) -> usize {
    answer.actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count()
}

fn launch(task: &Task) -> String {
    let id = task.status.attempt;
    let mut text = match () {
        () if task.job_setup => format!("{}s", id.task.job.number),
        () if task.job_cleanup.is_some() => format!("{}c", id.task.job.number),
        () => attempt(id),
    };
    if task.num_slots != 1 {
        text.push_str(&format!("*{}", task.num_slots));
    }
    text
}

fn attempt(id: AttemptId) -> String {
    let kind = match id.task.kind {
        Kind::Map => 'm',
        Kind::Reduce => 'r',
    };
    let attempt = if id.number == 0 { String::new() } else { format!(".{}", id.number) };
    format!("{}{kind}{}{attempt}", id.task.job.number, id.task.number)
}
