//! One case of each door, open and closed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::config::LoadOptions;

use super::*;

const CLOSED: &[&str] = &[
    "hadoop.tmp.dir=/data",
    "mapred.job.tracker=127.0.0.1:1",
    "mapred.job.tracker.http.address=127.0.0.1:2",
    "mapred.task.tracker.http.address=127.0.0.1:3",
    "mapred.acls.enabled=true",
    "jobtracker.end-notification.targets=wait.example",
    "mapred.queue.default.acl-administer-jobs=ops",
    "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler",
    "jobtracker.job-changes=signed",
];

fn doors(find: fn(&Configuration) -> Vec<OpenDoor>, opened: &[&str]) -> Vec<OpenDoor> {
    let overrides = CLOSED.iter().chain(opened).map(|text| (*text).to_owned()).collect();
    find(&LoadOptions { overrides, ..LoadOptions::default() }.configuration().unwrap())
}

fn lines(find: fn(&Configuration) -> Vec<OpenDoor>, opened: &[&str]) -> String {
    doors(find, opened).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_closed_configuration_has_grade_a() {
    for find in [of_jobtracker, of_tasktracker] {
        assert_eq!(lines(find, &[]), "");
        assert_eq!(Grade::of(&doors(find, &[])), Grade::A);
    }
}

#[test]
fn each_open_door_names_the_exposure_and_the_key() {
    let cases: &[&[&str]] = &[
        &["mapred.job.tracker=master:1", "mapred.hosts=/no/file", "jobtracker.trackers.admit=listed"],
        &["mapred.job.tracker=master:1", "mapred.hosts=/no/file"],
        &["mapred.job.tracker=master:1"],
        &["jobtracker.end-notification.targets=*"],
        &["jobtracker.web.hosts=*"],
        &["jobtracker.market.visibility=public"],
        &["mapred.acls.enabled=false"],
        &["mapred.queue.default.acl-administer-jobs=*"],
        &["mapreduce.cluster.administrators=*"],
        &["mapred.job.tracker.http.address=0.0.0.0:50030"],
        &[
            "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler",
            "jobtracker.job-changes=believed",
        ],
        &["jobtracker.job-changes=believed"],
        &["mapred.dynamic-scheduler.job-signature-uses=9"],
        &["hadoop.tmp.dir=/tmp/hadoop-root"],
    ];
    insta::assert_snapshot!(cases.iter().map(|case| lines(of_jobtracker, case)).collect::<Vec<_>>().join("\n"), @r#"
    open door (medium): -D: mapred.job.tracker = "master:1": every machine that reaches this port can call under any user name; let a firewall admit clients and workers only, or set a loopback address
    open door (high): default: jobtracker.trackers.admit = "all": every machine can register as a tracker under a listed host's name; set jobtracker.trackers.admit = listed
    open door (medium): -D: mapred.job.tracker = "master:1": every machine that reaches this port can call under any user name; let a firewall admit clients and workers only, or set a loopback address
    open door (high): default: mapred.hosts is not set: every machine can register as a tracker, receive tasks with their tokens, and cause charges; set mapred.hosts to a file of host names and jobtracker.trackers.admit = listed
    open door (medium): -D: mapred.job.tracker = "master:1": every machine that reaches this port can call under any user name; let a firewall admit clients and workers only, or set a loopback address
    open door (medium): -D: jobtracker.end-notification.targets = "*": a job can make the daemon send requests to every host that the daemon reaches; list the hosts that receive notifications
    open door (medium): -D: jobtracker.web.hosts = "*": a web page can read this server through the browser of a visitor (DNS rebinding); list the names in use
    open door (low): -D: jobtracker.market.visibility = "public": every reader of the pages can compute each queue's bid; set jobtracker.market.visibility = private
    open door (medium): -D: mapred.acls.enabled = "false": every user with a key can kill any job and change its priority; set mapred.acls.enabled = true
    open door (medium): -D: mapred.queue.default.acl-administer-jobs = "*": every caller can kill and reorder jobs of this queue; set mapred.queue.default.acl-administer-jobs to users and groups
    open door (high): -D: mapreduce.cluster.administrators = "*": every caller is an administrator; list users and groups
    open door (low): -D: mapred.job.tracker.http.address = "0.0.0.0:50030": every machine that reaches this port can read the pages: names, users and progress of jobs; set a loopback address and put an authenticating proxy in front
    open door (medium): -D: mapred.jobtracker.taskScheduler = "org.apache.hadoop.mapred.JobQueueTaskScheduler": jobs carry no signature: every caller can submit under any user name; set jobtracker.job-changes = signed, or mapred.jobtracker.taskScheduler = org.apache.hadoop.mapred.DynamicPriorityScheduler
    open door (high): -D: jobtracker.job-changes = "believed": every caller, local users too, can kill and reorder another user's jobs under that user's name, although users have keys; set jobtracker.job-changes = signed
    open door (medium): -D: mapred.dynamic-scheduler.job-signature-uses = "9": a reader of a job's properties can submit another job under its signature; set mapred.dynamic-scheduler.job-signature-uses = 1
    open door (low): -D: hadoop.tmp.dir = "/tmp/hadoop-root": local users can create this directory first and prevent the daemon from starting; set hadoop.tmp.dir to a directory of the daemon's user outside /tmp
    "#);
    insta::assert_snapshot!(lines(of_tasktracker, &["mapred.task.tracker.http.address=0.0.0.0:50060", "mapred.acls.enabled=false"]), @r#"open door (medium): -D: mapred.task.tracker.http.address = "0.0.0.0:50060": every machine that reaches this port can read the logs of all tasks; set mapred.acls.enabled = true, or let a firewall admit the workers and the JobTracker only"#);
    assert_eq!(Grade::of(&doors(of_tasktracker, &["mapred.task.tracker.http.address=0.0.0.0:50060"])), Grade::A);
}

#[test]
fn a_worker_that_admits_root_is_wide_open() {
    assert_eq!(Grade::of(&doors(of_tasktracker, &["jobtracker.worker.min-uid=1"])), Grade::A);
    let admits = ["jobtracker.worker.min-uid=0"];
    insta::assert_snapshot!(lines(of_tasktracker, &admits), @r#"open door (high): -D: jobtracker.worker.min-uid = "0": a job under the name root runs as root on this machine; set jobtracker.worker.min-uid to the lowest user id of a person, such as 1000"#);
}

#[test]
fn without_a_market_any_caller_weighs_more_on_the_network() {
    let fifo = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler";
    let believed = "jobtracker.job-changes=believed";
    assert_eq!(Grade::of(&doors(of_jobtracker, &[fifo, believed])), Grade::C);
    assert_eq!(Grade::of(&doors(of_jobtracker, &[fifo, believed, "mapred.job.tracker=master:1"])), Grade::D);
}

#[test]
fn nothing_is_charged_without_a_market() {
    let said = |scheduler: &[&str]| {
        let mut arguments = vec!["mapred.job.tracker=master:1"];
        arguments.extend(scheduler);
        lines(of_jobtracker, &arguments).contains("charges")
    };
    assert!(said(&[]) && !said(&["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler"]));
}

#[test]
fn the_worst_door_comes_first() {
    let found = doors(of_jobtracker, &["hadoop.tmp.dir=/tmp/x", "mapreduce.cluster.administrators=*"]);
    let severities: Vec<_> = found.iter().map(|door| door.severity).collect();
    assert_eq!(severities, [Severity::High, Severity::Low]);
}

#[test]
fn files_that_others_may_read_or_write_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let acl = folder.path().join("acl");
    fs::write(&acl, "root admin key\n").unwrap();
    let value = format!("mapred.priority-scheduler.acl-file={}", acl.display());
    let found = |mode| {
        fs::set_permissions(&acl, fs::Permissions::from_mode(mode)).unwrap();
        doors(of_jobtracker, &[&value]).iter().map(|door| door.exposure).collect::<Vec<_>>()
    };
    assert_eq!(found(0o600), Vec::<&str>::new());
    assert_eq!(found(0o640), Vec::<&str>::new());
    assert_eq!(found(0o644), ["local users can read every signing key"]);
    assert_eq!(found(0o660), ["local users can make themselves administrators of the market"]);
    // Where users have keys, names that are believed are a way around them, whatever scheduler rules.
    fs::set_permissions(&acl, fs::Permissions::from_mode(0o600)).unwrap();
    let fifo = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler";
    let found = doors(of_jobtracker, &[&value, fifo, "jobtracker.job-changes=believed"]);
    let worst = (found[0].severity, found[0].key.as_str(), found[0].remedy.as_str());
    assert_eq!(worst, (Severity::High, "jobtracker.job-changes", "set jobtracker.job-changes = signed"));
}

#[test]
fn an_access_list_of_no_queue_is_a_door_of_high_grade() {
    let of = |list: &str| lines(of_jobtracker, &["mapred.queue.default.acl-submit-job=alice", list]);
    let cases = [
        "mapred.queue.prod.acl-submit-job=alice",
        "mapred.queue.default.acl-administer-job=ops",
        "mapred.queue.default.acls=ops",
    ];
    insta::assert_snapshot!(cases.map(of).join("\n"), @r#"
    open door (high): -D: mapred.queue.prod.acl-submit-job = "alice": this access list protects no queue: the one that was meant is open to every caller; give it the name of a queue of mapred.queue.names: default
    open door (high): -D: mapred.queue.default.acl-administer-job = "ops": this access list protects no queue: the one that was meant is open to every caller; name it mapred.queue.default.acl-administer-jobs
    open door (high): -D: mapred.queue.default.acls = "ops": this access list protects no queue: the one that was meant is open to every caller; name it mapred.queue.<queue>.acl-submit-job or mapred.queue.<queue>.acl-administer-jobs
    "#);
    assert_eq!(of("mapred.queue.default.acl-administer-jobs=ops"), "");
    assert_eq!(of("mapred.queue.prod.acl-submit-job=*"), of("mapred.queue.prod.state=STOPPED"));
    assert_eq!(of("mapred.queue.prod.state=STOPPED"), "", "a warning, but nothing is open");
    let lists_off = ["mapred.acls.enabled=false", "mapred.queue.prod.acl-submit-job=alice"];
    assert!(!lines(of_jobtracker, &lists_off).contains("protects no queue"));
}
