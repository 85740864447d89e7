//! Progress of many items on stderr: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::api::applications::ApplicationReport;
use crate::cli::app::waiting_text;
use crate::cli::terminal::print_error;
use crate::client::applications::count_items;

/// Minimum time between lines.
const LINE_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct ItemProgress {
    count: u64,
    form: ItemProgressForm,
    /// Why nothing runs, as it was said last.
    waiting: String,
}

enum ItemProgressForm {
    Bar(ProgressBar),
    Lines { last: String, next: Option<Instant> },
}

impl ItemProgress {
    pub(super) fn new(count: u64) -> Self {
        let lines = ItemProgressForm::Lines { last: String::new(), next: None };
        let form = if std::io::stderr().is_terminal() { ItemProgressForm::Bar(bar()) } else { lines };
        Self { count, form, waiting: String::new() }
    }

    /// Shows a report.
    pub(super) fn show(&mut self, report: &ApplicationReport) {
        let (done, count) = (done(report, self.count), self.count);
        let waiting = waiting_line(report);
        match &mut self.form {
            ItemProgressForm::Bar(bar) => {
                bar.set_length(count);
                bar.set_position(done);
                bar.set_message(render_rest(report));
                if waiting != self.waiting && !waiting.is_empty() {
                    bar.println(&waiting);
                }
            }
            ItemProgressForm::Lines { last, next } => {
                let text = format!("{done} of {count} done, {}", render_rest(report));
                let is_due = next.is_none_or(|next| Instant::now() >= next) || report.state.is_over();
                if text != *last && is_due {
                    print_error(&text);
                    *last = text;
                    *next = Some(Instant::now() + LINE_PAUSE);
                }
                if waiting != self.waiting && !waiting.is_empty() {
                    print_error(&waiting);
                }
            }
        }
        self.waiting = waiting;
    }

    /// Leaves what is shown last on the terminal.
    pub(super) fn end(&self) {
        if let ItemProgressForm::Bar(bar) = &self.form {
            bar.abandon();
        }
    }
}

/// Items that have ended: what neither waits nor runs. One that failed and waits again has not.
fn done(report: &ApplicationReport, count: u64) -> u64 {
    count.saturating_sub(report.pending_containers).saturating_sub(report.running_containers)
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("items   [{bar:24}] {pos} of {len} done, {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()).with_style(style)
}

fn render_rest(report: &ApplicationReport) -> String {
    let ApplicationReport { running_containers, pending_containers, failed_containers, failed_items, .. } = report;
    let mut text = format!("{running_containers} running, {pending_containers} waiting");
    if let Some(failed) = count_items(failed_items) {
        text += &format!(", {failed} failed");
    }
    if *failed_containers > 0 {
        text += &format!(", failed attempts {failed_containers}");
    }
    if let Some(cost) = report.cost {
        text += &format!(", cost {cost}");
    }
    text
}

/// Why nothing runs; empty if something does.
fn waiting_line(report: &ApplicationReport) -> String {
    let waits = report.running_containers == 0 && !report.state.is_over();
    if let Some(why) = report.cannot_run.as_ref().filter(|_| waits) {
        return format!("{} waits: {why}", report.id);
    }
    let why = report.why.first().filter(|_| waits);
    why.map(|why| format!("{} waits: {}", report.id, waiting_text(why))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::applications::tests::example_application;

    #[test]
    fn what_neither_waits_nor_runs_is_done() {
        let mut report = ApplicationReport {
            pending_containers: 900,
            running_containers: 64,
            completed_containers: 40,
            failed_containers: 5,
            failed_items: "7,19".to_owned(),
            ..example_application()
        };
        assert_eq!((done(&report, 1_000), done(&report, 10)), (36, 0));
        assert_eq!(render_rest(&report), "64 running, 900 waiting, 2 failed, failed attempts 5");
        (report.failed_containers, report.failed_items) = (0, String::new());
        report.cost = Some("0.5".parse().unwrap());
        assert_eq!(render_rest(&report), "64 running, 900 waiting, cost 0.5");
    }
}
