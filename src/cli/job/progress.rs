//! Progress of a job: bars on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::cli::pasted::pasted_place;
use crate::cli::terminal::{print, print_error, visible};
use crate::client::job::view::{JobState, TaskTally};
use crate::client::job::watch::{JobProgress, JobUpdate};

use super::failures::AttemptFailures;
use super::times::render_cost;

/// Minimum time between lines.
const LINE_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct ProgressDisplay {
    form: ProgressForm,
    failures: AttemptFailures,
}

enum ProgressForm {
    Bars { all: MultiProgress, map: ProgressBar, reduce: ProgressBar },
    Lines { last: String, next: Option<Instant>, to_stderr: bool },
}

/// Said once while no worker is connected and nothing of the job runs.
pub(super) fn no_worker() -> String {
    format!("no worker is connected; the job waits for one: start `{}`", pasted_place("jobtracker tasktracker"))
}

impl ProgressDisplay {
    /// Bars if stdout is a terminal, else lines: on stdout, or on stderr if stdout is for JSON.
    pub(super) fn new(is_for_machine: bool) -> Self {
        let lines = ProgressForm::Lines { last: String::new(), next: None, to_stderr: is_for_machine };
        let form = if !is_for_machine && std::io::stdout().is_terminal() { bars() } else { lines };
        Self { form, failures: AttemptFailures::default() }
    }

    pub(super) fn report(&mut self, news: JobUpdate) {
        match news {
            JobUpdate::Progress(progress) => self.show(&progress),
            JobUpdate::Failure(attempt, diagnostics) => {
                if let Some(text) = self.failures.add(&attempt, &diagnostics) {
                    self.print(&text);
                }
            }
            JobUpdate::Disconnected(reason) => {
                self.print(&format!("{reason}; the job continues, waiting for the JobTracker"))
            }
            JobUpdate::Reconnected => self.print("the JobTracker answers again"),
            JobUpdate::NoWorker => self.print(&no_worker()),
            JobUpdate::CannotRun(why) | JobUpdate::Waits(why) => self.print(&why),
        }
    }

    pub(super) fn print(&mut self, text: &str) {
        match &mut self.form {
            // On a closed terminal the text is lost.
            ProgressForm::Bars { all, .. } => drop(all.println(visible(text))),
            ProgressForm::Lines { to_stderr, .. } => line(text, *to_stderr),
        }
    }

    pub(super) fn end(mut self) -> AttemptFailures {
        let rest = self.failures.render_rest();
        if !rest.is_empty() {
            self.print(rest.trim_end());
        }
        if let ProgressForm::Bars { map, reduce, .. } = &self.form {
            map.abandon();
            reduce.abandon();
        }
        self.failures
    }

    fn show(&mut self, progress: &JobProgress) {
        match &mut self.form {
            ProgressForm::Bars { all, map, reduce } => {
                // Values of the whole job are shown beside the last bar.
                let whole = render_job(progress);
                // A bar of nothing says nothing. Before the job has begun its tasks are not known.
                let has_reduces = progress.reduce.total > 0 || progress.job.state == JobState::Prep;
                if !has_reduces {
                    all.remove(reduce);
                }
                let (of_maps, of_reduces) = if has_reduces { ("", whole.as_str()) } else { (whole.as_str(), "") };
                let kinds = [(&*map, &progress.map, of_maps), (&*reduce, &progress.reduce, of_reduces)];
                for (bar, tally, more) in kinds.into_iter().take(if has_reduces { 2 } else { 1 }) {
                    bar.set_length(tally.total.into());
                    bar.set_position(tally.finished.into());
                    bar.set_message(visible(&(render_tally(tally) + more)).into_owned());
                }
            }
            ProgressForm::Lines { last, next, to_stderr } => {
                let text = render_line(progress);
                let is_due = next.is_none_or(|next| Instant::now() >= next) || progress.job.state.is_finished();
                if text != *last && is_due {
                    line(&text, *to_stderr);
                    *last = text;
                    *next = Some(Instant::now() + LINE_PAUSE);
                }
            }
        }
    }
}

fn bars() -> ProgressForm {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stdout());
    let style = ProgressStyle::with_template("{prefix:<8}[{bar:24}] {pos} of {len} done, {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    let bar = |name: &'static str| all.add(ProgressBar::new(0).with_style(style.clone()).with_prefix(name));
    let (map, reduce) = (bar("maps"), bar("reduces"));
    ProgressForm::Bars { all, map, reduce }
}

fn line(text: &str, to_stderr: bool) {
    if to_stderr {
        print_error(text);
    } else {
        // A closed stdout does not stop following the job.
        let _ = print(&format!("{text}\n"));
    }
}

fn render_tally(tally: &TaskTally) -> String {
    let TaskTally { running, pending, .. } = tally;
    format!("{running} running, {pending} waiting{}", render_lost(tally))
}

/// Tasks that failed, and those that were stopped with their job.
pub(super) fn render_lost(TaskTally { failed, stopped, .. }: &TaskTally) -> String {
    let count = |count: &u32, what: &str| if *count > 0 { format!(", {count} {what}") } else { String::new() };
    count(failed, "failed") + &count(stopped, "stopped")
}

fn render_line(progress: &JobProgress) -> String {
    let JobProgress { job, map, reduce, .. } = progress;
    if job.state == JobState::Prep {
        // Why was said above.
        let what = if job.cannot_run.is_some() { "waits for a worker that can run it" } else { "setup is running" };
        return format!("{} {what}", job.job);
    }
    let kind = |what: &str, percent: Option<u32>, tally: &TaskTally| {
        let percent = percent.unwrap_or_else(|| tally.finished_percent());
        format!("{what} {percent}% ({} of {} done, {})", tally.finished, tally.total, render_tally(tally))
    };
    let reduces = match reduce.total {
        0 => String::new(),
        _ => ", ".to_owned() + &kind("reduces", job.reduce_percent, reduce),
    };
    kind("maps", job.map_percent, map) + &reduces + &render_job(progress)
}

/// Values of the whole job.
fn render_job(JobProgress { failed_attempts, cost, .. }: &JobProgress) -> String {
    let failed = if *failed_attempts > 0 { format!(", failed attempts {failed_attempts}") } else { String::new() };
    failed + &render_cost(cost).map(|cost| format!(", cost {cost}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::job::view::JobLine;
    use crate::client::job::watch::JobCostState;

    #[test]
    fn lines_show_what_bars_show() {
        let job = JobLine::example();
        let map = TaskTally { total: 4, finished: 2, running: 1, failed: 1, ..TaskTally::default() };
        let reduce = TaskTally { total: 1, pending: 1, ..TaskTally::default() };
        let mut progress =
            JobProgress { job, map, reduce, failed_attempts: 1, cost: JobCostState::UpToLastTick("0.5".into()) };
        insta::assert_snapshot!(render_line(&progress), @"maps 66% (2 of 4 done, 1 running, 0 waiting, 1 failed), reduces 0% (0 of 1 done, 0 running, 1 waiting), failed attempts 1, cost 0.5");
        (progress.job.state, progress.job.map_percent, progress.job.reduce_percent) = (JobState::Failed, None, None);
        progress.map = TaskTally { total: 4, finished: 1, failed: 1, stopped: 2, ..TaskTally::default() };
        progress.reduce = TaskTally::default();
        insta::assert_snapshot!(render_line(&progress), @"maps 25% (1 of 4 done, 0 running, 0 waiting, 1 failed, 2 stopped), failed attempts 1, cost 0.5");
        progress.job.state = JobState::Prep;
        insta::assert_snapshot!(render_line(&progress), @"job_202611211200_0001 setup is running");
        progress.job.cannot_run = Some("the only connected worker cannot run it: a.B".to_owned());
        insta::assert_snapshot!(render_line(&progress), @"job_202611211200_0001 waits for a worker that can run it");
    }
}
