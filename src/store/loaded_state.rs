//! Loads the state, at a start or beside the writer; each table by its file in `tables/`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::engine::{
    ClassCosts, Decision, Drain, ForeignState, Pause, Presence, Restored, RestoredApplications, RestoredDelegation,
    RestoredJobs, SchedulerChoice,
};
use crate::market::MarketFact;
use crate::model::{EndNotification, FactNumber, Identifier, JobId};

use super::database_reader::DatabaseReader;
use super::error::StoreError;
use super::loader::{LoadError, from_json, parse, rows, value};
use super::options::StoreOptions;
use super::schema::{
    BUDGET_FILE_CONFIRMED, BUDGET_FILE_PENDING, BUDGET_FILE_SHOWN, BUDGETS_KEPT_IN, COPIED, COPY_UNPUBLISHED,
    LAST_FACT, SCHEDULER_CHOICE, STATE_NAME, meta,
};
use super::tables::jobs::LoadedJobs;
use super::tables::{applications, cluster, costs, decisions, delegation, jobs, market};

/// The durable state when the store was opened.
#[derive(Debug, Default)]
pub struct LoadedState {
    /// No money was ever credited: the budget file must be read.
    pub first_start: bool,
    /// The last fact; the next one sent must follow it.
    pub last_fact: FactNumber,
    /// The identifiers of all runs so far; a new one must differ from each.
    pub identifiers: BTreeSet<Identifier>,
    /// The highest order of acceptance of a job; 0 without jobs.
    pub max_order: u64,
    /// Trackers that have not acknowledged the end of a job.
    pub pending_kill_jobs: Vec<(JobId, Arc<str>)>,
    /// Jobs, and the last heartbeat responses that launched their attempts.
    pub jobs: LoadedJobs,
    pub delegation: RestoredDelegation,
    /// Applications and their containers, without stamps.
    pub applications: RestoredApplications,
    /// The last choice of a scheduler, if there was one.
    pub choice: Option<SchedulerChoice>,
    pub costs: Vec<ClassCosts>,
    pub presences: Vec<Presence>,
    pub drains: Vec<Drain>,
    pub pauses: Vec<Pause>,
    /// The newest decisions with their numbers, the oldest first.
    pub decisions: Vec<(FactNumber, Decision)>,
    /// Jobs that are over and whose owners are still to be notified.
    pub end_notifications: Vec<(JobId, EndNotification)>,
    /// The facts that restore the market by [`Market::apply`](crate::market::Market::apply), in its order: the latest
    /// accounts, the last tick, the ledger rows after it, the stamps.
    pub market: Vec<MarketFact>,
    /// The jobs of [`StoreOptions::look_for`] that exist, finished or not, or may have existed before they were deleted.
    pub looked_for: BTreeSet<JobId>,
    /// It is a restored copy: it lacks everything since the copy was made.
    pub is_copy: bool,
    /// The same, until a database of budgets shows it: that one has what came after the copy.
    pub is_copy_unpublished: bool,
    /// Hashes of the budget file as this program wrote it.
    pub budget_file: BudgetFileHashes,
    /// The name that back-ends of budgets know this database by, once it has one.
    pub name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetFileHashes {
    /// Of a content whose write, or whose take-over, had begun.
    pub pending: Option<String>,
    /// Of a content that was written.
    pub confirmed: Option<String>,
    /// The daemon stopped cleanly, the file showed the whole ledger, and no fact followed.
    pub is_clean: bool,
    /// Another back-end had the image last, and the file may be older than that.
    pub kept_in: Option<String>,
}

impl LoadedState {
    /// The engine's state after a crash, if no other JobTracker ran meanwhile.
    pub(crate) fn restored(self) -> Restored {
        let LoadedJobs { unfinished, finished, launch_answers, costs, interner } = self.jobs;
        Restored {
            last_fact: self.last_fact,
            last_order: self.max_order,
            choice: self.choice,
            costs: self.costs,
            presences: self.presences,
            drains: self.drains,
            pauses: self.pauses,
            end_notifications: self.end_notifications,
            delegation: self.delegation,
            applications: RestoredApplications {
                stamps: RestoredApplications::stamps_among(&self.market),
                ..self.applications
            },
            market: self.market,
            foreign_state: ForeignState::default(),
            jobs: RestoredJobs {
                unfinished,
                finished,
                launch_answers,
                pending_kill_jobs: self.pending_kill_jobs,
                costs,
                handed_over: None,
            },
            interner,
            is_copy: self.is_copy,
        }
    }
}

/// Loads the state; of finished jobs the newest and those whose end a tracker has not acknowledged.
pub(super) fn load(database: &Connection, options: &StoreOptions) -> Result<LoadedState, LoadError> {
    let identifiers = rows(database, "SELECT identifier FROM daemon_run", [], |row| {
        parse("daemon_run.identifier", row.get(0)?, "digits")
    })?;
    let sql = "SELECT job, tracker FROM pending_kill_job ORDER BY job, tracker";
    let pending_kill_jobs =
        rows(database, sql, [], |row| Ok((parse("pending_kill_job.job", row.get(0)?, "a job id")?, row.get(1)?)))?;
    let last_fact: i64 = meta(database, LAST_FACT)?.unwrap_or(0);
    let max_order: i64 = value(database, "SELECT coalesce(max(accept_order), 0) FROM job")?;
    let is_copy = meta::<i64>(database, COPIED)?.is_some();
    Ok(LoadedState {
        first_start: value(
            database,
            "SELECT NOT EXISTS (SELECT 1 FROM ledger) AND NOT EXISTS (SELECT 1 FROM account)",
        )?,
        last_fact: FactNumber(last_fact.cast_unsigned()),
        identifiers: identifiers.into_iter().collect(),
        max_order: max_order.cast_unsigned().max(applications::last_order(database)?),
        pending_kill_jobs,
        jobs: jobs::load(database, options.finished_jobs)?,
        applications: applications::load(database, options.finished_jobs)?,
        choice: scheduler_choice(database)?,
        costs: costs::load_costs(database)?,
        presences: cluster::load_presences(database)?,
        drains: cluster::load_drains(database)?,
        pauses: cluster::load_pauses(database)?,
        decisions: decisions::load_decisions(database)?,
        end_notifications: jobs::load_end_notifications(database)?,
        delegation: delegation::load_delegation(database)?,
        market: market::load(database)?,
        looked_for: known(database, &options.look_for)?,
        is_copy,
        is_copy_unpublished: is_copy || meta::<Value>(database, COPY_UNPUBLISHED)? == Some(Value::Integer(1)),
        name: meta(database, STATE_NAME)?,
        budget_file: BudgetFileHashes {
            pending: meta(database, BUDGET_FILE_PENDING)?,
            confirmed: meta(database, BUDGET_FILE_CONFIRMED)?,
            // Every later start and change has facts, so an old mark never equals the present number.
            is_clean: meta::<String>(database, BUDGET_FILE_SHOWN)? == Some(last_fact.to_string()),
            kept_in: meta::<String>(database, BUDGETS_KEPT_IN)?.filter(|place| !place.is_empty()),
        },
    })
}

pub(super) fn scheduler_choice(database: &Connection) -> Result<Option<SchedulerChoice>, LoadError> {
    let read = |text| from_json("meta.scheduler_choice", text, "a choice of a scheduler, JSON");
    meta::<String>(database, SCHEDULER_CHOICE)?.map(read).transpose()
}

/// The jobs that exist or, deleted since, may have existed.
fn known(database: &Connection, jobs: &BTreeSet<JobId>) -> Result<BTreeSet<JobId>, LoadError> {
    let mut known = BTreeSet::new();
    for job in jobs {
        let sql = "SELECT 1 FROM job WHERE job = ?1
                   UNION SELECT 1 FROM deleted_job WHERE identifier = ?2 AND last_number >= ?3";
        let asked = params![job.to_string(), job.identifier.to_string(), job.number];
        if database.prepare_cached(sql)?.exists(asked)? {
            known.insert(*job);
        }
    }
    Ok(known)
}

/// The state that a start would load after these facts, through the same rows, in memory.
#[cfg(test)]
pub(crate) fn loaded_after(facts: &[crate::engine::Fact]) -> LoadedState {
    load(&recorded(facts), &StoreOptions::new("memory")).unwrap()
}

/// A finished job as read after these facts.
#[cfg(test)]
pub(crate) fn finished_after(facts: &[crate::engine::Fact], job: JobId) -> crate::mapreduce::StoredJob {
    jobs::finished_with_tasks(&recorded(facts), job).unwrap().unwrap()
}

#[cfg(test)]
pub(super) fn recorded(facts: &[crate::engine::Fact]) -> Connection {
    let mut database = super::schema::in_memory().unwrap();
    record_all(&mut database, facts);
    database
}

#[cfg(test)]
pub(super) fn record_all(database: &mut Connection, facts: &[crate::engine::Fact]) {
    use super::counter_encoding::CounterNames;
    use super::durable::MissedUpdates;
    use super::{schema, tables};
    let transaction = database.transaction().unwrap();
    let (mut names, mut missed_updates) = (CounterNames::default(), MissedUpdates::default());
    for (number, fact) in (1..).zip(facts) {
        tables::record(&transaction, &mut names, &mut missed_updates, FactNumber(number), fact).unwrap();
    }
    assert_eq!(missed_updates, MissedUpdates::default());
    schema::set_meta(&transaction, LAST_FACT, facts.len() as i64).unwrap();
    transaction.commit().unwrap();
}

/// Reads a state database that others may write. Each call opens its own connection.
#[derive(Clone, Debug)]
pub struct StateReader {
    database: DatabaseReader,
    options: StoreOptions,
}

impl StateReader {
    pub(super) fn new(database: &Path, options: &StoreOptions) -> Self {
        Self { database: DatabaseReader::new(database), options: options.clone() }
    }

    /// The state of one moment: all facts up to [`LoadedState::last_fact`]. Blocks on the disk.
    pub fn load(&self) -> Result<LoadedState, StoreError> {
        self.database.read(|database| load(database, &self.options))
    }

    /// Newest finished jobs that a load has.
    pub(crate) fn finished_jobs(&self) -> usize {
        self.options.finished_jobs
    }
}
