//! The parts of a path that differ: ids, commands, names of logs.

use axum::extract::RawPathParams;

use crate::engine::ContainerSignal;
use crate::model::{ApplicationId, ContainerId};

use super::address::part;
use super::problem::Problem;
use super::problem_name::ProblemName;

/// The decoded parts of a path by their names in its template.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathParts(Vec<(String, String)>);

impl PathParts {
    pub(crate) fn new(found: &RawPathParams) -> Self {
        Self(found.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(part, _)| part == name).map_or("", |(_, value)| value)
    }

    /// The application.
    pub(crate) fn application(&self) -> Result<ApplicationId, Problem> {
        let text = self.get(part::APPLICATION);
        let unknown = |_| Problem::new(ProblemName::NoSuchApplication, format!("there is no application {text}"));
        text.parse().map_err(unknown)
    }

    /// The container.
    pub(super) fn container(&self) -> Result<ContainerId, Problem> {
        let text = self.get(part::CONTAINER);
        let unknown = |_| Problem::new(ProblemName::NoSuchContainer, format!("there is no container {text}"));
        text.parse().map_err(unknown)
    }

    /// The application that the path is about, itself or by its container.
    pub(super) fn application_asked(&self) -> Option<ApplicationId> {
        self.application().ok().or_else(|| self.container().ok().map(|container| container.application))
    }

    pub(super) fn node(&self) -> String {
        self.get(part::NODE).to_owned()
    }

    /// How a container is ended.
    pub(super) fn signal(&self) -> Result<ContainerSignal, Problem> {
        match self.get(part::COMMAND) {
            "GRACEFUL_SHUTDOWN" => Ok(ContainerSignal::Graceful),
            "FORCEFUL_SHUTDOWN" => Ok(ContainerSignal::Forceful),
            other => Err(Problem::new(
                ProblemName::NoSuchAddress,
                format!("there is no signal {other}; expected GRACEFUL_SHUTDOWN or FORCEFUL_SHUTDOWN"),
            )),
        }
    }

    /// Which log.
    pub(super) fn log(&self) -> Result<&'static str, Problem> {
        match self.get(part::LOG) {
            "stdout" => Ok("stdout"),
            "stderr" => Ok("stderr"),
            other => {
                let detail = format!("there is no log {other}; expected stdout or stderr");
                Err(Problem::new(ProblemName::NoSuchAddress, detail))
            }
        }
    }
}
