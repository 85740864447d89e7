//! `jobtracker sign`: renders the signature of a `/scheduler` request or a job.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::timeout;

use crate::client::market::MarketClient;
use crate::client::signed_query::SignedQuery;
use crate::clock::wall_ms;
use crate::market::Key;
use crate::market::signature::{job_message, sign};
use crate::model::{as_shell_word, quoted_as_shell_word};

use super::exit_code::Failure;
use super::market_command::{MarketArguments, wait_for};
use super::market_text::json;
use super::terminal::print_error;

/// The query and the value of the Authorization header, a line each.
pub(crate) fn lines(signed: &SignedQuery) -> String {
    format!("{}\n{}\n", signed.query, signed.authorization)
}

pub(crate) fn curl(signed: &SignedQuery, server: &str) -> String {
    let header = quoted_as_shell_word(&format!("Authorization: {}", signed.authorization));
    // -g: curl would take brackets for a pattern.
    format!("curl -g -H {header} {}\n", quoted_as_shell_word(&format!("http://{server}/scheduler?{}", signed.query)))
}

/// The three properties of a signed job of this user, as arguments of a job client.
fn job_arguments(user: &str, timestamp_ms: i64, key: &Key) -> String {
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

/// Print the signed query and the Authorization value on two lines; with --curl, the curl command; with --job, the three
/// properties of a job
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SignArguments {
    /// Query after `/scheduler?`, such as `info=alice` or `setSpending=0.5&queue=alice`
    #[arg(value_name = "QUERY", required_unless_present = "job")]
    pub(crate) query: Option<String>,
    /// Sign a job submission
    #[arg(long, conflicts_with_all = ["query", "curl"])]
    pub(crate) job: bool,
    /// Print the curl command
    #[arg(long, conflicts_with = "json")]
    pub(crate) curl: bool,
    /// Server, whose clock is used, signer, output form.
    #[command(flatten)]
    pub(crate) market: MarketArguments,
}

/// How long the server has for its time.
const TIME_TIMEOUT: Duration = Duration::from_secs(2);

/// The time to sign at, epoch ms: the server's, else that of this machine, with a note on standard error.
fn timestamp_ms(server: &str) -> i64 {
    let asked = wait_for(async {
        match timeout(TIME_TIMEOUT, MarketClient::new(server).request("time")).await {
            Ok(answer) => Ok(answer?.time_ms),
            Err(_) => Ok(None),
        }
    });
    let reason = match asked {
        Ok(Some(time_ms)) => return time_ms,
        Ok(None) => format!("{server} gives no time"),
        Err(error) => error.to_string(),
    };
    print_error(&format!("jobtracker: note: signed with the clock of this machine: {reason}"));
    wall_ms()
}

/// The text to print, signed at the server's time.
pub(crate) fn run(arguments: &SignArguments) -> Result<String, Failure> {
    let server = arguments.market.place.find(&[])?.http().address.to_string();
    signed_text(arguments, &server, timestamp_ms(&server))
}

/// The text to print, signed at `timestamp_ms`, epoch ms.
fn signed_text(arguments: &SignArguments, server: &str, timestamp_ms: i64) -> Result<String, Failure> {
    let MarketArguments { json: is_json, signer, .. } = &arguments.market;
    let (user, key) = (signer.user().map_err(Failure::usage)?, signer.key().map_err(Failure::usage)?);
    let Some(query) = arguments.query.as_deref().filter(|_| !arguments.job) else {
        return Ok(match is_json {
            true => json(&serde_json::json!({
                "user": user, "timestamp_ms": timestamp_ms, "signature": job_signature(&user, timestamp_ms, &key),
            })),
            false => job_arguments(&user, timestamp_ms, &key),
        });
    };
    let signed = SignedQuery::new(query, &user, timestamp_ms, &key).map_err(Failure::usage)?;
    if *is_json {
        return Ok(json(&serde_json::json!({ "query": signed.query, "authorization": signed.authorization })));
    }
    Ok(if arguments.curl { curl(&signed, server) } else { lines(&signed) })
}

#[cfg(test)]
mod tests {
    use crate::cli::signer::SignerArguments;

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

    #[test]
    fn a_key_file_signs_a_query_and_a_job() {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("key");
        std::fs::write(&key_file, "alicekey-abc\n").unwrap();
        let signer = SignerArguments { user: Some("alice".into()), key_file: Some(key_file) };
        let market = MarketArguments { signer, ..MarketArguments::default() };
        let mut arguments = SignArguments { query: Some("info=alice".into()), job: false, curl: false, market };
        let text = signed_text(&arguments, "h:1", 1_700_000_000_000).unwrap();
        assert!(text.ends_with("JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D\n"), "{text}");
        arguments.query = None;
        arguments.job = true;
        let text = signed_text(&arguments, "h:1", 1_700_000_000_000).unwrap();
        assert!(text.contains("-Dmapred.job.signature=JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D"), "{text}");
    }

    #[test]
    fn a_missing_or_empty_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("key");
        let signer = SignerArguments { user: Some("alice".into()), key_file: Some(key_file.clone()) };
        assert!(signer.key().unwrap_err().to_string().contains("cannot read the key in"));
        std::fs::write(&key_file, " \n").unwrap();
        assert!(signer.key().unwrap_err().to_string().ends_with("is empty"));
        std::fs::write(&key_file, "\u{feff}alicekey-abc\n").unwrap();
        let text = signer.key().unwrap_err().to_string();
        let expected = format!("the key in {} begins with a byte order mark: ", key_file.display());
        assert!(text.starts_with(&expected) && !text.contains("alicekey"), "{text}");
    }

    #[test]
    fn a_command_that_may_go_unsigned_says_what_is_wrong_with_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("key");
        let signer = SignerArguments { user: Some("alice".into()), key_file: Some(key_file.clone()) };
        let market = MarketArguments { signer, ..MarketArguments::default() };
        for text in ["# key of alice\nalicekey-abc\n", "alice user alicekey-abc\n", "\u{feff}alicekey-abc\n"] {
            std::fs::write(&key_file, text).unwrap();
            let (named, explained) = (market.signer_if_any().unwrap_err(), market.signer_or_why_not().unwrap_err());
            assert!(named.is_bad_key() && explained.is_bad_key(), "{named}, {explained}");
        }
        std::fs::write(&key_file, "\n").unwrap();
        assert!(market.signer_if_any().is_err() && market.signer_or_why_not().unwrap().is_err());
        std::fs::write(&key_file, "'alicekey-abc'\n").unwrap();
        assert_eq!(market.signer_if_any().unwrap().unwrap().key, crate::market::Key::new("'alicekey-abc'"));
    }
}
