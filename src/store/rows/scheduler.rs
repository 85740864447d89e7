//! The choice of a scheduler, as rows.

use std::sync::Arc;

use rusqlite::{Transaction, params};

use crate::engine::SchedulerChoice;
use crate::model::{FactNumber, JobId};
use crate::store::fault_point::FaultPoint;
use crate::store::json_text::json;
use crate::store::missed_updates::{MissedUpdates, update_row};
use crate::store::schema::SCHEDULER_CHOICE;

/// Records a choice, and the queues of the jobs that moved with it.
pub(super) fn record(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    choice: &SchedulerChoice,
    moved: &[(JobId, Arc<str>)],
) -> rusqlite::Result<()> {
    let text = json(choice)?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute(params![SCHEDULER_CHOICE, text])?;
    FaultPoint::SwitchChoiceWritten.pass();
    for (job, queue) in moved {
        // An older job was signed where its queue is its user's.
        let change = "UPDATE job SET spec = json_set(spec, '$.queue', ?2, '$.is_signed',
             json(iif(coalesce(spec ->> 'is_signed', spec ->> 'queue' = spec ->> 'user'), 'true', 'false')))
             WHERE job = ?1";
        update_row(transaction, missed_updates, number, change, params![job.to_string(), queue])?;
    }
    FaultPoint::SwitchJobsWritten.pass();
    Ok(())
}
