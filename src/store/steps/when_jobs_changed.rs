//! When the end of a job was decided, and when its deadline was changed: a replay does so at the same time.

use rusqlite::Connection;

/// Adds the columns, empty in all rows.
pub(super) fn add(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(
        "ALTER TABLE job ADD COLUMN ending_ms INTEGER;      -- when it was killed or had failed; NULL: it was not
         -- JSON [[epoch ms, deadline or null], ...]
         ALTER TABLE job ADD COLUMN deadline_changes TEXT;",
    )
}
