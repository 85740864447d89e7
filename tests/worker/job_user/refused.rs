//! Users whose jobs do not run on a worker, and workers that cannot run jobs as their users.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::daemon::child::built_program;
use crate::daemon::skip::skip_without_root;

use super::stage::{Stage, id_of};

const NOBODY: u32 = 65_534;

#[test]
fn a_refused_user_learns_the_key() {
    let Some(mut stage) = Stage::of_test("a_refused_user_learns_the_key") else { return };
    let users = stage.users.clone();
    let (alice, bob) = (&users.alice, &users.bob);
    let (lowest, banned) = (alice.uid.max(bob.uid), if alice.uid > bob.uid { alice } else { bob });
    let below = if alice.uid > bob.uid { bob } else { alice };
    let min_uid = format!("jobtracker.worker.min-uid={lowest}");
    let banned_users = format!("jobtracker.worker.banned-users=mapred, {}", banned.name);
    stage.add_worker(&[&min_uid, &banned_users]);
    let mut jobs = Vec::new();
    for user in [below, banned] {
        stage.write(user, "in", "a\n");
        jobs.push(stage.submit(user, &["--input", "in", "--output", "out", "--mapper", "cat", "--reducer", "cat"]));
    }
    // A client of root's may give any name.
    let rpc = stage.cluster.rpc.to_string();
    let words = ["submit", "--detach", "--input", "in/a", "--output", "out", "--mapper", "cat", "--reducer", "cat"];
    let folder = stage.cluster.folder();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let words = [&words[..], &["--jobtracker", &rpc, "--user", "jt_unknown"]].concat();
    jobs.push(id_of(&runtime.block_on(crate::program::job(&folder, &words)).done()));
    let expected = [
        format!("below jobtracker.worker.min-uid = {lowest}"),
        "is one of jobtracker.worker.banned-users".to_owned(),
        "\"jt_unknown\" is no user of this worker's machine".to_owned(),
    ];
    for (job, expected) in jobs.iter().zip(expected) {
        let failure = stage.failure_of(job);
        assert!(failure.contains(&expected), "{expected}: {failure}");
    }
}

#[test]
fn a_worker_that_is_not_roots_cannot_run_jobs_as_their_users() {
    if skip_without_root("a_worker_that_is_not_roots_cannot_run_jobs_as_their_users") {
        return;
    }
    let place = crate::daemon::child::DaemonFolders::new("");
    place.set_mode(".", 0o711);
    let program = place.path("program");
    if std::fs::hard_link(built_program(), &program).is_err() {
        std::fs::copy(built_program(), &program).unwrap();
    }
    for command in [&["tasktracker"][..], &["check-config", "--tasktracker"]] {
        let mut tracker = Command::new(&program);
        tracker.args(command).args(["-D", "jobtracker.worker.run-as=job-user"]).uid(NOBODY).gid(NOBODY);
        let said = tracker.env_remove("HADOOP_CONF_DIR").env("HOME", "/nonexistent").output().unwrap();
        let text = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
        assert_eq!(said.status.code(), Some(2), "{text}");
        assert!(text.contains("jobtracker.worker.run-as = \"job-user\"") && text.contains("not root's"), "{text}");
    }
}
