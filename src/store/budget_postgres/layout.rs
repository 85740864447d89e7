//! Whether the tables are those that this program knows, and may be written; those of before become so.

use tokio_postgres::Client;

use super::connection::lock;
use super::error::PostgresError;

/// The layout of the tables: what `etc/postgres/jobtracker.sql` makes.
const LAYOUT: i32 = 2;
/// The first one did not say which state database had taken a top-up.
const FIRST: i32 = 1;
/// Whether only an owner's right is between the first layout and this one.
const FOUND: &str = "SELECT layout, (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class
        WHERE oid = to_regclass('jobtracker.top_up')) FROM jobtracker.publication";
/// A top-up was taken by the state database whose movements have it; of others it is not known.
const FROM_THE_FIRST: &str = "BEGIN;
    ALTER TABLE jobtracker.top_up ADD COLUMN taken_by text;
    UPDATE jobtracker.top_up SET taken_by = publication.state FROM jobtracker.publication
    WHERE top_up.state = 'taken' AND EXISTS (
        SELECT 1 FROM jobtracker.movement AS moved
        WHERE moved.account = top_up.account AND moved.amount = top_up.amount AND moved.reason = 'adjustment'
            AND moved.made_by = 'sql:' || top_up.made_by AND split_part(moved.note, ': ', 1) = top_up.reference
    );
    UPDATE jobtracker.publication SET layout = 2;
    COMMIT";
/// Rights that the daemon's role lacks.
const MISSING_RIGHTS: &str = "SELECT coalesce(string_agg(held.privilege || ' on jobtracker.' || tables.name, ', '), '')
    FROM (VALUES ('account'), ('movement'), ('top_up'), ('publication')) AS tables (name),
        (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS held (privilege)
    WHERE NOT has_table_privilege('jobtracker.' || tables.name, held.privilege)";

/// What becomes of tables of the first layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Former {
    /// They are changed, under the lock of the only writer.
    Changed,
    /// They are accepted where they could be changed.
    Kept,
}

pub(super) async fn check_access(client: &Client, former: Former) -> Result<(), PostgresError> {
    check_layout(client, former).await?;
    let missing: String = client.query_one(MISSING_RIGHTS, &[]).await?.try_get(0)?;
    if !missing.is_empty() {
        return Err(PostgresError::Rights(missing));
    }
    let writes = "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean";
    match client.query_one(writes, &[]).await?.try_get(0)? {
        true => Err(PostgresError::ReadOnly),
        false => Ok(()),
    }
}

pub(super) async fn check_layout(client: &Client, former: Former) -> Result<(), PostgresError> {
    let row = client.query_opt(FOUND, &[]).await?.ok_or(PostgresError::NoPublication)?;
    let (found, is_owner): (i32, Option<bool>) = (row.try_get(0)?, row.try_get(1)?);
    match found {
        LAYOUT => Ok(()),
        FIRST if is_owner != Some(true) => Err(PostgresError::FormerLayout { found }),
        FIRST if former == Former::Changed => {
            // A former program that publishes would not say what it takes.
            lock(client, std::time::Duration::ZERO).await?;
            Ok(client.batch_execute(FROM_THE_FIRST).await?)
        }
        FIRST => Ok(()),
        found => Err(PostgresError::Layout { found, expected: LAYOUT }),
    }
}
