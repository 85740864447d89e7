//! A signed query of `/scheduler`, as the Dynamic Priority Scheduler document's Python client makes it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::market::Key;
use crate::market::signature::sign;

/// Characters that need no escape in a query value.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'@').remove(b'~');

/// A query with a character that must be escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the query {query:?} has {character:?}, which must be URL-encoded")]
pub struct QueryCharacterError {
    pub(crate) query: String,
    /// The first such character.
    pub(crate) character: char,
}

/// A query for `/scheduler` with user and timestamp, and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedQuery {
    /// The text after `/scheduler?`.
    pub query: String,
    /// Value of the `Authorization` header.
    pub authorization: String,
}

impl SignedQuery {
    /// Signs a query such as `info=alice` at a time, epoch ms.
    ///
    /// # Errors
    ///
    /// A character must be escaped first: the server verifies the query as received.
    pub fn new(query: &str, user: &str, timestamp_ms: i64, key: &Key) -> Result<SignedQuery, QueryCharacterError> {
        let travels = |character: char| character.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(character);
        if let Some(character) = query.chars().find(|&character| !travels(character)) {
            return Err(QueryCharacterError { query: query.to_owned(), character });
        }
        let query = format!("{query}&user={}&timestamp={timestamp_ms}", escaped(user));
        let authorization = sign(&query, key);
        Ok(SignedQuery { query, authorization })
    }

    /// The address at a path that has the signature in it, for browsers.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{path}?{}&signature={}", self.query, self.authorization)
    }
}

pub(crate) fn escaped(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::signature::verify;
    use crate::market::{Acl, ParsedQuery};

    #[test]
    fn any_user_signs_what_the_server_verifies() {
        let acl = Acl::parse("o'brien&co user k\n", "acl").unwrap();
        let signed = SignedQuery::new("info", "o'brien&co", 1_700_000_000_000, &Key::new("k")).unwrap();
        let parsed = ParsedQuery::parse(&signed.query).unwrap();
        assert!(verify(&acl, parsed.user.as_deref(), &signed.query, Some(&signed.authorization)).is_ok());
        assert!(!signed.query.contains('\''), "{}", signed.query);
    }

    #[test]
    fn characters_that_do_not_travel_are_named() {
        for (query, character) in [("info=a b", ' '), ("info=ä", 'ä'), ("info=<", '<'), ("a#b", '#'), ("a\nb", '\n')]
        {
            let error = SignedQuery::new(query, "u", 1, &Key::new("k")).unwrap_err();
            assert_eq!(error, QueryCharacterError { query: query.to_owned(), character });
        }
        assert_eq!(escaped("a b&c"), "a%20b%26c");
    }
}
