//! `jobtracker sign`: what to send with a `/scheduler` request or a job so that it counts as signed.
//!
//! Text only: the key, the user and the time are given, so that the same input gives the same output.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::market::Key;
use crate::market::signature::{job_message, sign};

/// What stands in a query as it is; everything else of a user's name is escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'@').remove(b'~');

/// A query that no HTTP request can carry as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the query {query:?} has {character:?}, which must be URL-encoded")]
pub struct QueryCharacterError {
    /// The query.
    pub query: String,
    /// The first such character.
    pub character: char,
}

/// A query for `/scheduler` with user and timestamp, and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedQuery {
    /// All that comes after `/scheduler?`.
    pub query: String,
    /// The whole value of the `Authorization` header.
    pub authorization: String,
}

// === impl SignedQuery ===

impl SignedQuery {
    /// Signs a query such as `info=alice`, as the Dynamic Priority Scheduler document's Python client does.
    ///
    /// # Errors
    ///
    /// Some character must be escaped first: the server verifies the query as it travels.
    pub fn new(query: &str, user: &str, timestamp_ms: i64, key: &Key) -> Result<SignedQuery, QueryCharacterError> {
        let travels = |character: char| character.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(character);
        if let Some(character) = query.chars().find(|&character| !travels(character)) {
            return Err(QueryCharacterError { query: query.to_owned(), character });
        }
        let query = format!("{query}&user={}&timestamp={timestamp_ms}", utf8_percent_encode(user, ESCAPED));
        let authorization = sign(&query, key);
        Ok(SignedQuery { query, authorization })
    }

    /// The query and the value of the header, a line each.
    pub fn lines(&self) -> String {
        format!("{}\n{}\n", self.query, self.authorization)
    }

    /// The command that sends it to a server, `host:port`.
    pub fn curl(&self, server: &str) -> String {
        let header = quoted(&format!("Authorization: {}", self.authorization));
        // -g: curl would take brackets for a pattern.
        format!("curl -g -H {header} {}\n", quoted(&format!("http://{server}/scheduler?{}", self.query)))
    }
}

/// The three properties that make a job a signed one of this user, as arguments of a job client.
pub fn job_arguments(user: &str, timestamp_ms: i64, key: &Key) -> String {
    let signature = sign(&job_message(user, &timestamp_ms.to_string()), key);
    let mut arguments = format!("-Dmapred.job.timestamp={timestamp_ms} -Dmapred.job.signature={signature}");
    // Writing to a string cannot fail.
    let _ = writeln!(arguments, " {}", quoted_if_needed(&format!("-Dmapreduce.job.queue.name={user}")));
    arguments
}

/// A text as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A text as one word of a POSIX shell, bare where that is enough.
fn quoted_if_needed(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@=/:".contains(&byte);
    if text.bytes().all(is_plain) { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::signature::verify;
    use crate::market::{Acl, Shape};

    const TIME_MS: i64 = 1_700_000_000_000;

    fn key() -> Key {
        Key::new("alicekey-abc")
    }

    #[test]
    fn a_query_gets_the_original_clients_signature() {
        let signed = SignedQuery::new("info=alice", "alice", TIME_MS, &key()).unwrap();
        insta::assert_snapshot!(signed.lines(), @r"
        info=alice&user=alice&timestamp=1700000000000
        JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D
        ");
        insta::assert_snapshot!(signed.curl("myhost:50030"), @"curl -g -H 'Authorization: JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D' 'http://myhost:50030/scheduler?info=alice&user=alice&timestamp=1700000000000'");
    }

    #[test]
    fn a_job_gets_the_documents_properties() {
        insta::assert_snapshot!(job_arguments("alice", TIME_MS, &key()), @"-Dmapred.job.timestamp=1700000000000 -Dmapred.job.signature=JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D -Dmapreduce.job.queue.name=alice");
    }

    #[test]
    fn any_user_signs_what_the_server_verifies() {
        let acl = Acl::parse("o'brien&co user k\n", "acl").unwrap();
        let signed = SignedQuery::new("info", "o'brien&co", TIME_MS, &Key::new("k")).unwrap();
        let shape = Shape::parse(&signed.query).unwrap();
        assert!(verify(&acl, shape.user.as_deref(), &signed.query, Some(&signed.authorization)).is_ok());
        assert!(!signed.query.contains('\''), "{}", signed.query);
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        let signed = SignedQuery::new("info=a'$(b)", "u", TIME_MS, &key()).unwrap();
        assert!(signed.curl("h").contains(r"?info=a'\''$(b)&user=u"), "{}", signed.curl("h"));
        let arguments = job_arguments("a b", TIME_MS, &key());
        assert!(arguments.ends_with(" '-Dmapreduce.job.queue.name=a b'\n"), "{arguments}");
    }

    #[test]
    fn characters_that_do_not_travel_are_named() {
        for (query, character) in [("info=a b", ' '), ("info=ä", 'ä'), ("info=<", '<'), ("a#b", '#'), ("a\nb", '\n')]
        {
            let error = SignedQuery::new(query, "u", TIME_MS, &key()).unwrap_err();
            assert_eq!(error, QueryCharacterError { query: query.to_owned(), character });
        }
    }
}
