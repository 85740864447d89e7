//! Every configuration key that the program reads: name, other spellings, default, kind with unit and range, meaning.
//! `docs/configuration.md` is generated from these tables. Do not add keys that nothing reads.

mod cluster;
pub(crate) mod hadoop_defaults;
mod hdfs;
mod job;
mod own;
mod schedulers;
mod streaming;
pub(crate) mod unused;

use std::fmt;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

pub(crate) use cluster::*;
pub(crate) use hdfs::*;
pub(crate) use job::*;
pub(crate) use own::*;
pub(crate) use schedulers::*;
pub(crate) use streaming::*;

use crate::model::{Decimal, HttpUrl, HttpUrlError, PartsPerMillion, parse_port, split_port};

use super::host_port::HostPort;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Hadoop 1.2.1's name, or a name of this JobTracker. `<queue>` in it stands for a queue's name, `<user>` for a user's.
    pub(crate) name: &'static str,
    /// Deprecated names, and those of Hadoop 0.21 and later. `name` wins over them.
    pub(crate) aliases: &'static [&'static str],
    /// Default, as written in a file; `None`: not set.
    pub(crate) default: Option<&'static str>,
    pub(crate) kind: ValueKind,
    /// One line for the documentation.
    pub(crate) meaning: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Text,
    List,
    /// A Java class name.
    Class,
    /// `host:port`.
    Address,
    /// An `http:` URL that is called. `$jobId` and `$jobStatus` stand for plain words.
    HttpUrl,
    /// Hosts separated by commas, with `*` for any characters, each with or without a port.
    HostPatterns,
    LocalPath,
    /// Paths of this machine, separated by commas.
    LocalPaths,
    /// A path on the default file system, or a whole URI.
    FileSystemPath,
    /// `true` or `false`.
    Flag,
    /// A ratio, at most this many millionths.
    Ratio(u64),
    /// A decimal number.
    Decimal,
    Number(Unit, i64, i64),
    /// A version of Hadoop, such as `1.2.1` or `0.20.2-cdh3u6`.
    Version,
    /// What Hadoop's `VersionInfo.getBuildVersion` returns.
    Build,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A bare number.
    Count,
    Bytes,
    /// Megabytes (2^20 bytes).
    Megabytes,
    Milliseconds,
    Seconds,
    Minutes,
    Days,
    Percent,
}

impl Unit {
    /// The unit's symbol; empty for a bare number.
    #[must_use]
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Bytes => "bytes",
            Unit::Megabytes => "MB",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Minutes => "min",
            Unit::Days => "days",
            Unit::Percent => "percent",
        }
    }
}

impl ValueKind {
    #[must_use]
    pub(crate) fn is_text(self) -> bool {
        matches!(self, ValueKind::Text | ValueKind::List)
    }

    /// What was expected of an expanded value that is not of this kind.
    #[must_use]
    pub(crate) fn refusal(self, value: &str) -> Option<String> {
        if self.accepts(value) {
            return None;
        }
        match self {
            ValueKind::HttpUrl => url_error(value).map(|error| format!("{self}: {error}")),
            ValueKind::Address if has_too_high_port(value) => Some(format!("{self}, the port at most 65535")),
            ValueKind::HostPatterns if value.contains('/') => Some(format!("{self}, not URLs")),
            _ => Some(self.to_string()),
        }
    }

    /// Whether an expanded value is of this kind. Blanks around numbers, words and addresses are ignored.
    #[must_use]
    pub(crate) fn accepts(self, value: &str) -> bool {
        match self {
            ValueKind::Text | ValueKind::List => true,
            ValueKind::Class | ValueKind::LocalPath | ValueKind::LocalPaths | ValueKind::FileSystemPath => {
                !value.trim().is_empty()
            }
            ValueKind::Address => HostPort::parse(value).is_some(),
            ValueKind::HttpUrl => url_error(value).is_none(),
            ValueKind::HostPatterns => value.split(',').all(|pattern| is_host_pattern(pattern.trim())),
            ValueKind::Flag => parse_flag(value).is_some(),
            ValueKind::Ratio(most) => PartsPerMillion::parse(value).is_some_and(|ratio| ratio.0 <= most),
            ValueKind::Decimal => Decimal::parse(value).is_some(),
            ValueKind::Number(_, least, most) => {
                parse_number(value).is_some_and(|number| (least..=most).contains(&number))
            }
            ValueKind::Version => is_version(value.trim()),
            ValueKind::Build => is_build(value.trim()),
            ValueKind::OneOf(words) => words.contains(&value.trim()),
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueKind::Text => f.write_str("text"),
            ValueKind::List => f.write_str("names separated by commas"),
            ValueKind::Class => f.write_str("a class name"),
            ValueKind::Address => f.write_str("host:port"),
            ValueKind::HttpUrl => f.write_str("an http: URL"),
            ValueKind::HostPatterns => f.write_str("hosts separated by commas, each with or without :port"),
            ValueKind::LocalPath => f.write_str("an absolute path of this machine"),
            ValueKind::LocalPaths => f.write_str("absolute paths of this machine, separated by commas"),
            ValueKind::FileSystemPath => f.write_str("an absolute path, or a file: or hdfs: URI"),
            ValueKind::Flag => f.write_str("true or false"),
            ValueKind::Ratio(u64::MAX) => f.write_str("a decimal number from 0"),
            ValueKind::Ratio(most) => write!(f, "a decimal number from 0 to {}", PartsPerMillion(*most)),
            ValueKind::Decimal => f.write_str("a decimal number"),
            ValueKind::Number(unit, least, most) => {
                f.write_str("a whole number")?;
                if !unit.symbol().is_empty() {
                    write!(f, " of {}", unit.symbol())?;
                }
                match (*least, *most) {
                    (i64::MIN, i64::MAX) => Ok(()),
                    (i64::MIN, most) => write!(f, ", at most {most}"),
                    (least, i64::MAX) => write!(f, " from {least}"),
                    (least, most) => write!(f, " from {least} to {most}"),
                }
            }
            ValueKind::Version => f.write_str("a version of Hadoop, such as 1.2.1"),
            ValueKind::Build => {
                f.write_str("VERSION from REVISION by USER source checksum SUM, as `hadoop version` has it")
            }
            ValueKind::OneOf([most @ .., last]) if !most.is_empty() => write!(f, "{} or {last}", most.join(", ")),
            ValueKind::OneOf(words) => f.write_str(&words.concat()),
        }
    }
}

/// What keeps a URL from being called once the names in it are replaced (1.2.1 `JobEndNotifier`).
fn url_error(url: &str) -> Option<HttpUrlError> {
    let replaced = url.replace("$jobId", "job").replace("$jobStatus", "SUCCEEDED");
    HttpUrl::parse(&replaced).err()
}

/// Whether what stands for the port is a number beyond all ports.
fn has_too_high_port(address: &str) -> bool {
    let port = address.trim().rsplit_once(':').map_or("", |(_, port)| port);
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_err()
}

/// Numbers separated by points, and what a distribution appends.
fn is_version(text: &str) -> bool {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let is_number = |part: &str| !part.is_empty() && part.len() <= 9;
    let is_more = |letter: char| letter.is_ascii_alphanumeric() || "-_.+~".contains(letter);
    numbers.contains('.') && numbers.split('.').all(is_number) && rest.chars().all(is_more)
}

/// A version, a revision that may be empty (0.20.2), a user, and a checksum or, before 1.0.1, a date.
fn is_build(text: &str) -> bool {
    let parts = text.split_once(" from ").and_then(|(version, rest)| Some((version, rest.rsplit_once("by ")?.1)));
    parts.is_some_and(|(version, by)| {
        is_version(version) && [" source checksum ", " on "].iter().any(|sign| by.contains(sign))
    })
}

fn is_host_pattern(pattern: &str) -> bool {
    !pattern.contains('/') && split_port(pattern).1.is_none_or(|port| parse_port(port).is_some_and(|port| port > 0))
}

/// Parses a whole number as Hadoop does: decimal, or hexadecimal after `0x` (1.2.1 `Configuration.getLong`).
#[must_use]
pub(crate) fn parse_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) if hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            i64::from_str_radix(&format!("{sign}{hexadecimal}"), 16).ok()
        }
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Parses `true` or `false`. Hadoop silently replaces any other word by the default; this returns `None`.
#[must_use]
pub(crate) fn parse_flag(text: &str) -> Option<bool> {
    text.trim().parse().ok()
}

impl Key {
    /// All spellings, in order of precedence.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The key's name for one queue.
    #[must_use]
    pub(crate) fn for_queue(&self, queue: &str) -> String {
        self.name.replace("<queue>", queue)
    }

    /// The key's name for one user.
    #[must_use]
    pub(crate) fn for_user(&self, user: &str) -> String {
        self.name.replace("<user>", user)
    }

    #[must_use]
    pub(crate) fn is_pattern(&self) -> bool {
        self.name.contains('<')
    }

    /// Whether `name` is a spelling of this key, for any queue or user.
    #[must_use]
    pub(crate) fn is_spelled(&self, name: &str) -> bool {
        match self.is_pattern() {
            true => self.queue_in(name).is_some(),
            false => self.spellings().any(|spelling| spelling == name),
        }
    }

    /// The queue or user for which `name` is a spelling of this key.
    #[must_use]
    pub(crate) fn queue_in<'a>(&self, name: &'a str) -> Option<&'a str> {
        self.spellings().find_map(|spelling| {
            let (head, rest) = spelling.split_once('<')?;
            let (_, tail) = rest.split_once('>')?;
            name.strip_prefix(head)?.strip_suffix(tail).filter(|queue| !queue.is_empty())
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    #[cfg_attr(not(test), allow(dead_code, reason = "for the page"))]
    pub(crate) note: &'static str,
    /// Its keys, in the order of the page.
    pub(crate) keys: &'static [Key],
}

pub(crate) const SECTIONS: &[Section] = &[
    Section {
        title: "Cluster",
        note: "Hadoop's own keys, read from the conf folder with Hadoop's defaults.",
        keys: CLUSTER,
    },
    Section {
        title: "HDFS",
        note: "Read by JobTracker, job client and built-in tasktracker for files on `hdfs:`; a job's own values count in its tasks.",
        keys: HDFS,
    },
    Section {
        title: "Service-level authorization",
        note: "Read while `hadoop.security.authorization` is true, from `hadoop-policy.xml` of the conf folder or any other of its files: at the start, at SIGHUP and by `hadoop mradmin -refreshServiceAcl`. Each list is `*` or `user,user group,group`.",
        keys: POLICY,
    },
    Section {
        title: "Dynamic Priority Scheduler",
        note: "Read when `mapred.jobtracker.taskScheduler` is `org.apache.hadoop.mapred.DynamicPriorityScheduler`.",
        keys: MARKET,
    },
    Section {
        title: "Capacity Scheduler",
        note: "Read from `capacity-scheduler.xml` of the conf folder, and from no other file, when `mapred.jobtracker.taskScheduler` is `org.apache.hadoop.mapred.CapacityTaskScheduler`: at the start, at SIGHUP and by `hadoop mradmin -refreshQueues`. Slots are sized by the memory keys of the cluster above.",
        keys: CAPACITY,
    },
    Section {
        title: "Fair Scheduler",
        note: "For `mapred.jobtracker.taskScheduler` = `org.apache.hadoop.mapred.FairScheduler`.",
        keys: FAIR,
    },
    Section {
        title: "Constraint scheduler",
        note: "For `mapred.jobtracker.taskScheduler` = `org.apache.hadoop.mapred.ConstraintScheduler`. Numbers are decimals, kept in whole microseconds. What a job sets is kept under every scheduler.",
        keys: CONSTRAINT,
    },
    Section {
        title: "Containers",
        note: "Memory and cores of built-in tasktrackers for any application, see `jobtracker app --help`.",
        keys: CONTAINERS,
    },
    Section { title: "This JobTracker", note: "Keys that Hadoop does not have.", keys: OWN },
    Section {
        title: "Built-in tasktracker",
        note: "Read by `jobtracker tasktracker`, in addition to `mapred.job.tracker`, `mapred.local.dir`, `hadoop.tmp.dir` and `fs.default.name`.",
        keys: TRACKER,
    },
    Section {
        title: "Jobs",
        note: "Read from each job's job.xml. A value in the conf folder applies if job.xml has none, or if it is final.",
        keys: JOB,
    },
    Section {
        title: "Streaming jobs",
        note: "Read from job.xml by the built-in tasktracker, and by the JobTracker to decide whether that can run the job.",
        keys: STREAMING,
    },
];

/// Keys of the cluster that a built-in tasktracker reads in addition to [`TRACKER`].
pub(crate) const READ_BY_TRACKER: &[Key] = &[
    RPC_ADDRESS,
    DEFAULT_FILE_SYSTEM,
    HADOOP_TMP_DIR,
    LOCAL_DIR,
    WEB_HOSTS,
    ACLS_ENABLED,
    MAP_SLOT_MEMORY,
    CONTAINER_SLOT_MEMORY,
];

/// Every key of every section.
pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// Whether `name` is a spelling of a key. Without a walk over the keys: a job sets hundreds.
pub(crate) fn is_known(name: &str) -> bool {
    static SPELLINGS: LazyLock<FxHashSet<&str>> =
        LazyLock::new(|| all().filter(|key| !key.is_pattern()).flat_map(Key::spellings).collect());
    static PATTERNS: LazyLock<Vec<&Key>> = LazyLock::new(|| all().filter(|key| key.is_pattern()).collect());
    SPELLINGS.contains(name) || PATTERNS.iter().any(|key| key.is_spelled(name))
}

/// Declares one constant for each key and the table of all of them, so that none is missing in the table.
macro_rules! keys {
    ($(#[$table_doc:meta])* $table:ident; $($constant:ident = $name:literal $([$($alias:literal),+])?, $kind:expr, $default:expr, $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub(crate) const $constant: $crate::config::keys::Key = $crate::config::keys::Key {
                name: $name,
                aliases: &[$($($alias),+)?],
                default: $default,
                kind: $kind,
                meaning: $meaning,
            };
        )+
        $(#[$table_doc])*
        pub(crate) const $table: &[$crate::config::keys::Key] = &[$($constant),+];
    };
}
use keys;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_spelling_means_two_things() {
        let mut seen = BTreeSet::new();
        for key in all() {
            for spelling in key.spellings() {
                assert!(seen.insert(spelling), "{spelling} is listed twice");
            }
        }
    }

    #[test]
    fn defaults_are_of_their_kind() {
        for key in all() {
            if let Some(default) = key.default.filter(|_| *key != RPC_ADDRESS) {
                assert!(key.kind.accepts(default), "{}: {default}", key.name);
            }
        }
    }

    #[test]
    fn versions_and_builds_of_every_line_are_distinguished_from_other_words() {
        for version in ["1.2.1", "0.20.2", "0.20.2-cdh3u6", "1.0.3.16", "2.0.0-mr1-cdh4.7.1", "0.22.0", " 1.1.2 "] {
            assert!(ValueKind::Version.accepts(version), "{version}");
        }
        for other in ["banana", "", "1", "1.", "v1.2.1", "1.2.1 x", "1..2", "${version}", "1.2.1 from 1503152"] {
            assert!(!ValueKind::Version.accepts(other), "{other}");
        }
        for build in [
            "1.2.1 from 1503152 by mattf source checksum 6923c86528809c4e7e6f493b6b413a9a",
            "1.0.0 from 1214675 by hortonfo on Thu Dec 15 16:36:35 UTC 2011",
            "0.20.2 from  by chrisdo on Fri Feb 19 08:07:34 UTC 2010",
            "0.22.0 from Unknown by jenkins source checksum 1",
            "0.20.2-cdh3u6 from b6bb2a3 by root source checksum ffff",
        ] {
            assert!(ValueKind::Build.accepts(build), "{build}");
        }
        for other in ["banana", "1.2.1", "1.2.1 from 1503152", "x from 1 by me source checksum 2", ""] {
            assert!(!ValueKind::Build.accepts(other), "{other}");
        }
    }

    #[test]
    fn reads_the_numbers_hadoop_reads() {
        let numbers = ["12", "-1", "0x10", "-0X1f", " 7 ", "", "1.5", "0x", "0x-1", "12k", "99999999999999999999"];
        let read = [Some(12), Some(-1), Some(16), Some(-31), Some(7), None, None, None, None, None, None];
        assert_eq!(numbers.map(parse_number), read);
    }

    #[test]
    fn queue_keys_are_known_for_every_queue() {
        assert!(QUEUE_STATE.is_spelled("mapred.queue.alice.state"));
        assert!(!QUEUE_STATE.is_spelled("mapred.queue.state"));
        assert!(PROXY_HOSTS.is_spelled("hadoop.proxyuser.oozie.hosts") && PROXY_HOSTS.is_pattern());
        assert!(!PROXY_HOSTS.is_spelled("hadoop.proxyuser.oozie.groups"));
        assert_eq!(QUEUE_STATE.for_queue("alice"), "mapred.queue.alice.state");
    }
}
