//! Loads delegation tokens and their keys.

use crate::engine::{DelegationKey, DelegationToken, RestoredDelegation};
use crate::wire::{DelegationIdentifier, DelegationIdentifierError};

use super::error::StoreError;
use super::loader::Loader;
use super::schema::DELEGATION_SEQUENCE;

pub(super) fn load(loader: &Loader<'_>) -> Result<RestoredDelegation, StoreError> {
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
