//! The tables of the database: each file writes what facts say into its tables, loads it, and deletes what has become too old.

pub(super) mod applications;
pub(super) mod attempts;
pub(super) mod cluster;
pub(super) mod containers;
pub(super) mod costs;
pub(super) mod decisions;
pub(super) mod delegation;
pub(super) mod jobs;
pub(super) mod ledger;
pub(super) mod market;
mod row_writer;

use rusqlite::{Transaction, params};

use crate::engine::Fact;
use crate::model::FactNumber;

use super::counter_encoding::CounterNames;
use super::durable::MissedUpdates;
use super::schema::{COPIED, COPY_UNPUBLISHED};
use row_writer::RowWriter;

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
    let writer = &mut RowWriter { transaction, names, missed_updates, number };
    match fact {
        Fact::RunStarted { identifier, start_ms } => {
            // The facts that follow reconcile what a copy does not know, but for a database of budgets that is out.
            writer.execute("UPDATE OR REPLACE meta SET key = ?2 WHERE key = ?1", [COPIED, COPY_UNPUBLISHED])?;
            let add = "INSERT INTO daemon_run (identifier, start_ms) VALUES (?1, ?2)";
            writer.execute(add, params![identifier.to_string(), start_ms])
        }
        Fact::LaunchAnswer { tracker, response_id, answer } => writer.execute(
            "INSERT INTO launch_answer (tracker, response_id, answer) VALUES (?1, ?2, ?3)
                 ON CONFLICT (tracker) DO UPDATE SET response_id = excluded.response_id, answer = excluded.answer",
            params![tracker, response_id, answer],
        ),
        Fact::TrackerForgotten { tracker } => {
            writer.execute("DELETE FROM launch_answer WHERE tracker = ?1", params![tracker])
        }
        Fact::TrackerCame { presence, at_ms } => cluster::tracker_came(writer, presence, *at_ms),
        Fact::TrackerWent { tracker, at_ms } => cluster::tracker_went(writer, tracker, *at_ms),
        Fact::Decided(decision) => decisions::add(writer, decision),
        Fact::WorkerDrained(drain) => cluster::drain_worker(writer, drain),
        Fact::WorkerResumed { worker } => {
            writer.execute("DELETE FROM drained_worker WHERE worker = ?1", params![worker])
        }
        Fact::Paused(pause) => cluster::add_pause(writer, pause),
        Fact::Resumed(target) => cluster::remove_pause(writer, target),
        Fact::KillJobPending { job, trackers } => {
            let job = job.to_string();
            let insert = "INSERT OR IGNORE INTO pending_kill_job (job, tracker) VALUES (?1, ?2)";
            trackers.iter().try_for_each(|tracker| writer.execute(insert, params![job, tracker]))
        }
        Fact::KillJobAcknowledged { job, tracker } => {
            let delete = "DELETE FROM pending_kill_job WHERE job = ?1 AND tracker = ?2";
            writer.execute(delete, params![job.to_string(), tracker])
        }
        Fact::JobsCharged { tick, jobs } => jobs.iter().try_for_each(|cost| jobs::record_cost(writer, *tick, cost)),
        Fact::SchedulerChosen { choice, moved } => cluster::record_choice(writer, choice, moved),
        Fact::HistoryWritten { job, path, at_ms } => jobs::history_written(writer, *job, path, *at_ms),
        Fact::EndNotificationPending { job, notification } => jobs::expect_end_notification(writer, *job, notification),
        // The owner was notified, or never will be.
        Fact::EndNotified { job } => writer.execute("DELETE FROM end_notification WHERE job = ?1", [job.to_string()]),
        Fact::CostsLearned(learned) => costs::learn(writer, learned),
        Fact::CostsForgotten(class) => costs::forget(writer, class),
        Fact::Applications(changes) => applications::record(writer, changes),
        Fact::Delegation(change) => delegation::record(writer, change),
        Fact::Market(fact) => market::record(writer, fact),
        Fact::Job(fact) => jobs::record(writer, fact),
    }
}
