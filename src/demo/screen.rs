//! Output of a demo: lines, and on a terminal a live table and bars below them. Elsewhere no control character is written.

use std::io::{IsTerminal, Write};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::market_table::{MarketTable, header};
use super::scratch::BIDDERS;

pub(super) struct Screen {
    live: Option<Live>,
    /// The tick of the last line of the table.
    last_tick: Option<u64>,
}

struct Live {
    all: MultiProgress,
    table: [ProgressBar; 3],
    jobs: [ProgressBar; 2],
}

impl Screen {
    /// Live on a terminal.
    pub(super) fn of_stdout() -> Self {
        let live = std::io::stdout().is_terminal().then(Live::new).flatten();
        Self { live, last_tick: None }
    }

    pub(super) fn say(&mut self, text: &str) {
        match &self.live {
            // A closed terminal loses it.
            Some(live) => drop(live.all.println(text)),
            // A reader such as `head` may have closed the pipe.
            None => drop(writeln!(std::io::stdout(), "{text}")),
        }
    }

    /// Prints a line for each new tick, from 1 on, and redraws the live part.
    pub(super) fn show(&mut self, table: &MarketTable) {
        if table.tick > 0 && self.last_tick != Some(table.tick) {
            if self.last_tick.is_none() {
                self.say(&header());
            }
            self.last_tick = Some(table.tick);
            self.say(&table.row());
        }
        if let Some(live) = &self.live {
            live.show(table);
        }
    }

    /// Removes the live part.
    pub(super) fn end(&mut self) {
        if let Some(live) = self.live.take() {
            live.jobs.iter().chain(&live.table).for_each(ProgressBar::finish_and_clear);
            // Also what was drawn last.
            let _ = live.all.clear();
        }
    }
}

impl Live {
    /// None if the terminal cannot draw.
    fn new() -> Option<Self> {
        let target = ProgressDrawTarget::stdout();
        if target.is_hidden() {
            return None;
        }
        let all = MultiProgress::with_draw_target(target);
        let style = |template: &str, otherwise: fn() -> ProgressStyle| {
            ProgressStyle::with_template(template).unwrap_or_else(|_| otherwise()).progress_chars("=> ")
        };
        let line = style("{msg}", ProgressStyle::default_spinner);
        let table = std::array::from_fn(|_| all.add(ProgressBar::new(0).with_style(line.clone())));
        let bar = style("{prefix:<6}[{bar:20}] {pos}/{len} maps, {msg}", ProgressStyle::default_bar);
        let jobs = BIDDERS.map(|bidder| {
            let bar = ProgressBar::new(0).with_style(bar.clone()).with_prefix(bidder.name);
            all.add(bar.with_message("not yet submitted"))
        });
        Some(Self { all, table, jobs })
    }

    fn show(&self, table: &MarketTable) {
        for (bar, text) in self.table.iter().zip(table.live_lines()) {
            bar.set_message(text);
        }
        for (bar, job) in self.jobs.iter().zip(&table.jobs) {
            if let Some(job) = job {
                bar.set_length(job.map.total.into());
                bar.set_position(job.map.finished.into());
                bar.set_message(job.bar_text());
            }
        }
    }
}
