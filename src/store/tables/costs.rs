//! What jobs have cost, by class: its rows.

use std::sync::Arc;

use rusqlite::{Connection, params};

use crate::engine::{ClassCosts, JobClass};
use crate::store::enum_text::json;
use crate::store::loader::{LoadError, from_json, rows};

use super::row_writer::RowWriter;

pub(super) fn learn(writer: &RowWriter<'_>, costs: &ClassCosts) -> rusqlite::Result<()> {
    let JobClass { user, name, mapper, reducer } = &*costs.class;
    writer.execute(
        "INSERT INTO cost_history (user, name, mapper, reducer, last_end_ms, jobs) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (user, name, mapper, reducer)
             DO UPDATE SET last_end_ms = excluded.last_end_ms, jobs = excluded.jobs",
        params![user, name, mapper, reducer, costs.last_end_ms, json(&*costs.history)?],
    )
}

pub(super) fn forget(writer: &RowWriter<'_>, class: &JobClass) -> rusqlite::Result<()> {
    let JobClass { user, name, mapper, reducer } = class;
    let sql = "DELETE FROM cost_history WHERE user = ?1 AND name = ?2 AND mapper = ?3 AND reducer = ?4";
    writer.execute(sql, params![user, name, mapper, reducer])
}

pub(in crate::store) fn load_costs(database: &Connection) -> Result<Vec<ClassCosts>, LoadError> {
    let sql = "SELECT user, name, mapper, reducer, last_end_ms, jobs FROM cost_history";
    rows(database, sql, [], |row| {
        let class = JobClass { user: row.get(0)?, name: row.get(1)?, mapper: row.get(2)?, reducer: row.get(3)? };
        let history = from_json("cost_history.jobs", row.get(5)?, "what jobs have cost, JSON")?;
        Ok(ClassCosts { class: Arc::new(class), last_end_ms: row.get(4)?, history: Arc::new(history) })
    })
}
