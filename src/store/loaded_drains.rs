//! Loads which workers are drained.

use crate::engine::Drain;

use super::error::StoreError;
use super::loader::Loader;

pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<Drain>, StoreError> {
    loader.rows("SELECT worker, user, since_ms FROM drained_worker", |row| {
        Ok(Drain { worker: row.get(0)?, user: row.get(1)?, since_ms: row.get(2)? })
    })
}
