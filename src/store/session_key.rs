//! The key of sessions: drawn at the first start, and kept so that restarts and upgrades keep sessions.

use std::io;
use std::path::Path;

use rusqlite::{Connection, params};

use crate::model::{SESSION_KEY_BYTES, SessionKey, from_hex, hex};

use super::error::{StoreError, failed};
use super::folder::at;
use super::schema::{SESSION_KEY, meta};

/// The key that the database has; one is drawn where it has none.
pub(super) fn find_or_draw(database: &Connection, path: &Path) -> Result<SessionKey, StoreError> {
    if let Some(kept) = meta::<String>(database, SESSION_KEY).map_err(failed("read", path))? {
        let bytes = from_hex(&kept).and_then(|bytes| bytes.try_into().ok());
        let wrong = || StoreError::Value {
            path: path.to_owned(),
            column: "meta.session_key",
            value: format!("{} characters", kept.len()),
            expected: "64 hexadecimal digits",
        };
        return bytes.map(SessionKey::new).ok_or_else(wrong);
    }
    let mut drawn = [0; SESSION_KEY_BYTES];
    getrandom::fill(&mut drawn).map_err(|error| at("draw a key for", path)(io::Error::other(error)))?;
    let sql = "INSERT INTO meta (key, value) VALUES (?1, ?2)";
    database.execute(sql, params![SESSION_KEY, hex(&drawn)]).map_err(failed("write", path))?;
    Ok(SessionKey::new(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn a_key_is_drawn_once_and_then_kept() {
        let (database, other) = (schema::in_memory().unwrap(), schema::in_memory().unwrap());
        let find = |database: &Connection| find_or_draw(database, Path::new("state.db")).unwrap();
        let drawn = find(&database);
        assert_eq!(find(&database), drawn);
        assert_ne!(find(&other), drawn);
        assert_ne!(drawn, SessionKey::new([0; SESSION_KEY_BYTES]));
        assert_eq!(format!("{drawn:?}"), "SessionKey(…)");
    }
}
