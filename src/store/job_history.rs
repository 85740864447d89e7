//! Reads what the histories of finished jobs are made of, beside the writer.

use std::io::Read;

use flate2::read::ZlibDecoder;
use rusqlite::{OptionalExtension as _, Row};

use crate::mapreduce::{CounterValues, JobOutcome, StoredJob};
use crate::model::{JobId, RunState};

use super::counter_encoding::StoredCounters;
use super::error::StoreError;
use super::finished_jobs::FinishedJobReader;
use super::loaded_jobs::finished_with_tasks;
use super::loader::Loader;

/// A finished job with all that its history needs.
#[derive(Clone, Debug)]
pub struct StoredHistory {
    pub job: StoredJob,
    /// When the run of the JobTracker started that gave out the id, epoch ms; none: it was not one of ours.
    pub run_start_ms: Option<i64>,
    /// When its setup had succeeded, epoch ms; none: it never did.
    pub running_ms: Option<i64>,
    /// When it ended, epoch ms.
    pub finish_ms: i64,
    pub outcome: JobOutcome,
    /// Why it failed, or empty.
    pub failure_info: String,
    pub counters: Option<CounterValues>,
    /// Its job.xml; none: an older build accepted it, or its history is written.
    pub job_xml: Option<Vec<u8>>,
}

/// Histories that are due, those of the jobs that ended first in front.
const DUE: &str = "SELECT job FROM job_history JOIN job USING (job)
     WHERE written_ms IS NULL AND finish_ms IS NOT NULL ORDER BY finish_ms, accept_order";

const FINISHED: &str = "SELECT finish_ms, state, failure_info, counters, running_ms, job_xml, written_ms IS NOT NULL
     FROM job LEFT JOIN job_history USING (job) WHERE job = ?1 AND finish_ms IS NOT NULL";

type FinishedRow = (i64, String, Option<String>, Option<String>, Option<i64>, Option<Vec<u8>>, bool);

impl FinishedJobReader {
    /// The finished jobs whose histories are not written, in the order of their ends. Blocks on the disk.
    pub fn due_histories(&self) -> Result<Vec<JobId>, StoreError> {
        let database = self.open()?;
        let loader = Loader::new(&database, self.path());
        let ids = loader.rows(DUE, |row| row.get::<_, String>(0))?;
        ids.into_iter().map(|id| loader.parse("job_history.job", id, "a job id")).collect()
    }

    /// What the history of a job is made of; none: the job is unknown or not over, or its history is written. At most
    /// `max_conf_bytes` of its job.xml are read, 0 of a longer one. Blocks on the disk.
    pub fn history(&self, id: JobId, max_conf_bytes: u64) -> Result<Option<StoredHistory>, StoreError> {
        let mut database = self.open()?;
        let failed = |source| StoreError::Database { action: "read", path: self.path().to_owned(), source };
        // One state of the database for all that is read.
        let snapshot = database.transaction().map_err(failed)?;
        let loader = Loader::new(&snapshot, self.path());
        let read = |row: &Row<'_>| -> rusqlite::Result<FinishedRow> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
        };
        let row = snapshot.query_row(FINISHED, [id.to_string()], read).optional().map_err(failed)?;
        let Some((finish_ms, state, failure_info, counters, running_ms, deflated, is_written)) = row else {
            return Ok(None);
        };
        let Some(job) = finished_with_tasks(&loader, id)?.filter(|_| !is_written) else { return Ok(None) };
        let outcome = match RunState::from_name(&state) {
            Some(RunState::Succeeded) => JobOutcome::Succeeded,
            Some(RunState::Failed) => JobOutcome::Failed,
            Some(RunState::Killed) => JobOutcome::Killed,
            _ => return Err(loader.wrong("job.state", state, "SUCCEEDED, FAILED or KILLED of a finished job")),
        };
        let counters = match counters {
            None => None,
            Some(text) => Some(StoredCounters::load(&loader)?.of(&loader, "job.counters", text)?),
        };
        let sql = "SELECT start_ms FROM daemon_run WHERE identifier = ?1";
        let run_start_ms = snapshot.query_row(sql, [id.identifier.to_string()], |row| row.get(0)).optional();
        Ok(Some(StoredHistory {
            job,
            run_start_ms: run_start_ms.map_err(failed)?,
            running_ms,
            finish_ms,
            outcome,
            failure_info: failure_info.unwrap_or_default(),
            counters,
            job_xml: deflated.and_then(|deflated| inflated(&deflated, max_conf_bytes)),
        }))
    }
}

impl FinishedJobReader {
    /// The job.xml of a job, over or not; none: the job is unknown, it had none or one of more than `max_bytes`, or its history
    /// is written. Blocks on the disk.
    pub(crate) fn job_xml(&self, id: JobId, max_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let database = self.open()?;
        let loader = Loader::new(&database, self.path());
        let sql = "SELECT job_xml FROM job_history WHERE job = ?1";
        let found = loader.rows_with(sql, [id.to_string()], |row| row.get::<_, Option<Vec<u8>>>(0))?;
        Ok(found.into_iter().next().flatten().and_then(|deflated| inflated(&deflated, max_bytes)))
    }
}

/// The content; none if it is longer than `max_bytes` or damaged.
fn inflated(deflated: &[u8], max_bytes: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let read = ZlibDecoder::new(deflated).take(max_bytes.saturating_add(1)).read_to_end(&mut content);
    (read.is_ok() && content.len() as u64 <= max_bytes).then_some(content)
}
