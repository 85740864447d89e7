//! What is read from the tables, and what is written to them.

use std::collections::BTreeMap;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, GenericClient, Transaction};

use crate::market::{BudgetLine, budget_file};
use crate::model::Credits;
use crate::store::fault_point::FaultPoint;
use crate::store::ledger_reader::LedgerReader;

use super::connection::PostgresSession;
use super::error::PostgresError;
use super::layout::{Former, check_access};
use super::ledger_rows::{LedgerEnds, Movements, movements_after, sums_through};
use super::shown::{ShownState, shown_for_update};

/// All accounts: those that differ are written, those that are closed deleted. Says how many there were, and how many are as they were sent.
const ACCOUNTS: &str = "WITH new AS (
        SELECT name, budget::numeric(40, 12) AS budget, bid::numeric(40, 12) AS bid
        FROM unnest($1::text[], $2::text[], $3::text[]) AS new (name, budget, bid)
    ), changed AS (
        SELECT new.* FROM new LEFT JOIN jobtracker.account AS old USING (name)
        WHERE (old.budget, old.bid) IS DISTINCT FROM (new.budget, new.bid)
    ), written AS (
        INSERT INTO jobtracker.account (name, budget, bid, tick) SELECT name, budget, bid, $4 FROM changed
        ON CONFLICT (name) DO UPDATE SET budget = excluded.budget, bid = excluded.bid, tick = excluded.tick
        RETURNING name, budget, bid
    ), closed AS (
        SELECT name FROM jobtracker.account AS old WHERE NOT EXISTS (SELECT 1 FROM new WHERE new.name = old.name)
    ), deleted AS (
        DELETE FROM jobtracker.account AS old USING closed WHERE old.name = closed.name RETURNING 1
    )
    SELECT (SELECT count(*) FROM changed) + (SELECT count(*) FROM closed),
        (SELECT count(*) FROM written JOIN changed USING (name, budget, bid)) + (SELECT count(*) FROM deleted)";
/// Charges are summed by account and UTC day: one row each, whatever the length of an interval.
const MOVEMENTS: &str = "WITH new AS (
        SELECT ledger, account, day, max(at) AS at, reason, sum(amount) AS amount, max(made_by) AS made_by, max(note) AS note
        FROM (
            SELECT CASE reason WHEN 'charge' THEN 0 ELSE ledger END AS ledger, account, reason, made_by, note,
                amount::numeric(40, 12) AS amount, to_timestamp(wall_ms / 1000.0) AS at,
                (to_timestamp(wall_ms / 1000.0) AT TIME ZONE 'UTC')::date AS day
            FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
                AS new (ledger, account, wall_ms, reason, amount, made_by, note)
        ) AS new
        GROUP BY ledger, account, day, reason
    ), written AS (
        INSERT INTO jobtracker.movement AS old (ledger, account, day, at, reason, amount, made_by, note)
        SELECT ledger, account, day, at, reason, amount, made_by, note FROM new
        ON CONFLICT (account, day, reason, ledger)
        DO UPDATE SET amount = old.amount + excluded.amount, at = greatest(old.at, excluded.at)
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM new), (SELECT count(*) FROM written)";
const SUMS: &str = "SELECT account, sum(amount)::text FROM jobtracker.movement GROUP BY account";

/// A ledger that was set back may lack top-ups that this state database took; it answers those that it has as before.
const REOPEN_TOP_UPS: &str = "UPDATE jobtracker.top_up SET state = 'waiting', answer = '', answered_at = NULL,
        taken_by = NULL
    WHERE state = 'taken' AND taken_by = $1";

/// A state database as the tables know it.
#[derive(Clone, Debug)]
pub(super) struct Publisher<'a> {
    /// Names the state database.
    pub(super) state: &'a str,
    /// None: there are no movements to publish.
    pub(super) ledger: Option<&'a LedgerReader>,
    /// The state was restored from a copy, and the tables have what came after that.
    pub(super) is_restored: bool,
}

/// What a batch of movements begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// The first entry of the ledger; what the table has is deleted.
    FromTheFirst,
    /// The entry after the last that is shown, if those that are shown are still there as they were published.
    Compared,
    /// The entry after the last that is shown.
    Next,
}

/// The accounts that the tables have, as a first start reads them; an error if they could not be written.
pub(super) async fn load(client: &Client, place: &str, former: Former) -> Result<Vec<BudgetLine>, PostgresError> {
    check_access(client, former).await?;
    let sql = "SELECT name, budget::text, bid::text FROM jobtracker.account ORDER BY name";
    let mut text = String::new();
    for row in client.query(sql, &[]).await? {
        let [name, budget, bid] = [row.try_get::<_, &str>(0)?, row.try_get(1)?, row.try_get(2)?];
        // A line of the file has no blanks within a field; the error quotes the name.
        text.push_str(&format!("{} {budget} {bid}\n", name.replace(char::is_whitespace, " ")));
    }
    Ok(budget_file::parse(&text, &format!("{place}, jobtracker.account"))?)
}

impl Publisher<'_> {
    /// Gives the tables to this state database at its first start: nothing of it is published yet.
    pub(super) async fn claim(&self, client: &mut Client) -> Result<(), PostgresError> {
        let transaction = client.transaction().await?;
        shown_for_update(&transaction, self.state).await?;
        delete_movements(&transaction).await?;
        let claim = "UPDATE jobtracker.publication SET state = $1, tick = 0, ledger = 0, compacted = 0";
        mark(&transaction, claim, &[&self.state]).await?;
        transaction.commit().await?;
        FaultPoint::TablesClaimed.pass();
        Ok(())
    }

    /// Publishes the accounts of a tick, after the movements.
    ///
    /// Whatever tick the tables show: who holds the lock is the only one who knows.
    pub(super) async fn publish_accounts(
        &self,
        session: &mut PostgresSession,
        accounts: &[BudgetLine],
        tick: u64,
    ) -> Result<(), PostgresError> {
        let tick = tick.cast_signed();
        let transaction = session.client.transaction().await?;
        let shown = shown_for_update(&transaction, self.state).await?;
        if self.is_restored {
            transaction.execute(REOPEN_TOP_UPS, &[&self.state]).await?;
        }
        let names: Vec<&str> = accounts.iter().map(|account| account.queue.as_str()).collect();
        let budgets: Vec<String> = accounts.iter().map(|account| account.budget.to_string()).collect();
        let bids: Vec<String> = accounts.iter().map(|account| account.rate.to_string()).collect();
        write(&transaction, "account", ACCOUNTS, &[&names, &budgets, &bids, &tick]).await?;
        let sql = "UPDATE jobtracker.publication SET state = $1, tick = $2, published_at = now()";
        mark(&transaction, sql, &[&self.state, &tick]).await?;
        FaultPoint::TablesAccountsWritten.pass();
        transaction.commit().await?;
        session.written = Some(ShownState { state: Some(self.state.to_owned()), tick, ..shown });
        FaultPoint::TablesAccountsDone.pass();
        Ok(())
    }

    /// Publishes a batch of movements with the mark of their last. Returns whether it was the last batch.
    pub(super) async fn publish_movements(
        &self,
        session: &mut PostgresSession,
        before: LedgerEnds,
        filling: Filling,
    ) -> Result<bool, PostgresError> {
        let Some(ledger) = self.ledger else { return Ok(true) };
        let transaction = session.client.transaction().await?;
        let shown = shown_for_update(&transaction, self.state).await?;
        let (ends, mut movements) = movements_after(ledger, shown.ledger)?;
        // The ledger lost entries that are shown, or the next ones are in daily sums with entries that are shown.
        let is_behind = shown.ledger > before.last;
        let is_mixed = shown.ledger > 0 && shown.ledger < ends.compacted && shown.compacted != ends.compacted;
        let mut compacted = shown.compacted;
        if is_behind {
            transaction.execute(REOPEN_TOP_UPS, &[&self.state]).await?;
        }
        let is_from_the_first = filling == Filling::FromTheFirst || is_behind || is_mixed || shown.ledger <= 0;
        let is_compared = filling == Filling::Compared || session.written.as_ref() != Some(&shown);
        if is_from_the_first || (is_compared && are_changed(&transaction, ledger, shown.ledger).await?) {
            delete_movements(&transaction).await?;
            let (from_the_first, all) = movements_after(ledger, 0)?;
            compacted = from_the_first.compacted;
            movements = all;
        }
        add(&transaction, &movements).await?;
        let sql = "UPDATE jobtracker.publication SET state = $1, ledger = $2, compacted = $3";
        mark(&transaction, sql, &[&self.state, &movements.last, &compacted]).await?;
        FaultPoint::TablesMovementsWritten.pass();
        transaction.commit().await?;
        session.written =
            Some(ShownState { state: Some(self.state.to_owned()), ledger: movements.last, compacted, ..shown });
        FaultPoint::TablesMovementsDone.pass();
        Ok(movements.is_empty() || movements.last >= before.last)
    }
}

/// Whether somebody else deleted or changed movements: they do not add up to what the ledger has up to the same entry.
async fn are_changed(transaction: &Transaction<'_>, ledger: &LedgerReader, number: i64) -> Result<bool, PostgresError> {
    let mut shown = BTreeMap::new();
    for row in transaction.query(SUMS, &[]).await? {
        // No number where there is NaN.
        let sum = Credits::parse_exact(row.try_get(1)?).map_or(i128::MAX, Credits::units);
        shown.insert(row.try_get::<_, String>(0)?, sum);
    }
    shown.retain(|_, sum| *sum != 0);
    let are_changed = shown != sums_through(ledger, number)?;
    if are_changed {
        tracing::warn!(
            "the rows of jobtracker.movement are not those that were published: another role deleted or changed some; all are filled in again from the ledger"
        );
    }
    Ok(are_changed)
}

async fn delete_movements(transaction: &Transaction<'_>) -> Result<(), PostgresError> {
    transaction.execute("DELETE FROM jobtracker.movement", &[]).await?;
    let left: i64 = transaction.query_one("SELECT count(*) FROM jobtracker.movement", &[]).await?.try_get(0)?;
    match left {
        0 => Ok(()),
        left => Err(PostgresError::NotWritten { table: "movement", wanted: left, missing: left }),
    }
}

async fn add(transaction: &Transaction<'_>, movements: &Movements) -> Result<(), PostgresError> {
    if movements.is_empty() {
        return Ok(());
    }
    let Movements { ledger, account, wall_ms, reason, amount, made_by, note, .. } = movements;
    write(transaction, "movement", MOVEMENTS, &[ledger, account, wall_ms, reason, amount, made_by, note]).await
}

/// Runs a statement that says how many rows there were to write, and how many are written.
pub(super) async fn write(
    client: &impl GenericClient,
    table: &'static str,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<(), PostgresError> {
    let row = client.query_one(sql, parameters).await?;
    let (wanted, written): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    match wanted - written {
        0 => Ok(()),
        missing => Err(PostgresError::NotWritten { table, wanted, missing }),
    }
}

/// Changes the one row of `publication`.
async fn mark(client: &impl GenericClient, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<(), PostgresError> {
    match client.execute(sql, parameters).await? {
        1 => Ok(()),
        _ => Err(PostgresError::NotWritten { table: "publication", wanted: 1, missing: 1 }),
    }
}
