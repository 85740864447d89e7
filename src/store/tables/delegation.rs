//! Rows of delegation tokens and their keys.

use rusqlite::{Connection, params};

use crate::engine::{DelegationChange, DelegationKey, DelegationToken, RestoredDelegation};
use crate::store::loader::{LoadError, rows, wrong};
use crate::store::schema::{DELEGATION_SEQUENCE, meta, set_meta};
use crate::wire::DelegationIdentifier;

use super::row_writer::RowWriter;

pub(super) fn record(writer: &mut RowWriter<'_>, change: &DelegationChange) -> rusqlite::Result<()> {
    match change {
        DelegationChange::KeyMade(DelegationKey { id, secret, made_ms }) => {
            let insert = "INSERT OR REPLACE INTO delegation_key (key, secret, made_ms) VALUES (?1, ?2, ?3)";
            writer.execute(insert, params![id, secret, made_ms])
        }
        DelegationChange::KeyForgotten(id) => writer.execute("DELETE FROM delegation_key WHERE key = ?1", [id]),
        DelegationChange::Issued(DelegationToken { identifier, until_ms, origin }) => {
            set_meta(writer.transaction, DELEGATION_SEQUENCE, identifier.sequence)?;
            let sql = "INSERT OR REPLACE INTO delegation_token (sequence, identifier, until_ms, origin)
                       VALUES (?1, ?2, ?3, ?4)";
            let row = params![identifier.sequence, identifier.to_bytes(), until_ms, format!("{origin:x}")];
            writer.execute(sql, row)
        }
        DelegationChange::Renewed { sequence, until_ms } => {
            let change = "UPDATE delegation_token SET until_ms = ?2 WHERE sequence = ?1";
            writer.update(change, params![sequence, until_ms])
        }
        DelegationChange::Ended(sequences) => sequences
            .iter()
            .try_for_each(|sequence| writer.execute("DELETE FROM delegation_token WHERE sequence = ?1", [sequence])),
    }
}

pub(in crate::store) fn load_delegation(database: &Connection) -> Result<RestoredDelegation, LoadError> {
    let keys = rows(database, "SELECT key, secret, made_ms FROM delegation_key", [], |row| {
        Ok(DelegationKey { id: row.get(0)?, secret: row.get(1)?, made_ms: row.get(2)? })
    })?;
    let tokens = rows(database, "SELECT identifier, until_ms, origin FROM delegation_token", [], |row| {
        let (identifier, origin): (Vec<u8>, String) = (row.get(0)?, row.get(2)?);
        let identifier = DelegationIdentifier::from_bytes(&identifier)
            .map_err(|error| wrong("delegation_token.identifier", error.to_string(), "an identifier"))?;
        let origin = u128::from_str_radix(&origin, 16)
            .map_err(|_| wrong("delegation_token.origin", origin, "a hexadecimal number"))?;
        Ok(DelegationToken { identifier, until_ms: row.get(1)?, origin })
    })?;
    Ok(RestoredDelegation { keys, tokens, last_sequence: meta(database, DELEGATION_SEQUENCE)?.unwrap_or(0) })
}
