//! Rows of owners who are to be notified of the ends of their jobs.

use rusqlite::{Transaction, params};

use crate::model::{EndNotification, FactNumber, JobId};
use crate::store::json_text::json;

/// A job has ended, and its owner is to be notified.
pub(super) fn expect(
    transaction: &Transaction<'_>,
    number: FactNumber,
    job: JobId,
    notification: &EndNotification,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO end_notification (job, number, notification) VALUES (?1, ?2, ?3)")?
        .execute(params![job.to_string(), number.0.cast_signed(), json(notification)?])
        .map(drop)
}

/// The owner was notified, or never will be.
pub(super) fn settle(transaction: &Transaction<'_>, job: JobId) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM end_notification WHERE job = ?1")?.execute([job.to_string()]).map(drop)
}
