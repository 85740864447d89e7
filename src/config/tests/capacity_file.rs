//! Reading capacity-scheduler.xml.

use super::*;
use crate::scheduler::capacity::CapacityQueue;

const PREFIX: &str = "mapred.capacity-scheduler.";

/// A file with one property a line; keys without their common prefix.
fn file(properties: &[(&str, &str)]) -> String {
    let line = |(name, value)| format!("<property><name>{PREFIX}{name}</name><value>{value}</value></property>\n");
    format!("<configuration>\n{}</configuration>\n", properties.iter().copied().map(line).collect::<String>())
}

fn read(queues: &[&str], properties: &[(&str, &str)]) -> Result<(CapacityConfig, Vec<Warning>), ConfigError> {
    let queues: Vec<String> = queues.iter().map(|&queue| queue.to_owned()).collect();
    parse_capacity_file("capacity-scheduler.xml", Some(file(properties).as_bytes()), &BTreeMap::new(), &queues)
}

fn config(queues: &[&str], properties: &[(&str, &str)]) -> CapacityConfig {
    read(queues, properties).unwrap().0
}

fn refusal(properties: &[(&str, &str)]) -> String {
    read(&["q1", "q2"], properties).unwrap_err().to_string()
}

fn warnings(properties: &[(&str, &str)]) -> Vec<String> {
    let (_, warnings) = read(&["q"], properties).unwrap();
    warnings.iter().map(ToString::to_string).collect()
}

fn queue<'a>(config: &'a CapacityConfig, name: &str) -> &'a CapacityQueue {
    config.queue(name).unwrap()
}

#[test]
fn row_27_values_of_a_queue_override_defaults_and_these_the_built_in_ones() {
    let config = config(
        &["q1", "q2"],
        &[
            ("default-minimum-user-limit-percent", "40"),
            ("default-user-limit-factor", "2"),
            ("default-supports-priority", "true"),
            ("default-maximum-active-tasks-per-queue", "500"),
            ("default-maximum-active-tasks-per-user", "50"),
            ("default-init-accept-jobs-factor", "3"),
            ("queue.q1.capacity", "50"),
            ("queue.q1.maximum-capacity", "75.5"),
            ("queue.q1.minimum-user-limit-percent", "20"),
            ("queue.q1.user-limit-factor", "1.5"),
            ("queue.q1.supports-priority", "false"),
            ("queue.q1.maximum-initialized-active-tasks", "400"),
            ("queue.q1.maximum-initialized-active-tasks-per-user", "40"),
            ("queue.q1.init-accept-jobs-factor", "7"),
            ("queue.q2.capacity", "50"),
        ],
    );
    let (q1, q2) = (queue(&config, "q1"), queue(&config, "q2"));
    let decimal = |text| Decimal::parse(text).unwrap();
    assert_eq!((q1.capacity(), q2.capacity()), (decimal("50"), decimal("50")));
    assert_eq!((q1.maximum_capacity(), q2.maximum_capacity()), (Some(decimal("75.5")), None));
    assert_eq!((q1.minimum_user_limit_percent(), q2.minimum_user_limit_percent()), (20, 40));
    assert_eq!((q1.user_limit_factor(), q2.user_limit_factor()), (decimal("1.5"), decimal("2")));
    assert_eq!((q1.supports_priority(), q2.supports_priority()), (false, true));
    let tasks = |queue: &CapacityQueue| (queue.job_limits().active_tasks, queue.job_limits().active_tasks_per_user);
    assert_eq!((tasks(q1), tasks(q2)), ((400, 40), (500, 50)));
    // 2,500 jobs each at once.
    assert_eq!((q1.job_limits().accepted, q2.job_limits().accepted), (17_500, 7_500));
}

#[test]
fn the_built_in_defaults_are_the_originals() {
    let config = config(&["q"], &[("queue.q.capacity", "100")]);
    let mut written = WrittenConfig::default();
    written.queues.push(WrittenQueue::with_defaults("q", Some(Decimal::whole(100))));
    assert_eq!(config, CapacityConfig::new(&written).unwrap());
}

#[test]
fn a_refused_value_is_named_with_its_place() {
    insta::assert_snapshot!(refusal(&[("queue.q1.capacity", "101"), ("queue.q2.capacity", "50")]), @r#"Illegal capacity for queue q1 of 101.0 (capacity-scheduler.xml:2: mapred.capacity-scheduler.queue.q1.capacity = "101"; expected percent from 0 to 100)"#);
    insta::assert_snapshot!(refusal(&[
        ("queue.q1.capacity", "50"),
        ("queue.q2.capacity", "50"),
        ("queue.q2.maximum-capacity", "40"),
    ]), @r#"maximum-capacity 40.0 for a queue should be greater than or equal to capacity  (capacity-scheduler.xml:4: mapred.capacity-scheduler.queue.q2.maximum-capacity = "40", capacity-scheduler.xml:3: mapred.capacity-scheduler.queue.q2.capacity = "50"; expected at least the queue's capacity)"#);
}

#[test]
fn a_refused_default_is_named_where_it_is_set() {
    insta::assert_snapshot!(refusal(&[
        ("queue.q1.capacity", "50"),
        ("queue.q2.capacity", "50"),
        ("default-minimum-user-limit-percent", "0"),
    ]), @r#"Invalid user limit : 0 for queue : q1 (capacity-scheduler.xml:4: mapred.capacity-scheduler.default-minimum-user-limit-percent = "0"; expected percent from 1 to 100)"#);
}

#[test]
fn a_missing_capacity_and_a_wrong_sum_name_the_file() {
    insta::assert_snapshot!(refusal(&[("queue.q1.capacity", "50")]), @"Queue 'q2' doesn't have configured capacity! (capacity-scheduler.xml: mapred.capacity-scheduler.queue.q2.capacity is not set; expected percent from 0 to 100)");
    insta::assert_snapshot!(refusal(&[("queue.q1.capacity", "50"), ("queue.q2.capacity", "49.99")]), @r#"Sum of queue capacities not 100% at 99.99 (capacity-scheduler.xml:2: mapred.capacity-scheduler.queue.q1.capacity = "50", capacity-scheduler.xml:3: mapred.capacity-scheduler.queue.q2.capacity = "49.99"; expected the capacities of all queues in mapred.queue.names to add to 100)"#);
}

#[test]
fn a_capacity_under_a_misspelt_queue_is_named_beside_the_one_that_is_missing() {
    let text = refusal(&[("queue.q1.capacity", "50"), ("queue.qq2.capacity", "50")]);
    insta::assert_snapshot!(text, @"Queue 'q2' doesn't have configured capacity! (capacity-scheduler.xml: mapred.capacity-scheduler.queue.q2.capacity is not set, but capacity-scheduler.xml:3: mapred.capacity-scheduler.queue.qq2.capacity is, and is no queue of mapred.queue.names; expected percent from 0 to 100)");
}

#[test]
fn limits_that_contradict_each_other_are_both_named() {
    let text = refusal(&[
        ("queue.q1.capacity", "50"),
        ("queue.q2.capacity", "50"),
        ("default-maximum-active-tasks-per-user", "30"),
        ("queue.q2.maximum-initialized-active-tasks", "20"),
    ]);
    insta::assert_snapshot!(text, @r#"Illegal queue configuration for queue 'q2' (capacity-scheduler.xml:4: mapred.capacity-scheduler.default-maximum-active-tasks-per-user = "30", capacity-scheduler.xml:5: mapred.capacity-scheduler.queue.q2.maximum-initialized-active-tasks = "20"; expected at most maximum-initialized-active-tasks of the queue)"#);
}

#[test]
fn a_wrong_sum_names_the_first_eight_capacities() {
    let names: Vec<String> = (0..20).map(|number| format!("q{number}")).collect();
    let keys: Vec<String> = names.iter().map(|name| format!("queue.{name}.capacity")).collect();
    let properties: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "4")).collect();
    let error = parse_capacity_file("c.xml", Some(file(&properties).as_bytes()), &BTreeMap::new(), &names);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("c.xml:9: mapred.capacity-scheduler.queue.q7.capacity = \"4\", and 12 more; "), "{text}");
}

#[test]
fn without_a_file_the_first_queue_lacks_its_capacity() {
    let error = parse_capacity_file("conf/capacity-scheduler.xml", None, &BTreeMap::new(), &["default".to_owned()]);
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with(
            "Queue 'default' doesn't have configured capacity! (conf/capacity-scheduler.xml: no such file, which would set "
        ),
        "{text}"
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_what_was_expected() {
    for (key, value, expected) in [
        ("queue.q1.capacity", "half", "a decimal number"),
        ("queue.q1.supports-priority", "yes", "true or false"),
        ("default-user-limit-factor", "NaN", "a decimal number"),
        ("queue.q1.minimum-user-limit-percent", "2.5", "a whole number of percent, at most 2147483647"),
        ("maximum-system-jobs", "many", "a whole number, at most 2147483647"),
    ] {
        let text = refusal(&[("queue.q1.capacity", "50"), ("queue.q2.capacity", "50"), (key, value)]);
        assert_eq!(text, format!("capacity-scheduler.xml:4: {PREFIX}{key} = {value:?}: expected {expected}"));
    }
}

#[test]
fn a_number_beyond_32_bits_is_refused() {
    let text = refusal(&[("maximum-system-jobs", "-99999999999")]);
    assert!(text.starts_with("capacity-scheduler.xml:2: "), "{text}");
}

#[test]
fn variables_find_keys_of_the_file_and_system_properties() {
    let properties = [("half".to_owned(), "50".to_owned())].into();
    let text = file(&[
        ("queue.q1.capacity", "${half}"),
        ("queue.q2.capacity", "${mapred.capacity-scheduler.queue.q1.capacity}"),
    ]);
    let queues = ["q1".to_owned(), "q2".to_owned()];
    let (config, _) = parse_capacity_file("c.xml", Some(text.as_bytes()), &properties, &queues).unwrap();
    assert_eq!(queue(&config, "q2").capacity(), Decimal::whole(50));
}

#[test]
fn the_capacity_of_0_19_counts_where_none_is_set_and_is_warned_about() {
    let guaranteed = [("queue.q.guaranteed-capacity", "100")];
    assert_eq!(queue(&config(&["q"], &guaranteed), "q").capacity(), Decimal::whole(100));
    assert_eq!(
        warnings(&guaranteed),
        [
            "capacity-scheduler.xml:2: mapred.capacity-scheduler.queue.q.guaranteed-capacity = \"100\" is a key of Hadoop 0.19; use mapred.capacity-scheduler.queue.q.capacity"
        ]
    );
    let both = [("queue.q.guaranteed-capacity", "7"), ("queue.q.capacity", "100")];
    assert!(warnings(&both)[0].ends_with("is ignored beside mapred.capacity-scheduler.queue.q.capacity"));
}

#[test]
fn keys_of_older_releases_are_ignored_with_a_warning() {
    let found = warnings(&[
        ("queue.q.capacity", "100"),
        ("queue.q.reclaim-time-limit", "300"),
        ("queue.q.maximum-initialized-jobs-per-user", "2"),
        ("default-maximum-initialized-jobs-per-user", "2"),
        ("task.limit.maxpmem", "1"),
        ("task.default-pmem-percentage-in-vmem", "1"),
    ]);
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found.iter().all(|text| text.contains(" is a key of Hadoop ") || text.contains("physical memory")));
}

#[test]
fn keys_of_unknown_queues_and_unknown_keys_are_warned_about() {
    let found = warnings(&[("queue.q.capacity", "100"), ("queue.other.capacity", "30"), ("queue.q.capcity", "30")]);
    assert_eq!(
        found,
        [
            "capacity-scheduler.xml:4: nothing reads mapred.capacity-scheduler.queue.q.capcity; did you mean mapred.capacity-scheduler.queue.q.capacity, which is set already?",
            "capacity-scheduler.xml:3: mapred.capacity-scheduler.queue.other.capacity: no such queue in mapred.queue.names; ignored",
        ]
    );
}

#[test]
fn a_malformed_file_is_refused_with_its_place() {
    let text = parse_capacity_file("c.xml", Some(b"<configuration>\n<property>"), &BTreeMap::new(), &[]);
    assert!(text.unwrap_err().to_string().starts_with("c.xml:"));
}

#[test]
fn a_configuration_inside_the_configuration_counts() {
    let nested = file(&[("queue.q.capacity", "100")]);
    let text = format!("<configuration>{nested}</configuration>");
    let queues = ["q".to_owned()];
    let (config, warnings) =
        parse_capacity_file("capacity-scheduler.xml", Some(text.as_bytes()), &BTreeMap::new(), &queues).unwrap();
    assert_eq!(queue(&config, "q").capacity(), Decimal::whole(100));
    assert!(warnings.is_empty(), "{warnings:?}");
}
