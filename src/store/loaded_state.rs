//! Loads the state, at a start or beside the writer; jobs are in `loaded_jobs.rs`, the market is in `loaded_market.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params};

use crate::engine::{
    ClassCosts, Decision, Drain, ForeignState, Pause, Presence, Restored, RestoredApplications, RestoredDelegation,
    RestoredJobs, SchedulerChoice,
};
use crate::market::MarketFact;
use crate::model::{EndNotification, FactNumber, Identifier, JobId};
use crate::store::rows::{cluster, costs, decisions, delegation, job};

use super::error::StoreError;
use super::loaded_jobs::LoadedJobs;
use super::loader::Loader;
use super::options::StoreOptions;
use super::schema::{
    BUDGET_FILE_CONFIRMED, BUDGET_FILE_PENDING, BUDGET_FILE_SHOWN, BUDGETS_KEPT_IN, COPIED, COPY_UNPUBLISHED,
    LAST_FACT, SCHEDULER_CHOICE, STATE_NAME, STATEMENT_CACHE,
};
use super::{loaded_applications, loaded_jobs, loaded_market};

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
pub(super) fn load(database: &Connection, path: &Path, options: &StoreOptions) -> Result<LoadedState, StoreError> {
    let loader = Loader::new(database, path);
    let identifiers = loader.rows("SELECT identifier FROM daemon_run", |row| row.get::<_, String>(0))?;
    let sql = "SELECT job, tracker FROM pending_kill_job ORDER BY job, tracker";
    let pending_kill_jobs = loader.rows(sql, |row| Ok((row.get::<_, String>(0)?, row.get::<_, Arc<str>>(1)?)))?;
    let last_fact: i64 = loader.meta(LAST_FACT)?.unwrap_or(0);
    let max_order: i64 = loader.value("SELECT coalesce(max(accept_order), 0) FROM job")?;
    let first_start =
        loader.value("SELECT NOT EXISTS (SELECT 1 FROM ledger) AND NOT EXISTS (SELECT 1 FROM account)")?;
    let is_copy = loader.meta::<i64>(COPIED)?.is_some();
    Ok(LoadedState {
        first_start,
        last_fact: FactNumber(last_fact.cast_unsigned()),
        identifiers: identifiers
            .into_iter()
            .map(|text| loader.parse("daemon_run.identifier", text, "digits"))
            .collect::<Result<_, _>>()?,
        max_order: max_order.cast_unsigned().max(loaded_applications::last_order(&loader)?),
        pending_kill_jobs: pending_kill_jobs
            .into_iter()
            .map(|(job, tracker)| Ok((loader.parse("pending_kill_job.job", job, "a job id")?, tracker)))
            .collect::<Result<_, StoreError>>()?,
        jobs: loaded_jobs::load(&loader, options.finished_jobs)?,
        applications: loaded_applications::load(&loader, options.finished_jobs)?,
        choice: scheduler_choice(&loader)?,
        costs: costs::load_costs(&loader)?,
        presences: cluster::load_presences(&loader)?,
        drains: cluster::load_drains(&loader)?,
        pauses: cluster::load_pauses(&loader)?,
        decisions: decisions::load_decisions(&loader)?,
        end_notifications: job::load_end_notifications(&loader)?,
        delegation: delegation::load_delegation(&loader)?,
        market: loaded_market::load(&loader)?,
        looked_for: known(&loader, &options.look_for)?,
        is_copy,
        is_copy_unpublished: is_copy || loader.meta::<Value>(COPY_UNPUBLISHED)? == Some(Value::Integer(1)),
        name: loader.meta(STATE_NAME)?,
        budget_file: BudgetFileHashes {
            pending: loader.meta(BUDGET_FILE_PENDING)?,
            confirmed: loader.meta(BUDGET_FILE_CONFIRMED)?,
            // Every later start and change has facts, so an old mark never equals the present number.
            is_clean: loader.meta::<String>(BUDGET_FILE_SHOWN)? == Some(last_fact.to_string()),
            kept_in: loader.meta::<String>(BUDGETS_KEPT_IN)?.filter(|place| !place.is_empty()),
        },
    })
}

pub(super) fn scheduler_choice(loader: &Loader<'_>) -> Result<Option<SchedulerChoice>, StoreError> {
    let Some(text) = loader.meta::<String>(SCHEDULER_CHOICE)? else { return Ok(None) };
    let wrong = |_| loader.wrong("meta.scheduler_choice", text.clone(), "a choice of a scheduler, JSON");
    serde_json::from_str(&text).map(Some).map_err(wrong)
}

/// The jobs that exist or, deleted since, may have existed.
fn known(loader: &Loader<'_>, jobs: &BTreeSet<JobId>) -> Result<BTreeSet<JobId>, StoreError> {
    let mut known = BTreeSet::new();
    for job in jobs {
        let sql = "SELECT 1 FROM job WHERE job = ?1
                   UNION SELECT 1 FROM deleted_job WHERE identifier = ?2 AND last_number >= ?3";
        let asked = params![job.to_string(), job.identifier.to_string(), job.number];
        if !loader.rows_with(sql, asked, |row| row.get::<_, i64>(0))?.is_empty() {
            known.insert(*job);
        }
    }
    Ok(known)
}

/// The state that a start would load after these facts, through the same rows, in memory.
#[cfg(test)]
pub(crate) fn loaded_after(facts: &[crate::engine::Fact]) -> LoadedState {
    load(&recorded(facts), Path::new("memory"), &StoreOptions::new("memory")).unwrap()
}

/// A finished job as read after these facts.
#[cfg(test)]
pub(crate) fn finished_after(facts: &[crate::engine::Fact], job: JobId) -> crate::mapreduce::StoredJob {
    loaded_jobs::finished_with_tasks(&Loader::new(&recorded(facts), Path::new("memory")), job).unwrap().unwrap()
}

#[cfg(test)]
pub(super) fn recorded(facts: &[crate::engine::Fact]) -> Connection {
    use super::counter_encoding::CounterNames;
    use super::durable::MissedUpdates;
    use super::{rows, schema};
    let mut database = schema::in_memory().unwrap();
    let transaction = database.transaction().unwrap();
    let (mut names, mut missed_updates) = (CounterNames::default(), MissedUpdates::default());
    for (number, fact) in (1..).zip(facts) {
        rows::record(&transaction, &mut names, &mut missed_updates, FactNumber(number), fact).unwrap();
    }
    assert_eq!(missed_updates, MissedUpdates::default());
    schema::set_meta(&transaction, LAST_FACT, facts.len() as i64).unwrap();
    transaction.commit().unwrap();
    database
}

/// Reads a state database that others may write. Each call opens its own connection.
#[derive(Clone, Debug)]
pub struct StateReader {
    database: std::path::PathBuf,
    options: StoreOptions,
}

impl StateReader {
    pub(super) fn new(database: &Path, options: &StoreOptions) -> Self {
        Self { database: database.to_owned(), options: options.clone() }
    }

    /// The state of one moment: all facts up to [`LoadedState::last_fact`]. Blocks on the disk.
    pub fn load(&self) -> Result<LoadedState, StoreError> {
        let failed = |source| StoreError::Database { action: "read", path: self.database.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut database = Connection::open_with_flags(&self.database, flags).map_err(failed)?;
        database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        // All reads see what the first one saw.
        let moment = database.transaction().map_err(failed)?;
        load(&moment, &self.database, &self.options)
    }

    /// Newest finished jobs that a load has.
    pub(crate) fn finished_jobs(&self) -> usize {
        self.options.finished_jobs
    }
}
