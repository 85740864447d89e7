//! Errors and warnings about a configuration. Every text names the culprit.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::scheduler::capacity::CapacityConfigError;
use crate::scheduler::fair::allocation_file::AllocationFileError;

use super::xml::XmlError;
pub(crate) use crate::wire::limits::excerpt;

/// In each warning about what is set for a queue that is not listed.
pub(super) const NO_SUCH_QUEUE: &str = "no such queue in mapred.queue.names";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Origin {
    Default,
    /// The default without a conf folder.
    Standalone,
    File {
        /// Path as it was opened.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
    },
    /// `-D key=value`.
    CommandLine,
}

impl Origin {
    /// For a default: how to override it, as the end of an error text. Otherwise empty.
    fn remedy(&self, key: &str) -> String {
        match self {
            Origin::Default | Origin::Standalone => format!("; set it in the conf folder or with -D {key}=..."),
            Origin::File { .. } | Origin::CommandLine => String::new(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Standalone => f.write_str("standalone default"),
            Origin::File { file, line } => write!(f, "{file}:{line}"),
            Origin::CommandLine => f.write_str("-D"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// The spelling of the key that set it.
    pub(crate) key: String,
    pub(crate) origin: Origin,
    /// Its expanded value.
    pub(crate) value: String,
}

impl fmt::Display for NamedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, origin, value } = self;
        write!(f, "{origin}: {key} = {value:?}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    #[error("conf folder {}: {reason}; name a readable folder with --conf or HADOOP_CONF_DIR", folder.display())]
    ConfFolder { folder: PathBuf, reason: String },
    #[error("{file}: {reason}; expected a readable file of at most {limit_bytes} bytes")]
    Unreadable {
        file: Arc<str>,
        /// The system's error, or the size.
        reason: String,
        limit_bytes: u64,
    },
    #[error("{file}:{line}: column {column}: {reason}", line = error.line, column = error.column, reason = error.reason)]
    NotConfiguration { file: Arc<str>, error: XmlError },
    #[error("{origin}: {key} = {value:?}: expected {expected}{remedy}", remedy = origin.remedy(key))]
    BadValue {
        /// The key, in the spelling used.
        key: String,
        origin: Origin,
        /// The expanded value; for a job, the first characters as written.
        value: String,
        expected: String,
    },
    #[error("{key} is not set: expected {expected}")]
    NotSet { key: &'static str, expected: String },
    /// `${name}` needs more than 20 replacements, usually because names refer to each other.
    #[error(
        "{origin}: {key} = {value:?}: still holds ${{...}} after 20 replacements; expected names that end in a value"
    )]
    EndlessExpansion {
        key: String,
        origin: Origin,
        /// The value as written.
        value: String,
    },
    /// A path, an address or a number names something that nothing sets.
    #[error(
        "{origin}: {key} = {value:?}: nothing sets {variable}; set its name, or write its value here{remedy}",
        remedy = origin.remedy(key)
    )]
    UnknownVariable {
        /// The key whose value has the name.
        key: String,
        origin: Origin,
        /// The value as written; for a job, its first characters.
        value: String,
        variable: String,
    },
    #[error("{first}, but {second}: both are names of one key; expected one of them")]
    TwoValues {
        /// The name that comes first in the key table.
        first: Box<NamedValue>,
        second: Box<NamedValue>,
    },
    #[error("{origin}: {key} = {value:?}: {reason}; expected {expected}{remedy}", remedy = origin.remedy(key))]
    NamedFile { key: &'static str, origin: Origin, value: String, reason: String, expected: &'static str },
    /// The Capacity scheduler refuses a value, or all of them together; in the original's words first.
    #[error("{error} ({place}; expected {expected})")]
    CapacityScheduler {
        error: CapacityConfigError,
        /// File, line, key and value; of what is missing, the file and the key.
        place: String,
        expected: &'static str,
    },
    #[error("{file}: no such file; mapred.fairscheduler.allocation.file expected an allocation file")]
    NoAllocationFile { file: Arc<str> },
    #[error("{file}:{line}: {problem}", line = error.line, problem = error.problem)]
    AllocationFile { file: Arc<str>, error: Box<AllocationFileError> },
    #[error("-D {argument:?}: expected key=value")]
    BadOverride { argument: String },
}

impl ConfigError {
    /// Whether a whole file, or all of them, could not be read.
    #[must_use]
    pub(crate) fn is_of_file(&self) -> bool {
        matches!(self, Self::ConfFolder { .. } | Self::Unreadable { .. } | Self::NotConfiguration { .. })
    }

    /// Whether a file that could not be read may set what is missing.
    #[must_use]
    pub(crate) fn may_be_of_missing_value(&self) -> bool {
        match self {
            Self::BadValue { origin, .. } | Self::NamedFile { origin, .. } => *origin == Origin::Default,
            Self::NotSet { .. } | Self::UnknownVariable { .. } => true,
            _ => false,
        }
    }

    #[must_use]
    pub(crate) fn is_same_value(&self, other: &Self) -> bool {
        let place = |error: &Self| match error {
            Self::BadValue { key, origin, .. } => Some((key.clone(), origin.clone())),
            _ => None,
        };
        self == other || place(self).is_some_and(|place_of| Some(place_of) == place(other))
    }
}

/// A problem in a configuration that does not prevent a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A later file tried to change a final value.
    FinalKept {
        key: String,
        refused: Origin,
        /// Where the key was made final.
        made_final: Origin,
    },
    /// Two spellings of one key have different values.
    TwoSpellings {
        /// The spelling in force.
        used: String,
        origin: Origin,
        ignored: String,
        ignored_origin: Origin,
    },
    /// A text names something that nothing sets.
    UnknownVariable {
        key: String,
        origin: Origin,
        variable: String,
    },
    /// Something in a file has no meaning.
    Ignored {
        origin: Origin,
        remark: String,
    },
    Questionable {
        origin: Origin,
        remark: String,
    },
    /// The deprecated `hadoop-site.xml` exists.
    HadoopSite {
        file: Arc<str>,
    },
    /// A conf folder without any file that is read.
    NoSiteFiles {
        folder: PathBuf,
        /// A folder in it that has some.
        inside: Option<PathBuf>,
    },
    /// A conf folder with other files, but without the one of MapReduce.
    NoMapredSite {
        folder: PathBuf,
    },
    /// A file with almost the name of one that is read.
    MisnamedFile {
        file: PathBuf,
        /// The name that is read.
        meant: &'static str,
    },
    /// A file sets a key twice, to different values.
    SetTwice {
        key: String,
        /// The value that counts.
        value: String,
        origin: Origin,
        first: String,
        first_line: u32,
    },
    /// The file of queues of Hadoop 0.21 and 0.22.
    QueuesFile {
        file: PathBuf,
    },
    ForYarn {
        folder: PathBuf,
        sign: String,
    },
    /// A key in `mapred-queue-acls.xml` that is not read from that file.
    NotAQueueKey {
        key: String,
        origin: Origin,
    },
    /// The state database is in a directory that the system may clear.
    StateUnderTemporary {
        folder: PathBuf,
        origin: Origin,
    },
    /// The budget file does not exist.
    NoBudgetFile {
        file: PathBuf,
        origin: Origin,
    },
    Contradiction {
        key: String,
        value: String,
        origin: Origin,
        /// The problem, as a predicate of the value.
        remark: String,
    },
    /// An unread key with a prefix of this JobTracker or a name close to a known key.
    NothingReads {
        key: String,
        origin: Origin,
        /// Asks for a known key with a similar name.
        meant: Option<String>,
    },
}

impl Warning {
    #[must_use]
    pub(crate) fn is_of_unlisted_queue(&self) -> bool {
        match self {
            Self::Contradiction { remark, .. } | Self::Ignored { remark, .. } => remark.contains(NO_SUCH_QUEUE),
            _ => false,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::FinalKept { key, refused, made_final } => {
                write!(f, "{refused}: {key} is final since {made_final}; this value is ignored")
            }
            Warning::TwoSpellings { used, origin, ignored, ignored_origin } => write!(
                f,
                "{ignored_origin}: {ignored} is ignored: {origin} sets the same key as {used} to another value"
            ),
            Warning::UnknownVariable { key, origin, variable } => {
                write!(f, "{origin}: {key}: nothing sets {variable}; the text keeps it as it is written")
            }
            Warning::Ignored { origin, remark } => write!(f, "{origin}: {remark}; ignored"),
            Warning::Questionable { origin, remark } => write!(f, "{origin}: {remark}"),
            Warning::HadoopSite { file } => {
                write!(f, "{file}: this file is deprecated; use core-site.xml, mapred-site.xml and hdfs-site.xml")
            }
            Warning::NoSiteFiles { folder, inside } => {
                write!(
                    f,
                    "{}: has no core-site.xml, mapred-site.xml or hdfs-site.xml; every value is a default",
                    folder.display()
                )?;
                inside.as_ref().map_or(Ok(()), |inside| write!(f, "; did you mean {}?", inside.display()))
            }
            Warning::NoMapredSite { folder } => {
                write!(f, "{}: has no mapred-site.xml: every value of MapReduce is a default", folder.display())
            }
            Warning::MisnamedFile { file, meant } => {
                let folder = file.parent().unwrap_or(&**file).display();
                write!(f, "{}: nothing reads this file, and {folder} has no {meant}; is it {meant}?", file.display())
            }
            Warning::SetTwice { key, value, origin, first, first_line } => write!(
                f,
                "{origin}: {key} = {value:?} counts, and {first:?} of line {first_line} does not: a later value of a file \
                 replaces an earlier one"
            ),
            Warning::QueuesFile { file } => write!(
                f,
                "{}: nothing reads this file of Hadoop 0.21 and 0.22: its queues, states and access lists do not apply; \
                 set mapred.queue.names in mapred-site.xml and mapred.queue.NAME.acl-submit-job in mapred-queue-acls.xml",
                file.display()
            ),
            Warning::ForYarn { folder, sign } => write!(
                f,
                "{}: a folder for YARN ({sign}): this JobTracker reads Hadoop 1's keys and no yarn.*; \
                 clients of this folder look for a ResourceManager",
                folder.display()
            ),
            Warning::NotAQueueKey { key, origin } => {
                write!(f, "{origin}: {key} is not read from this file, only mapred.queue.* is; ignored")
            }
            Warning::StateUnderTemporary { folder, origin } => write!(
                f,
                "{origin}: the state database is in {}, where the system may delete it; set jobtracker.state.dir to a folder outside {}",
                folder.display(),
                if folder.starts_with("/var/tmp") { "/var/tmp" } else { "/tmp" }
            ),
            Warning::NoBudgetFile { file, origin } => {
                write!(f, "{origin}: the budget file {} does not exist; ", file.display())?;
                write!(f, "the very first start requires it, a later one writes it from state.db")
            }
            Warning::Contradiction { key, value, origin, remark } => write!(f, "{origin}: {key} = {value:?} {remark}"),
            Warning::NothingReads { key, origin, meant } => {
                write!(f, "{origin}: nothing reads {key}")?;
                meant.as_ref().map_or(Ok(()), |question| write!(f, "; {question}"))
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/error.rs"]
mod tests;
