//! Progress of a job: bars on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::cli::terminal::{print, print_error, visible};
use crate::client::job::view::{AttemptLine, JobState, TaskTally};
use crate::client::job::watch::{JobProgress, JobUpdate};

/// Minimum time between lines.
const LINE_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of lines of a failed attempt's diagnostics.
const MOST_LINES: usize = 5;

/// Progress output.
pub(super) struct Progress {
    form: ProgressForm,
    /// Events of failures up to this number have been reported.
    reported_failures: i32,
}

enum ProgressForm {
    Bars { all: MultiProgress, map: ProgressBar, reduce: ProgressBar },
    Lines { last: String, next: Option<Instant>, to_stderr: bool },
}

// === impl Progress ===

impl Progress {
    /// Bars if stdout is a terminal, else lines: on stdout, or on stderr if stdout is for JSON.
    pub(super) fn new(is_for_machine: bool) -> Self {
        let lines = ProgressForm::Lines { last: String::new(), next: None, to_stderr: is_for_machine };
        let form = if !is_for_machine && std::io::stdout().is_terminal() { bars() } else { lines };
        Self { form, reported_failures: -1 }
    }

    /// Shows an update.
    pub(super) fn report(&mut self, news: JobUpdate) {
        match news {
            JobUpdate::Progress(progress) => self.show(&progress),
            JobUpdate::Failure(attempt, diagnostics) => {
                if attempt.number > self.reported_failures {
                    self.reported_failures = attempt.number;
                    self.print(&render_failure(&attempt, &diagnostics));
                }
            }
            JobUpdate::Disconnected(reason) => {
                self.print(&format!("{reason}; the job continues, waiting for the JobTracker"))
            }
            JobUpdate::Reconnected => self.print("the JobTracker answers again"),
        }
    }

    /// Prints a text above the progress.
    pub(super) fn print(&mut self, text: &str) {
        match &mut self.form {
            // On a closed terminal the text is lost.
            ProgressForm::Bars { all, .. } => drop(all.println(visible(text))),
            ProgressForm::Lines { to_stderr, .. } => line(text, *to_stderr),
        }
    }

    /// Ends the output.
    pub(super) fn end(&mut self) {
        if let ProgressForm::Bars { map, reduce, .. } = &self.form {
            map.abandon();
            reduce.abandon();
        }
    }

    fn show(&mut self, progress: &JobProgress) {
        match &mut self.form {
            ProgressForm::Bars { map, reduce, .. } => {
                // Values of the whole job are shown beside the last bar.
                let whole = render_job(progress);
                for (bar, tally, more) in [(map, &progress.map, ""), (reduce, &progress.reduce, whole.as_str())] {
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
    let TaskTally { running, pending, failed, .. } = tally;
    let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
    format!("{running} running, {pending} waiting{failed}")
}

fn render_line(progress: &JobProgress) -> String {
    let JobProgress { job, map, reduce, .. } = progress;
    if job.state == JobState::Prep {
        return format!("{} setup is running", job.job);
    }
    let kind = |what: &str, percent: u32, tally: &TaskTally| {
        format!("{what} {percent}% ({} of {} done, {})", tally.finished, tally.total, render_tally(tally))
    };
    kind("maps", job.map_percent, map) + ", " + &kind("reduces", job.reduce_percent, reduce) + &render_job(progress)
}

/// Values of the whole job.
fn render_job(JobProgress { failed_attempts, cost, .. }: &JobProgress) -> String {
    let failed = if *failed_attempts > 0 { format!(", failed attempts {failed_attempts}") } else { String::new() };
    failed + &cost.as_ref().map(|cost| format!(", cost {cost}")).unwrap_or_default()
}

fn render_failure(attempt: &AttemptLine, diagnostics: &[String]) -> String {
    let mut text = format!("{} {} on {}", attempt.attempt, attempt.status, attempt.tracker);
    // Java stack traces are left to the log.
    let is_shown = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("at ");
    for line in diagnostics.iter().flat_map(|text| text.lines()).filter(is_shown).take(MOST_LINES) {
        text += &format!("\n  {line}");
    }
    text + &format!("\n  log: {}", attempt.log_address())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::job::view::JobLine;

    #[test]
    fn lines_show_what_bars_show() {
        let job = JobLine::example();
        let map = TaskTally { total: 4, finished: 2, running: 1, failed: 1, ..TaskTally::default() };
        let reduce = TaskTally { total: 1, pending: 1, ..TaskTally::default() };
        let mut progress = JobProgress { job, map, reduce, failed_attempts: 1, cost: Some("0.5".into()) };
        insta::assert_snapshot!(render_line(&progress), @"maps 66% (2 of 4 done, 1 running, 0 waiting, 1 failed), reduces 0% (0 of 1 done, 0 running, 1 waiting), failed attempts 1, cost 0.5");
        progress.job.state = JobState::Prep;
        insta::assert_snapshot!(render_line(&progress), @"job_202611211200_0001 setup is running");
    }

    #[test]
    fn a_failure_shows_the_address_of_its_log() {
        let attempt = AttemptLine {
            number: 3,
            attempt: "attempt_202611211200_0001_m_000000_0".parse().unwrap(),
            task: "map",
            status: "FAILED",
            tracker: "http://worker-1:50060".into(),
            run_time_ms: 0,
        };
        let text = render_failure(&attempt, &["one\n\ntwo".to_owned(), "3\n\tat a.B.c(B.java:1)\n4\n5\n6".to_owned()]);
        insta::assert_snapshot!(text, @r"
        attempt_202611211200_0001_m_000000_0 FAILED on http://worker-1:50060
          one
          two
          3
          4
          5
          log: http://worker-1:50060/tasklog?attemptid=attempt_202611211200_0001_m_000000_0&all=true
        ");
    }
}
