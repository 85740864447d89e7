//! Workers that have less than they offer: what they cannot start is run again, and nothing fails for it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::cluster::Cluster;
use crate::daemon::child::built_program;
use crate::daemon::small_disk::skip_without_disks;
use crate::program::job_command;

const MUCH: [&str; 2] = ["jobtracker.tasktracker.vcores=200", "jobtracker.tasktracker.memory.mb=204800"];

/// A worker that may have so few descriptors that not half of what it offers can run.
fn short_of_descriptors() -> Cluster {
    let mut cluster = Cluster::new(0);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 90; exec \"$@\"", "sh"]).arg(built_program());
    cluster.add_worker_with(command, &[], &[&MUCH[..], &["mapred.tasktracker.map.tasks.maximum=30"]].concat());
    cluster
}

#[test]
fn an_array_ends_right_on_a_worker_short_of_descriptors_and_the_worker_says_so() {
    let cluster = short_of_descriptors();
    let ran = cluster.says(&["run", "--memory", "16", "--array", "1-60", "--", "sleep", "0.1"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // What is offered grows again within a minute, not sooner.
    let ready = cluster.serving.as_ref().unwrap().get("/readyz", "");
    assert!(ready.body.contains("is short: it lacks what it needs to run what it offers"), "{}", ready.body);
    let metrics = cluster.serving.as_ref().unwrap().get("/metrics", "").body;
    assert!(metrics.contains("jobtracker_trackers{health=\"short\"} 1"), "{metrics}");
}

/// Of a map that has ended nothing stays open, however long its output is served: else these would use up all that there are.
#[test]
fn a_job_ends_right_on_a_worker_short_of_descriptors() {
    let cluster = short_of_descriptors();
    let many = cluster.folder().join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..60 {
        std::fs::write(many.join(number.to_string()), format!("{number}\n")).unwrap();
    }
    let words = ["submit", "--input", "many", "--output", "out", "--mapper", "cat", "--reducer", "cat"];
    // The first failure of any task would be the job's.
    let once = ["-D", "mapred.map.max.attempts=1", "-D", "mapred.reduce.max.attempts=1"];
    cluster.job(&[&words[..], &once].concat()).done();
    assert_eq!(cluster.output("out").len(), 60);
}

#[test]
fn a_job_ends_right_on_a_worker_whose_disk_has_room_for_few_maps_at_a_time() {
    if skip_without_disks("a_job_ends_right_on_a_worker_whose_disk_has_room_for_few_maps_at_a_time") {
        return;
    }
    let mut cluster = Cluster::new(0);
    cluster.add_worker_on_small_disk(3, &["mapred.tasktracker.map.tasks.maximum=30"]);
    let many = cluster.folder().join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..30 {
        std::fs::write(many.join(number.to_string()), format!("{number}\n")).unwrap();
    }
    let words = ["submit", "--input", "many", "--output", "out", "--reducer", "NONE", "--mapper"];
    let fill = "sh -c 'head -c 150000 /dev/zero > scratch; cat'";
    let once = ["-D", "mapred.map.max.attempts=1"];
    cluster.job(&[&words[..], &[fill], &once].concat()).done();
    assert_eq!(cluster.output("out").len(), 30);
}

#[test]
fn output_that_fills_the_workers_disk_is_said_to_be_lost_and_is_no_success() {
    if skip_without_disks("output_that_fills_the_workers_disk_is_said_to_be_lost") {
        return;
    }
    let mut cluster = Cluster::new(0);
    cluster.add_worker_on_small_disk(3, &[]);
    let ran = cluster.says(&["run", "--", "head", "-c", "8000000", "/dev/zero"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("bytes of its output are lost") && ran.stderr.contains("-201"), "{}", ran.stderr);
    // The log stays, and with it the reason why nothing more is taken.
    let reason = "less free room than mapred.local.dir.minspacestart";
    let serving = cluster.serving.as_ref().unwrap();
    assert!((0..10_000).any(|_| serving.get("/readyz", "").body.contains(reason)));
    assert!(serving.get("/status", "").body.contains(reason));
    assert!(serving.get("/metrics", "").body.contains("jobtracker_trackers{health=\"unhealthy\"} 1"));
    // Who submits or waits is shown the disk, too.
    let job = cluster.submit(&["--input", "in/a", "--output", "out", "--mapper", "cat", "--reducer", "NONE"]);
    assert!(cluster.job(&["status", &job]).done().contains(reason));
    let rpc = cluster.rpc.to_string();
    let waits = job_command(&cluster.folder(), &["wait", &job, "--jobtracker", &rpc, "--user", "alice"]);
    for command in [waits.into_std(), cluster.std_command(&["run", "--", "echo", "after"])] {
        said_before_its_end(command, reason);
    }
}

/// Waits until a command that does not end has said these words, and kills it.
fn said_before_its_end(mut command: Command, expected: &str) {
    let mut running = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    let found = lines.any(|line| line.contains(expected));
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(found, "{command:?} did not say {expected:?}");
}

#[test]
fn a_worker_without_inodes_takes_no_work_until_it_has_some() {
    if skip_without_disks("a_worker_without_inodes_takes_no_work_until_it_has_some") {
        return;
    }
    let mut cluster = Cluster::new(0);
    let disk = cluster.add_worker_on_disk("size=64m,nr_inodes=400", &[]);
    assert_eq!(cluster.says(&["run", "--", "echo", "before"]).code, 0);
    let folder = disk.join("of-others");
    std::fs::create_dir(&folder).unwrap();
    while std::fs::write(folder.join(folder.read_dir().unwrap().count().to_string()), "").is_ok() {}
    said_before_its_end(cluster.std_command(&["run", "--", "echo", "after"]), "inodes free");
    let serving = cluster.serving.as_ref().unwrap();
    assert!(serving.get("/readyz", "").body.contains("inodes free"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(cluster.says(&["run", "--", "echo", "after"]).done(), "after\n");
}
