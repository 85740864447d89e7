//! Tasktrackers that die at once: their commands end, and the jobs continue elsewhere.

use std::path::Path;

use rustix::process::{Signal, kill_process};

use crate::cluster::{Cluster, wait_until_gone};
use crate::daemon::child::wait_for_files;
use crate::tasktracker::harm::processes;

/// A tracker that says nothing for so long is lost.
const EXPIRY: &str = "mapred.tasktracker.expiry.interval=2000";

fn make_gate(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

impl Cluster {
    fn wait_for_output(&self) {
        let out = self.folder().join("out");
        wait_for_files(&out, || out.join("_SUCCESS").exists());
    }

    fn status_says(&self, job: &str, words: &str) -> bool {
        self.job(&["status", job]).done().contains(words)
    }
}

#[test]
fn a_map_runs_again_elsewhere_and_leaves_nothing_behind() {
    let mut cluster = Cluster::with(&[EXPIRY], 2);
    let worker = hang_once(&cluster);
    let processes = processes(&cluster.folder().join("pids"));
    cluster.kill_worker(worker);
    processes.into_iter().for_each(wait_until_gone);
    cluster.wait_for_output();
    assert_eq!(cluster.output("out").len(), 3);
}

/// A job whose map hangs the first time it runs; gives back the worker that it hangs on.
fn hang_once(cluster: &Cluster) -> usize {
    let (pids, first) = (cluster.folder().join("pids"), cluster.folder().join("first"));
    cluster.place_for_processes("map1.sh", "echo > \"$2.runs\"; sleep 1000");
    let script = "if mkdir \"$2\" 2>/dev/null; then\n sh map1.sh \"$1\" \"$2\"\nelse cat\nfi\n";
    std::fs::write(cluster.folder().join("map2.sh"), script).unwrap();
    let mapper = format!("sh map2.sh {} {}", pids.display(), first.display());
    let words = ["--input", "in/a", "--output", "out", "--file", "map1.sh", "map2.sh", "--reducer", "cat", "-D"];
    cluster.submit(&[&words[..], &["mapred.map.tasks=1", "--mapper", &mapper]].concat());
    let runs = cluster.folder().join("first.runs");
    wait_for_files(&cluster.folder(), || runs.exists());
    cluster.worker_of(processes(&pids)[0])
}

/// Without its word the JobTracker would wait for it for ten minutes.
#[test]
fn a_worker_that_is_stopped_signs_off() {
    let cluster = Cluster::new(2);
    let worker = hang_once(&cluster);
    kill_process(cluster.worker_pid(worker), Signal::TERM).unwrap();
    cluster.wait_for_output();
    assert_eq!(cluster.output("out").len(), 3);
}

/// As after a reboot, where a worker on a port of the system's choice comes again under another name.
#[test]
fn a_worker_that_clears_up_after_a_killed_one_says_so() {
    let mut cluster = Cluster::new(1);
    let worker = hang_once(&cluster);
    cluster.kill_worker(worker);
    cluster.add_worker(&[]);
    cluster.wait_for_output();
    assert_eq!(cluster.output("out").len(), 3);
}

#[test]
fn a_shuffle_survives_the_death_of_either_side() {
    let mut cluster = Cluster::with(&[EXPIRY], 0);
    let (maps_only, reduces_only) =
        (["mapred.tasktracker.reduce.tasks.maximum=0"], ["mapred.tasktracker.map.tasks.maximum=0"]);
    cluster.add_worker(&maps_only);
    cluster.add_worker(&reduces_only);
    let (gate, reports) = (cluster.folder().join("gate"), cluster.folder().join("reports"));
    make_gate(&gate);
    // The map of the second file waits for leave, each time.
    let script = "case $map_input_file in */b) echo >> \"$2\"; cat \"$1\" > /dev/null;; esac\nsh map.sh\n";
    std::fs::write(cluster.folder().join("gated.sh"), script).unwrap();
    let mapper = format!("sh gated.sh {} {}", gate.display(), reports.display());
    let words = ["--input", "in", "--output", "out", "--file", "gated.sh", "map.sh", "reduce.sh", "--reducer"];
    let slow = [
        "sh reduce.sh",
        "-D",
        "mapred.reduce.slowstart.completed.maps=0",
        "-D",
        "mapred.map.tasks=1",
        "--mapper",
        &mapper,
    ];
    let job = cluster.submit(&[&words[..], &slow].concat());
    let asked = || std::fs::read_to_string(&reports).map_or(0, |lines| lines.lines().count());
    wait_for_files(&cluster.folder(), || asked() == 1);
    let is_in_between =
        || cluster.status_says(&job, "1 of 2 done") && cluster.status_says(&job, "0 of 1 done, 1 running");
    assert!((0..1000).any(|_| is_in_between()));
    // First the one with the output of a map, then the one with the reduce.
    cluster.add_worker(&maps_only);
    cluster.kill_worker(0);
    wait_for_files(&cluster.folder(), || asked() == 2);
    cluster.add_worker(&reduces_only);
    cluster.kill_worker(1);
    drop(std::fs::File::options().write(true).open(&gate).unwrap());
    cluster.wait_for_output();
    assert_eq!(cluster.output("out"), crate::tasktracker::jobs::SUMS);
}
