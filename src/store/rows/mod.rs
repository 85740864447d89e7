//! Applies each fact to the rows of the database.

mod applications;
pub(super) mod cluster;
pub(super) mod costs;
pub(super) mod decisions;
pub(super) mod delegation;
pub(super) mod job;
mod market;

pub(super) use job::attempts_of;

use rusqlite::{Transaction, params};

use crate::engine::Fact;
use crate::model::{FactNumber, Identifier};

use super::counter_encoding::CounterNames;
use super::durable::MissedUpdates;
use super::schema::{COPIED, COPY_UNPUBLISHED};

/// Records one fact within a transaction. An update that finds no row is counted in `missed_updates`: stopping the
/// daemon would cost more than the fact.
///
/// Only deletions may find nothing (except that of an account), and what renames the mark of a copy: of rows that may be gone for another
/// reason (a launch answer, deleted with its job; an acknowledged kill; attempts and events of a restarted job; the interval of a queue
/// that never had one). No update may, except that of a written history: a job is deleted only once no fact can name it.
pub(super) fn record(
    transaction: &Transaction<'_>,
    names: &mut CounterNames,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    fact: &Fact,
) -> rusqlite::Result<()> {
    match fact {
        Fact::RunStarted { identifier, start_ms } => add_run(transaction, *identifier, *start_ms),
        Fact::LaunchAnswer { tracker, response_id, answer } => transaction
            .prepare_cached(
                "INSERT INTO launch_answer (tracker, response_id, answer) VALUES (?1, ?2, ?3)
                 ON CONFLICT (tracker) DO UPDATE SET response_id = excluded.response_id, answer = excluded.answer",
            )?
            .execute(params![tracker, response_id, answer])
            .map(drop),
        Fact::TrackerForgotten { tracker } => transaction
            .prepare_cached("DELETE FROM launch_answer WHERE tracker = ?1")?
            .execute(params![tracker])
            .map(drop),
        Fact::TrackerCame { presence, at_ms } => cluster::tracker_came(transaction, presence, *at_ms),
        Fact::TrackerWent { tracker, at_ms } => cluster::tracker_went(transaction, tracker, *at_ms),
        Fact::Decided(decision) => decisions::add(transaction, number, decision),
        Fact::WorkerDrained(drain) => cluster::drain_worker(transaction, drain),
        Fact::WorkerResumed { worker } => cluster::resume_worker(transaction, worker),
        Fact::Paused(pause) => cluster::add_pause(transaction, pause),
        Fact::Resumed(target) => cluster::remove_pause(transaction, target),
        Fact::KillJobPending { job, trackers } => {
            let mut insert =
                transaction.prepare_cached("INSERT OR IGNORE INTO pending_kill_job (job, tracker) VALUES (?1, ?2)")?;
            let job = job.to_string();
            trackers.iter().try_for_each(|tracker| insert.execute(params![job, tracker]).map(drop))
        }
        Fact::KillJobAcknowledged { job, tracker } => transaction
            .prepare_cached("DELETE FROM pending_kill_job WHERE job = ?1 AND tracker = ?2")?
            .execute(params![job.to_string(), tracker])
            .map(drop),
        Fact::JobsCharged { tick, jobs } => {
            jobs.iter().try_for_each(|cost| market::record_cost(transaction, *tick, cost))
        }
        Fact::SchedulerChosen { choice, moved } => {
            cluster::record_choice(transaction, missed_updates, number, choice, moved)
        }
        Fact::HistoryWritten { job, path, at_ms } => job::history_written(transaction, *job, path, *at_ms),
        Fact::EndNotificationPending { job, notification } => {
            job::expect_end_notification(transaction, number, *job, notification)
        }
        Fact::EndNotified { job } => job::settle_end_notification(transaction, *job),
        Fact::CostsLearned(learned) => costs::learn(transaction, learned),
        Fact::CostsForgotten(class) => costs::forget(transaction, class),
        Fact::Applications(changes) => applications::record(transaction, missed_updates, number, changes),
        Fact::Delegation(change) => delegation::record(transaction, missed_updates, number, change),
        Fact::Market(fact) => market::record(transaction, missed_updates, number, fact),
        Fact::Job(fact) => job::record(transaction, names, missed_updates, number, fact),
    }
}

fn add_run(transaction: &Transaction<'_>, identifier: Identifier, start_ms: i64) -> rusqlite::Result<()> {
    // The facts that follow reconcile what a copy does not know, but for a database of budgets that is out.
    transaction
        .prepare_cached("UPDATE OR REPLACE meta SET key = ?2 WHERE key = ?1")?
        .execute([COPIED, COPY_UNPUBLISHED])?;
    transaction
        .prepare_cached("INSERT INTO daemon_run (identifier, start_ms) VALUES (?1, ?2)")?
        .execute(params![identifier.to_string(), start_ms])
        .map(drop)
}
