//! What jobs have cost, as rows.

use rusqlite::{Transaction, params};

use crate::engine::{ClassCosts, JobClass};
use crate::store::json_text::json;

/// Sets the row of a class.
pub(super) fn learn(transaction: &Transaction<'_>, costs: &ClassCosts) -> rusqlite::Result<()> {
    let JobClass { user, name, mapper, reducer } = &*costs.class;
    transaction
        .prepare_cached(
            "INSERT INTO cost_history (user, name, mapper, reducer, last_end_ms, jobs) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (user, name, mapper, reducer)
             DO UPDATE SET last_end_ms = excluded.last_end_ms, jobs = excluded.jobs",
        )?
        .execute(params![user, name, mapper, reducer, costs.last_end_ms, json(&*costs.history)?])
        .map(drop)
}

/// Removes the row of a class.
pub(super) fn forget(transaction: &Transaction<'_>, class: &JobClass) -> rusqlite::Result<()> {
    let JobClass { user, name, mapper, reducer } = class;
    let sql = "DELETE FROM cost_history WHERE user = ?1 AND name = ?2 AND mapper = ?3 AND reducer = ?4";
    transaction.prepare_cached(sql)?.execute(params![user, name, mapper, reducer]).map(drop)
}
