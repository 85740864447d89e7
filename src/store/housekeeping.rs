//! When old detail is folded and thinned, and finished jobs are deleted: in small steps, at idle moments and now and then
//! between commits; the former once a day, the latter whenever jobs end.
//!
//! The last tick's time, or that of the last end of a job, is the clock, so the same facts always fold alike.

use rusqlite::Connection;

use crate::engine::Fact;
use crate::mapreduce::JobFact;
use crate::market::MarketFact;

use super::folding::fold_some;
use super::options::Retention;
use super::retention::{count_finished, delete_some};
use super::thinning::thin_some;

/// Rows of one step: some milliseconds for which replies may have to wait.
const STEP_ROWS: usize = 250;
/// Rows of jobs deleted in one step: they come faster than others, and go with less ado.
const STEP_JOB_ROWS: usize = 1000;
/// Commits after which a step is made although there was no idle moment.
const COMMITS_BEFORE_STEP: u32 = 16;
const DAY_MS: i64 = 86_400_000;

/// Whether there is something to do, as far as is known.
#[derive(Debug)]
pub(super) struct Housekeeping {
    detail_days: u32,
    retention: Retention,
    is_ledger_due: bool,
    are_jobs_due: bool,
    /// The day of the last tick heard of, counted from the epoch.
    tick_day: Option<i64>,
    /// The day of the last end of a job heard of.
    end_day: Option<i64>,
    /// Finished jobs on the disk, once they have been counted.
    finished: Option<u64>,
    commits: u32,
}

// === impl Housekeeping ===

impl Housekeeping {
    /// It is due at a start: the last one may have been cut short.
    pub(super) fn new(detail_days: u32, retention: Retention) -> Self {
        Self {
            detail_days,
            retention,
            is_ledger_due: true,
            are_jobs_due: true,
            tick_day: None,
            end_day: None,
            finished: None,
            commits: 0,
        }
    }

    /// Hears of facts that are durable now.
    pub(super) fn hear(&mut self, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Market(MarketFact::Tick(tick)) => {
                    let is_new_day = is_other_day(&mut self.tick_day, tick.wall_ms);
                    self.is_ledger_due |= is_new_day;
                    self.are_jobs_due |= is_new_day;
                }
                Fact::Job(JobFact::Ended { finish_ms, .. }) => {
                    self.are_jobs_due |= is_other_day(&mut self.end_day, *finish_ms);
                    self.finished = self.finished.map(|finished| finished + 1);
                    self.are_jobs_due |= self.finished.is_none_or(|finished| finished > self.retention.most());
                }
                _ => {}
            }
        }
    }

    /// Whether an idle moment is welcome.
    pub(super) fn is_due(&self) -> bool {
        self.is_ledger_due || self.are_jobs_due
    }

    /// Whether a step should be made after this commit, idle moment or not.
    pub(super) fn is_overdue(&mut self) -> bool {
        self.commits = if self.is_due() { self.commits + 1 } else { 0 };
        self.commits >= COMMITS_BEFORE_STEP
    }

    /// One bounded step. What fails is left for the next day, or the next end of a job: nothing depends on it.
    pub(super) fn step(&mut self, database: &mut Connection) {
        self.commits = 0;
        if self.is_ledger_due {
            let folded = fold_some(database, self.detail_days, STEP_ROWS);
            let done = folded.and_then(|has_more| Ok(thin_some(database, STEP_ROWS)? | has_more));
            self.is_ledger_due = done.unwrap_or_else(|error| {
                tracing::warn!("the ledger keeps its old detail for another day: {error}");
                false
            });
        }
        if self.are_jobs_due {
            self.are_jobs_due = self.delete_jobs(database).unwrap_or_else(|error| {
                tracing::warn!("finished jobs beyond the limit stay for now: {error}");
                false
            });
        }
    }

    /// Tells whether there may be more to delete.
    fn delete_jobs(&mut self, database: &mut Connection) -> rusqlite::Result<bool> {
        // After a failure they are counted anew: a commit can fail after it took place.
        let finished = match self.finished.take() {
            Some(finished) => finished,
            None => count_finished(database)?,
        };
        let deleted = delete_some(database, &self.retention, finished, STEP_JOB_ROWS)?;
        self.finished = Some(finished - deleted.jobs);
        Ok(deleted.has_more)
    }
}

/// Whether this moment is of another day than the one before it.
fn is_other_day(day: &mut Option<i64>, wall_ms: i64) -> bool {
    let of = Some(wall_ms.div_euclid(DAY_MS));
    day.replace(wall_ms.div_euclid(DAY_MS)) != of
}
