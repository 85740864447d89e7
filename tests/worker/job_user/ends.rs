//! Attempts that are killed, or whose worker is, or whose own process is: nothing of them is left, and no other user sees their files.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::{files_of, wait_until_gone};
use crate::daemon::child::wait_for_files;

use super::stage::Stage;
use super::users::TestUser;

/// Leaves a process with a session of its own and no environment, and does not end by itself. The numbers of the attempt's process,
/// its supervisor and both commands go to a file.
const ENDLESS: &str = r#"
trap '' TERM
setsid env -i sleep 1000 < /dev/null > /dev/null 2>&1 &
left=$!
parent=$(ps -o ppid= -p $PPID)
echo $parent $PPID $$ $left > "$1.new"
echo "$HADOOP_TOKEN_FILE_LOCATION" > "$1.token"
mv "$1.new" "$1"
while :; do sleep 1000; done
"#;

impl Stage {
    /// A job that does not end; returns its id, and the processes of its map.
    fn submit_endless(&self, user: &TestUser, name: &str) -> (String, Vec<i32>) {
        self.write(user, "in", "a\n");
        self.write(user, "endless.sh", ENDLESS);
        let pids = self.home(user).join(name);
        let mapper = format!("sh endless.sh {}", pids.display());
        let kill_delay = "mapred.tasktracker.tasks.sleeptime-before-sigkill=50";
        let output = format!("{name}.out");
        let words =
            ["--input", "in", "--output", &output, "--file", "endless.sh", "--reducer", "NONE", "-D", kill_delay];
        let job = self.submit(user, &[&words[..], &["-D", "mapred.map.tasks=1", "--mapper", &mapper]].concat());
        wait_for_files(&self.home(user), || pids.exists());
        let pids = std::fs::read_to_string(&pids).unwrap();
        (job, pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect())
    }
}

#[test]
fn a_killed_job_leaves_no_process_and_no_other_job_reads_its_files() {
    let Some(mut stage) = Stage::of_test("a_killed_job_leaves_no_process_and_no_other_job_reads_its_files") else {
        return;
    };
    stage.add_worker(&[]);
    let users = stage.users.clone();
    let (alice, bob) = (&users.alice, &users.bob);
    let (job, pids) = stage.submit_endless(bob, "endless");
    let token = std::fs::read_to_string(stage.home(bob).join("endless.token")).unwrap();
    let token = PathBuf::from(token.trim());
    assert!(token.exists());
    stage.write(alice, "in", "a\n");
    let spy = "cat > /dev/null\n(cat \"$1\") > /dev/null 2>&1 && echo READ\n(kill -9 $2) 2> /dev/null && echo KILLED\necho done\n";
    stage.write(alice, "spy.sh", spy);
    let mapper = format!("sh spy.sh {} {}", token.display(), pids[2]);
    let words = ["submit", "--input", "in", "--output", "out", "--file", "spy.sh", "--reducer", "NONE", "--mapper"];
    stage.job(alice, &[&words[..], &[&mapper, "-D", "mapred.map.tasks=1"]].concat()).done();
    let seen = std::fs::read_to_string(stage.home(alice).join("out/part-00000")).unwrap();
    assert_eq!(seen, "done\t\n");
    stage.cluster.job(&["kill", &job]).done();
    pids.into_iter().for_each(wait_until_gone);
}

#[test]
fn a_worker_that_is_killed_leaves_no_process() {
    let Some(mut stage) = Stage::of_test("a_worker_that_is_killed_leaves_no_process") else { return };
    stage.add_worker(&[]);
    let users = stage.users.clone();
    let (_, pids) = stage.submit_endless(&users.alice, "endless");
    stage.cluster.kill_worker(0);
    pids.into_iter().for_each(wait_until_gone);
}

#[test]
fn an_attempt_whose_processes_are_killed_leaves_no_process_and_runs_again() {
    let Some(mut stage) = Stage::of_test("an_attempt_whose_processes_are_killed_leaves_no_process_and_runs_again")
    else {
        return;
    };
    stage.add_worker(&[]);
    let users = stage.users.clone();
    let (job, pids) = stage.submit_endless(&users.alice, "endless");
    std::fs::remove_file(stage.home(&users.alice).join("endless")).unwrap();
    // As a command of the same user may: the process of the attempt, and the supervisor below it.
    for pid in &pids[..2] {
        kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL).unwrap();
    }
    pids.into_iter().for_each(wait_until_gone);
    wait_for_files(&stage.home(&users.alice), || stage.home(&users.alice).join("endless").exists());
    let events = stage.cluster.job(&["events", &job]).done();
    assert!(events.contains("_m_000000_0"), "{events}");
    stage.cluster.job(&["kill", &job]).done();
}

#[test]
fn a_worker_that_is_stopped_leaves_no_process_and_no_file() {
    let Some(mut stage) = Stage::of_test("a_worker_that_is_stopped_leaves_no_process_and_no_file") else { return };
    stage.add_worker(&[]);
    let users = stage.users.clone();
    let (_, pids) = stage.submit_endless(&users.alice, "endless");
    let worker = stage.cluster.worker_pid(0);
    kill_process(worker, Signal::TERM).unwrap();
    pids.into_iter().for_each(wait_until_gone);
    wait_until_gone(worker.as_raw_nonzero().get());
    assert_eq!(files_of(&stage.disk()), ["userlogs"]);
}
