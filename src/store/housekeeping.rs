//! When old detail is folded and thinned: once a day, in small steps, at idle moments and now and then between commits.
//!
//! The last tick's time is the clock, so the same facts always fold alike.

use rusqlite::Connection;

use crate::engine::Fact;
use crate::market::MarketFact;

use super::folding::fold_some;
use super::thinning::thin_some;

/// Rows of one step: some milliseconds for which replies may have to wait.
const STEP_ROWS: usize = 250;
/// Commits after which a step is made although there was no idle moment.
const COMMITS_BEFORE_STEP: u32 = 16;
const DAY_MS: i64 = 86_400_000;

/// Whether there is something to do, as far as is known.
#[derive(Debug)]
pub(super) struct Housekeeping {
    detail_days: u32,
    is_due: bool,
    /// The day of the last tick heard of, counted from the epoch.
    day: Option<i64>,
    commits: u32,
}

// === impl Housekeeping ===

impl Housekeeping {
    /// It is due at a start: the last one may have been cut short.
    pub(super) fn new(detail_days: u32) -> Self {
        Self { detail_days, is_due: true, day: None, commits: 0 }
    }

    /// Hears of facts that are durable now.
    pub(super) fn hear(&mut self, facts: &[Fact]) {
        for fact in facts {
            let Fact::Market(MarketFact::Tick(tick)) = fact else { continue };
            let day = Some(tick.wall_ms.div_euclid(DAY_MS));
            self.is_due |= day != self.day;
            self.day = day;
        }
    }

    /// Whether an idle moment is welcome.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether a step should be made after this commit, idle moment or not.
    pub(super) fn is_overdue(&mut self) -> bool {
        self.commits = if self.is_due { self.commits + 1 } else { 0 };
        self.commits >= COMMITS_BEFORE_STEP
    }

    /// One bounded step. What fails is left for the next day: nothing depends on it.
    pub(super) fn step(&mut self, database: &mut Connection) {
        self.commits = 0;
        let folded = fold_some(database, self.detail_days, STEP_ROWS);
        let done = folded.and_then(|has_more| Ok(thin_some(database, STEP_ROWS)? | has_more));
        self.is_due = done.unwrap_or_else(|error| {
            tracing::warn!("the ledger keeps its old detail for another day: {error}");
            false
        });
    }
}
