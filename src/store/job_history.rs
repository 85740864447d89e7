//! Reads what the histories of finished jobs are made of, beside the writer.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::mapreduce::{CounterValues, JobOutcome, StoredJob};
use crate::model::JobId;

use super::counter_encoding::StoredCounters;
use super::error::StoreError;
use super::finished_jobs::FinishedJobReader;
use super::loader::{first_row, parse, rows};
use super::tables::attempts::attempts_of;
use super::tables::jobs::{finished_with_tasks, outcome_of};

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

impl StoredHistory {
    /// The trackers of its attempts, one for each.
    pub(crate) fn trackers(&self) -> impl Iterator<Item = &str> {
        self.job.attempts.iter().map(|attempt| &*attempt.tracker)
    }
}

/// Histories that are due, those of the jobs that ended first in front.
const DUE: &str = "SELECT job FROM job_history JOIN job USING (job)
     WHERE written_ms IS NULL AND finish_ms IS NOT NULL ORDER BY finish_ms, accept_order";

const FINISHED: &str = "SELECT finish_ms, state, failure_info, counters, running_ms, job_xml, written_ms IS NOT NULL
     FROM job LEFT JOIN job_history USING (job) WHERE job = ?1 AND finish_ms IS NOT NULL";

impl FinishedJobReader {
    /// The finished jobs whose histories are not written, in the order of their ends. Blocks on the disk.
    pub fn due_histories(&self) -> Result<Vec<JobId>, StoreError> {
        self.database.read(|database| rows(database, DUE, [], |row| parse("job_history.job", row.get(0)?, "a job id")))
    }

    /// What the history of a job is made of; none: the job is unknown or not over, or its history is written. At most
    /// `max_conf_bytes` of its job.xml are read, 0 of a longer one. Blocks on the disk.
    pub fn history(&self, id: JobId, max_conf_bytes: u64) -> Result<Option<StoredHistory>, StoreError> {
        self.database.read(|database| {
            let found = first_row(database, FINISHED, [id.to_string()], |row| {
                let is_written: bool = row.get(6)?;
                let Some(job) = finished_with_tasks(database, id)?.filter(|_| !is_written) else { return Ok(None) };
                let expected = "SUCCEEDED, FAILED or KILLED of a finished job";
                let (counters, deflated): (Option<String>, Option<Vec<u8>>) = (row.get(3)?, row.get(5)?);
                let decode = |text| StoredCounters::load(database)?.of("job.counters", text);
                let run = "SELECT start_ms FROM daemon_run WHERE identifier = ?1";
                Ok(Some(StoredHistory {
                    job,
                    run_start_ms: first_row(database, run, [id.identifier.to_string()], |row| Ok(row.get(0)?))?,
                    running_ms: row.get(4)?,
                    finish_ms: row.get(0)?,
                    outcome: outcome_of("job.state", row.get(1)?, expected)?,
                    failure_info: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                    counters: counters.map(decode).transpose()?,
                    job_xml: deflated.and_then(|deflated| inflated(&deflated, max_conf_bytes)),
                }))
            })?;
            Ok(found.flatten())
        })
    }

    /// The trackers of a job's attempts. Blocks on the disk.
    pub(crate) fn trackers_of(&self, id: JobId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT tracker FROM attempt WHERE attempt >= ?1 AND attempt < ?2";
        self.database.read(|database| rows(database, sql, attempts_of(&id.to_string()), |row| Ok(row.get(0)?)))
    }

    /// The job.xml of a job, over or not; none: the job is unknown, it had none or one of more than `max_bytes`, or its history
    /// is written. Blocks on the disk.
    pub(crate) fn job_xml(&self, id: JobId, max_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT job_xml FROM job_history WHERE job = ?1";
        let found = self
            .database
            .read(|database| first_row(database, sql, [id.to_string()], |row| Ok(row.get::<_, Option<Vec<u8>>>(0)?)))?;
        Ok(found.flatten().and_then(|deflated| inflated(&deflated, max_bytes)))
    }
}

/// The content; none if it is longer than `max_bytes` or damaged.
fn inflated(deflated: &[u8], max_bytes: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let read = ZlibDecoder::new(deflated).take(max_bytes.saturating_add(1)).read_to_end(&mut content);
    (read.is_ok() && content.len() as u64 <= max_bytes).then_some(content)
}
