//! What `check-config` prints of good and of bad folders.

use std::fs;
use std::path::Path;

use super::*;
use crate::config::Environment;

fn options(folder: Option<&Path>, overrides: &[&str]) -> LoadOptions {
    let properties = [("user.name", "h1"), ("user.home", "/home/h1"), ("java.io.tmpdir", "/tmp")];
    LoadOptions {
        conf_dir: folder.map(Path::to_owned),
        overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
        environment: Environment {
            properties: properties.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            conf_dir: None,
        },
    }
}

#[test]
fn prints_what_holds_and_from_where() {
    let report = check_config(&options(None, &["mapred.system.dir=/sys", "mapred.job.priority=HIGH"]));
    assert!(report.is_good, "{}", report.text);
    for line in [
        "no conf folder: standalone defaults",
        "  mapred.job.tracker = 127.0.0.1:8021  (standalone default)",
        "  mapred.system.dir = /sys  (-D)",
        "  mapred.local.dir = /home/h1/.local/state/jobtracker/mapred/local  (default)",
        "  mapred.job.priority = HIGH  (-D)",
        "good: 6 values set, 0 warnings",
    ] {
        assert!(report.text.lines().any(|found| found == line), "{line} is not in\n{}", report.text);
    }
    // Job keys that nobody sets are noise here.
    assert!(!report.text.contains("mapred.reduce.tasks"));
}

#[test]
fn tells_all_bad_values_at_once() {
    let report = check_config(&options(None, &["mapred.acls.enabled=yes", "jobtracker.rpc.max-connections=0"]));
    assert!(!report.is_good);
    let errors: Vec<&str> = report.text.lines().filter(|line| line.starts_with("error")).collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    error: -D: mapred.acls.enabled = "yes": expected true or false
    error: -D: jobtracker.rpc.max-connections = "0": expected a whole number from 1 to 1000000
    "#);
}

#[test]
fn a_job_tracker_on_a_conf_folder_that_says_local_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let report = check_config(&options(Some(folder.path()), &[]));
    assert!(!report.is_good);
    insta::assert_snapshot!(report.text.lines().last().unwrap_or_default(), @r#"error: default: mapred.job.tracker = "local": expected host:port, for a JobTracker cannot be local; set it in the conf folder or by -D mapred.job.tracker=..."#);
}

#[test]
fn names_keys_that_nothing_reads() {
    let folder = tempfile::tempdir().unwrap();
    let property = |name| format!("<property><name>{name}</name><value>1</value></property>\n");
    let names = ["jobtracker.state.dirs", "mapred.jobtracker.retirejob.check", "mapred.queue.x.state", "io.sort.mb"];
    let text: String = names.map(property).concat();
    fs::write(folder.path().join("mapred-site.xml"), format!("<configuration>\n{text}</configuration>")).unwrap();
    let report = check_config(&options(Some(folder.path()), &["mapred.job.tracker=m:1", "hadoop.tmp.dir=/data"]));
    let warnings: Vec<&str> = report.text.lines().filter(|line| line.starts_with("warning")).collect();
    insta::assert_snapshot!(warnings.join("\n").replace(&folder.path().display().to_string(), "CONF"), @"
    warning: CONF/mapred-site.xml:2: nothing reads jobtracker.state.dirs; did you mean jobtracker.state.dir?
    warning: CONF/mapred-site.xml:3: nothing reads mapred.jobtracker.retirejob.check
    ");
}

#[test]
fn distances_count_letters() {
    assert_eq!(
        [("", "abc"), ("abc", ""), ("kitten", "sitting"), ("same", "same")].map(|(a, b)| distance(a, b)),
        [3, 3, 3, 0]
    );
}

#[test]
fn the_sample_folder_is_good() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let acl = format!("mapred.priority-scheduler.acl-file={}", root.join("etc/hadoop.acl.sample").display());
    let budget = format!("mapred.dynamic-scheduler.budget-file={}", root.join("etc/hadoop.budget.sample").display());
    let report = check_config(&options(Some(&root.join("etc/conf")), &[&acl, &budget]));
    assert!(report.text.ends_with(", 0 warnings\n"), "{}", report.text);
}
