//! Job files that a user hands over to a JobTracker that is not root's: no user but the daemon's may read them, so that attempts fetch them.

use super::stage::{Stage, owner_and_mode};

#[test]
fn attempts_fetch_what_their_user_may_not_read() {
    let Some(mut stage) = Stage::of_daemon_of_nobody("attempts_fetch_what_their_user_may_not_read") else { return };
    let http = stage.cluster.serving.as_ref().unwrap().http.to_string();
    stage.add_worker(&[&format!("mapred.job.tracker.http.address={http}")]);
    let users = stage.users.clone();
    let alice = &users.alice;
    stage.write(alice, "in", "b\na\n");
    stage.write(alice, "map.sh", "cat");
    let words = ["submit", "--input", "in", "--output", "out", "--file", "map.sh", "--mapper", "sh map.sh"];
    let said = stage.job(alice, &[&words[..], &["--reducer", "cat", "--server", &http]].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let out = stage.home(alice).join("out/part-00000");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "a\t\nb\t\n");
    assert_eq!(owner_and_mode(&out).0, alice.uid);
}
