//! What `jobtracker user` does to the files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Parser;

use crate::lifecycle::retiring_path;

use super::*;

const NOW_MS: i64 = 1_000_000_000_000;

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: UserCommand,
}

/// Runs `user` with these words on the ACL file.
fn user(acl: &Path, words: &str) -> Result<String, Failure> {
    let acl = acl.to_str().unwrap();
    let words = ["user"].into_iter().chain(words.split_whitespace()).chain(["--acl-file", acl]);
    run(&Line::try_parse_from(words).unwrap().command, NOW_MS)
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("acl");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn key_in(answer: &str) -> &str {
    answer.lines().last().unwrap()
}

#[test]
fn a_user_is_added_with_a_key_that_is_printed_or_written_for_its_owner_only() {
    let (folder, acl) = file("# us\nroot admin k0\n");
    std::fs::set_permissions(&acl, std::fs::Permissions::from_mode(0o640)).unwrap();
    let answer = user(&acl, "add alice").unwrap();
    let alice = key_in(&answer).to_owned();
    assert_eq!(alice.len(), 64);
    let key_file = folder.path().join("bob.key");
    let answer = user(&acl, &format!("add bob --role admin --key-file {}", key_file.display())).unwrap();
    let bob = std::fs::read_to_string(&key_file).unwrap();
    assert!(!answer.contains(bob.trim()));
    assert_eq!(std::fs::metadata(&key_file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&acl).unwrap();
    assert_eq!(text, format!("# us\nroot admin k0\nalice user {alice}\nbob admin {bob}"));
    assert_eq!(std::fs::metadata(&acl).unwrap().permissions().mode() & 0o777, 0o640);
    // A refusal leaves neither a key file nor a change.
    let other = folder.path().join("other.key");
    let refusal = user(&acl, &format!("add bob --key-file {}", other.display())).unwrap_err();
    assert_eq!(refusal.code, 2);
    assert!(!other.exists());
    assert!(user(&acl, &format!("add dave --key-file {}", key_file.display())).is_err());
    assert_eq!(std::fs::read_to_string(&acl).unwrap(), text);
}

#[test]
fn the_first_user_makes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let acl = folder.path().join("acl");
    assert!(user(&acl, "remove alice").unwrap_err().text.contains("No such file"));
    assert_eq!(user(&acl, "add a#b --role admin").map(|_| ()).map_err(|error| error.text), Ok(()));
    assert_eq!(std::fs::metadata(&acl).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(&acl).unwrap();
    assert!(user(&acl, "add #b").is_err());
    assert!(!acl.exists(), "a refused first user makes no file");
}

#[test]
fn an_old_key_is_kept_for_as_long_as_asked_and_ends_otherwise() {
    let (_folder, acl) = file("root admin k0\nalice\tuser k1\nbob user k2\n");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let answer = user(&acl, "key alice --keep-old 2d").unwrap();
    assert!(answer.starts_with("alice has a new key; the old one is valid until 2001-09-11T01:46:40Z ("), "{answer}");
    let first = key_in(&answer).to_owned();
    assert_eq!(read(&acl), format!("root admin k0\nalice\tuser {first}\nbob user k2\n"));
    let retiring = retiring_path(&acl);
    let until_ms = NOW_MS + 2 * 86_400_000;
    let line = format!("alice {until_ms} k1\n");
    assert!(read(&retiring).ends_with(&line));
    user(&acl, "key bob --keep-old 1h").unwrap();
    user(&acl, "key alice --keep-old 1h").unwrap();
    let lines = format!("{line}bob {0} k2\nalice {0} {first}\n", NOW_MS + 3_600_000);
    assert!(read(&retiring).ends_with(&lines), "{}", read(&retiring));
    let answer = user(&acl, "key alice --json").unwrap();
    assert!(answer.contains(r#""user": "alice""#) && answer.contains(r#""role": "user""#), "{answer}");
    assert!(
        read(&retiring).ends_with(&format!("1970\nbob {} k2\n", NOW_MS + 3_600_000)),
        "all old keys of alice ended"
    );
    let answer = user(&acl, "remove bob").unwrap();
    assert!(answer.starts_with("removed user bob; a queue bob stays with the money in it until"), "{answer}");
    assert!(!retiring.exists());
    assert_eq!(user(&acl, "key bob").unwrap_err().code, 2);
}

#[test]
fn an_amount_that_is_none_is_refused_before_a_queue_is_added() {
    for words in ["add dave --budget 1,5", "add dave --rate x", "add dave --budget=-1"] {
        let refused = Line::try_parse_from(["user"].into_iter().chain(words.split_whitespace())).err().unwrap();
        let said = refused.to_string();
        assert!(said.starts_with("error: invalid value '"), "{said}");
    }
}

#[test]
fn an_overlap_has_seven_days_at_most() {
    assert_eq!(parse_overlap_ms("7d"), Ok(MAX_RETIRING_MS));
    assert_eq!(parse_overlap_ms("90m"), Ok(5_400_000));
    for text in ["8d", "169h", "0d", "-1d", "", "d", "1", "99999999999999d"] {
        assert!(parse_overlap_ms(text).is_err(), "{text}");
    }
}
