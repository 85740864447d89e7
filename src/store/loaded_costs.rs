//! Loads what jobs have cost.

use std::sync::Arc;

use crate::engine::{ClassCosts, JobClass};

use super::error::StoreError;
use super::loader::Loader;

pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<ClassCosts>, StoreError> {
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
