//! The steps from each version of the schema to the next. `schema.sql` is version 1 for ever: a new database is made by
//! it and all steps, an older one gets the steps that it lacks.
//!
//! To change the schema, append a step here, in a file of its own. A step that a daemon has run never changes.

mod charges_by_time;
mod ended_attempts;
mod later_tables;
mod used_signatures;
mod when_jobs_changed;

use rusqlite::Connection;

/// Changes the layout from one version to the next, in a transaction of the caller's.
type Step = fn(&Connection) -> rusqlite::Result<()>;

/// The first leads from version 1 to 2.
const STEPS: &[Step] = &[
    later_tables::add,
    charges_by_time::add,
    ended_attempts::mend,
    |database| database.execute_batch(include_str!("application_order.sql")),
    used_signatures::keep,
    when_jobs_changed::add,
    |database| database.execute_batch(include_str!("pauses.sql")),
    |database| database.execute_batch(include_str!("end_notifications.sql")),
    |database| database.execute_batch(include_str!("taken_top_ups.sql")),
    |database| database.execute_batch(include_str!("decisions.sql")),
];

/// The version after all steps, in the database's `user_version`.
pub(super) const VERSION: u32 = 1 + STEPS.len() as u32;

/// Runs the steps from `version` on in the present transaction, `after_each` after each of them, and sets the version.
pub(super) fn run_from(version: u32, database: &Connection, after_each: impl Fn()) -> rusqlite::Result<()> {
    // Views of administrators may name what goes: they break by themselves, not the migration.
    database.pragma_update(None, "legacy_alter_table", true)?;
    for step in STEPS.iter().skip(version.saturating_sub(1) as usize) {
        step(database)?;
        after_each();
    }
    database.pragma_update(None, "legacy_alter_table", false)?;
    database.pragma_update(None, "user_version", VERSION)
}
