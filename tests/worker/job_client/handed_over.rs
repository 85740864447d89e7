//! Jobs of a client whose staging directory the JobTracker could not read, run by a worker that does not see it either.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::cluster::Cluster;
use crate::daemon::skip::report_skipped;
use crate::daemon::small_disk::skip_without_disks;

#[test]
fn files_are_handed_over_and_fetched() {
    let name = "files_are_handed_over_and_fetched";
    if !rustix::process::geteuid().is_root() {
        return report_skipped(name, "a daemon of another user needs root");
    }
    if skip_without_disks(name) {
        return;
    }
    let mut cluster = Cluster::of_nobody();
    let staging = cluster.folder().join("mapred/staging");
    assert_ne!(fs::metadata(&staging).unwrap().uid(), 0);
    let http = cluster.serving.as_ref().unwrap().http.to_string();
    let words =
        ["--input", "in", "--mapper", "sh map.sh", "--reducer", "sh reduce.sh", "--file", "map.sh", "reduce.sh"];
    let submit = |cluster: &Cluster, more: &[&str]| cluster.job(&[&["submit"], &words[..], more].concat());

    let job = submit(&cluster, &["--output", "waits", "--detach", "--server", &http]).done();
    let folder = staging.join("alice/.staging").join(job.trim());
    let owner = fs::metadata(&folder).unwrap();
    assert_ne!((owner.uid(), owner.mode() & 0o777), (0, 0o700), "it is the daemon's own");
    assert_eq!(owner.mode() & 0o777, 0o700);
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["job.jar", "job.split", "job.splitmetainfo", "job.xml"]);

    // The worker has an empty folder in the place of the staging root.
    cluster.add_worker_that_sees_no_staging();
    let said = submit(&cluster, &["--output", "out", "--server", &http]).done();
    assert!(said.contains("SUCCEEDED"), "{said}");
    assert!(cluster.output("out").contains(&"the\t4".to_owned()), "{:?}", cluster.output("out"));
    assert!(cluster.job(&["status", job.trim()]).done().contains("SUCCEEDED"));
    // The ends have removed what was handed over, with the user's empty folders.
    for _ in 0..10_000 {
        if !staging.join("alice").exists() && cluster.place.names("state/uploads").is_empty() {
            break;
        }
        cluster.job(&["list"]).done();
    }
    assert!(!staging.join("alice").exists());
    assert_eq!(cluster.place.names("state/uploads"), [""; 0]);

    // Nobody listens there.
    let refused = submit(&cluster, &["--output", "none", "--server", "127.0.0.1:1"]).refused(4);
    assert!(
        refused.contains("may not read") && refused.contains("nor can the files be handed over by HTTP"),
        "{refused}"
    );
}
