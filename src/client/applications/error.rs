//! Errors of the client of applications, and refusals of the server, as RFC 9457 writes them.

use std::fmt;

use hyper::StatusCode;
use serde::Deserialize;

use crate::client::job::with_key_of_list;
use crate::model::ContainerId;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationClientError {
    /// The server cannot be reached, or does not answer.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// `host:port`.
        server: String,
        /// What went wrong.
        reason: String,
        /// Whether the call was not sent: nothing listens there.
        is_refused: bool,
    },
    /// The server is there, and cannot serve now.
    #[error("{server} cannot serve now: {problem}")]
    Unavailable {
        /// `host:port`.
        server: String,
        /// Why.
        problem: Problem,
    },
    /// The answer is not one of this interface.
    #[error("{server} has answered what it should not: {reason}")]
    InvalidAnswer {
        /// `host:port`.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// The server has no such addresses.
    #[error(
        "{server} takes no applications: jobtracker.containers.enabled is false there, or it is another JobTracker"
    )]
    NoApplications {
        /// `host:port`.
        server: String,
    },
    /// The caller is not known, or may not do this.
    #[error("access denied: {0}")]
    Denied(Problem),
    /// The server refuses the call.
    #[error("{0}")]
    Refused(Problem),
    /// A log cannot be read where it is.
    #[error("the logs of {container} cannot be read from {node}: {reason}")]
    Log {
        /// The container.
        container: ContainerId,
        /// Its node, `host:port`.
        node: String,
        /// What went wrong.
        reason: String,
    },
}

impl ApplicationClientError {
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Unavailable { .. })
    }

    /// The name of the problem that the server has answered; empty for other errors.
    pub(crate) fn problem_name(&self) -> &str {
        match self {
            Self::Denied(problem) | Self::Refused(problem) | Self::Unavailable { problem, .. } => &problem.name,
            Self::Unreachable { .. } | Self::InvalidAnswer { .. } | Self::NoApplications { .. } | Self::Log { .. } => {
                ""
            }
        }
    }
}

/// Why the server refuses a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    pub(crate) status: u16,
    /// Its name, such as `too-many`; empty where something else than our server has answered.
    pub(crate) name: String,
    /// What it is about, in words.
    pub(crate) detail: String,
    /// What is wrong, one by one.
    pub(crate) faults: Vec<Fault>,
    /// The server's clock, epoch ms, where it refuses a timestamp.
    pub(crate) server_time_ms: Option<i64>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where.
    pub(crate) place: FaultPlace,
    /// What, in words.
    pub(crate) detail: String,
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FaultPlace {
    /// In the body: the names and numbers that lead there.
    Body(Vec<String>),
    /// In this parameter of the query.
    Parameter(String),
}

/// A problem as it is sent.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SentProblem {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    errors: Vec<SentFault>,
    server_time_ms: Option<i64>,
}

#[derive(Deserialize)]
struct SentFault {
    pointer: Option<String>,
    parameter: Option<String>,
    #[serde(default)]
    detail: String,
}

/// Most characters shown of an answer that is no problem.
const MOST_SHOWN: usize = 200;

impl Problem {
    /// Reads an answer that is no success. Any other text than a problem becomes the detail of one without name.
    pub(super) fn of(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice::<SentProblem>(body) {
            Ok(SentProblem { kind, title, detail, errors, server_time_ms }) if !kind.is_empty() => Self {
                status: status.as_u16(),
                name: kind.rsplit('/').next().unwrap_or_default().to_owned(),
                detail: if detail.is_empty() { title } else { with_key_of_list(detail) },
                faults: errors.into_iter().map(Fault::from).collect(),
                server_time_ms,
            },
            _ => {
                let text = String::from_utf8_lossy(body);
                let line: String = text.lines().next().unwrap_or_default().chars().take(MOST_SHOWN).collect();
                let more = if line.is_empty() { String::new() } else { format!(": {line}") };
                Self { status: status.as_u16(), detail: format!("{status}{more}"), ..Self::default() }
            }
        }
    }
}

/// The detail, and what is wrong one by one.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        self.faults.iter().try_for_each(|Fault { place, detail }| write!(f, "\n  {place}: {detail}"))
    }
}

impl From<SentFault> for Fault {
    fn from(SentFault { pointer, parameter, detail }: SentFault) -> Self {
        let place = match (pointer, parameter) {
            (Some(pointer), _) => FaultPlace::Body(steps_of(&pointer)),
            (None, parameter) => FaultPlace::Parameter(parameter.unwrap_or_default()),
        };
        Self { place, detail }
    }
}

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(steps) if steps.is_empty() => f.write_str("body"),
            Self::Body(steps) => f.write_str(&steps.join("/")),
            Self::Parameter(name) => f.write_str(name),
        }
    }
}

/// The steps of a JSON Pointer in a URI fragment (RFC 6901): `#/ask/0/capability`.
fn steps_of(pointer: &str) -> Vec<String> {
    let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
    let path = decoded.strip_prefix('#').unwrap_or(&decoded);
    path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_point_into_the_body_or_to_a_parameter() {
        let body = br##"{"type": "/problems/invalid-request", "title": "t", "status": 400, "detail": "2 faults",
            "instance": "/ws/v1/cluster/apps", "errors": [
                {"pointer": "#/specs/run/environment/A~1B%20C", "detail": "no"}, {"parameter": "limit", "detail": "0"}]}"##;
        let problem = Problem::of(StatusCode::BAD_REQUEST, body);
        assert_eq!((problem.name.as_str(), problem.status), ("invalid-request", 400));
        let steps = ["specs", "run", "environment", "A/B C"].map(str::to_owned).to_vec();
        assert_eq!(problem.faults[0], Fault { place: FaultPlace::Body(steps), detail: "no".to_owned() });
        assert_eq!(problem.to_string(), "2 faults\n  specs/run/environment/A/B C: no\n  limit: 0");
    }

    #[test]
    fn answers_of_others_are_quoted() {
        let problem = Problem::of(StatusCode::NOT_FOUND, b"no such page\n<html>");
        assert_eq!((problem.to_string().as_str(), problem.name.as_str()), ("404 Not Found: no such page", ""));
        assert_eq!(Problem::of(StatusCode::BAD_GATEWAY, b"").to_string(), "502 Bad Gateway");
    }
}
