//! Layers: what wins, what is final, how names are spelled and expanded.

use crate::config::keys::{HADOOP_TMP_DIR, JOB_NAME, LOCAL_DIR, RPC_ADDRESS, SYSTEM_DIR, TASK_SCHEDULER};

use super::*;

#[test]
fn a_key_that_a_file_sets_twice_is_named_with_both_values() {
    let mut configuration = Configuration::default();
    let property = |value: &str| format!("<property><name>io.sort.mb</name><value>{value}</value></property>\n");
    let site = |values: &[&str]| {
        let properties: String = values.iter().map(|value| property(value)).collect();
        format!("<configuration>\n{properties}</configuration>")
    };
    configuration.add_file("core-site.xml", site(&["50"]).as_bytes()).unwrap();
    configuration.add_file("mapred-site.xml", site(&["100", "100", "200"]).as_bytes()).unwrap();
    let found: Vec<String> = configuration.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "mapred-site.xml:4: io.sort.mb = \"200\" counts, and \"100\" of line 3 does not: a later value of a file replaces an earlier one"
        ]
    );
}

fn file(properties: &[(&str, &str)]) -> Vec<u8> {
    let lines: Vec<String> = properties
        .iter()
        .map(|(name, value)| {
            let (value, is_final) = value.strip_suffix(" FINAL").map_or((*value, false), |value| (value, true));
            format!("<property><name>{name}</name><value>{value}</value><final>{is_final}</final></property>")
        })
        .collect();
    format!("<configuration>\n{}\n</configuration>", lines.join("\n")).into_bytes()
}

fn of(files: &[(&str, &[(&str, &str)])]) -> Configuration {
    let mut configuration = Configuration::new(BTreeMap::from([("user.name".to_owned(), "h1".to_owned())]));
    for (name, properties) in files {
        configuration.add_file(name, &file(properties)).unwrap();
    }
    configuration
}

fn value(configuration: &Configuration, key: &Key) -> String {
    match configuration.setting(key) {
        Ok(Some(setting)) => format!("{} ({})", setting.value, setting.origin),
        Ok(None) => "not set".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn warnings(configuration: &Configuration) -> String {
    configuration.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_later_file_wins() {
    let configuration = of(&[("core", &[("mapred.job.tracker", "a:1")]), ("mapred", &[("mapred.job.tracker", "b:2")])]);
    assert_eq!(value(&configuration, &RPC_ADDRESS), "b:2 (mapred:2)");
    assert_eq!(warnings(&configuration), "");
}

#[test]
fn final_values_stay_and_the_attempt_is_reported() {
    let configuration = of(&[
        ("core", &[("mapred.job.tracker", "a:1 FINAL"), ("x", "1 FINAL")]),
        ("mapred", &[("x", "1"), ("mapred.job.tracker", "b:2")]),
    ]);
    assert_eq!(value(&configuration, &RPC_ADDRESS), "a:1 (core:2)");
    insta::assert_snapshot!(warnings(&configuration), @"mapred:3: mapred.job.tracker is final since core:2; this value is ignored");
}

#[test]
fn a_final_value_cannot_be_got_round_by_another_spelling() {
    let mut configuration = of(&[("core", &[("mapred.job.name", "fixed FINAL")])]);
    configuration
        .add_job_xml("job.xml", &file(&[("mapreduce.job.name", "other"), ("mapred.job.name", "other")]))
        .unwrap();
    assert_eq!(value(&configuration, &JOB_NAME), "fixed (core:2)");
}

#[test]
fn overrides_win_over_final_values_and_other_spellings() {
    let mut configuration = of(&[("core", &[("mapred.job.tracker", "a:1 FINAL"), ("mapred.system.dir", "/a")])]);
    for argument in ["mapred.job.tracker=b:2", "mapreduce.jobtracker.system.dir=/b=c"] {
        configuration.add_override(argument).unwrap();
    }
    assert_eq!(value(&configuration, &RPC_ADDRESS), "b:2 (-D)");
    assert_eq!(value(&configuration, &SYSTEM_DIR), "/b=c (-D)");
    assert_eq!(warnings(&configuration), "");
}

#[test]
fn names_are_replaced_from_properties_keys_and_defaults() {
    let configuration = of(&[("core", &[("base", "/data"), ("hadoop.tmp.dir", "${base}/${user.name}")])]);
    assert_eq!(value(&configuration, &LOCAL_DIR), "/data/h1/mapred/local (default)");
    assert_eq!(value(&of(&[]), &SYSTEM_DIR), "/tmp/hadoop-h1/mapred/system (default)");
}

#[test]
fn an_unknown_name_stays_as_it_is_written() {
    for text in ["${unknown}/${user.name}", "${}", "${a b}", "${", "$user.name", "${a$b}"] {
        assert_eq!(value(&of(&[("core", &[("hadoop.tmp.dir", text)])]), &HADOOP_TMP_DIR), format!("{text} (core:2)"));
    }
    let inner_first = of(&[("core", &[("which", "user"), ("hadoop.tmp.dir", "${${which}.name}")])]);
    assert_eq!(value(&inner_first, &HADOOP_TMP_DIR), "h1 (core:3)");
}

fn checked(configuration: &Configuration, key: &Key) -> String {
    match configuration.checked(key) {
        Ok(setting) => format!("{:?}", setting.map(|setting| setting.value)),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_path_an_address_or_a_number_refuses_a_name_that_nothing_sets() {
    let configuration = of(&[(
        "mapred",
        &[
            ("mapred.local.dir", "/tmp/data/${no.such.key}/local"),
            ("mapred.job.tracker", "${master}:8021"),
            ("mapred.user.jobconf.limit", "${most}"),
            ("mapred.acls.enabled", "${acls}"),
            ("mapred.hosts", "/etc/${a b}/hosts"),
            ("mapred.jobtracker.taskScheduler", "org.${which}"),
            ("jobtracker.state.dir", "/x/${user.name}"),
        ],
    )]);
    let keys = [
        &LOCAL_DIR,
        &RPC_ADDRESS,
        &keys::JOB_CONF_LIMIT,
        &keys::ACLS_ENABLED,
        &keys::HOSTS,
        &TASK_SCHEDULER,
        &keys::STATE_DIR,
    ];
    insta::assert_snapshot!(keys.map(|key| checked(&configuration, key)).join("\n"), @r#"
    mapred:2: mapred.local.dir = "/tmp/data/${no.such.key}/local": nothing sets ${no.such.key}; set its name, or write its value here
    mapred:3: mapred.job.tracker = "${master}:8021": nothing sets ${master}; set its name, or write its value here
    mapred:4: mapred.user.jobconf.limit = "${most}": nothing sets ${most}; set its name, or write its value here
    mapred:5: mapred.acls.enabled = "${acls}": nothing sets ${acls}; set its name, or write its value here
    mapred:6: mapred.hosts = "/etc/${a b}/hosts": nothing sets ${a b}; set its name, or write its value here
    mapred:7: mapred.jobtracker.taskScheduler = "org.${which}": nothing sets ${which}; set its name, or write its value here
    Some("/x/h1")
    "#);
    assert!(configuration.local_paths(&LOCAL_DIR).is_err() && configuration.address(&RPC_ADDRESS).is_err());
    assert_eq!(warnings(&configuration), "", "an error is no warning too");
}

#[test]
fn a_default_blames_the_value_that_brought_the_unknown_name() {
    let configuration = of(&[("core", &[("base", "/data/${disk}"), ("hadoop.tmp.dir", "${base}/hadoop")])]);
    let expected = r#"core:2: base = "/data/${disk}": nothing sets ${disk}; set its name, or write its value here"#;
    assert_eq!([&HADOOP_TMP_DIR, &SYSTEM_DIR].map(|key| checked(&configuration, key)), [expected; 2]);
    let nameless = Configuration::new(BTreeMap::new());
    assert!(
        checked(&nameless, &HADOOP_TMP_DIR).starts_with(r#"default: hadoop.tmp.dir = "/tmp/hadoop-${user.name}": "#)
    );
}

#[test]
fn a_text_keeps_an_unknown_name_with_a_warning() {
    let configuration = of(&[(
        "mapred",
        &[
            ("mapred.queue.a.acl-submit-job", "bob ${admins}"),
            ("mapred.queue.names", "a,${more}"),
            ("mapred.child.env", "A=${},B=${x y},C=$HOME"),
            ("no.known.key", "${any}"),
        ],
    )]);
    assert_eq!(configuration.list(&keys::QUEUE_NAMES), Ok(vec!["a".to_owned(), "${more}".to_owned()]));
    insta::assert_snapshot!(warnings(&configuration), @"
    mapred:2: mapred.queue.a.acl-submit-job: nothing sets ${admins}; the text keeps it as it is written
    mapred:3: mapred.queue.names: nothing sets ${more}; the text keeps it as it is written
    ");
}

/// A user reads the errors of a job: no value of the cluster stands in them.
#[test]
fn an_unknown_name_in_a_job_shows_only_what_the_job_wrote() {
    let mut configuration = of(&[("core", &[("secret", "hunter2"), ("mapred.map.tasks", "hunter2-${x}")])]);
    let job = [("mapred.reduce.tasks", "${secret}"), ("mapred.output.dir", "/o/${mapred.map.tasks}")];
    configuration.add_job_xml("job.xml", &file(&job)).unwrap();
    let of_reduces = checked(&configuration, &keys::REDUCE_TASKS);
    let expected = r#"job.xml:2: mapred.reduce.tasks = "${secret}": nothing sets ${secret}"#;
    assert!(of_reduces.starts_with(expected), "{of_reduces}");
    let of_output = checked(&configuration, &keys::OUTPUT_DIR);
    assert!(of_output.contains("nothing sets ${...}") && !of_output.contains("hunter2"), "{of_output}");
}

#[test]
fn endless_names_are_an_error() {
    let endless = of(&[("core", &[("hadoop.tmp.dir", "${a}"), ("a", "${b}"), ("b", "${a}")])]);
    insta::assert_snapshot!(value(&endless, &SYSTEM_DIR), @r#"default: mapred.system.dir = "${hadoop.tmp.dir}/mapred/system": still holds ${...} after 20 replacements; expected names that end in a value"#);
    let doubling = format!("{}{}", "${a}", "x".repeat(20_000));
    let growing = of(&[("core", &[("a", doubling.as_str())])]).with_property("b", "");
    assert!(matches!(
        growing.expanded("a", "${a}", Scope::Cluster, &Origin::Default),
        Err(ConfigError::EndlessExpansion { .. })
    ));
}

#[test]
fn exactly_twenty_rounds_are_too_many_as_in_hadoop() {
    let chain = |length: usize| -> String {
        let names: Vec<(String, String)> = (0..length).map(|i| (format!("n{i}"), format!("${{n{}}}", i + 1))).collect();
        let mut properties: Vec<(&str, &str)> =
            names.iter().map(|(name, next)| (name.as_str(), next.as_str())).collect();
        let last = format!("n{length}");
        properties.push((&last, "/end"));
        properties.push(("hadoop.tmp.dir", "${n0}"));
        value(&of(&[("core", &properties)]), &HADOOP_TMP_DIR)
    };
    assert!(chain(18).starts_with("/end"));
    assert!(chain(19).contains("20 replacements"));
}

#[test]
fn both_spellings_are_read_and_disagreement_is_reported() {
    let later = of(&[("core", &[("mapreduce.jobtracker.taskscheduler", "later")])]);
    assert_eq!(value(&later, &TASK_SCHEDULER), "later (core:2)");
    let both = of(&[
        ("core", &[("mapred.jobtracker.taskScheduler", "first")]),
        ("mapred", &[("mapreduce.jobtracker.taskscheduler", "later")]),
    ]);
    assert_eq!(value(&both, &TASK_SCHEDULER), "first (core:2)");
    insta::assert_snapshot!(warnings(&both), @"mapred:2: mapreduce.jobtracker.taskscheduler is ignored: core:2 sets the same key as mapred.jobtracker.taskScheduler to another value");
}

#[test]
fn names_that_must_agree_are_refused_when_they_do_not() {
    let read = |values: &[(&str, &[(&str, &str)])]| {
        of(values).agreed_flag(&keys::COMPATIBLE).map_err(|error| error.to_string())
    };
    assert_eq!(read(&[]), Ok(false));
    for name in ["jobtracker.scheduler.compatible", "jobtracker.fifo.compatible"] {
        assert_eq!(read(&[("core", &[(name, "true")])]), Ok(true));
    }
    let both = |old| {
        read(&[
            ("core", &[("jobtracker.fifo.compatible", old)]),
            ("mapred", &[("jobtracker.scheduler.compatible", "true")]),
        ])
    };
    assert_eq!(both(" true"), Ok(true));
    insta::assert_snapshot!(both("false").unwrap_err(), @r#"mapred:2: jobtracker.scheduler.compatible = "true", but core:2: jobtracker.fifo.compatible = "false": both are names of one key; expected one of them"#);
}

#[test]
fn only_queue_keys_come_from_the_queue_file() {
    let mut configuration = of(&[]);
    let acls = file(&[("mapred.queue.a.state", "STOPPED"), ("mapred.job.tracker", "a:1")]);
    configuration.add_queue_acls_file("mapred-queue-acls.xml", &acls).unwrap();
    let state = configuration.queue_setting(&keys::QUEUE_STATE, "a").unwrap().unwrap();
    assert_eq!(state.value, "STOPPED");
    assert_eq!(value(&configuration, &RPC_ADDRESS), "local (default)");
    insta::assert_snapshot!(warnings(&configuration), @"mapred-queue-acls.xml:3: mapred.job.tracker is not read from this file, only mapred.queue.* is; ignored");
}

#[test]
fn an_override_needs_a_key_and_a_value() {
    let mut configuration = of(&[]);
    let errors = ["", "=x", "mapred.job.tracker"].map(|argument| configuration.add_override(argument).unwrap_err());
    insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"), @r#"
    -D "": expected key=value
    -D "=x": expected key=value
    -D "mapred.job.tracker": expected key=value
    "#);
}

#[test]
fn one_spelling_of_a_key_may_name_another() {
    let mut configuration = Configuration::new(BTreeMap::new());
    let site = "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn:9000/</value></property>\
        <property><name>fs.default.name</name><value>${fs.defaultFS}</value></property></configuration>";
    configuration.add_file("core-site.xml", site.as_bytes()).unwrap();
    let setting = configuration.setting(&keys::DEFAULT_FILE_SYSTEM).unwrap().unwrap();
    assert_eq!((setting.name.as_str(), setting.value.as_str()), ("fs.default.name", "hdfs://nn:9000/"));
    configuration.add_override("fs.default.name=hdfs://other:1/").unwrap();
    let setting = configuration.setting(&keys::DEFAULT_FILE_SYSTEM).unwrap().unwrap();
    assert_eq!(setting.value, "hdfs://other:1/");
}
