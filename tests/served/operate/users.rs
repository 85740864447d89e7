//! `jobtracker user` while the daemon runs: what it writes counts at once, without a reload.

use std::process::Command;

use jobtracker::clock::wall_ms;
use jobtracker::market::Key;
use jobtracker::market::signature::sign;

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};

use super::BUDGETS;

/// Runs `jobtracker user` on the daemon's ACL file.
fn user(place: &DaemonFolders, words: &str) -> String {
    let mut command = Command::new(built_program());
    command.arg("user").args(words.split_whitespace()).arg("--acl-file").arg(place.acl());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn new_key(answer: &str) -> String {
    answer.lines().last().unwrap().to_owned()
}

/// The status of an answer to alice, signed with that key so many ms after now.
fn asks(serving: &ChildDaemon, key: &str, after_ms: i64) -> (u16, String) {
    let query = format!("info=alice&user=alice&timestamp={}", wall_ms() + after_ms);
    let answer = serving.get(&format!("/scheduler?{query}"), &sign(&query, &Key::new(key)));
    (answer.status, answer.body)
}

#[test]
fn a_new_key_counts_at_once_and_the_old_one_for_as_long_as_asked() {
    let place = DaemonFolders::new(BUDGETS);
    place.set_mode("etc/hadoop.acl", 0o600);
    let serving = place.start();
    let status = |key: &str, after_ms| asks(&serving, key, after_ms).0;
    assert_eq!(status("alicekey", 1_000), 200);
    let second = new_key(&user(&place, "key alice --keep-old 1h"));
    assert_eq!(status(&second, 2_000), 200);
    assert_eq!(status("alicekey", 3_000), 200);
    assert_eq!(status(&second, 2_500), 200);
    let query = format!("info=alice&user=alice&timestamp={}", wall_ms() + 5_000);
    let signature = sign(&query, &Key::new("alicekey"));
    let again = || serving.get(&format!("/scheduler?{query}"), &signature).status;
    assert_eq!((again(), again()), (200, 500), "a signature is accepted once");
    // Without an overlap both old keys end.
    let third = new_key(&user(&place, "key alice"));
    assert_eq!(status("alicekey", 9_000), 500);
    assert_eq!(status(&second, 9_000), 500);
    assert_eq!(status(&third, 9_000), 200);
    assert_eq!(place.names("etc"), ["hadoop.acl", "hadoop.budget"]);
    // A file of old keys that has expired counts no more, after a restart either.
    std::fs::write(place.path("etc/hadoop.acl.retiring"), format!("alice {} alicekey\n", wall_ms() - 1)).unwrap();
    assert_eq!(status("alicekey", 10_000), 500);
    assert_eq!(serving.stop().0, 0);
    let serving = place.start();
    assert_eq!(asks(&serving, "alicekey", 11_000).0, 500);
    assert_eq!(asks(&serving, &third, 12_000).0, 200);
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_user_that_is_added_may_sign_and_one_that_is_removed_may_not() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    let key = new_key(&user(&place, "add carol --role admin"));
    let query = format!("infos&user=carol&timestamp={}", wall_ms());
    let signature = sign(&query, &Key::new(&key));
    assert_eq!(serving.get(&format!("/scheduler?{query}"), &signature).status, 200);
    user(&place, "remove carol");
    let query = format!("infos&user=carol&timestamp={}", wall_ms() + 1_000);
    let signature = sign(&query, &Key::new(&key));
    assert_eq!(serving.get(&format!("/scheduler?{query}"), &signature).status, 500);
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_user_is_added_with_queue_money_bid_and_allowance_in_one_go() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    let server = serving.http.to_string();
    let add = |name: &str, words: &str| {
        let mut command = Command::new(built_program());
        command.args(["user", "add", name, "--acl-file"]).arg(place.acl()).args(words.split_whitespace());
        command.args(["--server", &server]).output().unwrap()
    };
    let acl = || std::fs::read_to_string(place.acl()).unwrap();
    let before = acl();
    // Nothing is changed by what cannot be done.
    for (words, code) in [
        ("--budget 5 --as alice", 2),
        ("--budget 5 --as nobody", 2),
        ("--rate -1 --as root", 2),
        ("--allowance 5 each 1d --as root", 2),
    ] {
        let output = add("carol", words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), acl() == before), (Some(code), true), "{words}: {stderr}");
        assert!(output.stdout.is_empty(), "no key is printed that is not in force");
    }
    let output = add("carol", "--budget 12.5 --rate 0.5 --allowance 3 every 1d cap 40 --as root");
    let key = new_key(&String::from_utf8(output.stdout).unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let carol = |query: &str| {
        let query = format!("{query}&user=carol&timestamp={}", wall_ms());
        serving.get(&format!("/scheduler?{query}"), &sign(&query, &Key::new(&key)))
    };
    assert_eq!(carol("info").status, 200);
    let queue = || serving.ask_address("/scheduler/queues", "root", "queues=carol").body;
    let now = queue();
    for member in ["\"budget\":\"12.5\"", "\"bid\":\"0.5\"", "\"allowance\":{", "40.0"] {
        assert!(now.contains(member), "{member}: {now}");
    }
    let again = add("carol", "--budget 1 --as root");
    assert_eq!(again.status.code(), Some(2), "the user is there");
    assert!(queue().contains("\"budget\":\"12.5\""));
    let log = serving.log.text();
    assert!(log.contains("jobtracker::audit: add-queue user=root queue=carol"), "{log}");
    assert_eq!(serving.stop().0, 0);
}
