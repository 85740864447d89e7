//! What `check-config` prints of good and of bad folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::config::settings::test_options as options;

use super::*;

const NO_LOOKS: MachineChecks =
    MachineChecks { of_jobtracker: |_| FileFindings::default(), of_tracker: |_| (Vec::new(), Vec::new()) };

/// The text with defaults.
fn check_config(options: &LoadOptions, daemon: CheckedDaemon) -> CheckReport {
    let findings = super::check_config(options, daemon, NO_LOOKS);
    CheckReport { text: findings.text(true), is_good: findings.is_good }
}

#[test]
fn prints_effective_values_with_their_places() {
    let report = check_config(
        &options(None, &["mapred.system.dir=/sys", "mapred.job.priority=HIGH"]),
        CheckedDaemon::JobTracker,
    );
    assert!(report.is_good, "{}", report.text);
    for line in [
        "no conf folder: standalone defaults, 6 values set",
        "  mapred.job.tracker = 127.0.0.1:8021  (standalone default)",
        "  mapred.system.dir = /sys  (-D)",
        "  mapred.local.dir = /home/h1/.local/state/jobtracker/mapred/local  (default)",
        "  mapred.job.priority = HIGH  (-D)",
        "good",
    ] {
        assert!(report.text.lines().any(|found| found == line), "{line} is not in\n{}", report.text);
    }
    // Unset job keys are noise here.
    assert!(!report.text.contains("mapred.reduce.tasks"));
}

#[test]
fn reports_all_bad_values_at_once() {
    let report = check_config(
        &options(None, &["mapred.acls.enabled=yes", "jobtracker.rpc.max-connections=0"]),
        CheckedDaemon::JobTracker,
    );
    assert!(!report.is_good);
    let errors: Vec<&str> = report.text.lines().filter(|line| line.starts_with("error")).collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    error: -D: mapred.acls.enabled = "yes": expected true or false
    error: -D: jobtracker.rpc.max-connections = "0": expected a whole number from 1 to 1000000
    "#);
}

#[test]
fn a_conf_folder_with_a_local_jobtracker_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let report = check_config(&options(Some(folder.path()), &[]), CheckedDaemon::JobTracker);
    assert!(!report.is_good);
    let error = report.text.lines().find(|line| line.starts_with("error"));
    insta::assert_snapshot!(error.unwrap_or_default(), @r#"error: default: mapred.job.tracker = "local": expected host:port; a JobTracker cannot be local; set it in the conf folder or with -D mapred.job.tracker=..."#);
}

#[test]
fn names_keys_that_nothing_reads() {
    let folder = tempfile::tempdir().unwrap();
    let property = |name| format!("<property><name>{name}</name><value>1</value></property>\n");
    let names = ["jobtracker.state.dirs", "mapred.jobtracker.no.such", "mapred.queue.x.state", "io.sort.mb"];
    let text: String = names.map(property).concat();
    fs::write(folder.path().join("mapred-site.xml"), format!("<configuration>\n{text}</configuration>")).unwrap();
    let report = check_config(
        &options(Some(folder.path()), &["mapred.job.tracker=m:1", "hadoop.tmp.dir=/data"]),
        CheckedDaemon::JobTracker,
    );
    let warnings: Vec<&str> = report.text.lines().filter(|line| line.starts_with("warning")).collect();
    insta::assert_snapshot!(warnings.join("\n").replace(&folder.path().display().to_string(), "CONF"), @r#"
    warning: CONF/mapred-site.xml:2: nothing reads jobtracker.state.dirs; did you mean jobtracker.state.dir?
    warning: CONF/mapred-site.xml:3: nothing reads mapred.jobtracker.no.such
    warning: CONF/mapred-site.xml:4: mapred.queue.x.state = "1" has no effect: no such queue in mapred.queue.names (default)
    "#);
}

#[test]
fn keys_with_a_name_close_to_a_known_key_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let property = |name| format!("<property><name>{name}</name><value>1</value></property>\n");
    let typos = [
        "mapred.queue.name",
        "mapred.reduce.task",
        "mapred.tasktracker.map.task.maximum",
        "stream.non.zero.exit.is.failiure",
    ];
    let hadoops = ["mapred.task.maxpmem", "mapred.child.java.opt.of.somebody", "dfs.block.size"];
    let text: String = typos.into_iter().chain(hadoops).map(property).collect();
    fs::write(folder.path().join("mapred-site.xml"), format!("<configuration>\n{text}</configuration>")).unwrap();
    let options = options(Some(folder.path()), &["mapred.job.tracker=m:1", "hadoop.tmp.dir=/data"]);
    let report = check_config(&options, CheckedDaemon::TaskTracker);
    let warnings: Vec<&str> = report.text.lines().filter(|line| line.starts_with("warning")).collect();
    insta::assert_snapshot!(warnings.join("\n").replace(&folder.path().display().to_string(), "CONF"), @"
    warning: CONF/mapred-site.xml:2: nothing reads mapred.queue.name; did you mean mapred.queue.names?
    warning: CONF/mapred-site.xml:3: nothing reads mapred.reduce.task; did you mean mapred.reduce.tasks?
    warning: CONF/mapred-site.xml:4: nothing reads mapred.tasktracker.map.task.maximum; did you mean mapred.tasktracker.map.tasks.maximum?
    warning: CONF/mapred-site.xml:5: nothing reads stream.non.zero.exit.is.failiure; did you mean stream.non.zero.exit.is.failure?
    ");
}

#[test]
fn no_key_of_hadoop_itself_is_taken_for_a_typo() {
    let folder = tempfile::tempdir().unwrap();
    let defaults = include_str!("../../config/keys/hadoop_defaults.properties").lines();
    let names: Vec<&str> = defaults.filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.len() > 100);
    let property = |name: &&str| format!("<property><name>{name}</name><value>1</value></property>\n");
    let text: String = names.iter().map(property).collect();
    fs::write(folder.path().join("mapred-site.xml"), format!("<configuration>\n{text}</configuration>")).unwrap();
    let found = options(Some(folder.path()), &[]).configuration().unwrap().warnings();
    let unread: Vec<String> =
        found.iter().map(ToString::to_string).filter(|text| text.contains("nothing reads")).collect();
    assert!(
        unread.iter().all(|text| text.contains("mapred.jobtracker.") && !text.contains("did you mean")),
        "{unread:#?}"
    );
}

#[test]
fn a_tasktracker_needs_less_and_its_own_keys_are_printed() {
    let market = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler";
    let acl = "mapred.priority-scheduler.acl-file=/proc/none";
    let slots = ["mapred.tasktracker.map.tasks.maximum=0", "mapred.tasktracker.reduce.tasks.maximum=0"];
    let overrides = [market, acl, slots[0], slots[1], "io.sort.mb=10", "jobtracker.worker.run-as=self"];
    // The ACL file is on the JobTracker's machine only.
    assert!(!check_config(&options(None, &overrides), CheckedDaemon::JobTracker).is_good);
    let report = check_config(&options(None, &overrides), CheckedDaemon::TaskTracker);
    assert!(report.is_good, "{}", report.text);
    // Jobs that run as the worker's own user are an open door where that is root.
    let verdict = match rustix::process::geteuid().is_root() {
        true => "2 warnings",
        false => "1 warning",
    };
    for line in [
        "  mapred.job.tracker = 127.0.0.1:8021  (standalone default)",
        "Built-in tasktracker",
        "  mapred.tasktracker.map.tasks.maximum = 0  (-D)",
        "  mapred.task.tracker.http.address = 127.0.0.1:50060  (standalone default)",
        "  io.sort.mb = 10  (-D)",
        "warning: -D: mapred.tasktracker.map.tasks.maximum = \"0\" and mapred.tasktracker.reduce.tasks.maximum is also 0: the tasktracker would run no tasks",
        &crate::cli::tasktracker::run_as_line(&crate::worker::run_as::RunAs::Worker, "h1"),
    ] {
        assert!(report.text.lines().any(|found| found == line), "{line} is not in\n{}", report.text);
    }
    assert_eq!(report.text.lines().next(), Some(verdict));
    assert!(!report.text.contains("acl-file") && !report.text.contains("state.dir"), "{}", report.text);
    let unknown = check_config(&options(None, &["fs.default.name=s3://n"]), CheckedDaemon::TaskTracker);
    assert!(!unknown.is_good && unknown.text.contains("or a file: or hdfs: URI"), "{}", unknown.text);
}

#[test]
fn contradictions_are_reported_once_for_both_daemons() {
    let overrides = ["jobtracker.state.dir=/s", "mapred.local.dir=/s/local", "mapred.tasktracker.map.tasks.maximum=0"];
    let with_slots = check_config(&options(None, &overrides), CheckedDaemon::JobTracker);
    let count = |report: &CheckReport| report.text.lines().filter(|line| line.starts_with("warning")).count();
    assert_eq!(count(&with_slots), 1, "{}", with_slots.text);
    let without = [&overrides[..], &["mapred.tasktracker.reduce.tasks.maximum=0"]].concat();
    let report = check_config(&options(None, &without), CheckedDaemon::JobTracker);
    assert_eq!(count(&report), 2, "{}", report.text);
}

/// A folder as of 2012: every mistake of it is named at once.
#[test]
fn all_errors_are_named_at_once_each_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let property =
        |(name, value): &(&str, &str)| format!("<property><name>{name}</name><value>{value}</value></property>\n");
    let write = |file: &str, properties: &[(&str, &str)]| {
        let text: String = properties.iter().map(property).collect();
        fs::write(folder.path().join(file), format!("<configuration>\n{text}</configuration>")).unwrap();
    };
    write(
        "core-site.xml",
        &[
            ("fs.default.name", "s3://nn"),
            ("hadoop.security.authorization", "maybe"),
            ("hadoop.security.authentication", "kerberos"),
            ("mapreduce.jobtracker.plugins", "com.example.Plugin"),
        ],
    );
    fs::write(folder.path().join("hdfs-site.xml"), "<configuration>\n<xi:include href=\"x\"/></configuration>")
        .unwrap();
    write(
        "mapred-site.xml",
        &[
            ("mapred.job.tracker", "master:9001"),
            ("mapred.hosts", "/nowhere/hosts"),
            ("mapred.jobtracker.taskScheduler", "com.example.Scheduler"),
            ("mapred.queue.default.state", "resting"),
            ("mapred.fairscheduler.preemption", "true"),
        ],
    );
    fs::write(
        folder.path().join("hadoop-env.sh"),
        "export HADOOP_JOBTRACKER_OPTS=\"-Xmx4g -Dmapred.task.cache.levels=3\"\n",
    )
    .unwrap();
    let report = check_config(&options(Some(folder.path()), &["x"]), CheckedDaemon::JobTracker);
    assert!(!report.is_good);
    let of = |line: &&str| line.starts_with("error") || line.starts_with("not acted");
    let lines: Vec<&str> = report.text.lines().filter(of).collect();
    insta::assert_snapshot!(lines.join("\n").replace(&folder.path().display().to_string(), "CONF"));
}

#[test]
fn defaults_are_left_out_where_asked_and_json_says_the_same() {
    let findings =
        super::check_config(&options(None, &["mapred.acls.enabled=true"]), CheckedDaemon::JobTracker, NO_LOOKS);
    let text = findings.text(false);
    assert!(text.starts_with("good\nno conf folder: standalone defaults, 5 values set\n"), "{text}");
    assert!(text.ends_with("\n\nCluster\n  mapred.acls.enabled = true  (-D)\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json(&findings)).unwrap();
    assert_eq!(json["is_good"], true);
    assert_eq!(json["verdict"], "good");
    assert_eq!(json["sections"][0]["title"], "Cluster");
}

/// It cannot know the hosts of the workers.
#[test]
fn the_sample_folder_is_good_but_for_the_list_of_hosts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let acl_file = folder.path().join("acl");
    fs::copy(root.join("etc/hadoop.acl.sample"), &acl_file).unwrap();
    fs::set_permissions(&acl_file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let acl = format!("mapred.priority-scheduler.acl-file={}", acl_file.display());
    let budget = format!("mapred.dynamic-scheduler.budget-file={}", root.join("etc/hadoop.budget.sample").display());
    let report = check_config(&options(Some(&root.join("etc/conf")), &[&acl, &budget]), CheckedDaemon::JobTracker);
    assert!(report.is_good, "{}", report.text);
    let high: Vec<&str> = report.text.lines().filter(|line| line.starts_with("open door (high)")).collect();
    assert!(matches!(high[..], [door] if door.contains(": mapred.hosts is not set: ")), "{high:#?}");
    assert!(report.text.starts_with("1 warning\n"), "{}", report.text);
}

#[test]
fn a_name_that_nothing_sets_is_an_error_in_a_path_and_a_warning_in_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let property = |name, value| format!("<property><name>{name}</name><value>{value}</value></property>");
    let site = [
        property("mapred.job.tracker", "127.0.0.1:8021"),
        property("mapred.local.dir", "/tmp/data/${no.such.key}/local"),
        property("mapred.queue.default.acl-submit-job", "${admins}"),
    ];
    let text = format!("<configuration>\n<configuration>\n{}\n</configuration>\n</configuration>", site.join("\n"));
    fs::write(folder.path().join("mapred-site.xml"), text).unwrap();
    for daemon in [CheckedDaemon::JobTracker, CheckedDaemon::TaskTracker] {
        let report = check_config(&options(Some(folder.path()), &[]), daemon);
        let found = report.text.replace(&folder.path().display().to_string(), "conf");
        let error = r#"error: conf/mapred-site.xml:4: mapred.local.dir = "/tmp/data/${no.such.key}/local": nothing sets ${no.such.key}; set its name, or write its value here"#;
        assert!(!report.is_good && found.lines().any(|line| line == error), "{found}");
        let warning = "warning: conf/mapred-site.xml:5: mapred.queue.default.acl-submit-job: nothing sets ${admins}; the text keeps it as it is written";
        assert!(found.lines().any(|line| line == warning), "{found}");
    }
}

#[test]
fn each_folder_with_a_mistake_is_named_with_its_place_and_what_was_expected() {
    let faults = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/faults");
    let cases = [
        (
            "acl-of-a-queue-that-does-not-exist",
            &["mapred.queue.my_queue.acl-submit-job", "mapred.queue.names"][..],
            true,
        ),
        (
            "fair-pool-with-misspelt-limit",
            &["fair-scheduler.xml:3: ", "maxRunningJob of pool prod", "<maxRunningJobs>"],
            true,
        ),
        ("unknown-variable-in-a-path", &["mapred-site.xml:4: mapred.local.dir", "nothing sets ${no.such.key}"], false),
        ("configuration-inside-configuration", &[], true),
        ("nested-capacity-file", &[], true),
    ];
    for (folder, parts, is_good) in cases {
        let report = check_config(&options(Some(&faults.join(folder)), &[]), CheckedDaemon::JobTracker);
        assert_eq!(report.is_good, is_good, "{folder}: {}", report.text);
        let is_finding = |line: &&str| line.starts_with("warning: ") || line.starts_with("error: ");
        let findings: Vec<&str> = report.text.lines().filter(is_finding).collect();
        let names_all = |line: &&str| parts.iter().all(|part| line.contains(part));
        assert!(parts.is_empty() || findings.iter().any(names_all), "{folder}: {findings:#?}");
        let is_about_the_shape = |line: &&str| line.contains("<configuration>");
        assert!(!findings.iter().any(is_about_the_shape), "{folder}: {findings:#?}");
        assert!(report.text.contains("mapred.job.tracker = 127.0.0.1:8021"), "{folder}: its values are read");
    }
}

/// Files that an editor of another system has written, in a folder without write permission.
#[test]
fn line_ends_and_modes_of_a_folder_change_nothing() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("etc/conf");
    let report_of = |folder: &Path| {
        let report = check_config(&options(Some(folder), &[]), CheckedDaemon::JobTracker);
        (report.is_good, report.text.replace(&folder.display().to_string(), "CONF"))
    };
    let copies: Vec<(bool, String)> = ["\n", "\r\n"]
        .map(|line_end| {
            let copy = tempfile::tempdir().unwrap();
            for entry in fs::read_dir(&sample).unwrap().map(Result::unwrap) {
                let text = fs::read_to_string(entry.path()).unwrap().replace('\n', line_end);
                fs::write(copy.path().join(entry.file_name()), text).unwrap();
            }
            let mode = |mode| fs::set_permissions(copy.path(), fs::Permissions::from_mode(mode)).unwrap();
            mode(0o555);
            let report = report_of(copy.path());
            mode(0o755);
            report
        })
        .into();
    assert!(copies[0].1.contains("mapred.job.tracker = "), "{}", copies[0].1);
    assert_eq!(copies[0], copies[1]);
}

#[test]
fn warnings_about_the_file_of_a_scheduler_are_printed_beside_errors() {
    let property =
        |(name, value): (&str, &str)| format!("<property><name>{name}</name><value>{value}</value></property>");
    let conf = |site: &[(&str, &str)], file: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let properties = [&[("mapred.job.tracker", "127.0.0.1:8021")], site].concat();
        let site: String = properties.into_iter().map(property).collect();
        fs::write(folder.path().join("mapred-site.xml"), format!("<configuration>{site}</configuration>")).unwrap();
        fs::write(folder.path().join(file), text).unwrap();
        folder
    };
    let capacity = "mapred.capacity-scheduler.queue.default";
    let queues = [(format!("{capacity}.capacity"), "much"), (format!("{capacity}x.supports-priority"), "true")];
    let queues: String = queues.iter().map(|(name, value)| property((name.as_str(), *value))).collect();
    let scheduler = |class| ("mapred.jobtracker.taskScheduler", class);
    let folders = [
        (
            conf(
                &[scheduler("org.apache.hadoop.mapred.CapacityTaskScheduler")],
                "capacity-scheduler.xml",
                &format!("<configuration>{queues}</configuration>"),
            ),
            "error: CONF/capacity-scheduler.xml",
            "defaultx.supports-priority: no such queue",
        ),
        (
            conf(
                &[scheduler("org.apache.hadoop.mapred.FairScheduler"), ("mapred.acls.enabled", "maybe")],
                "fair-scheduler.xml",
                "<allocations><pool name=\"p\"><maxRunningJob>1</maxRunningJob></pool></allocations>",
            ),
            "error: CONF/mapred-site.xml",
            "maxRunningJobs",
        ),
    ];
    for (folder, error, warning) in folders {
        let report = check_config(&options(Some(folder.path()), &[]), CheckedDaemon::JobTracker);
        let text = report.text.replace(&folder.path().display().to_string(), "CONF");
        assert!(!report.is_good && text.lines().any(|line| line.starts_with(error)), "{text}");
        let warned = text.lines().filter(|line| line.starts_with("warning: ") && line.contains(warning)).count();
        assert_eq!(warned, 1, "{text}");
    }
}

/// What a file that is missing or cannot be read may set is no finding.
#[test]
fn queues_that_are_not_known_here_cause_no_warnings_about_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let list = "<property><name>mapred.queue.research.acl-submit-job</name><value>ann</value></property>";
    write("mapred-queue-acls.xml", &format!("<configuration>{list}</configuration>"));
    write("core-site.xml", "<configuration/>");
    let texts = || check_config(&options(Some(folder.path()), &[]), CheckedDaemon::JobTracker).text;
    let missing = texts();
    assert!(missing.contains("has no mapred-site.xml: every value of MapReduce is a default"), "{missing}");
    assert!(!missing.contains("no such queue"), "{missing}");
    write("mapred-site.xml", "<configuration><property>");
    let broken = texts();
    assert!(broken.contains("mapred-site.xml:1: column") && !broken.contains("no such queue"), "{broken}");
    write("mapred-site.xml", "<configuration/>");
    assert!(texts().contains("no such queue in mapred.queue.names (default)"), "{}", texts());
}
