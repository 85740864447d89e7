//! Each kind of value: what is read, what is refused and how.

use std::collections::BTreeMap;

use crate::config::keys;

use super::*;

#[test]
fn a_port_beyond_all_ports_and_urls_in_place_of_hosts_are_named_as_such() {
    let expected = |set: &str, key: &Key| {
        let mut configuration = Configuration::default();
        configuration.add_override(set).unwrap();
        configuration.checked(key).unwrap_err().to_string()
    };
    let port = expected("mapred.job.tracker=master:90011", &keys::RPC_ADDRESS);
    assert!(port.ends_with("expected host:port, the port at most 65535"), "{port}");
    let targets = expected("jobtracker.end-notification.targets=http://hook/x", &keys::END_NOTIFICATION_TARGETS);
    assert!(targets.ends_with("each with or without :port, not URLs"), "{targets}");
}

fn with(overrides: &[&str]) -> Configuration {
    let mut configuration = Configuration::new(BTreeMap::from([("user.name".to_owned(), "h1".to_owned())]));
    for argument in overrides {
        configuration.add_override(argument).unwrap();
    }
    configuration
}

#[test]
fn defaults_of_the_table_are_read() {
    let configuration = with(&[]);
    assert_eq!(configuration.number::<u64>(&keys::JOB_CONF_LIMIT), Ok(5_242_880));
    assert_eq!(configuration.limit::<u64>(&keys::MAX_TASKS_PER_JOB, 1), Ok(None));
    assert_eq!(configuration.flag(&keys::RESTART_RECOVER), Ok(true));
    assert_eq!(configuration.ratio(&keys::REDUCE_SLOWSTART), Ok(PartsPerMillion(50_000)));
    assert_eq!(configuration.local_path(&keys::HOSTS), Ok(None));
    assert_eq!(configuration.list(&keys::QUEUE_NAMES), Ok(vec!["default".to_owned()]));
}

#[test]
fn values_are_read_with_hadoops_forms() {
    let configuration = with(&[
        "mapred.user.jobconf.limit= 0x100 ",
        "mapred.jobtracker.maxtasks.per.job=7",
        "mapred.queue.names= a, b ,,",
        "mapred.local.dir=/a/1, file:///b//2/../3",
        "mapred.hosts=",
    ]);
    assert_eq!(configuration.number::<u64>(&keys::JOB_CONF_LIMIT), Ok(256));
    assert_eq!(configuration.limit::<u32>(&keys::MAX_TASKS_PER_JOB, 1), Ok(Some(7)));
    assert_eq!(configuration.list(&keys::QUEUE_NAMES), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(configuration.local_paths(&keys::LOCAL_DIR), Ok(vec![PathBuf::from("/a/1"), PathBuf::from("/b/3")]));
    assert_eq!(configuration.local_path(&keys::HOSTS), Ok(None));
}

#[test]
fn each_kind_describes_what_it_expects() {
    let refusals = [
        ("mapred.user.jobconf.limit=5MB", &keys::JOB_CONF_LIMIT),
        ("mapred.tasktracker.expiry.interval=0", &keys::TRACKER_EXPIRY_INTERVAL),
        ("mapred.heartbeats.in.second=99999999999", &keys::HEARTBEATS_IN_SECOND),
        ("mapred.acls.enabled=yes", &keys::ACLS_ENABLED),
        ("mapred.reduce.slowstart.completed.maps=1.5", &keys::REDUCE_SLOWSTART),
        ("mapreduce.job.locality.wait.factor=-1", &keys::LOCALITY_WAIT_FACTOR),
        ("mapred.job.tracker.http.address=50030", &keys::HTTP_ADDRESS),
        ("mapred.job.priority=URGENT", &keys::JOB_PRIORITY),
    ]
    .map(|(argument, key)| with(&[argument]).checked(key).unwrap_err().to_string());
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    -D: mapred.user.jobconf.limit = "5MB": expected a whole number of bytes from 1 to 1073741824
    -D: mapred.tasktracker.expiry.interval = "0": expected a whole number of ms from 1
    -D: mapred.heartbeats.in.second = "99999999999": expected a whole number, at most 2147483647
    -D: mapred.acls.enabled = "yes": expected true or false
    -D: mapred.reduce.slowstart.completed.maps = "1.5": expected a decimal number from 0 to 1.0
    -D: mapreduce.job.locality.wait.factor = "-1": expected a decimal number from 0
    -D: mapred.job.tracker.http.address = "50030": expected host:port
    -D: mapred.job.priority = "URGENT": expected VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
    "#);
}

#[test]
fn relative_paths_are_refused() {
    let configuration = with(&["mapred.local.dir=/a,b", "mapred.hosts=conf/hosts", "hadoop.tmp.dir=file://host/x"]);
    let refusals = [
        configuration.local_paths(&keys::LOCAL_DIR).unwrap_err(),
        configuration.local_path(&keys::HOSTS).unwrap_err(),
        configuration.required_local_path(&keys::HADOOP_TMP_DIR).unwrap_err(),
        with(&["mapred.local.dir= ,"]).local_paths(&keys::LOCAL_DIR).unwrap_err(),
    ];
    insta::assert_snapshot!(refusals.map(|error| error.to_string()).join("\n"), @r#"
    -D: mapred.local.dir = "/a,b": expected absolute paths of this machine, separated by commas
    -D: mapred.hosts = "conf/hosts": expected an absolute path of this machine
    -D: hadoop.tmp.dir = "file://host/x": expected an absolute path of this machine
    -D: mapred.local.dir = " ,": expected absolute paths of this machine, separated by commas
    "#);
}

#[test]
fn hosts_with_ports_that_are_none_are_refused() {
    let targets = |text: &str| with(&[&format!("jobtracker.end-notification.targets={text}")]);
    for good in ["", "*", "a, *.b:80 ,[fd00::1]:80,fd00::2,10.0.*:65535"] {
        assert!(targets(good).list(&keys::END_NOTIFICATION_TARGETS).is_ok(), "{good}");
    }
    for bad in ["a:99999", "a,b:", "*:http", "[fd00::1]:0"] {
        let refused = targets(bad).list(&keys::END_NOTIFICATION_TARGETS).unwrap_err().to_string();
        let expected = "expected hosts separated by commas, each with or without :port";
        assert!(refused.contains(bad) && refused.ends_with(expected), "{refused}");
    }
}
