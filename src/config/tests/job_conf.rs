//! Recorded job.xml files, and hostile ones.

use std::collections::BTreeMap;

use super::*;

const NEW_API: &[u8] = include_bytes!("../../../tests/fixtures/hadoop1/files/staging-new-api/job.xml");
const OLD_API: &[u8] = include_bytes!("../../../tests/fixtures/hadoop1/files/staging-old-api/job.xml");
const LIMIT: u64 = 5 << 20;

fn cluster() -> Configuration {
    Configuration::new(BTreeMap::from([("user.name".to_owned(), "daemon".to_owned())]))
}

fn job_xml(properties: &[(&str, &str)]) -> Vec<u8> {
    let lines = properties
        .iter()
        .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>\n"));
    format!("<configuration>\n{}</configuration>", lines.collect::<String>()).into_bytes()
}

fn parsed(properties: &[(&str, &str)]) -> JobConf {
    JobConf::parse(&job_xml(properties), LIMIT, &cluster(), "h1").unwrap()
}

fn refusal(bytes: &[u8], limit_bytes: u64) -> String {
    JobConf::parse(bytes, limit_bytes, &cluster(), "h1").unwrap_err().to_string()
}

/// Of what a stock client writes, only what its user has misspelt is said.
#[test]
fn properties_that_nothing_reads_are_named_with_what_was_meant() {
    let unread = |bytes: &[u8], cluster: &Configuration| {
        JobConf::configuration(bytes, LIMIT, cluster, "h1").unwrap().unread_in_job_xml()
    };
    for recorded in [NEW_API, OLD_API] {
        assert_eq!(unread(recorded, &cluster()), None);
    }
    let mistyped = job_xml(&[("mapred.job.deadline", "20m"), ("my.own", "1"), ("jobtracker.x", "1")]);
    let said = "jobtracker.x, mapred.job.deadline (did you mean mapred.job.deadline.ms?)";
    assert_eq!(unread(&mistyped, &cluster()).as_deref(), Some(said));
    let of_cluster = Configuration::new(BTreeMap::from([("jobtracker.y".to_owned(), "1".to_owned())]));
    assert_eq!(unread(&mistyped, &of_cluster).as_deref(), Some(said), "the cluster's are said at its start");
    let many: Vec<String> = (0..1_500).map(|number| format!("jobtracker.key{number:04}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let said = unread(&job_xml(&many), &cluster()).unwrap();
    assert!(said.starts_with("jobtracker.key0000, ") && said.ends_with("jobtracker.key0004 and 995 more"), "{said}");
}

#[test]
fn a_recorded_wordcount_is_read() {
    let conf = JobConf::parse(NEW_API, LIMIT, &cluster(), "h1").unwrap();
    insta::assert_debug_snapshot!(conf, @r#"
    JobConf {
        name: "word count",
        user_name: None,
        queue: "default",
        priority: Normal,
        map: TaskConf {
            tasks: 2,
            max_attempts: 4,
            max_failures_percent: 0,
            is_speculative: true,
            memory_mb: None,
            max_skipped: None,
            max_running: None,
            code: Some(
                "org.apache.hadoop.examples.WordCount$TokenizerMapper",
            ),
        },
        reduce: TaskConf {
            tasks: 1,
            max_attempts: 4,
            max_failures_percent: 0,
            is_speculative: true,
            memory_mb: None,
            max_skipped: None,
            max_running: None,
            code: Some(
                "org.apache.hadoop.examples.WordCount$IntSumReducer",
            ),
        },
        reduce_slowstart: PartsPerMillion(
            50000,
        ),
        max_tracker_failures: 4,
        skip_start_attempts: 2,
        reduce_input_limit_bytes: None,
        locality_wait_factor: PartsPerMillion(
            1000000,
        ),
        history_user_location: None,
        working_dir: Some(
            "file:/data/h1",
        ),
        acl_view: " ",
        acl_modify: " ",
        restart_recover: true,
        keep_staging: false,
        cancel_delegation_tokens: true,
        submit_host: Some(
            "localhost",
        ),
        submit_address: Some(
            "127.0.0.1",
        ),
        deadline: None,
        order: None,
        end_notification: None,
        workflow: Workflow {
            id: "",
            name: "",
            node: "",
            adjacency: [],
            tags: "",
        },
        signature: SignatureTexts {
            timestamp: None,
            signature: None,
        },
    }
    "#);
}

#[test]
fn a_recorded_streaming_job_is_read() {
    let conf = JobConf::parse(OLD_API, LIMIT, &cluster(), "h1").unwrap();
    assert_eq!((conf.name.as_str(), conf.map.tasks, conf.reduce.tasks), ("sleepy", 2, 0));
}

#[test]
fn one_added_property_sends_a_recorded_job_to_another_queue() {
    let text = String::from_utf8(NEW_API.to_vec()).unwrap();
    let added = "<property><name>mapreduce.job.queue.name</name><value>alice</value></property></configuration>";
    let text = text.replace("</configuration>", added);
    assert_eq!(JobConf::parse(text.as_bytes(), LIMIT, &cluster(), "h1").unwrap().queue, "alice");
}

#[test]
fn an_empty_job_has_hadoops_defaults() {
    let conf = parsed(&[]);
    assert_eq!((conf.map.tasks, conf.reduce.tasks, conf.map.max_attempts), (2, 1, 4));
    assert_eq!((conf.queue.as_str(), conf.priority), ("default", Priority::Normal));
    assert_eq!(conf.reduce_slowstart, PartsPerMillion(50_000));
    assert_eq!((conf.end_notification, conf.user_name), (None, None));
}

#[test]
fn values_of_the_job_are_typed() {
    let conf = parsed(&[
        ("user.name", "h1"),
        ("mapred.job.priority", "VERY_HIGH"),
        ("mapred.map.max.attempts", "0"),
        ("mapred.task.maxvmem", "2147483648"),
        ("mapred.job.map.memory.mb", "512"),
        ("mapred.skip.map.max.skip.records", "10"),
        ("keep.task.files.pattern", ".*_m_000001.*"),
        ("job.end.notification.url", "http://h/$jobId?s=$jobStatus"),
        ("hadoop.job.history.user.location", "/user/${user.name}/out"),
        ("mapred.working.dir", "hdfs://n:8020/user/${user.name}"),
        ("mapreduce.workflow.adjacency.a", "b,c"),
        ("mapred.job.timestamp", "1700000000000"),
        ("mapred.job.signature", "JD3O%2B="),
    ]);
    assert_eq!((conf.user_name.as_deref(), conf.priority, conf.map.max_attempts), (Some("h1"), Priority::VeryHigh, 1));
    assert_eq!((conf.map.memory_mb, conf.reduce.memory_mb, conf.map.max_skipped), (Some(2048), Some(2048), Some(10)));
    assert!(conf.keep_staging);
    let notification = EndNotification {
        url: "http://h/$jobId?s=$jobStatus".to_owned(),
        retries: 0,
        retry_interval_ms: 30_000,
        timeout_ms: 5000,
    };
    assert_eq!(conf.end_notification, Some(notification));
    assert_eq!(conf.history_user_location.as_deref(), Some("/user/h1/out"));
    assert_eq!(conf.working_dir.as_deref(), Some("hdfs://n:8020/user/h1"));
    assert_eq!(conf.workflow.adjacency, [("a".to_owned(), "b,c".to_owned())]);
    assert_eq!(conf.signature.timestamp.as_deref(), Some("1700000000000"));
    assert_eq!(conf.signature.signature.as_deref(), Some("JD3O%2B="));
}

#[test]
fn a_url_that_cannot_be_called_is_refused() {
    let refused = |url: &str| {
        let job = job_xml(&[("mapred.map.tasks", "1"), ("job.end.notification.url", url)]);
        JobConf::parse(&job, LIMIT, &cluster(), "h1").unwrap_err().to_string()
    };
    let urls = ["http://127.0.0.1:99999/ok", "http://h:0/", "http://h:/x", "https://h/", "h:80/x", "http:///x"];
    insta::assert_snapshot!(urls.map(refused).join("\n"), @r#"
    job.xml:3: job.end.notification.url = "http://127.0.0.1:99999/ok": expected an http: URL: invalid port, expected a number from 1 to 65535
    job.xml:3: job.end.notification.url = "http://h:0/": expected an http: URL: invalid port, expected a number from 1 to 65535
    job.xml:3: job.end.notification.url = "http://h:/x": expected an http: URL: invalid port, expected a number from 1 to 65535
    job.xml:3: job.end.notification.url = "https://h/": expected an http: URL: it does not begin with http://
    job.xml:3: job.end.notification.url = "h:80/x": expected an http: URL: it does not begin with http://
    job.xml:3: job.end.notification.url = "http:///x": expected an http: URL: invalid host
    "#);
    for url in ["http://h:65535/a b?id=$jobId&amp;s=$jobStatus", "http://$jobId.example:1/", "http://[::1]:8080", ""] {
        let job = job_xml(&[("mapred.map.tasks", "1"), ("job.end.notification.url", url)]);
        assert!(JobConf::parse(&job, LIMIT, &cluster(), "h1").is_ok(), "{url}");
    }
}

#[test]
fn the_cluster_sets_missing_and_final_values() {
    let mut cluster = cluster();
    let site = "<configuration><property><name>mapred.reduce.tasks</name><value>7</value></property>\
        <property><name>mapred.map.max.attempts</name><value>2</value><final>true</final></property></configuration>";
    cluster.add_file("mapred-site.xml", site.as_bytes()).unwrap();
    let job = job_xml(&[("mapred.map.max.attempts", "9")]);
    let conf = JobConf::parse(&job, LIMIT, &cluster, "h1").unwrap();
    assert_eq!((conf.reduce.tasks, conf.map.max_attempts), (7, 2));
    let job = job_xml(&[("mapred.reduce.tasks", "3")]);
    assert_eq!(JobConf::parse(&job, LIMIT, &cluster, "h1").unwrap().reduce.tasks, 3);
}

#[test]
fn names_of_later_hadoops_count_only_where_the_first_name_is_absent() {
    assert_eq!(parsed(&[("mapreduce.job.reduces", "5")]).reduce.tasks, 5);
    // Stock tasks partition by the first name; a JobTracker that went by the other would run other tasks than they expect.
    assert_eq!(parsed(&[("mapreduce.job.reduces", "5"), ("mapred.reduce.tasks", "1")]).reduce.tasks, 1);
}

#[test]
fn bad_files_are_refused_with_the_reason() {
    let texts = [
        refusal(NEW_API, 1000),
        refusal(b"not xml", LIMIT),
        refusal(&NEW_API[..1000], LIMIT),
        refusal(b"<html/>", LIMIT),
        refusal(&job_xml(&[("mapred.reduce.tasks", "many")]), LIMIT),
        refusal(&job_xml(&[("a", "1"), ("mapred.map.tasks", "-1")]), LIMIT),
        refusal(&job_xml(&[("mapred.max.map.failures.percent", "101")]), LIMIT),
        refusal(&job_xml(&[("mapred.job.priority", "URGENT")]), LIMIT),
        refusal(&job_xml(&[("mapred.map.tasks.speculative.execution", "TRUE")]), LIMIT),
        refusal(&job_xml(&[("mapred.job.name", "${a}"), ("a", "${a}")]), LIMIT),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r#"
    Exceeded max jobconf size: 25580 limit: 1000 (mapred.user.jobconf.limit)
    job.xml: line 1, column 1: text outside <configuration>
    job.xml: line 9, column 11: syntax error: comment not closed: `-->` not found before end of input
    job.xml: line 1, column 1: the root element is <html>, expected <configuration>
    job.xml:2: mapred.reduce.tasks = "many": expected a whole number from 0 to 2147483647
    job.xml:3: mapred.map.tasks = "-1": expected a whole number from 0 to 2147483647
    job.xml:2: mapred.max.map.failures.percent = "101": expected a whole number of percent from 0 to 100
    job.xml:2: mapred.job.priority = "URGENT": expected VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
    job.xml:2: mapred.map.tasks.speculative.execution = "TRUE": expected true or false
    job.xml:2: mapred.job.name = "${a}": still holds ${...} after 20 replacements; expected names that end in a value
    "#);
}

/// Values in the daemon's conf folder besides known keys.
fn cluster_with_secrets() -> Configuration {
    let properties = [("user.name", "daemon"), ("user.home", "/root"), ("java.io.tmpdir", "/secret/tmp")];
    let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut cluster = Configuration::new(BTreeMap::from(properties));
    let site = [
        ("dfs.ldap.password", "hunter2"),
        ("mapred.queue.default.acl-submit-job", "hunter2"),
        ("team", "hunter2"),
        ("hadoop.tmp.dir", "/data/${user.name}"),
        ("mapred.output.dir", "/out/${team}/${mapred.job.name}"),
    ];
    let lines = site.map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"));
    cluster.add_file("site.xml", format!("<configuration>{}</configuration>", lines.concat()).as_bytes()).unwrap();
    cluster
}

#[test]
fn a_job_sees_nothing_of_the_clusters_configuration_but_keys_of_the_table() {
    let cluster = cluster_with_secrets();
    let hidden = ["dfs.ldap.password", "mapred.queue.default.acl-submit-job", "team", "user.home", "java.io.tmpdir"];
    let shown = [
        "mapred.job.name",
        "mapreduce.job.acl-view-job",
        "mapreduce.job.acl-modify-job",
        "job.end.notification.url",
        "mapreduce.job.queuename",
        "mapreduce.workflow.id",
    ];
    for (key, name) in shown.into_iter().flat_map(|key| hidden.map(|name| (key, name))) {
        for text in
            [format!("${{{name}}}"), "${a${b}}".to_owned(), "${c}".to_owned(), "${mapred.output.dir}".to_owned()]
        {
            let (half, rest) = name.split_at(3);
            let job = job_xml(&[
                (key, &text),
                (&format!("a{rest}"), &format!("${{{half}${{b}}}}")),
                ("b", rest),
                ("c", &format!("${{{name}}}")),
            ]);
            let conf = JobConf::parse(&job, LIMIT, &cluster, "h1").map(|conf| format!("{conf:?}"));
            let text = conf.unwrap_or_else(|error| error.to_string());
            // The folder of output is the cluster's own text, which the cluster lets every job use.
            let text = text.replace("/out/hunter2/", "");
            assert!(!text.contains("hunter2") && !text.contains("/root") && !text.contains("/secret"), "{key} {text}");
        }
    }
}

#[test]
fn names_are_not_composed_in_the_clusters_scope() {
    let mut cluster = cluster_with_secrets();
    // The text of the cluster continues where that of the user ends.
    let site = "<configuration><property><name>mapreduce.workflow.id</name><value>${user.name}word}</value></property>\
        <property><name>mapreduce.workflow.name</name><value>${mapred.job.name}/${team}</value></property></configuration>";
    cluster.add_file("mapred-site.xml", site.as_bytes()).unwrap();
    let id = |user: &str| JobConf::parse(&job_xml(&[]), LIMIT, &cluster, user).unwrap().workflow.id;
    assert_eq!(id("h1"), "h1word}");
    for user in ["${dfs.ldap.pass", "${dfs.ldap.password}", "${team}"] {
        assert!(!id(user).contains("hunter2"), "{}", id(user));
    }
    let name = |name: &str| {
        let job = job_xml(&[("mapred.job.name", name)]);
        JobConf::parse(&job, LIMIT, &cluster, "h1").unwrap().workflow.name
    };
    assert_eq!(name("plain"), "plain/hunter2", "the cluster's own text sees the cluster's own values");
    assert_eq!(name("${dfs.ldap.password}"), "${dfs.ldap.password}/${team}");
}

#[test]
fn a_job_sees_its_own_values_keys_of_the_table_and_its_user() {
    let cluster = cluster_with_secrets();
    let name = |text: &str| {
        let job = job_xml(&[("mapred.job.name", text), ("team", "blue"), ("mapred.reduce.tasks", "3")]);
        JobConf::parse(&job, LIMIT, &cluster, "h1").unwrap().name
    };
    assert_eq!(name("${team} ${user.name} ${mapred.reduce.tasks}"), "blue h1 3");
    assert_eq!(name("${hadoop.tmp.dir} ${mapred.map.tasks}"), "/data/h1 2", "set by the cluster, and a default");
    let job = job_xml(&[("mapred.job.name", "n"), ("team", "blue")]);
    let conf = JobConf::configuration(&job, LIMIT, &cluster, "h1").unwrap();
    let output_dir = conf.text(&keys::OUTPUT_DIR).unwrap();
    assert_eq!(output_dir.as_deref(), Some("/out/blue/n"), "a job's own value counts in the cluster's text, too");
}

#[test]
fn errors_show_only_the_start_of_a_jobs_own_text() {
    let cluster = cluster_with_secrets();
    let refused = |properties: &[(&str, &str)]| {
        JobConf::parse(&job_xml(properties), LIMIT, &cluster, "h1").unwrap_err().to_string()
    };
    let long = "x".repeat(10_000);
    let texts = [
        refused(&[("mapred.job.priority", "${hadoop.tmp.dir}")]),
        refused(&[("mapred.job.priority", &long)]),
        refused(&[("mapred.job.name", "${mapred.job.name}${mapred.job.name}${mapred.job.name}${mapred.job.name}")]),
        refused(&[("mapred.job.queue.name", "${hadoop.tmp.dir}"), ("mapreduce.job.queuename", &long)]),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r#"
    job.xml:2: mapred.job.priority = "${hadoop.tmp.dir}": expected VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
    job.xml:2: mapred.job.priority = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...": expected VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
    job.xml:2: mapred.job.name = "${mapred.job.name}${mapred.job.name}${mapred.job.name}${mapred.j...": still holds ${...} after 20 replacements; expected names that end in a value
    mapreduce.job.queuename names queue "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..." but mapred.job.queue.name names "${hadoop.tmp.dir}"; expected one queue
    "#);
}

#[test]
fn texts_of_a_workflow_have_a_limit() {
    for key in ["mapreduce.workflow.id", "mapreduce.workflow.tags", "mapreduce.workflow.adjacency.a"] {
        let parse = |bytes: usize| JobConf::parse(&job_xml(&[(key, &"x".repeat(bytes))]), LIMIT, &cluster(), "h1");
        assert!(parse(WORKFLOW_BYTES).is_ok());
        let refused = parse(WORKFLOW_BYTES + 1).unwrap_err().to_string();
        assert_eq!(refused, format!("{key} has 16385 bytes; expected at most 16384"));
    }
}
