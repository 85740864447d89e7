//! The daemon's settings: standalone and from a folder, and what is refused at start.

use std::fs;
use std::path::Path;

use crate::model::{Kind, PartsPerMillion};

use super::test_options as options;
use super::*;

fn standalone(overrides: &[&str]) -> Settings {
    Settings::load(&options(None, overrides)).unwrap().0
}

fn refusals(cases: &[&[&str]]) -> String {
    let texts = cases.iter().map(|case| Settings::load(&options(None, case)).map(|_| "loaded"));
    texts.map(|result| result.map_or_else(|error| error.to_string(), str::to_owned)).collect::<Vec<_>>().join("\n")
}

#[test]
fn standalone_binds_to_loopback_and_keeps_out_of_tmp() {
    let (settings, warnings) = Settings::load(&options(None, &[])).unwrap();
    assert!(settings.rpc_address.is_loopback() && settings.http_address.is_loopback());
    assert_eq!((settings.rpc_address.port, settings.http_address.port), (8021, 50030));
    let home = Path::new("/home/h1/.local/state/jobtracker");
    assert_eq!(settings.directories.state, home.join("mapred/jobtracker-state"));
    assert_eq!(warnings, []);
}

#[test]
fn the_caller_may_give_the_standalone_scratch_folder() {
    let mut options = options(None, &[]);
    options.environment.properties.insert("hadoop.tmp.dir".to_owned(), "/scratch".to_owned());
    let (settings, _) = Settings::load(&options).unwrap();
    assert_eq!(settings.directories.system.to_string(), "file:/scratch/mapred/system");
}

#[test]
fn a_conf_folder_brings_hadoops_defaults() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mapred-site.xml"), "<configuration/>").unwrap();
    let (settings, warnings) =
        Settings::load(&options(Some(folder.path()), &["mapred.job.tracker=master:9001"])).unwrap();
    assert_eq!(settings.http_address.to_string(), "0.0.0.0:50030");
    assert_eq!(settings.directories.system.to_string(), "file:/tmp/hadoop-h1/mapred/system");
    assert_eq!(
        settings.directories.staging_area("h1").unwrap().to_string(),
        "file:/tmp/hadoop-h1/mapred/staging/h1/.staging"
    );
    assert!(matches!(settings.scheduler, SchedulerKind::Fifo(_)));
    assert_eq!(settings.build_version, "1.2.1 from 1503152 by mattf source checksum 6923c86528809c4e7e6f493b6b413a9a");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"), @"default: the state database is in /tmp/hadoop-h1/mapred/jobtracker-state, where the system may delete it; set jobtracker.state.dir to a folder outside /tmp");
}

#[test]
fn paths_are_qualified_as_in_the_recorded_cluster() {
    let overrides =
        ["mapred.system.dir=/data/h1/tmp/mapred/system", "mapreduce.jobtracker.staging.root.dir=/data/h1/tmp/staging"];
    let directories = standalone(&overrides).directories;
    assert_eq!(directories.system.to_string(), "file:/data/h1/tmp/mapred/system");
    assert_eq!(directories.staging_area("h1").unwrap().to_string(), "file:/data/h1/tmp/staging/h1/.staging");
    assert!(directories.staging_area("../root").is_err());
}

#[test]
fn unusable_values_are_refused_at_start() {
    insta::assert_snapshot!(refusals(&[
        &["mapred.job.tracker=local"],
        &["mapred.job.tracker=master"],
        &["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.LimitTasksPerJobTaskScheduler"],
        &["fs.default.name=s3://bucket"],
        &["mapred.system.dir=s3://bucket/system"],
        &["mapred.system.dir=system"],
        &["mapred.local.dir=/a,/b", "jobtracker.state.dir=/b/x/../jobTracker/state"],
        &["hadoop.security.authentication=kerberos"],
        &["hadoop.security.authorization=maybe"],
        &["mapred.queue.names=a", "mapred.queue.a.state=running"],
        &["jobtracker.rpc.max-frame-bytes=1"],
        &["mapred.reduce.tasks=many"],
        &["mapred.job.tracker.info.bindAddress=a b"],
        &["hadoop.tmp.dir=${mapred.local.dir}"],
        &["nonsense"],
    ]), @r#"
    -D: mapred.job.tracker = "local": expected host:port; a JobTracker cannot be local
    -D: mapred.job.tracker = "master": expected host:port
    -D: mapred.jobtracker.taskScheduler = "org.apache.hadoop.mapred.LimitTasksPerJobTaskScheduler": expected org.apache.hadoop.mapred.JobQueueTaskScheduler, org.apache.hadoop.mapred.CapacityTaskScheduler, org.apache.hadoop.mapred.FairScheduler, org.apache.hadoop.mapred.ConstraintScheduler or org.apache.hadoop.mapred.DynamicPriorityScheduler
    -D: fs.default.name = "s3://bucket": expected an absolute path, or a file: or hdfs: URI
    -D: mapred.system.dir = "s3://bucket/system": expected an absolute path, or a file: or hdfs: URI
    -D: mapred.system.dir = "system": expected an absolute path, or a file: or hdfs: URI
    -D: jobtracker.state.dir = "/b/x/../jobTracker/state": expected a folder outside /b/jobTracker, which a Java JobTracker deletes at its start
    -D: hadoop.security.authentication = "kerberos": expected simple
    -D: hadoop.security.authorization = "maybe": expected true or false
    -D: mapred.queue.a.state = "running": expected RUNNING or STOPPED
    -D: jobtracker.rpc.max-frame-bytes = "1": expected a whole number of bytes from 65536 to 1073741824
    -D: mapred.reduce.tasks = "many": expected a whole number from 0 to 2147483647
    -D: mapred.job.tracker.info.bindAddress = "a b": expected a host name or address
    -D: hadoop.tmp.dir = "${mapred.local.dir}": still holds ${...} after 20 replacements; expected names that end in a value
    -D "nonsense": expected key=value
    "#);
}

#[test]
fn named_files_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").display().to_string();
    let dynamic = format!("mapred.jobtracker.taskScheduler={DYNAMIC_CLASS}");
    let text = refusals(&[
        &[&format!("mapred.hosts={missing}")],
        &[&format!("mapred.hosts.exclude={}", folder.path().display())],
        &[&format!("topology.script.file.name={missing}")],
        &[&dynamic, &format!("mapred.priority-scheduler.acl-file={missing}")],
    ]);
    insta::assert_snapshot!(text.replace(&folder.path().display().to_string(), "HERE"), @r#"
    -D: mapred.hosts = "HERE/missing": No such file or directory (os error 2); expected a readable file of host names
    -D: mapred.hosts.exclude = "HERE": not a regular file; expected a readable file of host names
    -D: topology.script.file.name = "HERE/missing": No such file or directory (os error 2); expected a program
    -D: mapred.priority-scheduler.acl-file = "HERE/missing": No such file or directory (os error 2); expected a readable file with a line `USER ROLE KEY` for each user, such as `root admin SECRET`
    "#);
}

#[test]
fn the_market_has_its_documented_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let (acl, budget) = (folder.path().join("acl"), folder.path().join("budget"));
    fs::write(&acl, "").unwrap();
    let overrides = [
        format!("mapred.jobtracker.taskScheduler={DYNAMIC_CLASS}"),
        format!("mapred.priority-scheduler.acl-file={}", acl.display()),
        format!("mapred.dynamic-scheduler.budget-file={}", budget.display()),
    ];
    let options = options(None, &overrides.each_ref().map(String::as_str));
    let (settings, warnings) = Settings::load(&options).unwrap();
    let expected = DynamicSettings { alloc_interval_ms: 20_000, kill_interval_ms: None };
    assert_eq!(settings.scheduler, SchedulerKind::Dynamic(expected));
    let expected = MarketSettings {
        budget_store: BudgetStoreKind::File(budget.clone()),
        acl_file: acl,
        signature_window_ms: 300_000,
        job_signature_window_ms: 300_000,
        job_signature_uses: 1,
        is_public: false,
    };
    assert_eq!(settings.market, Some(expected));
    assert!(matches!(&warnings[..], [Warning::NoBudgetFile { file, .. }] if *file == budget));
    insta::assert_snapshot!(warnings[0].to_string().replace(&folder.path().display().to_string(), "HERE"), @"-D: the budget file HERE/budget does not exist; the very first start requires it, a later one writes it from state.db");
    fs::write(&budget, "").unwrap();
    assert_eq!(Settings::load(&options).unwrap().1, []);
}

#[test]
fn the_file_of_users_that_is_edited_is_the_one_that_the_daemon_reads() {
    let folder = tempfile::tempdir().unwrap();
    let [market, applications] = ["market.acl", "applications.acl"].map(|name| folder.path().join(name));
    let of_market = format!("mapred.priority-scheduler.acl-file={}", market.display());
    let of_applications = format!("jobtracker.containers.acl-file={}", applications.display());
    let edited = |more: &[&str]| options(None, &[&[of_market.as_str()], more].concat()).acl_file().unwrap();
    assert_eq!(edited(&[]), market);
    assert_eq!(edited(&[&of_applications]), applications, "there is no market");
    assert_eq!(edited(&[&of_applications, "jobtracker.job-changes=signed"]), market);
    assert_eq!(edited(&[&of_applications, &format!("mapred.jobtracker.taskScheduler={DYNAMIC_CLASS}")]), market);
    fs::write(&market, "root admin key\n").unwrap();
    assert_eq!(edited(&[&of_applications]), market, "its file makes a market");
}

#[test]
fn under_another_scheduler_there_is_a_market_where_the_acl_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let acl = folder.path().join("acl");
    let named = format!("mapred.priority-scheduler.acl-file={}", acl.display());
    assert_eq!(standalone(&[&named]).market, None);
    let bad_window = "mapred.dynamic-scheduler.job-signature-window=soon";
    assert_eq!(standalone(&[&named, bad_window]).market, None, "nothing reads the key");
    fs::write(&acl, "root admin key\n").unwrap();
    let (settings, warnings) = Settings::load(&options(None, &[&named])).unwrap();
    assert!(matches!(settings.scheduler, SchedulerKind::Fifo(_)));
    assert_eq!(settings.market.map(|market| market.acl_file), Some(acl.clone()));
    assert_eq!(warnings, [], "it may begin without accounts");
    let refused = refusals(&[&[&named, bad_window]]);
    assert!(refused.starts_with("-D: mapred.dynamic-scheduler.job-signature-window = \"soon\": expected"), "{refused}");
    fs::remove_file(&acl).unwrap();
    fs::create_dir(&acl).unwrap();
    let refused = refusals(&[&[&named]]).replace(&folder.path().display().to_string(), "HERE");
    let expected =
        "-D: mapred.priority-scheduler.acl-file = \"HERE/acl\": not a regular file; expected a readable file";
    assert!(refused.starts_with(expected), "{refused}");
}

/// The original names its parts by class; a cluster with a class of its own must get an error.
#[test]
fn parts_of_the_market_go_by_their_classes() {
    let dynamic = format!("mapred.jobtracker.taskScheduler={DYNAMIC_CLASS}");
    let text = refusals(&[
        &[&dynamic, "mapred.dynamic-scheduler.store=com.example.JdbcAllocationStore"],
        &[&dynamic, "mapred.dynamic-scheduler.scheduler=org.apache.hadoop.mapred.FairScheduler"],
    ]);
    insta::assert_snapshot!(text, @r#"
    -D: mapred.dynamic-scheduler.store = "com.example.JdbcAllocationStore": expected `file` (or org.apache.hadoop.mapred.FileAllocationStore), `postgres` or `command`
    -D: mapred.dynamic-scheduler.scheduler = "org.apache.hadoop.mapred.FairScheduler": expected org.apache.hadoop.mapred.PriorityScheduler, the only available one
    "#);
    let named = [
        &*dynamic,
        "mapred.dynamic-scheduler.store=org.apache.hadoop.mapred.FileAllocationStore",
        "mapred.dynamic-scheduler.scheduler=org.apache.hadoop.mapred.PriorityScheduler",
    ];
    let configuration = options(None, &named).configuration().unwrap();
    let (settings, _) = Settings::from_configuration(configuration, None).unwrap();
    assert!(matches!(settings.market.map(|market| market.budget_store), Some(BudgetStoreKind::File(_))));
}

#[test]
fn containers_have_limits_that_agree() {
    let containers = |overrides: &[&str]| standalone(overrides).containers;
    let plain = containers(&[]);
    assert_eq!((plain.is_enabled, plain.slot.memory_mb, plain.signature_window_ms), (true, 1_024, 300_000));
    assert_eq!(containers(&["mapred.cluster.map.memory.mb=2048"]).slot.memory_mb, 2_048);
    let own = ["mapred.cluster.map.memory.mb=2048", "jobtracker.containers.slot.memory.mb=512"];
    assert_eq!(containers(&own).slot.memory_mb, 512);
    let refused = refusals(&[&["jobtracker.containers.maximum.memory.mb=256"]]);
    let expected = "-D: jobtracker.containers.maximum.memory.mb = \"256\": expected at least the 512 MB of \
                    jobtracker.containers.minimum.memory.mb";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn users_of_applications_sign_where_there_is_a_file_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let named = format!("jobtracker.containers.acl-file={}", keys.display());
    assert_eq!(standalone(&[]).application_keys(), ApplicationKeys::Loopback);
    let refused = refusals(&[&[&named]]);
    assert!(refused.contains("jobtracker.containers.acl-file = ") && refused.contains("a readable file"), "{refused}");
    let off = Settings::load(&options(None, &[&named, "jobtracker.containers.enabled=false"])).unwrap().0;
    assert_eq!(off.application_keys(), ApplicationKeys::Off, "nothing reads the file");
    fs::write(&keys, "root admin key\n").unwrap();
    let (settings, _) = Settings::load(&options(None, &[&named])).unwrap();
    assert_eq!(settings.application_keys(), ApplicationKeys::File(keys));
}

#[test]
fn the_old_pair_replaces_parts_of_the_web_address() {
    let address = |overrides: &[&str]| standalone(overrides).http_address.to_string();
    assert_eq!(address(&["mapred.job.tracker.info.port=80"]), "127.0.0.1:80");
    assert_eq!(address(&["mapred.job.tracker.info.bindAddress=master"]), "master:50030");
}

#[test]
fn an_explicit_heartbeat_rate_is_kept_apart_from_the_default() {
    let rate = |overrides: &[&str]| standalone(overrides).heartbeat.heartbeats_in_second;
    assert_eq!(rate(&[]), None);
    assert_eq!(rate(&["mapred.heartbeats.in.second=10"]), Some(10));
    assert_eq!(rate(&["mapred.heartbeats.in.second=0"]), Some(100));
    assert_eq!(standalone(&[]).heartbeat.scaling, PartsPerMillion::ONE);
    let scaling = standalone(&["mapreduce.jobtracker.heartbeats.scaling.factor=0.001"]).heartbeat.scaling;
    assert_eq!(scaling, PartsPerMillion::ONE);
}

#[test]
fn queues_have_states_and_access_lists() {
    let queues =
        standalone(&["mapred.queue.names=a,b,a", "mapred.queue.b.state=STOPPED", "mapred.queue.b.acl-submit-job= "])
            .queues;
    let (a, b) = (&queues.queues[0], &queues.queues[1]);
    assert_eq!(queues.queues.len(), 2);
    assert_eq!((a.running, a.submit_acl.as_str(), a.administer_acl.as_str()), (true, "*", "*"));
    assert_eq!((b.running, b.submit_acl.as_str()), (false, " "));
}

#[test]
fn the_old_memory_key_replaces_the_newer_two() {
    let four = [
        "mapred.cluster.map.memory.mb=1024",
        "mapred.cluster.reduce.memory.mb=2048",
        "mapred.cluster.max.map.memory.mb=4096",
        "mapred.cluster.max.reduce.memory.mb=4096",
    ];
    assert_eq!(standalone(&four).memory.max_task_mb(), Some((4096, 4096)));
    assert_eq!(standalone(&four[..3]).memory.max_task_mb(), None);
    let mut five = four.to_vec();
    five.push("mapred.task.limit.maxvmem=1073741824");
    assert_eq!((standalone(&five).memory.max_map_mb, standalone(&five).memory.max_reduce_mb), (Some(1024), Some(1024)));
}

/// Row 26 of the behaviours that the original Capacity scheduler's tests assert.
#[test]
fn row_26_the_old_memory_key_counts_bytes_and_both_maximums_read_megabytes() {
    let memory = standalone(&["mapred.task.limit.maxvmem=3145728"]).memory;
    assert_eq!((memory.max_map_mb, memory.max_reduce_mb), (Some(3), Some(3)));
}

#[test]
fn slots_are_sized_by_memory_if_all_four_keys_are_set() {
    let sizes = ["mapred.cluster.map.memory.mb=1024", "mapred.cluster.reduce.memory.mb=2048"];
    let mut all = sizes.to_vec();
    all.extend(["mapred.cluster.max.map.memory.mb=4096", "mapred.cluster.max.reduce.memory.mb=4096"]);
    assert_eq!(standalone(&sizes).memory.slot_memory(), None);
    let memory = standalone(&all).memory.slot_memory().unwrap();
    assert_eq!([Kind::Map, Kind::Reduce].map(|kind| memory.slots_per_task(kind, 4096)), [4, 2]);
}
