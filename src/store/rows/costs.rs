//! What jobs have cost, by class: its rows.

use std::sync::Arc;

use rusqlite::{Transaction, params};

use crate::engine::{ClassCosts, JobClass};
use crate::store::enum_text::json;
use crate::store::error::StoreError;
use crate::store::loader::Loader;

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

pub(super) fn forget(transaction: &Transaction<'_>, class: &JobClass) -> rusqlite::Result<()> {
    let JobClass { user, name, mapper, reducer } = class;
    let sql = "DELETE FROM cost_history WHERE user = ?1 AND name = ?2 AND mapper = ?3 AND reducer = ?4";
    transaction.prepare_cached(sql)?.execute(params![user, name, mapper, reducer]).map(drop)
}

pub(in crate::store) fn load_costs(loader: &Loader<'_>) -> Result<Vec<ClassCosts>, StoreError> {
    let sql = "SELECT user, name, mapper, reducer, last_end_ms, jobs FROM cost_history";
    let rows = loader.rows(sql, |row| {
        let class = JobClass { user: row.get(0)?, name: row.get(1)?, mapper: row.get(2)?, reducer: row.get(3)? };
        Ok((class, row.get::<_, i64>(4)?, row.get::<_, String>(5)?))
    })?;
    let typed = rows.into_iter().map(|(class, last_end_ms, jobs)| {
        let wrong = |_| loader.wrong("cost_history.jobs", jobs.clone(), "what jobs have cost, JSON");
        let history = serde_json::from_str(&jobs).map_err(wrong)?;
        Ok(ClassCosts { class: Arc::new(class), last_end_ms, history: Arc::new(history) })
    });
    typed.collect()
}
