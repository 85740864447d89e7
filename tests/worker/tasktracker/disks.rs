//! Disks without room.

use crate::cluster::Cluster;
use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};

#[test]
fn a_full_disk_fails_the_attempt_and_not_the_tracker() {
    if skip_without_disks("a_full_disk_fails_the_attempt_and_not_the_tracker") {
        return;
    }
    let mut cluster = Cluster::new(0);
    cluster.add_worker_on_small_disk(4, &[]);
    let input = cluster.folder().join("much");
    std::fs::write(&input, "some line of text\n".repeat(500_000)).unwrap();
    let words =
        ["submit", "--reducer", "cat", "-D", "io.sort.mb=1", "-D", "mapred.map.max.attempts=1", "--mapper", "cat"];
    let said = cluster.job(&[&words[..], &["--input", "much", "--output", "out"]].concat());
    let output = said.stdout + &said.stderr;
    assert_eq!(said.code, 1, "{output}");
    assert!(output.contains("small/tasktracker-") && output.contains("No space left on device"), "{output}");
    cluster.job(&[&words[..], &["--input", "in", "--output", "small-out"]].concat()).done();
    assert_eq!(cluster.output("small-out").len(), 6);
}

#[test]
fn a_tracker_without_room_takes_no_work_until_it_has_some() {
    if skip_without_disks("a_tracker_without_room_takes_no_work_until_it_has_some") {
        return;
    }
    let mut cluster = Cluster::new(0);
    let disk = cluster.add_worker_on_small_disk(4, &["mapred.local.dir.minspacestart=1000000"]);
    OnSmallDisk::fill_folder(&disk);
    let job = cluster.submit(&["--input", "in", "--output", "out", "--mapper", "cat", "--reducer", "cat"]);
    let serving = cluster.serving.as_ref().unwrap();
    let heartbeats = || -> u64 {
        let metrics = serving.get("/metrics", "").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix("jobtracker_heartbeats_total ")).unwrap();
        line.parse().unwrap()
    };
    let before = heartbeats();
    assert!((0..100_000).any(|_| heartbeats() >= before + 5));
    assert!(cluster.job(&["status", &job]).done().contains("PREP"));
    OnSmallDisk::make_room_in(&disk);
    let has_succeeded = || cluster.job(&["status", &job]).done().contains("SUCCEEDED");
    assert!((0..1000).any(|_| has_succeeded()));
}
