//! Loads which trackers were there when the last run ended.

use crate::engine::Presence;
use crate::model::PerKind;

use super::error::StoreError;
use super::loader::Loader;

pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<Presence>, StoreError> {
    let sql = "SELECT tracker, host, map_slots, reduce_slots FROM tracker_presence WHERE until_ms IS NULL";
    loader.rows(sql, |row| {
        let slots = PerKind::new(row.get(2)?, row.get(3)?);
        Ok(Presence { tracker: row.get(0)?, host: row.get(1)?, slots })
    })
}
