//! The writer thread: all facts that wait go into one transaction; its last number is published once it is synced.
//!
//! A failed commit is retried, after a growing pause, with the same facts in the same order; later facts wait behind
//! them. The durable number moves only after a commit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::watch;

use crate::model::FactNumber;

use super::counter_encoding::CounterNames;
use super::durable::{Durable, Health, MissedUpdates, WriterCounts};
use super::error::{StoreError, failed};
use super::fact_feed::{FactBatch, FactFeed};
use super::fact_sender::{Backlog, weight};
use super::fault_point::FaultPoint;
use super::folder::StateFolder;
use super::housekeeping::Housekeeping;
use super::migration::Migration;
use super::options::StoreOptions;
use super::queue::{Message, WriterQueue};
use super::schema::{LAST_FACT, meta, set_meta};
use super::tables;

pub(super) struct FactWriter {
    pub(super) database: Connection,
    pub(super) inbox: Receiver<Message>,
    pub(super) durable: watch::Sender<Durable>,
    pub(super) backlog: Arc<Backlog>,
    pub(super) counts: Arc<WriterCounts>,
    pub(super) feed: FactFeed,
    pub(super) housekeeping: Housekeeping,
    pub(super) options: StoreOptions,
    pub(super) folder: StateFolder,
    pub(super) queue: WriterQueue,
    /// Of the schema; its transaction is open until this process may serve.
    pub(super) held_migration: Option<Migration>,
}

struct WriteFailure {
    retry_at: Instant,
    pause: Duration,
}

impl FactWriter {
    /// Writes until [`Message::Close`].
    pub(super) fn run(mut self) -> Result<(), StoreError> {
        if let Some(migration) = self.held_migration.take()
            && !self.is_committed_when_asked(&migration)?
        {
            return Ok(());
        }
        let mut names = CounterNames::default();
        let mut failure: Option<WriteFailure> = None;
        let mut is_log_empty = true;
        let mut broken = None;
        while !self.queue.closing {
            let timeout = match &failure {
                Some(failure) => Some(failure.retry_at.saturating_duration_since(now())),
                None if !self.queue.is_empty() => Some(Duration::ZERO),
                None if self.housekeeping.is_due() => Some(HOUSEKEEPING_IDLE),
                None if !is_log_empty => Some(self.options.checkpoint_idle),
                None => None,
            };
            let is_timeout = match self.receive(timeout) {
                Ok(is_timeout) => is_timeout,
                Err(text) => {
                    broken = Some(text);
                    break;
                }
            };
            let is_due = failure.as_ref().is_none_or(|failure| now() >= failure.retry_at);
            if !self.queue.is_empty() && is_due {
                failure = self.try_commit(&mut names, failure);
                is_log_empty = false;
                if failure.is_none() && self.housekeeping.is_overdue() {
                    self.housekeeping.step(&mut self.database);
                }
                self.checkpoint_if_above(self.options.checkpoint_bytes);
            } else if is_timeout && self.queue.is_empty() && self.housekeeping.is_due() {
                self.housekeeping.step(&mut self.database);
                is_log_empty = false;
                self.checkpoint_if_above(self.options.checkpoint_bytes);
            } else if is_timeout && self.queue.is_empty() {
                self.checkpoint_if_above(0);
                is_log_empty = true;
            }
        }
        match broken {
            Some(text) => self.stay_broken(&mut names, text),
            None => self.finish(&mut names),
        }
    }

    /// Holds the migration and all facts until [`Message::CommitMigration`], or until the start itself waits for a value of `meta`. Returns
    /// whether the migration is committed; else it is undone with the connection.
    fn is_committed_when_asked(&mut self, migration: &Migration) -> Result<bool, StoreError> {
        loop {
            let message = match self.inbox.recv() {
                Ok(Message::CommitMigration { done }) => {
                    let committed = migration.commit(&self.database);
                    let is_committed = committed.is_ok();
                    // The caller may have stopped waiting.
                    let _ = done.send(committed);
                    return Ok(is_committed);
                }
                Ok(Message::Close) | Err(_) => return Ok(false),
                Ok(message) => message,
            };
            let is_awaited = matches!(message, Message::Meta { can_wait: false, .. });
            self.queue.take(message).map_err(|text| StoreError::Unwritten { facts: self.queue.facts as u64, text })?;
            if is_awaited {
                return migration.commit(&self.database).map(|()| true);
            }
        }
    }

    /// Waits for a message, at most `timeout`, then takes all that have come, up to a transaction's worth. Returns whether none came.
    fn receive(&mut self, timeout: Option<Duration>) -> Result<bool, String> {
        let first = match timeout {
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(timeout) => self.inbox.recv_timeout(timeout),
        };
        match first {
            Ok(message) => self.queue.take(message)?,
            Err(RecvTimeoutError::Timeout) => return Ok(true),
            // All senders are gone.
            Err(RecvTimeoutError::Disconnected) => self.queue.closing = true,
        }
        while self.queue.facts < self.options.transaction_limit_facts && !self.queue.closing {
            let Ok(message) = self.inbox.try_recv() else { break };
            self.queue.take(message)?;
        }
        Ok(false)
    }

    /// Commits one transaction; returns the failure, if any, with the time of the next try.
    fn try_commit(&mut self, names: &mut CounterNames, failure: Option<WriteFailure>) -> Option<WriteFailure> {
        let batches = self.queue.next_batches(self.options.transaction_limit_facts);
        match self.write(names, batches, failure.is_some()) {
            Ok(missed_updates) => {
                self.publish(batches, missed_updates);
                None
            }
            Err(error) => {
                // The names were rolled back too.
                names.clear();
                self.report(&error);
                let longest = self.options.retry_pause_max;
                let pause = failure.map_or(self.options.retry_pause_min, |failure| (failure.pause * 2).min(longest));
                Some(WriteFailure { retry_at: now() + pause, pause })
            }
        }
    }

    /// One transaction: these batches, all values of `meta`, the number of the last fact. Returns updates that found no row.
    fn write(&mut self, names: &mut CounterNames, batches: usize, is_retry: bool) -> rusqlite::Result<MissedUpdates> {
        FaultPoint::CommitDue.pass();
        let begun = now();
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        FaultPoint::CommitBegun.pass();
        // A commit can fail after it took place: facts that it recorded are skipped.
        let recorded = match is_retry {
            true => meta::<i64>(&transaction, LAST_FACT)?.unwrap_or(0).cast_unsigned(),
            false => 0,
        };
        let mut last = None;
        let mut missed_updates = MissedUpdates::default();
        for batch in self.queue.batches.iter().take(batches) {
            for (number, fact) in (batch.first.0..).zip(&batch.facts).filter(|(number, _)| *number > recorded) {
                tables::record(&transaction, names, &mut missed_updates, FactNumber(number), fact)?;
                last = Some(number);
                FaultPoint::CommitFact.pass();
            }
        }
        if let Some(last) = last {
            set_meta(&transaction, LAST_FACT, last.cast_signed())?;
        }
        for meta in &self.queue.meta_values {
            set_meta(&transaction, meta.key, &meta.value)?;
            FaultPoint::CommitMeta.pass();
        }
        FaultPoint::CommitWritten.pass();
        transaction.commit()?;
        self.counts.commit_times.add(begun.elapsed());
        FaultPoint::CommitDone.pass();
        Ok(missed_updates)
    }

    /// Removes these batches from the queue and publishes that they are durable.
    fn publish(&mut self, batches: usize, missed_updates: MissedUpdates) {
        let waiting = self.queue.facts;
        let (mut facts, mut weights) = (0, 0);
        let mut last = None;
        let written: VecDeque<FactBatch> = self.queue.batches.drain(..batches).collect();
        for batch in &written {
            facts += batch.facts.len();
            weights += weight(&batch.facts);
            self.housekeeping.observe(&batch.facts);
            last = Some(FactNumber(batch.first.0 + batch.facts.len() as u64 - 1));
        }
        self.queue.facts -= facts;
        self.backlog.remove(weights);
        self.counts.commits.fetch_add(1, Ordering::Relaxed);
        self.counts.facts.fetch_add(facts as u64, Ordering::Relaxed);
        self.durable.send_modify(|durable| {
            durable.number = last.unwrap_or(durable.number);
            if let Health::Failing { since_ms, .. } = durable.health {
                let failed_ms = wall_ms().saturating_sub(since_ms).max(0);
                tracing::info!(
                    "state.db is written again after {}.{} s: {waiting} facts waited",
                    failed_ms / 1_000,
                    failed_ms % 1_000 / 100
                );
            }
            durable.health = Health::Good;
            if durable.missed_updates.add(missed_updates)
                && let Some(complaint) = durable.missed_updates.complaint()
            {
                // Logged once: health keeps reporting it.
                tracing::error!("{complaint}: they are lost with the next restart");
            }
        });
        for meta in self.queue.meta_values.drain(..) {
            // The caller may have stopped waiting.
            let _ = meta.done.send(());
        }
        self.feed.forward(written);
        FaultPoint::CommitPublished.pass();
    }

    fn report(&mut self, error: &rusqlite::Error) {
        self.counts.failures.fetch_add(1, Ordering::Relaxed);
        let waiting = self.queue.facts;
        self.durable.send_modify(|durable| {
            let text = error.to_string();
            durable.health = match durable.health {
                Health::Failing { since_ms, tries, .. } => Health::Failing { since_ms, tries: tries + 1, text },
                _ => {
                    tracing::error!("state.db cannot be written, {waiting} facts wait: {text}");
                    Health::Failing { since_ms: wall_ms(), tries: 1, text }
                }
            };
        });
    }

    /// Checkpoints the log if it is that large. Readers and failures only delay it: the log keeps everything.
    fn checkpoint_if_above(&mut self, bytes: u64) {
        let pages = |statement: &str| {
            let mut statement = self.database.prepare_cached(statement)?;
            statement.query_row([], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))
        };
        // Only reads: pages in the log, pages of it checkpointed already.
        let Ok((in_log, moved)) = pages("PRAGMA wal_checkpoint(NOOP)") else { return };
        if in_log == moved || (in_log - moved).cast_unsigned() * PAGE_BYTES < bytes {
            return;
        }
        FaultPoint::CheckpointDue.pass();
        match pages("PRAGMA wal_checkpoint(PASSIVE)") {
            Ok(_) => {
                FaultPoint::CheckpointDone.pass();
                self.counts.checkpoints.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => tracing::warn!("cannot checkpoint state.db, the log keeps growing: {error}"),
        }
    }

    /// Writes what waits, checkpoints the log and unlocks the folder.
    fn finish(mut self, names: &mut CounterNames) -> Result<(), StoreError> {
        FaultPoint::StopClosing.pass();
        let mut is_retry = self.durable.borrow().health != Health::Good;
        while !self.queue.is_empty() {
            let batches = self.queue.next_batches(self.options.transaction_limit_facts);
            match self.write(names, batches, is_retry) {
                Ok(missed_updates) => self.publish(batches, missed_updates),
                Err(error) => {
                    self.report(&error);
                    return Err(StoreError::Unwritten { facts: self.queue.facts as u64, text: error.to_string() });
                }
            }
            is_retry = false;
        }
        FaultPoint::StopWritten.pass();
        let _ = self.database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        FaultPoint::StopCheckpointed.pass();
        self.database.close().map_err(|(_, source)| failed("close", &self.options.dir)(source))?;
        FaultPoint::StopClosed.pass();
        drop(self.folder);
        Ok(())
    }

    /// Writes what came before the fault, then waits for [`Message::Close`]: the durable number stays.
    fn stay_broken(mut self, names: &mut CounterNames, text: String) -> Result<(), StoreError> {
        tracing::error!("the store stops writing: {text}");
        while !self.queue.is_empty() {
            let batches = self.queue.next_batches(self.options.transaction_limit_facts);
            match self.write(names, batches, true) {
                Ok(missed_updates) => self.publish(batches, missed_updates),
                Err(error) => {
                    tracing::error!("{} facts before that cannot be written: {error}", self.queue.facts);
                    break;
                }
            }
        }
        self.durable.send_modify(|durable| durable.health = Health::Broken { text: text.clone() });
        let mut facts = self.queue.facts as u64;
        loop {
            match self.inbox.recv() {
                Ok(Message::Facts { facts: more, .. }) => facts += more.len() as u64,
                Ok(Message::Meta { .. } | Message::CommitMigration { .. }) => {}
                Ok(Message::Close) | Err(_) => return Err(StoreError::Unwritten { facts, text }),
            }
        }
    }
}

/// The writer counts as idle after this time without messages.
const HOUSEKEEPING_IDLE: Duration = Duration::from_millis(20);

/// Size of a page of SQLite, bytes: its default, which the schema does not change.
const PAGE_BYTES: u64 = 4096;

#[expect(clippy::disallowed_methods, reason = "the pause before a retry is this thread's own matter")]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "shown to people as the time since when the disk fails; nothing is decided by it"
)]
fn wall_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::engine::Fact;
    use crate::model::Identifier;
    use crate::store::database::open_for_writing;

    fn idle_writer(dir: &std::path::Path) -> (FactWriter, watch::Receiver<Durable>) {
        let folder = StateFolder::lock(dir).unwrap();
        let database = open_for_writing(&folder.database().unwrap()).unwrap();
        let (durable, watcher) = watch::channel(Durable { number: FactNumber(0), ..Durable::default() });
        let writer = FactWriter {
            database,
            inbox: mpsc::channel().1,
            durable,
            backlog: Arc::default(),
            counts: Arc::new(WriterCounts::default()),
            feed: FactFeed::new().0,
            housekeeping: Housekeeping::new(30, StoreOptions::new(dir).retention),
            options: StoreOptions::new(dir),
            folder,
            queue: WriterQueue::after(FactNumber(0)),
            held_migration: None,
        };
        (writer, watcher)
    }

    /// A database that may not grow is a disk that is full.
    #[test]
    fn a_full_disk_holds_facts_until_there_is_room() {
        let scratch = tempfile::tempdir().unwrap();
        let (mut writer, watcher) = idle_writer(scratch.path());
        let pages: u32 = writer.database.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let limit = |database: &Connection, pages: u32| {
            database.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
        };
        limit(&writer.database, pages);
        let facts =
            (1..=1000).map(|number| Fact::RunStarted { identifier: Identifier::from_number(number), start_ms: 0 });
        writer.backlog.add(1000);
        writer.queue.take(Message::Facts { first: FactNumber(1), facts: facts.collect() }).unwrap();
        let mut names = CounterNames::default();
        let first = writer.try_commit(&mut names, None).unwrap();
        let second = writer.try_commit(&mut names, Some(first)).unwrap();
        assert_eq!(second.pause, writer.options.retry_pause_min * 2);
        let seen = watcher.borrow().clone();
        assert_eq!(seen.number, FactNumber(0));
        assert!(matches!(&seen.health, Health::Failing { tries: 2, text, .. } if text.contains("full")), "{seen:?}");
        limit(&writer.database, pages + 1000);
        assert!(writer.try_commit(&mut names, Some(second)).is_none());
        assert_eq!(*watcher.borrow(), Durable { number: FactNumber(1000), ..Durable::default() });
    }

    /// A commit may report failure after all of it reached the disk.
    #[test]
    fn what_is_recorded_already_is_not_recorded_twice() {
        let scratch = tempfile::tempdir().unwrap();
        let (mut writer, _watcher) = idle_writer(scratch.path());
        let fact = |number| Fact::RunStarted { identifier: Identifier::from_number(number), start_ms: 0 };
        let mut names = CounterNames::default();
        writer.queue.take(Message::Facts { first: FactNumber(1), facts: vec![fact(1), fact(2)] }).unwrap();
        writer.write(&mut names, 1, false).unwrap();
        writer.queue.take(Message::Facts { first: FactNumber(3), facts: vec![fact(3)] }).unwrap();
        writer.write(&mut names, 2, true).unwrap();
        let rows: u32 = writer.database.query_row("SELECT count(*) FROM daemon_run", [], |row| row.get(0)).unwrap();
        assert_eq!((rows, meta::<i64>(&writer.database, LAST_FACT).unwrap()), (3, Some(3)));
    }
}
