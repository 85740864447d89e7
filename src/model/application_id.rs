//! Ids of applications and of their containers: small `Copy` values that print as Hadoop 2 prints them.

use std::fmt;
use std::str::FromStr;

use super::id::{IdError, string_conversions};

/// `application_<start of the daemon, epoch ms>_<number>`, the number printed with at least four digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApplicationId {
    /// When the daemon started that gave it, epoch ms.
    pub start_ms: u64,
    /// From 1 in each run.
    pub number: u32,
}

/// `container_<start>_<application>_<attempt>_<number>`: at least four, two and six digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContainerId {
    /// The application that it was granted to.
    pub application: ApplicationId,
    /// The attempt of the application at that time, from 1; 0 where none registers.
    pub attempt: u32,
    /// From 1 in each application, whatever the attempt: never used twice.
    pub number: u64,
}

const APPLICATION: &str = "an application id such as application_1700000000000_0001";
const CONTAINER: &str = "a container id such as container_1700000000000_0001_01_000001";

impl ApplicationId {
    pub const fn new(start_ms: u64, number: u32) -> Self {
        Self { start_ms, number }
    }

    pub const fn container(self, attempt: u32, number: u64) -> ContainerId {
        ContainerId { application: self, attempt, number }
    }
}

impl fmt::Display for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "application_{}_{:04}", self.start_ms, self.number)
    }
}

impl FromStr for ApplicationId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let read = || {
            let (start, number) = text.strip_prefix("application_")?.split_once('_')?;
            Some(Self { start_ms: plain(start, 1)?, number: plain(number, 4)? })
        };
        read().ok_or_else(|| IdError { text: text.to_owned(), expected: APPLICATION })
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApplicationId { start_ms, number } = self.application;
        write!(f, "container_{start_ms}_{number:04}_{:02}_{:06}", self.attempt, self.number)
    }
}

impl FromStr for ContainerId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let read = || {
            let mut parts = text.strip_prefix("container_")?.split('_');
            let application = ApplicationId { start_ms: plain(parts.next()?, 1)?, number: plain(parts.next()?, 4)? };
            let id = application.container(plain(parts.next()?, 2)?, plain(parts.next()?, 6)?);
            parts.next().is_none().then_some(id)
        };
        read().ok_or_else(|| IdError { text: text.to_owned(), expected: CONTAINER })
    }
}

/// A number as it is printed with at least so many digits, so that no id has two spellings.
fn plain<N: FromStr>(text: &str, digits: usize) -> Option<N> {
    let is_padded = text.len() == digits || (text.len() > digits && !text.starts_with('0'));
    (is_padded && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

string_conversions!(ApplicationId, ContainerId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_and_parse_as_hadoop_2_does() {
        let application = ApplicationId::new(1_700_000_000_000, 1);
        assert_eq!(application.to_string(), "application_1700000000000_0001");
        assert_eq!("application_1700000000000_0001".parse(), Ok(application));
        let container = application.container(1, 4);
        assert_eq!(container.to_string(), "container_1700000000000_0001_01_000004");
        assert_eq!("container_1700000000000_0001_01_000004".parse(), Ok(container));
        let large = ApplicationId::new(5, 12_345).container(123, 1_234_567);
        assert_eq!(large.to_string().parse(), Ok(large));
    }

    #[test]
    fn an_id_has_one_spelling() {
        for text in
            ["application_1_00001", "application_1_001", "application_+1_0001", "application_1_0001_", "job_1_0001"]
        {
            assert_eq!(text.parse::<ApplicationId>().unwrap_err().text, text);
        }
        for text in ["container_1_0001_1_000001", "container_1_0001_01_0000001", "container_1_0001_01_000001_1"] {
            assert_eq!(text.parse::<ContainerId>().unwrap_err().text, text);
        }
    }
}
