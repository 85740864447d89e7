//! Names of queues, checked where they enter.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::text::excerpt;

/// The longest name, in bytes.
const MAX_BYTES: usize = 255;

/// The name of a queue: 1 to 255 of the ASCII letters, digits, `.`, `_`, `-` and `@`.
///
/// So a name can stand in a budget file, in Hadoop's comma-joined queue list and in XML as it is. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueueName(Arc<str>);

/// A text that is no name of a queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a queue name: expected 1 to 255 letters, digits, '.', '_', '-' or '@'")]
pub struct QueueNameError {
    /// The beginning of the text.
    pub(crate) text: String,
}

impl QueueName {
    pub fn new(text: &str) -> Result<Self, QueueNameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(allowed) {
            return Err(QueueNameError { text: excerpt(text) });
        }
        Ok(QueueName(Arc::from(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// By the bytes. A name and its clone are found equal without a look at them: walks side by side compare little else.
impl Ord for QueueName {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for QueueName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Borrow<str> for QueueName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for QueueName {
    type Err = QueueNameError;

    fn from_str(text: &str) -> Result<Self, QueueNameError> {
        Self::new(text)
    }
}

impl TryFrom<String> for QueueName {
    type Error = QueueNameError;

    fn try_from(text: String) -> Result<Self, QueueNameError> {
        Self::new(&text)
    }
}

impl From<QueueName> for String {
    fn from(name: QueueName) -> String {
        name.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_taken() {
        for text in ["alice", "q1", "a.b_c-d@example.com", &"x".repeat(MAX_BYTES)] {
            assert_eq!(QueueName::new(text).unwrap().as_str(), text);
        }
    }

    /// Defect 23: the original took all of these and broke its own files on them.
    #[test]
    fn defect_23_names_that_break_files_or_lists_are_refused() {
        for text in ["", " ", "a b", "a\nb", "a,b", "a&b", "a<b", "a\"b", "a\0", "ä", "#a", &"x".repeat(MAX_BYTES + 1)]
        {
            assert!(QueueName::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_stored_name_is_checked_again() {
        let name = QueueName::new("alice").unwrap();
        let stored = serde_json::to_string(&name).unwrap();
        assert_eq!(stored, "\"alice\"");
        assert_eq!(serde_json::from_str::<QueueName>(&stored).unwrap(), name);
        assert!(serde_json::from_str::<QueueName>("\"a b\"").is_err());
    }
}
