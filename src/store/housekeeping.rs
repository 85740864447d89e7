//! Schedules ledger compaction and tick pruning (once a day) and deletion of finished jobs (when jobs end): in small
//! steps, when the writer is idle and, at times, between commits.
//!
//! The clock is the time of the last tick or the last end of a job, so the same facts always give the same rows.

use rusqlite::Connection;

use crate::engine::{ApplicationChange, Fact};
use crate::mapreduce::JobFact;
use crate::market::MarketFact;

use super::ledger_compaction::compact_ledger;
use super::options::{DAY_MS, Retention};
use super::pruning::{prune_past, prune_ticks};
use super::retention::{count_finished, delete_applications, delete_some};
use super::tables::decisions::prune_decisions;

/// Rows of one step: a few milliseconds, which replies may have to wait.
const STEP_ROWS: usize = 250;
/// Rows of jobs deleted in one step: they grow faster than the others, and a deletion costs less.
const STEP_JOB_ROWS: usize = 1000;
/// Commits after which a step runs although the writer was never idle.
const COMMITS_BEFORE_STEP: u32 = 16;
/// Decisions after which old ones are looked for.
const DECISIONS_BEFORE_STEP: u32 = 1_000;

/// Which work may be due.
#[derive(Debug)]
pub(super) struct Housekeeping {
    detail_days: u32,
    retention: Retention,
    is_ledger_due: bool,
    are_jobs_due: bool,
    are_applications_due: bool,
    are_decisions_due: bool,
    /// Recorded since they were last pruned.
    decisions: u32,
    /// Day of the last tick recorded, from the epoch.
    tick_day: Option<i64>,
    /// Day of the last end of a job recorded.
    end_day: Option<i64>,
    /// Finished jobs in the database, once counted.
    finished: Option<u64>,
    commits: u32,
}

impl Housekeeping {
    /// All work is due at a start: the last run may have been interrupted.
    pub(super) fn new(detail_days: u32, retention: Retention) -> Self {
        Self {
            detail_days,
            retention,
            is_ledger_due: true,
            are_jobs_due: true,
            are_applications_due: true,
            are_decisions_due: true,
            decisions: 0,
            tick_day: None,
            end_day: None,
            finished: None,
            commits: 0,
        }
    }

    /// Updates what is due from facts that are durable now.
    pub(super) fn observe(&mut self, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Market(MarketFact::Tick(tick)) => {
                    let is_new_day = is_other_day(&mut self.tick_day, tick.wall_ms);
                    self.is_ledger_due |= is_new_day;
                    // Those that the tick has charged may be deleted now.
                    let are_too_many = self.finished.is_some_and(|finished| finished > self.retention.most());
                    self.are_jobs_due |= is_new_day || are_too_many;
                    self.are_applications_due |= is_new_day;
                }
                Fact::Job(JobFact::Ended { finish_ms, .. }) => {
                    let is_new_day = is_other_day(&mut self.end_day, *finish_ms);
                    self.are_jobs_due |= is_new_day;
                    self.are_applications_due |= is_new_day;
                    self.finished = self.finished.map(|finished| finished + 1);
                    self.are_jobs_due |= self.finished.is_none_or(|finished| finished > self.retention.most());
                }
                Fact::Applications(changes) => {
                    let ends = |change: &ApplicationChange| match change {
                        ApplicationChange::Stands { standing, .. } => standing.state.is_over(),
                        _ => false,
                    };
                    self.are_applications_due |= changes.iter().any(ends);
                }
                Fact::Decided(_) => {
                    self.decisions += 1;
                    self.are_decisions_due |= self.decisions >= DECISIONS_BEFORE_STEP;
                }
                _ => {}
            }
        }
    }

    /// Whether a step should run when the writer is idle.
    pub(super) fn is_due(&self) -> bool {
        self.is_ledger_due || self.are_jobs_due || self.are_applications_due || self.are_decisions_due
    }

    /// Whether a step should run after this commit, idle or not.
    pub(super) fn is_overdue(&mut self) -> bool {
        self.commits = if self.is_due() { self.commits + 1 } else { 0 };
        self.commits >= COMMITS_BEFORE_STEP
    }

    /// Runs one bounded step. After a failure the work waits for the next day or the next end of a job: nothing depends on it.
    pub(super) fn step(&mut self, database: &mut Connection) {
        self.commits = 0;
        if self.is_ledger_due {
            let folded = compact_ledger(database, self.detail_days, STEP_ROWS);
            let done = folded.and_then(|has_more| Ok(prune_ticks(database, STEP_ROWS)? | has_more));
            self.is_ledger_due = done.unwrap_or_else(|error| {
                tracing::warn!("cannot compact the ledger, next try in a day: {error}");
                false
            });
        }
        if self.are_jobs_due {
            let deleted = self.delete_jobs(database);
            let done = deleted.and_then(|has_more| Ok(prune_past(database, STEP_ROWS)? | has_more));
            self.are_jobs_due = done.unwrap_or_else(|error| {
                tracing::warn!("cannot delete finished jobs beyond the limit, next try when a job ends: {error}");
                false
            });
        }
        if self.are_applications_due {
            let done = delete_applications(database, &self.retention, STEP_JOB_ROWS);
            self.are_applications_due = done.unwrap_or_else(|error| {
                tracing::warn!("cannot delete applications beyond the limit, next try when one ends: {error}");
                false
            });
        }
        if self.are_decisions_due {
            self.decisions = 0;
            self.are_decisions_due = prune_decisions(database, STEP_ROWS).unwrap_or_else(|error| {
                tracing::warn!("cannot delete old decisions, next try after {DECISIONS_BEFORE_STEP} more: {error}");
                false
            });
        }
    }

    /// Returns whether there may be more to delete.
    fn delete_jobs(&mut self, database: &mut Connection) -> rusqlite::Result<bool> {
        // After a failure they are counted again: a commit can fail after it took place.
        let finished = match self.finished.take() {
            Some(finished) => finished,
            None => count_finished(database)?,
        };
        let deleted = delete_some(database, &self.retention, finished, STEP_JOB_ROWS)?;
        self.finished = Some(finished - deleted.jobs);
        Ok(deleted.has_more)
    }
}

/// Whether this time is on another day than the one before.
fn is_other_day(day: &mut Option<i64>, wall_ms: i64) -> bool {
    let of = Some(wall_ms.div_euclid(DAY_MS));
    day.replace(wall_ms.div_euclid(DAY_MS)) != of
}
