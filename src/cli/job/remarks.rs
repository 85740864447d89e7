//! What is probably a mistake in a submission, but may be meant.

use crate::config::keys;
use crate::config::keys::Key;
use crate::config::unread_keys::unread_key_of_job;

/// Properties, `key=value`, that nothing reads: below the prefixes of this JobTracker, or close to a known key.
pub(super) fn mistyped_properties(properties: &[String]) -> Vec<String> {
    let remark = |property: &String| {
        let name = property.split_once('=').map_or(property.as_str(), |(name, _)| name).trim();
        let hint = unread_key_of_job(name, |_| false)?.question().map(|question| format!("; {question}"));
        Some(format!("-D {name}: nothing reads this key{}", hint.unwrap_or_default()))
    };
    properties.iter().filter_map(remark).collect()
}

/// Values that a job accepts and that do not what they look like; `value_of`: the job's own values, those of its options too.
pub(super) fn idle_values<'a>(properties: &[String], value_of: impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let given = properties.iter().filter_map(|property| property.split_once('='));
    let found = given.filter_map(|(name, value)| {
        let name = name.trim();
        let (_, _, effect) = LEAST.iter().find(|(key, least, _)| {
            key.is_spelled(name) && value.trim().parse::<i64>().is_ok_and(|number| number < *least)
        })?;
        Some(format!("-D {name}={}: {effect}", value.trim()))
    });
    let idle = WITHOUT_CLASS.iter().filter_map(|(options, class, needed)| {
        value_of(options.name).filter(|text| !text.trim().is_empty())?;
        let is_idle = value_of(class.name).is_none_or(|class| class.trim().is_empty());
        let name = options.name;
        is_idle.then(|| format!("{name} has no effect while {} is not {needed}", class.name))
    });
    // Where a conf folder says that the cluster has no limits, the scheduler looks at no memory.
    let unlimited = OF_MEMORY.iter().filter_map(|(key, cluster)| {
        let is_set = |key: &Key, least: i64| value_of(key.name)?.trim().parse::<i64>().ok().filter(|mb| *mb >= least);
        is_set(key, 0)?;
        let is_off = value_of(cluster.name)?.trim().parse::<i64>().is_ok_and(|mb| mb < 0);
        let is_given = properties
            .iter()
            .any(|property| property.split('=').next().is_some_and(|name| key.is_spelled(name.trim())));
        (is_off && is_given).then(|| format!("-D {} has no effect while {} is not set", key.name, cluster.name))
    });
    found.chain(idle).chain(unlimited).collect()
}

/// What a job's task needs, and what a slot of the cluster has.
const OF_MEMORY: [(&Key, &Key); 2] =
    [(&keys::JOB_MAP_MEMORY, &keys::MAP_SLOT_MEMORY), (&keys::JOB_REDUCE_MEMORY, &keys::REDUCE_SLOT_MEMORY)];

/// A key, the least value that means what it says, and what a smaller one means.
const LEAST: &[(&Key, i64, &str)] = &[
    (&keys::TASK_TIMEOUT, 0, "counts as 0: an attempt that reports nothing is never killed"),
    (&keys::MAP_MAX_ATTEMPTS, 1, "counts as 1: a map that fails once fails the job"),
    (&keys::REDUCE_MAX_ATTEMPTS, 1, "counts as 1: a reduce that fails once fails the job"),
    (&keys::MAP_KEY_FIELDS, 1, "counts as 1: the key is the first field"),
    (&keys::REDUCE_KEY_FIELDS, 1, "counts as 1: the key is the first field"),
    (&keys::JOB_MAP_MEMORY, 0, "counts as not set; expected MB from 0"),
    (&keys::JOB_REDUCE_MEMORY, 0, "counts as not set; expected MB from 0"),
];
/// Options of a class, the key of the class, and the class.
const WITHOUT_CLASS: &[(&Key, &Key, &str)] = &[
    (&keys::COMPARATOR_OPTIONS, &keys::KEY_COMPARATOR_CLASS, "org.apache.hadoop.mapred.lib.KeyFieldBasedComparator"),
    (
        &keys::PARTITIONER_OPTIONS,
        &keys::PARTITIONER_CLASS,
        "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner (--partitioner keyfield)",
    ),
];

/// A job without input files.
pub(super) fn no_input(files: usize) -> Option<&'static str> {
    (files == 0).then_some(
        "the input has no files: no map runs. Files in subdirectories and names that begin with _ or . are not read",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_close_to_known_ones_are_remarked_and_others_are_not() {
        let of = |property: &str| mistyped_properties(&[property.to_owned()]);
        assert_eq!(
            of("mapred.reduce.taks=3"),
            ["-D mapred.reduce.taks: nothing reads this key; did you mean mapred.reduce.tasks?"]
        );
        assert_eq!(
            of("mapred.job.deadline=1"),
            ["-D mapred.job.deadline: nothing reads this key; did you mean mapred.job.deadline.ms?"]
        );
        assert_eq!(of("jobtracker.x=1"), ["-D jobtracker.x: nothing reads this key"]);
        for fine in ["mapred.reduce.tasks=3", "my.own.key=1", "mapred.queue.name=x", "io.sort.mb=10", "x"] {
            assert!(of(fine).is_empty(), "{fine}: {:?}", of(fine));
        }
        assert!(no_input(0).is_some() && no_input(1).is_none());
        assert_eq!(
            of("mapred.min.split.sise=5"),
            ["-D mapred.min.split.sise: nothing reads this key; did you mean mapred.min.split.size?"]
        );
    }

    #[test]
    fn values_that_do_not_what_they_look_like_are_remarked() {
        let of = |name: &'static str, value: &'static str| {
            let given = [format!("{name}={value}")];
            idle_values(&given, |asked| (asked == name).then_some(value)).join("; ")
        };
        let options = "mapred.text.key.comparator.options";
        let key = "mapred.output.key.comparator.class";
        let class = "org.apache.hadoop.mapred.lib.KeyFieldBasedComparator";
        assert_eq!(of(options, "-k2n"), format!("{options} has no effect while {key} is not {class}"));
        let given = [format!("{options}=-k2n")];
        assert_eq!(idle_values(&given, |name| Some(if name == key { class } else { "-k2n" })), [""; 0]);
        for (name, value, effect) in [
            ("mapred.task.timeout", "-5", "counts as 0: an attempt that reports nothing is never killed"),
            ("mapred.map.max.attempts", "0", "counts as 1: a map that fails once fails the job"),
            ("stream.num.map.output.key.fields", "0", "counts as 1: the key is the first field"),
            ("mapred.job.map.memory.mb", "-5", "counts as not set; expected MB from 0"),
        ] {
            assert_eq!(of(name, value), format!("-D {name}={value}: {effect}"));
        }
        let given = ["mapreduce.map.memory.mb=999999".to_owned()];
        let of_cluster = |slot: &'static str| {
            let value_of = |name: &str| match name {
                "mapred.job.map.memory.mb" => Some("999999"),
                "mapred.cluster.map.memory.mb" => Some(slot),
                _ => None,
            };
            idle_values(&given, value_of)
        };
        let said = "-D mapred.job.map.memory.mb has no effect while mapred.cluster.map.memory.mb is not set";
        assert_eq!(of_cluster("-1"), [said]);
        assert_eq!(of_cluster("1024"), [""; 0]);
        for (name, value) in [("mapred.task.timeout", "0"), ("mapred.map.max.attempts", "1"), ("x", "-1")] {
            assert_eq!(of(name, value), "", "{name}");
        }
    }
}
