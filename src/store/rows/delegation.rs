//! Rows of delegation tokens and their keys.

use rusqlite::{Transaction, params};

use crate::engine::{DelegationChange, DelegationKey, DelegationToken};
use crate::model::FactNumber;
use crate::store::missed_updates::{MissedUpdates, update_row};
use crate::store::schema::{DELEGATION_SEQUENCE, set_meta};

pub(super) fn record(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    change: &DelegationChange,
) -> rusqlite::Result<()> {
    match change {
        DelegationChange::KeyMade(DelegationKey { id, secret, made_ms }) => transaction
            .prepare_cached("INSERT OR REPLACE INTO delegation_key (key, secret, made_ms) VALUES (?1, ?2, ?3)")?
            .execute(params![id, secret, made_ms])
            .map(drop),
        DelegationChange::KeyForgotten(id) => {
            transaction.prepare_cached("DELETE FROM delegation_key WHERE key = ?1")?.execute([id]).map(drop)
        }
        DelegationChange::Issued(DelegationToken { identifier, until_ms, origin }) => {
            set_meta(transaction, DELEGATION_SEQUENCE, identifier.sequence)?;
            let sql = "INSERT OR REPLACE INTO delegation_token (sequence, identifier, until_ms, origin)
                       VALUES (?1, ?2, ?3, ?4)";
            let row = params![identifier.sequence, identifier.to_bytes(), until_ms, format!("{origin:x}")];
            transaction.prepare_cached(sql)?.execute(row).map(drop)
        }
        DelegationChange::Renewed { sequence, until_ms } => {
            let change = "UPDATE delegation_token SET until_ms = ?2 WHERE sequence = ?1";
            update_row(transaction, missed_updates, number, change, params![sequence, until_ms])
        }
        DelegationChange::Ended(sequences) => {
            let mut delete = transaction.prepare_cached("DELETE FROM delegation_token WHERE sequence = ?1")?;
            sequences.iter().try_for_each(|sequence| delete.execute([sequence]).map(drop))
        }
    }
}
