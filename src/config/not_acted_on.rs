//! Keys that are set and that this program does not act on, with what happens instead, for `check-config` and the start.

use std::path::Path;

use serde::{Serialize, Serializer};

use super::conf_folder::read_optional;
use super::configuration::Configuration;
use super::error::Origin;
use super::keys;
use super::keys::Key;
use super::keys::unused::{Entry, OF_JOBTRACKER, OF_TASKTRACKER, matches};
use super::settings::{CAPACITY_CLASS, CONSTRAINT_CLASS, FAIR_CLASS};
use super::unread_keys::unread_key;

/// The script that sets the environment of Hadoop's daemons.
const HADOOP_ENV: &str = "hadoop-env.sh";
/// Keys of Hadoop that nothing acts on yet are in the table of keys; their meanings begin so.
const NOT_YET: &str = "Not acted on yet. ";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NotActedOn {
    pub(crate) key: String,
    /// Where it is set.
    #[serde(serialize_with = "as_text")]
    pub(crate) origin: Origin,
    /// What happens instead.
    pub(crate) instead: String,
}

fn as_text<S: Serializer>(origin: &Origin, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(origin)
}

const VARIABLES: &[Entry] = &[
    ("HADOOP_OPTS", "there is no Java: give keys with -D"),
    ("HADOOP_JOBTRACKER_OPTS", "there is no Java: give keys with -D"),
    ("HADOOP_TASKTRACKER_OPTS", "there is no Java: give keys with -D"),
    ("HADOOP_HEAPSIZE", "memory is not reserved"),
    ("HADOOP_LOG_DIR", "the log goes to standard error, for the service manager"),
    ("HADOOP_LOGFILE", "the log goes to standard error, for the service manager"),
    ("HADOOP_ROOT_LOGGER", "RUST_LOG sets the level of the log"),
    ("HADOOP_PID_DIR", "there is no pid file: see jobtracker status"),
    ("HADOOP_NICENESS", "the service manager sets it (Nice=)"),
];

/// Keys of a JobTracker's configuration that are set and not acted on, by name.
#[must_use]
pub(crate) fn of_jobtracker(configuration: &Configuration) -> Vec<NotActedOn> {
    let mut found = listed(configuration, OF_JOBTRACKER);
    found.extend(of_other_schedulers(configuration));
    found.extend(of_known_keys(configuration));
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

#[must_use]
pub(crate) fn of_tasktracker(configuration: &Configuration) -> Vec<NotActedOn> {
    let mut found = listed(configuration, OF_TASKTRACKER);
    found.extend(of_codecs(configuration));
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

/// Variables that `hadoop-env.sh` of the conf folder sets; a file that cannot be read sets none.
#[must_use]
pub(crate) fn of_environment(conf_dir: &Path) -> Vec<NotActedOn> {
    let path = conf_dir.join(HADOOP_ENV);
    let file: std::sync::Arc<str> = path.display().to_string().into();
    let bytes = read_optional(&path, &file).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let found = text.lines().zip(1..).filter_map(|(line, number)| {
        let line = line.trim_start();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).trim_start().split_once('=')?;
        let (_, instead) = VARIABLES.iter().find(|(variable, _)| *variable == name)?;
        let origin = Origin::File { file: file.clone(), line: number };
        let is_set = match name.ends_with("_OPTS") {
            // What Java is given is noise, but for a key of ours.
            true => sets_a_key(value),
            false => !value.trim_matches(['"', '\'', ' ']).is_empty(),
        };
        is_set.then(|| NotActedOn { key: name.to_owned(), origin, instead: (*instead).to_owned() })
    });
    found.collect()
}

/// Whether options of Java have `-D` with a key that this program reads.
fn sets_a_key(options: &str) -> bool {
    let words = options.split([' ', '\t', '"', '\'']);
    let mut names = words.filter_map(|word| Some(word.strip_prefix("-D")?.split_once('=')?.0));
    names.any(|name| keys::all().any(|key| key.is_spelled(name)))
}

fn listed(configuration: &Configuration, table: &[Entry]) -> Vec<NotActedOn> {
    let is_known = |name: &str| keys::all().any(|key| key.is_spelled(name));
    let found = configuration.written().filter(|(name, _, _)| !is_known(name)).filter_map(|(name, _, origin)| {
        let (_, instead) = table.iter().find(|(pattern, _)| matches(pattern, name))?;
        Some(NotActedOn { key: name.to_owned(), origin: origin.clone(), instead: (*instead).to_owned() })
    });
    found.collect()
}

/// Keys of schedulers that do not rule. Those of the market, and those that no scheduler has, have warnings of their own.
fn of_other_schedulers(configuration: &Configuration) -> Vec<NotActedOn> {
    let class = configuration.setting(&keys::TASK_SCHEDULER).ok().flatten().map(|setting| setting.value);
    let rules = |name: &str| class.as_deref().map(str::trim) == Some(name);
    let fair = "mapred.jobtracker.taskScheduler names another scheduler than the Fair Scheduler";
    let capacity = "capacity-scheduler.xml is the only file that the Capacity Scheduler reads";
    let constraint = "mapred.jobtracker.taskScheduler names another scheduler than the Constraint Scheduler";
    let known = configuration.written().filter(|(name, _, _)| unread_key(name).is_none());
    let found = known.filter_map(|(name, _, origin)| {
        let is_of = |keys: &[Key]| keys.iter().any(|key| key.is_spelled(name));
        let instead = if name.starts_with("mapred.capacity-scheduler.") {
            if rules(CAPACITY_CLASS) {
                capacity
            } else {
                "mapred.jobtracker.taskScheduler names another scheduler than the Capacity Scheduler"
            }
        } else if !rules(FAIR_CLASS) && (is_of(keys::FAIR) || name.starts_with("mapred.fairscheduler.")) {
            fair
        } else if !rules(CONSTRAINT_CLASS)
            && is_of(keys::CONSTRAINT)
            && name.starts_with("mapred.constraint-scheduler.")
        {
            constraint
        } else {
            return None;
        };
        Some(NotActedOn { key: name.to_owned(), origin: origin.clone(), instead: instead.to_owned() })
    });
    found.collect()
}

/// Known keys whose meaning says that nothing acts on them yet.
fn of_known_keys(configuration: &Configuration) -> Vec<NotActedOn> {
    let not_yet = |name: &str| keys::all().find(|key| key.is_spelled(name))?.meaning.strip_prefix(NOT_YET);
    let found = configuration.written().filter_map(|(name, _, origin)| {
        let meaning = not_yet(name)?.trim_end_matches('.');
        let instead = format!("not yet: {}", meaning.to_owned());
        Some(NotActedOn { key: name.to_owned(), origin: origin.clone(), instead })
    });
    found.collect()
}

/// Codecs that the worker has not. Of a list of codecs the others are used.
fn of_codecs(configuration: &Configuration) -> Vec<NotActedOn> {
    const NAMES: [&str; 3] =
        ["io.compression.codecs", "mapred.output.compression.codec", "mapred.map.output.compression.codec"];
    const READABLE: [&str; 3] = ["DefaultCodec", "GzipCodec", "DeflateCodec"];
    let found =
        configuration.written().filter(|(name, _, _)| NAMES.contains(name)).filter_map(|(name, value, origin)| {
            let is_missing = |class: &&str| !READABLE.iter().any(|known| class.ends_with(&format!(".{known}")));
            let missing: Vec<&str> =
                value.split(',').map(str::trim).filter(|class| !class.is_empty()).filter(is_missing).collect();
            let missing = (!missing.is_empty()).then(|| missing.join(", "))?;
            let instead = match name {
                "io.compression.codecs" => format!("the worker has no {missing}: it cannot read files of these codecs"),
                _ => format!("the worker has no {missing}: jobs that ask for it run on stock TaskTrackers only"),
            };
            Some(NotActedOn { key: name.to_owned(), origin: origin.clone(), instead })
        });
    found.collect()
}

impl std::fmt::Display for NotActedOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, origin, instead } = self;
        write!(f, "{origin}: {key}: {instead}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::test_options;
    use super::*;

    fn texts(found: &[NotActedOn]) -> String {
        found.iter().map(|found| format!("{found}\n")).collect()
    }

    #[test]
    fn what_is_set_and_not_acted_on_is_listed_with_what_happens_instead() {
        let overrides = [
            "mapred.fairscheduler.preemption=true",
            "mapred.fairscheduler.eventlog.enabled=true",
            "mapred.permissions.supergroup=hadoop",
            "dfs.replication=3",
            "mapred.healthChecker.interval=5",
            "io.compression.codecs=org.apache.hadoop.io.compress.DefaultCodec,com.hadoop.compression.lzo.LzoCodec",
        ];
        let configuration = test_options(None, &overrides).configuration().unwrap();
        insta::assert_snapshot!(texts(&of_jobtracker(&configuration)));
        insta::assert_snapshot!(texts(&of_tasktracker(&configuration)));
        let fair = format!("mapred.jobtracker.taskScheduler={FAIR_CLASS}");
        let configuration = test_options(None, &[&overrides[..], &[&fair]].concat()).configuration().unwrap();
        assert!(!texts(&of_jobtracker(&configuration)).contains("mapred.fairscheduler.preemption"));
    }

    #[test]
    fn variables_of_java_are_named_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let text = "# export HADOOP_OPTS=-server\nexport JAVA_HOME=/j\n export HADOOP_JOBTRACKER_OPTS=\"-Xmx4g -Dmapred.task.cache.levels=3\"\nexport HADOOP_TASKTRACKER_OPTS=\"-Dcom.sun.management.jmxremote $HADOOP_TASKTRACKER_OPTS\"\nexport HADOOP_HEAPSIZE=\nHADOOP_PID_DIR=/p\n";
        std::fs::write(folder.path().join(HADOOP_ENV), text).unwrap();
        let found = texts(&of_environment(folder.path())).replace(&folder.path().display().to_string(), "CONF");
        assert_eq!(
            found,
            "CONF/hadoop-env.sh:3: HADOOP_JOBTRACKER_OPTS: there is no Java: give keys with -D\n\
             CONF/hadoop-env.sh:6: HADOOP_PID_DIR: there is no pid file: see jobtracker status\n"
        );
        assert!(of_environment(Path::new("/nowhere")).is_empty());
    }
}
