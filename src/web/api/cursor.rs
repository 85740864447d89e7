//! Where a list continues: the place of its last row, bound to what was asked for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::model::hex;

/// Bytes of the hash of what was asked for.
const HASH_BYTES: usize = 8;

/// What rows are ordered by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Key {
    Number(i64),
    Text(String),
}

/// The place of a row: its key, and its id among those with the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Place(pub(super) Key, pub(super) String);

impl Place {
    /// As programs pass it back; `asked`: the path with the filters and the order.
    pub(super) fn cursor(&self, asked: &str) -> String {
        // Texts and numbers always serialize.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&(hash(asked), self)).unwrap_or_default())
    }

    /// The place in a cursor; none if it is no cursor, or that of another list.
    pub(super) fn parse(cursor: &str, asked: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (of, place): (String, Self) = serde_json::from_slice(&bytes).ok()?;
        (of == hash(asked)).then_some(place)
    }
}

fn hash(asked: &str) -> String {
    hex(&Sha256::digest(asked)[..HASH_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_bound_to_what_was_asked_for() {
        for place in [Place(Key::Number(-7), "job_1_0001".to_owned()), Place(Key::Text("ä".to_owned()), String::new())]
        {
            let cursor = place.cursor("/jobs?state=RUNNING");
            assert_eq!(Place::parse(&cursor, "/jobs?state=RUNNING"), Some(place));
            assert_eq!(Place::parse(&cursor, "/jobs?state=PREP"), None);
        }
        for wrong in ["", "x", "eyJ9", "é"] {
            assert_eq!(Place::parse(wrong, ""), None);
        }
    }
}
