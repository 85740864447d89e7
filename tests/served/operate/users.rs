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
    // Each key has stamps of its own: the later use of one does not make the earlier time of another old.
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
