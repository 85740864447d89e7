//! Loads which jobs are held and which queues are paused.

use std::sync::Arc;

use crate::engine::{Pause, PauseTarget};

use super::error::StoreError;
use super::loader::Loader;

pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<Pause>, StoreError> {
    let rows = loader.rows("SELECT kind, name, user, since_ms FROM pause", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Arc<str>>(2)?, row.get(3)?))
    })?;
    let pause = |(kind, name, user, since_ms): (String, String, Arc<str>, i64)| {
        let target = match &*kind {
            "job" => PauseTarget::Job(loader.parse("pause.name", name, "a job id")?),
            _ => PauseTarget::Queue(name.into()),
        };
        Ok(Pause { target, user, since_ms })
    };
    rows.into_iter().map(pause).collect()
}
