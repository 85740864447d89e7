//! Keys that nothing reads, and the known keys that they probably mean: in files, by `-D`, and in a job's properties.

use crate::model::edit_distance;
use crate::wire::limits::excerpt;

use super::keys;
use super::keys::Key;
use super::keys::hadoop_defaults::{is_hadoop_key, stock_defaults};
use super::keys::unused::is_listed;

/// How names begin of which this JobTracker defines the keys: every other one is a mistake. Of a scheduler's prefix the first
/// letters, since the rest is misspelt as often as the key.
const OWN_PREFIXES: [&str; 12] = [
    "jobtracker.",
    "mapred.jobtracker.",
    "mapreduce.jobtracker.",
    "mapred.queue",
    "hadoop.proxyuser",
    "mapred.dynamic",
    "mapred.priority",
    "mapred.capacity",
    "mapred.fair",
    "mapred.newjobweight",
    "mapred.constraint",
    "mapred.job.deadline",
];

/// Keys of 1.2.1 whose names are close to known keys, but which are no mistakes.
const LEGITIMATE: [&str; 1] = ["mapred.task.maxpmem"];
/// The same in a job, which may name its pool so; in a conf folder the list of queues is meant.
const LEGITIMATE_IN_JOBS: &str = "mapred.queue.name";

/// Names that keys have in other lines of Hadoop, or in conf folders that people copy, which 1.2.1 reads as little, and their names here.
const OF_OTHER_LINES: &[(&str, &str)] = &[
    ("mapred.task.tracker", "mapred.task.tracker.http.address"),
    ("mapreduce.tasktracker.map.tasks.maximum", "mapred.tasktracker.map.tasks.maximum"),
    ("mapreduce.tasktracker.reduce.tasks.maximum", "mapred.tasktracker.reduce.tasks.maximum"),
    ("mapred.map.tasks.maximum", "mapred.tasktracker.map.tasks.maximum"),
    ("mapred.reduce.tasks.maximum", "mapred.tasktracker.reduce.tasks.maximum"),
    ("mapreduce.tasktracker.tasks.sleeptimebeforesigkill", "mapred.tasktracker.tasks.sleeptime-before-sigkill"),
    ("mapreduce.tasktracker.cache.local.size", "local.cache.size"),
    ("mapreduce.acls.enabled", "mapred.acls.enabled"),
    ("mapreduce.map.java.opts", "mapred.child.java.opts"),
    ("mapreduce.reduce.java.opts", "mapred.reduce.child.java.opts"),
    ("mapreduce.map.env", "mapred.map.child.env"),
    ("mapreduce.reduce.env", "mapred.reduce.child.env"),
    ("mapreduce.task.timeout", "mapred.task.timeout"),
    ("mapreduce.task.io.sort.mb", "io.sort.mb"),
    ("mapreduce.task.io.sort.factor", "io.sort.factor"),
    ("mapreduce.map.sort.spill.percent", "io.sort.spill.percent"),
    ("mapreduce.map.combine.minspills", "min.num.spills.for.combine"),
    ("mapreduce.map.output.compress", "mapred.compress.map.output"),
    ("mapreduce.map.output.compress.codec", "mapred.map.output.compression.codec"),
    ("mapreduce.map.output.key.field.separator", "map.output.key.field.separator"),
    ("mapreduce.output.fileoutputformat.compress", "mapred.output.compress"),
    ("mapreduce.output.fileoutputformat.compress.codec", "mapred.output.compression.codec"),
    ("mapreduce.output.textoutputformat.separator", "mapred.textoutputformat.separator"),
    ("mapreduce.input.linerecordreader.line.maxlength", "mapred.linerecordreader.maxlength"),
    ("mapreduce.input.keyvaluelinerecordreader.key.value.separator", "key.value.separator.in.input.line"),
    ("mapreduce.partition.keycomparator.options", "mapred.text.key.comparator.options"),
    ("mapreduce.partition.keypartitioner.options", "mapred.text.key.partitioner.options"),
    ("mapreduce.reduce.shuffle.parallelcopies", "mapred.reduce.parallel.copies"),
    ("mapreduce.reduce.shuffle.input.buffer.percent", "mapred.job.shuffle.input.buffer.percent"),
    ("mapreduce.reduce.shuffle.merge.percent", "mapred.job.shuffle.merge.percent"),
    ("mapreduce.reduce.merge.inmem.threshold", "mapred.inmem.merge.threshold"),
    ("mapreduce.job.cache.files", "mapred.cache.files"),
    ("mapreduce.job.cache.archives", "mapred.cache.archives"),
];

/// Edits that make the name of a key of Hadoop's a mistyped one: Hadoop has hundreds of keys that other programs read.
const MOST_EDITS: usize = 2;
/// The same at least, below the prefixes of this JobTracker.
const MOST_EDITS_OF_OWN: usize = 3;
/// Longer names are like no known key, bytes.
const LONGEST_NAME: usize = 200;

/// Names of a job that are looked at: a stock client writes all of Hadoop's, which are fewer.
const MOST_NAMES_OF_JOB: usize = 1_000;
/// Names of them that are said.
const MOST_SAID_OF_JOB: usize = 5;

/// A key that nothing reads and that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnreadKey {
    /// The nearest known key; of equally near ones one that is not set already.
    pub(crate) similar: Option<String>,
    /// Whether that one is set already.
    pub(crate) is_set: bool,
}

impl UnreadKey {
    /// Asks for the key that was meant; none where no known one is near.
    #[must_use]
    pub(crate) fn question(&self) -> Option<String> {
        let beside = if self.is_set { ", which is set already" } else { "" };
        self.similar.as_ref().map(|similar| format!("did you mean {similar}{beside}?"))
    }
}

/// Judges the name of a key, in a configuration file, by `-D`, or of a job's property: none if the program reads it, says
/// what happens instead, or if it is another program's.
#[must_use]
pub(crate) fn unread_key(name: &str) -> Option<UnreadKey> {
    unread_key_beside(name, |_| false)
}

/// The same of a name beside others: of equally near keys one that is not set already is meant.
#[must_use]
pub(crate) fn unread_key_beside(name: &str, is_set: impl Fn(&str) -> bool) -> Option<UnreadKey> {
    if keys::is_known(name) || is_listed(name) || LEGITIMATE.contains(&name) {
        return None;
    }
    if let Some((_, ours)) = OF_OTHER_LINES.iter().find(|(other, _)| *other == name) {
        return Some(UnreadKey { similar: Some((*ours).to_owned()), is_set: is_set(ours) });
    }
    let own = OWN_PREFIXES.iter().find(|prefix| name.starts_with(**prefix));
    let similar = |most: usize| {
        Some(name)
            .filter(|name| name.len() <= LONGEST_NAME && !is_hadoop_key(name))
            .and_then(|name| nearest_key(name, most, &is_set))
    };
    let unread = |similar: Option<String>| {
        let is_set = similar.as_deref().is_some_and(&is_set);
        UnreadKey { similar, is_set }
    };
    match own {
        Some(prefix) => {
            let after = &name[prefix.len()..];
            let rest = if prefix.ends_with('.') { after } else { after.split_once('.').map_or("", |(_, rest)| rest) };
            Some(unread(similar((rest.len() / 2).max(MOST_EDITS_OF_OWN))))
        }
        None => similar(MOST_EDITS).map(|similar| unread(Some(similar))),
    }
}

/// The same of a job's own property.
#[must_use]
pub(crate) fn unread_key_of_job(name: &str, is_set: impl Fn(&str) -> bool) -> Option<UnreadKey> {
    let unread = unread_key_beside(name, &is_set).or_else(|| like_one_of_hadoop(name, is_set));
    unread.filter(|_| name != LEGITIMATE_IN_JOBS)
}

/// A name that is close to a key of Hadoop's which clients and tasks read, and no table has.
fn like_one_of_hadoop(name: &str, is_set: impl Fn(&str) -> bool) -> Option<UnreadKey> {
    let is_unknown = name.len() <= LONGEST_NAME
        && !is_hadoop_key(name)
        && !is_listed(name)
        && !LEGITIMATE.contains(&name)
        && !keys::is_known(name);
    let near = |key: &'static str| Some((edit_distance(name, key, MOST_EDITS)?, key));
    let (_, similar) = stock_defaults().filter(|_| is_unknown).filter_map(|(key, _)| near(key)).min()?;
    Some(UnreadKey { similar: Some(similar.to_owned()), is_set: is_set(similar) })
}

/// Names that a job sets, so many at most, that nothing reads, with what was meant; none: nothing to say.
#[must_use]
pub(crate) fn unread_by_jobs<'a>(
    names: impl Iterator<Item = &'a str>,
    is_set: impl Fn(&str) -> bool,
) -> Option<String> {
    let remark = |name: &str| {
        let question = unread_key_of_job(name, &is_set)?.question();
        let hint = question.map(|question| format!(" ({question})")).unwrap_or_default();
        Some(format!("{}{hint}", excerpt(name)))
    };
    let mut unread = names.take(MOST_NAMES_OF_JOB).filter_map(remark);
    let said: Vec<String> = unread.by_ref().take(MOST_SAID_OF_JOB).collect();
    let more = unread.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!said.is_empty()).then(|| format!("{}{more}", said.join(", ")))
}

/// The known key with the most similar name, at most `most` edits away; another scheduler's key of the same name counts as near.
fn nearest_key(name: &str, most: usize, is_set: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut best: Option<(usize, bool, String)> = None;
    let candidates = keys::all().flat_map(Key::spellings).flat_map(|spelling| in_place_of(spelling, name));
    for candidate in candidates {
        let within = best.as_ref().map_or(most, |(edits, ..)| *edits);
        let of_another = match (of_scheduler(name), of_scheduler(&candidate)) {
            (Some(rest), Some(known)) => edit_distance(rest, known, 1).map(|edits| edits + 1),
            _ => None,
        };
        let of_short = is_abbreviation(name, &candidate).then_some(1);
        let edits = [edit_distance(name, &candidate, within), of_another, of_short].into_iter().flatten().min();
        if let Some(edits) = edits.filter(|edits| *edits <= most) {
            best = [best, Some((edits, is_set(&candidate), candidate))].into_iter().flatten().min();
        }
    }
    best.map(|(.., key)| key)
}

/// Whether each word of one is that of the other, or begins it: `max-capacity` for `maximum-capacity`.
fn is_abbreviation(name: &str, candidate: &str) -> bool {
    const LEAST_LETTERS: usize = 3;
    let words = |text: &str| text.split(['.', '-']).map(str::to_owned).collect::<Vec<_>>();
    let (of_name, of_candidate) = (words(name), words(candidate));
    let is_same = |(word, known): (&String, &String)| {
        word == known || (word.len() >= LEAST_LETTERS && known.starts_with(word.as_str()))
    };
    of_name.len() == of_candidate.len() && of_name.iter().zip(&of_candidate).all(is_same)
}

/// The spelling itself; one with a queue or user, with each that `name` may have.
fn in_place_of(spelling: &str, name: &str) -> Vec<String> {
    let parts = spelling.split_once('<').and_then(|(head, rest)| Some((head, rest.split_once('>')?.1)));
    let Some((head, tail)) = parts else { return vec![spelling.to_owned()] };
    let words: Vec<&str> = name.split('.').collect();
    let first = head.matches('.').count();
    (first + 1..words.len()).map(|end| format!("{head}{}{tail}", words[first..end].join("."))).collect()
}

fn of_scheduler(name: &str) -> Option<&str> {
    const SCHEDULERS: [&str; 5] = ["dynamic", "priority", "capacity", "fair", "constraint"];
    let (scheduler, rest) = name.strip_prefix("mapred.")?.split_once('.')?;
    SCHEDULERS.iter().any(|begin| scheduler.starts_with(begin)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(name: &str) -> Option<Option<String>> {
        unread_key(name).map(|unread| unread.similar)
    }

    #[test]
    fn every_unknown_key_below_a_prefix_of_ours_is_named_with_the_nearest_one() {
        for (name, nearest) in [
            ("mapred.dynamic-scheduler.kill-interval", "mapred.priority-scheduler.kill-interval"),
            ("mapred.priority-scheduler.alloc-interval", "mapred.dynamic-scheduler.alloc-interval"),
            ("mapred.dynamic-priority-scheduler.budget-file", "mapred.dynamic-scheduler.budget-file"),
            ("mapred.fairscheduler.preemtion", "mapred.fairscheduler.preemption"),
            ("mapred.fair-scheduler.allocation.file", "mapred.fairscheduler.allocation.file"),
            ("mapred.capacity-scheduler.maximum-system-job", "mapred.capacity-scheduler.maximum-system-jobs"),
            (
                "mapred.capacity-scheduler.queue.prod.maximum-capcity",
                "mapred.capacity-scheduler.queue.prod.maximum-capacity",
            ),
            ("mapred.capacityscheduler.queue.prod.capacity", "mapred.capacity-scheduler.queue.prod.capacity"),
            (
                "mapred.capacity-scheduler.queue.prod.max-capacity",
                "mapred.capacity-scheduler.queue.prod.maximum-capacity",
            ),
            ("mapred.constraint-scheduler.on-miss", "mapred.constraint-scheduler.on-missed"),
            ("mapred.constraint.strategy", "mapred.constraint-scheduler.strategy"),
            ("mapred.job.deadline", "mapred.job.deadline.ms"),
            ("mapred.job.deadline.max-cost", "mapred.job.deadline.max.cost"),
            ("jobtracker.state-dir", "jobtracker.state.dir"),
            ("jobtracker.containers.max-memory.mb", "jobtracker.containers.maximum.memory.mb"),
            ("mapred.queue.a.b.acl-submit-jobs", "mapred.queue.a.b.acl-submit-job"),
            ("mapred.queues.a.acl-administer-job", "mapred.queue.a.acl-administer-jobs"),
            ("mapred.queue.prod.acl.submit.job", "mapred.queue.prod.acl-submit-job"),
            ("hadoop.proxyuser.oozie.host", "hadoop.proxyuser.oozie.hosts"),
            ("mapred.reduce.taks", "mapred.reduce.tasks"),
        ] {
            assert_eq!(similar(name), Some(Some(nearest.to_owned())), "{name}");
        }
        for name in
            ["jobtracker.nonsense.key", "mapred.fairscheduler.x", "mapred.capacity-scheduler.q", "mapred.constraint"]
        {
            assert_eq!(similar(name), Some(None), "{name}");
        }
    }

    #[test]
    fn a_misspelt_key_beside_the_right_one_is_named_with_it() {
        let question =
            |name: &str, set: &str| unread_key_beside(name, |key| set == key).and_then(|unread| unread.question());
        let name = "mapred.capacity-scheduler.queue.prod.capacit";
        let nearest = "mapred.capacity-scheduler.queue.prod.capacity";
        assert_eq!(question(name, "").unwrap(), format!("did you mean {nearest}?"));
        for (name, set) in [
            (name, nearest),
            ("mapred.hosts.exclud", "mapred.hosts.exclude"),
            ("mapred.queue.name", "mapred.queue.names"),
            ("mapred.acl.enabled", "mapred.acls.enabled"),
            ("mapred.job.trackr", "mapred.job.tracker"),
            ("mapred.dynamic-scheduler.alloc-intervall", "mapred.dynamic-scheduler.alloc-interval"),
        ] {
            let expected = format!("did you mean {set}, which is set already?");
            assert_eq!(question(name, set), Some(expected), "{name}");
        }
        assert_eq!(unread_key_of_job("mapred.queue.name", |_| false), None, "a pool may be named so");
    }

    #[test]
    fn names_of_other_lines_are_named_with_those_of_this_one() {
        for (other, ours) in OF_OTHER_LINES {
            assert_eq!(similar(other), Some(Some((*ours).to_owned())), "{other} is read, or listed");
            assert!(keys::all().any(|key| key.is_spelled(ours)), "nothing reads {ours}");
        }
    }

    #[test]
    fn keys_that_are_read_listed_or_of_other_programs_are_not_named() {
        for name in [
            "mapred.queue.a.acl-submit-job",
            "mapred.job.tracker.handler.count",
            "mapred.capacity-scheduler.default-reclaim-time-limit",
            "mapred.job.name.of.mine",
            "com.example.key",
            "dfs.block.size",
            "x",
        ] {
            assert_eq!(similar(name), None, "{name}");
        }
        assert_eq!(similar(&format!("jobtracker.{}", "x".repeat(5_000))), Some(None));
    }

    #[test]
    fn every_prefix_of_the_tables_of_schedulers_and_of_this_jobtracker_is_ours() {
        let tables = [keys::MARKET, keys::CAPACITY, keys::FAIR, keys::CONSTRAINT, keys::CONTAINERS, keys::OWN];
        for key in tables.into_iter().flatten() {
            let is_own = OWN_PREFIXES.iter().any(|prefix| key.name.starts_with(prefix));
            assert!(is_own || is_hadoop_key(key.name) || key.name.starts_with("mapred.cluster"), "{}", key.name);
        }
    }
}
