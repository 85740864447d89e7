//! A backup made while jobs run, put back after they ended: they are over at once, and everything else goes on.

use std::fs;
use std::process::{Command, Output};

use crate::daemon::child::{DaemonFolders, built_program};
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{client, place};

use jobtracker::model::AttemptState;
use jobtracker::wire::protocol::Protocol;

fn run(place: &DaemonFolders, words: &[&str]) -> Output {
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    Command::new(built_program()).args(words).args(["-D", &state]).env_remove("HADOOP_CONF_DIR").output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn jobs_that_ended_after_the_backup_are_over_once_and_what_is_lost_is_said() {
    let place = crate::upgrade::stage::unsigned_place();
    let serving = place.start();
    let mut alice = client(&serving, Protocol::JobSubmission);
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    let jobs = [alice.submit(&place, 2), alice.submit(&place, 2)];
    for _ in 0..3 {
        let heartbeat = tracker.heartbeat();
        tracker.obey(calls.call(&heartbeat));
        tracker.all_are(AttemptState::Succeeded);
    }
    let copy = place.path("copy.db").display().to_string();
    let copied = run(&place, &["backup", &copy]);
    assert!(copied.status.success(), "{}", text(&copied));
    let held = run(&place, &["restore", &copy]);
    assert_eq!(held.status.code(), Some(2), "{}", text(&held));
    assert!(text(&held).contains("only one JobTracker may run on a state folder"), "{}", text(&held));
    let unfinished = |place: &DaemonFolders| -> i64 {
        place.database().query_row("SELECT count(*) FROM job WHERE finish_ms IS NULL", [], |row| row.get(0)).unwrap()
    };
    while unfinished(&place) > 0 {
        tracker.all_are(AttemptState::Succeeded);
        let heartbeat = tracker.heartbeat();
        tracker.obey(calls.call(&heartbeat));
    }
    let later = alice.submit(&place, 1);
    drop((alice, calls));
    assert_eq!(serving.stop().0, 0);
    // What ended has no files any more.
    for job in jobs {
        for folder in staged(&place, &job.to_string()) {
            fs::remove_dir_all(folder).unwrap();
        }
    }
    let restored = run(&place, &["restore", &copy]);
    let said = text(&restored);
    assert!(restored.status.success(), "{said}");
    assert!(said.contains(&format!("  {later} of alice, ")), "{said}");
    assert!(said.contains("lost: 2 jobs that have ended since"), "{said}");
    let of_jobs = format!("job IN ('{}', '{}')", jobs[0], jobs[1]);
    let launched = |place: &DaemonFolders| -> i64 {
        let sql = format!("SELECT count(*) FROM attempt WHERE {of_jobs}");
        place.database().query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let before = launched(&place);
    let serving = place.start();
    for job in jobs {
        serving.log.wait_for(&format!("{job} is over: its files are gone: it ended after this state was copied"));
    }
    let ends = format!("SELECT group_concat(state || ' ' || (finish_ms IS NOT NULL)) FROM job WHERE {of_jobs}");
    let ends: String = place.database().query_row(&ends, [], |row| row.get(0)).unwrap();
    assert_eq!(ends, "KILLED 1,KILLED 1");
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    for _ in 0..3 {
        let heartbeat = tracker.heartbeat();
        tracker.obey(calls.call(&heartbeat));
    }
    assert_eq!(launched(&place), before, "no attempt more");
    assert_eq!(serving.stop().0, 0);
}

/// The folders of a job's files below the place.
fn staged(place: &DaemonFolders, job: &str) -> Vec<std::path::PathBuf> {
    let spec = "SELECT json_extract(spec, '$.submit_dir') FROM job WHERE job = ?1";
    let uri: Option<String> = place.database().query_row(spec, [job], |row| row.get(0)).ok();
    let folder = uri.and_then(|uri| uri.strip_prefix("file:").map(std::path::PathBuf::from));
    folder.into_iter().filter(|folder| folder.exists()).collect()
}

#[test]
fn a_restore_of_anything_but_a_backup_is_refused_by_name() {
    let place = place();
    assert_eq!(place.start().stop().0, 0);
    fs::write(place.path("songs"), "la la la ".repeat(999)).unwrap();
    for (file, words) in
        [("songs", "not a database"), ("nothing", "No such file"), ("state/state.db", "it is the database itself")]
    {
        let refused = run(&place, &["restore", &place.path(file).display().to_string()]);
        assert!(!refused.status.success() && text(&refused).contains(words), "{}", text(&refused));
    }
    assert_eq!(place.start().stop().0, 0);
}
