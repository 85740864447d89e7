//! What can be wrong with a configuration, with the culprit in every text.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use super::xml::XmlError;
pub use crate::wire::limits::excerpt;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The key table's default.
    Default,
    /// The default that holds when there is no conf folder.
    Standalone,
    /// A file and the line of its `<property>`.
    File {
        /// The file as it was opened.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
    },
    /// `-D key=value`.
    CommandLine,
}

impl Origin {
    /// Where a value can be set that nobody has set, in an error's words; nothing for one that stands somewhere.
    fn mend(&self, key: &str) -> String {
        match self {
            Origin::Default | Origin::Standalone => format!("; set it in the conf folder or by -D {key}=..."),
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

/// Why there are no settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The conf folder that was named cannot be used.
    #[error("conf folder {}: {reason}; name a readable folder by --conf or HADOOP_CONF_DIR", folder.display())]
    ConfFolder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file of the conf folder exists but cannot be read.
    #[error("{file}: {reason}; expected a readable file of at most {limit_bytes} bytes")]
    Unreadable {
        /// The file.
        file: Arc<str>,
        /// What the system said, or the size.
        reason: String,
        /// The limit, bytes.
        limit_bytes: u64,
    },
    /// A file is not a configuration file.
    #[error("{file}: {error}")]
    NotConfiguration {
        /// The file.
        file: Arc<str>,
        /// Place and reason.
        error: XmlError,
    },
    /// A value cannot be used.
    #[error("{origin}: {key} = {value:?}: expected {expected}{mend}", mend = origin.mend(key))]
    BadValue {
        /// The key, in the spelling that was used.
        key: String,
        /// Where the value stands.
        origin: Origin,
        /// The value, expanded; of a job as it is written, cut.
        value: String,
        /// What would have been right.
        expected: String,
    },
    /// A key without default is not set.
    #[error("{key} is not set: expected {expected}")]
    NotSet {
        /// The key.
        key: &'static str,
        /// What would have been right.
        expected: String,
    },
    /// `${name}` leads on for more than 20 rounds, mostly because names refer to each other.
    #[error(
        "{origin}: {key} = {value:?}: still holds ${{...}} after 20 replacements; expected names that end in a value"
    )]
    EndlessExpansion {
        /// The key.
        key: String,
        /// Where the value stands.
        origin: Origin,
        /// The value as written.
        value: String,
    },
    /// A file that a value names cannot be used.
    #[error("{origin}: {key} = {value:?}: {reason}; expected {expected}{mend}", mend = origin.mend(key))]
    NamedFile {
        /// The key.
        key: &'static str,
        /// Where the value stands.
        origin: Origin,
        /// The path.
        value: String,
        /// What the system said.
        reason: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// An argument of `-D` is not `key=value`.
    #[error("-D {argument:?}: expected key=value")]
    BadOverride {
        /// The argument.
        argument: String,
    },
}

/// What is odd in a configuration but does not keep the daemon from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A later file tried to change a final value.
    FinalKept {
        /// The key.
        key: String,
        /// The value that was not taken.
        refused: Origin,
        /// Where the key was made final.
        made_final: Origin,
    },
    /// Two spellings of one key have different values.
    TwoSpellings {
        /// The spelling that counts.
        used: String,
        /// Where it stands.
        origin: Origin,
        /// The spelling that does not.
        ignored: String,
        /// Where that stands.
        ignored_origin: Origin,
    },
    /// Something in a file was passed over.
    PassedOver {
        /// Where.
        origin: Origin,
        /// What stands there.
        remark: String,
    },
    /// `hadoop-site.xml` is still there; Hadoop has deprecated it.
    HadoopSite {
        /// The file.
        file: Arc<str>,
    },
    /// `mapred-queue-acls.xml` holds a key that is not read from there.
    NotAQueueKey {
        /// The key.
        key: String,
        /// Where.
        origin: Origin,
    },
    /// The state database would lie where the system clears files.
    StateUnderTemporary {
        /// The folder.
        folder: PathBuf,
        /// Where the value comes from.
        origin: Origin,
    },
    /// The budget file is not there. A first start needs it.
    NoBudgetFile {
        /// The path.
        file: PathBuf,
        /// Where the value comes from.
        origin: Origin,
    },
    /// A value that makes no sense beside another.
    Contradiction {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// Where.
        origin: Origin,
        /// What is wrong with it, said of the value.
        remark: String,
    },
    /// A key nothing reads, under a prefix that is ours or of nearly the name of one that is read (told by `check-config` only).
    NothingReads {
        /// The key.
        key: String,
        /// Where.
        origin: Origin,
        /// A key of nearly the same name.
        perhaps: Option<String>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::FinalKept { key, refused, made_final } => {
                write!(f, "{refused}: {key} is final since {made_final}; this value is ignored")
            }
            Warning::TwoSpellings { used, origin, ignored, ignored_origin } => write!(
                f,
                "{ignored_origin}: {ignored} is another name of {used}, which {origin} sets to something else and which counts"
            ),
            Warning::PassedOver { origin, remark } => write!(f, "{origin}: {remark}; passed over"),
            Warning::HadoopSite { file } => {
                write!(f, "{file}: this file is deprecated; use core-site.xml, mapred-site.xml and hdfs-site.xml")
            }
            Warning::NotAQueueKey { key, origin } => {
                write!(f, "{origin}: {key} is not read from this file, only mapred.queue.* is; ignored")
            }
            Warning::StateUnderTemporary { folder, origin } => write!(
                f,
                "{origin}: the state database lies in {}, where the system may clear it; set jobtracker.state.dir",
                folder.display()
            ),
            Warning::NoBudgetFile { file, origin } => {
                write!(f, "{origin}: the budget file {} does not exist; a first start needs it", file.display())
            }
            Warning::Contradiction { key, value, origin, remark } => write!(f, "{origin}: {key} = {value:?} {remark}"),
            Warning::NothingReads { key, origin, perhaps } => {
                write!(f, "{origin}: nothing reads {key}")?;
                perhaps.as_ref().map_or(Ok(()), |name| write!(f, "; did you mean {name}?"))
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/error.rs"]
mod tests;
