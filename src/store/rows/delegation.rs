//! Rows of delegation tokens and their keys.

use rusqlite::{Transaction, params};

use crate::engine::{DelegationChange, DelegationKey, DelegationToken, RestoredDelegation};
use crate::model::FactNumber;
use crate::store::durable::{MissedUpdates, update_row};
use crate::store::error::StoreError;
use crate::store::loader::Loader;
use crate::store::schema::{DELEGATION_SEQUENCE, set_meta};
use crate::wire::{DelegationIdentifier, DelegationIdentifierError};

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

pub(in crate::store) fn load_delegation(loader: &Loader<'_>) -> Result<RestoredDelegation, StoreError> {
    let keys = loader.rows("SELECT key, secret, made_ms FROM delegation_key", |row| {
        Ok(DelegationKey { id: row.get(0)?, secret: row.get(1)?, made_ms: row.get(2)? })
    })?;
    let rows = loader.rows("SELECT identifier, until_ms, origin FROM delegation_token", |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
    })?;
    let token = |(identifier, until_ms, origin): (Vec<u8>, i64, String)| {
        let wrong = |error: DelegationIdentifierError| {
            loader.wrong("delegation_token.identifier", format!("{error}"), "an identifier")
        };
        let identifier = DelegationIdentifier::from_bytes(&identifier).map_err(wrong)?;
        let origin = u128::from_str_radix(&origin, 16)
            .map_err(|_| loader.wrong("delegation_token.origin", origin, "a hexadecimal number"))?;
        Ok(DelegationToken { identifier, until_ms, origin })
    };
    Ok(RestoredDelegation {
        keys,
        tokens: rows.into_iter().map(token).collect::<Result<_, StoreError>>()?,
        last_sequence: loader.meta(DELEGATION_SEQUENCE)?.unwrap_or(0),
    })
}
