//! Histories of jobs, as rows.

use rusqlite::{Transaction, params};

use crate::mapreduce::AcceptedJob;
use crate::model::JobId;

/// A job is accepted: what its history needs beside the other rows is kept.
pub(super) fn accepted(transaction: &Transaction<'_>, job: &AcceptedJob) -> rusqlite::Result<()> {
    let job_xml = (!job.job_xml.is_empty()).then_some(&job.job_xml);
    let sql = "INSERT INTO job_history (job, job_xml) VALUES (?1, ?2)";
    transaction.prepare_cached(sql)?.execute(params![job.id.to_string(), job_xml]).map(drop)
}

/// A job is over: its history is due, also if an older build has accepted it.
pub(super) fn ended(transaction: &Transaction<'_>, job: JobId) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO job_history (job) VALUES (?1)";
    transaction.prepare_cached(sql)?.execute([job.to_string()]).map(drop)
}

/// The history of a job is written. The job may have been deleted meanwhile.
pub(super) fn written(transaction: &Transaction<'_>, job: JobId, path: &str, at_ms: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE job_history SET job_xml = NULL, written_ms = ?2, path = ?3 WHERE job = ?1";
    transaction.prepare_cached(sql)?.execute(params![job.to_string(), at_ms, path]).map(drop)
}
