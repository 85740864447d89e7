//! `jobtracker sign`: renders the signature of a `/scheduler` request or a job.
//!
//! Pure: the key, the user and the time are parameters.

use std::fmt::Write as _;

use crate::client::signed_query::SignedQuery;
use crate::market::Key;
use crate::market::signature::{job_message, sign};
use crate::model::{as_shell_word, quoted_as_shell_word};

/// The query and the value of the Authorization header, a line each.
pub(crate) fn lines(signed: &SignedQuery) -> String {
    format!("{}\n{}\n", signed.query, signed.authorization)
}

/// The curl command that sends it to a server, `host:port`.
pub(crate) fn curl(signed: &SignedQuery, server: &str) -> String {
    let header = quoted_as_shell_word(&format!("Authorization: {}", signed.authorization));
    // -g: curl would take brackets for a pattern.
    format!("curl -g -H {header} {}\n", quoted_as_shell_word(&format!("http://{server}/scheduler?{}", signed.query)))
}

/// The three properties of a signed job of this user, as arguments of a job client.
pub(crate) fn job_arguments(user: &str, timestamp_ms: i64, key: &Key) -> String {
    let signature = job_signature(user, timestamp_ms, key);
    let mut arguments = format!("-Dmapred.job.timestamp={timestamp_ms} -Dmapred.job.signature={signature}");
    // Writing to a string cannot fail.
    let _ = writeln!(arguments, " {}", as_shell_word(&format!("-Dmapreduce.job.queue.name={user}")));
    arguments
}

/// The value of `mapred.job.signature`.
pub(crate) fn job_signature(user: &str, timestamp_ms: i64, key: &Key) -> String {
    sign(&job_message(user, &timestamp_ms.to_string()), key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_MS: i64 = 1_700_000_000_000;

    fn key() -> Key {
        Key::new("alicekey-abc")
    }

    #[test]
    fn a_query_gets_the_original_clients_signature() {
        let signed = SignedQuery::new("info=alice", "alice", TIME_MS, &key()).unwrap();
        insta::assert_snapshot!(lines(&signed), @r"
        info=alice&user=alice&timestamp=1700000000000
        JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D
        ");
        insta::assert_snapshot!(curl(&signed, "myhost:50030"), @"curl -g -H 'Authorization: JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D' 'http://myhost:50030/scheduler?info=alice&user=alice&timestamp=1700000000000'");
    }

    #[test]
    fn a_job_gets_the_documents_properties() {
        insta::assert_snapshot!(job_arguments("alice", TIME_MS, &key()), @"-Dmapred.job.timestamp=1700000000000 -Dmapred.job.signature=JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D -Dmapreduce.job.queue.name=alice");
    }

    #[test]
    fn shell_metacharacters_are_quoted() {
        let signed = SignedQuery::new("info=a'$(b)", "u", TIME_MS, &key()).unwrap();
        assert!(curl(&signed, "h").contains(r"?info=a'\''$(b)&user=u"), "{}", curl(&signed, "h"));
        let arguments = job_arguments("a b", TIME_MS, &key());
        assert!(arguments.ends_with(" '-Dmapreduce.job.queue.name=a b'\n"), "{arguments}");
    }
}
