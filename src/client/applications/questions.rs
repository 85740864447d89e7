//! What is asked of the server: ids, submission, reports, kills.

use std::time::Duration;

use hyper::{Method, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::api::applications::{ApplicationReport, ApplicationState, ContainerReport};
use crate::client::http_request::BytesAnswer;
use crate::model::{ApplicationId, ContainerId};

use super::call::ApplicationCall;
use super::error::ApplicationClientError;
use super::exchange::ApplicationClient;
use super::submission::RunSubmission;

/// Most entries of one list.
const MOST_AT_ONCE: usize = 1_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct ApplicationQuery {
    /// In these states; empty: in any.
    pub(crate) states: Vec<ApplicationState>,
    pub(crate) owner: Option<String>,
    pub(crate) queue: Option<String>,
    /// The newest so many.
    pub(crate) limit: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContainerQuery {
    /// Only those that failed by their own fault.
    pub(crate) failed_only: bool,
    /// Only those of this item.
    pub(crate) item: Option<u32>,
    /// The first so many; none: all.
    pub(crate) limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NewId {
    application_id: ApplicationId,
}

#[derive(Deserialize)]
struct ApplicationPage {
    apps: ApplicationList,
    next: Option<ApplicationId>,
}

#[derive(Deserialize)]
struct ApplicationList {
    app: Vec<ApplicationReport>,
}

#[derive(Deserialize)]
struct OneApplication {
    app: ApplicationReport,
}

#[derive(Deserialize)]
struct Containers {
    container: Vec<ContainerReport>,
}

#[derive(Deserialize)]
struct ContainerPage {
    containers: Containers,
    next: Option<ContainerId>,
}

#[derive(Deserialize)]
struct OneContainer {
    container: ContainerReport,
}

#[derive(Deserialize)]
struct StateAnswer {
    state: ApplicationState,
}

/// What became of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillOutcome {
    pub(crate) state: ApplicationState,
    /// Whether containers of it are still being ended.
    pub(crate) is_ending: bool,
}

impl ApplicationClient {
    /// A fresh id. One that is not used lapses.
    ///
    /// # Errors
    /// [`ApplicationClientError`]
    pub async fn new_id(&self) -> Result<ApplicationId, ApplicationClientError> {
        let NewId { application_id } = self.ask(&ApplicationCall::new(Method::POST, "/apps/new-application")).await?;
        Ok(application_id)
    }

    /// Submits under an id of [`Self::new_id`].
    ///
    /// # Errors
    /// [`ApplicationClientError`]
    pub async fn submit(&self, id: ApplicationId, submission: &RunSubmission) -> Result<(), ApplicationClientError> {
        let body = submission.body(id).map_err(|error| ApplicationClientError::InvalidAnswer {
            server: self.server().to_owned(),
            reason: error.to_string(),
        })?;
        self.send(&ApplicationCall::new(Method::POST, "/apps").with_body(body)).await.map(drop)
    }

    /// Applications, newest first.
    pub(crate) async fn list(
        &self,
        query: &ApplicationQuery,
    ) -> Result<Vec<ApplicationReport>, ApplicationClientError> {
        let ApplicationQuery { states, owner, queue, limit } = query;
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let at_once = (limit - found.len()).min(MOST_AT_ONCE);
            let mut call = ApplicationCall::new(Method::GET, "/apps").with("limit", &at_once.max(1).to_string());
            if !states.is_empty() {
                let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
                call = call.with("states", &names.join(","));
            }
            if let Some(owner) = owner {
                call = call.of_user(owner);
            }
            if let Some(queue) = queue {
                call = call.with("queue", queue);
            }
            if let Some(after) = after {
                call = call.with("after", &ApplicationId::to_string(&after));
            }
            let ApplicationPage { apps, next } = self.ask(&call).await?;
            found.extend(apps.app);
            found.truncate(*limit);
            after = next;
            if after.is_none() || found.len() >= *limit {
                return Ok(found);
            }
        }
    }

    /// One application.
    ///
    /// # Errors
    /// [`ApplicationClientError`]
    pub async fn report(&self, id: ApplicationId) -> Result<ApplicationReport, ApplicationClientError> {
        let OneApplication { app } = self.ask(&Self::report_call(id, None)).await?;
        Ok(app)
    }

    /// The call for a report, which the server answers once the version is another than the one known, or the time is over.
    fn report_call(id: ApplicationId, known: Option<(u64, u64)>) -> ApplicationCall {
        let call = ApplicationCall::new(Method::GET, &format!("/apps/{id}"));
        match known {
            None => call,
            Some((version, wait_ms)) => {
                call.with("version", &version.to_string()).with("wait-ms", &wait_ms.to_string())
            }
        }
    }

    fn read_report(&self, answer: &BytesAnswer) -> Result<ApplicationReport, ApplicationClientError> {
        let OneApplication { app } = self.read(&answer.body)?;
        Ok(app)
    }

    /// Containers of an application, by number.
    pub(crate) async fn containers(
        &self,
        id: ApplicationId,
        query: ContainerQuery,
    ) -> Result<Vec<ContainerReport>, ApplicationClientError> {
        let ContainerQuery { failed_only, item, limit } = query;
        let limit = limit.unwrap_or(usize::MAX);
        let mut found: Vec<ContainerReport> = Vec::new();
        let mut after: Option<ContainerId> = None;
        loop {
            let at_once = if item.is_some() { MOST_AT_ONCE } else { (limit - found.len()).min(MOST_AT_ONCE) };
            let mut call = ApplicationCall::new(Method::GET, &format!("/apps/{id}/containers"));
            call = call.with("limit", &at_once.max(1).to_string());
            if failed_only {
                call = call.with("failed", "true");
            }
            if let Some(after) = after {
                call = call.with("after", &after.to_string());
            }
            let ContainerPage { containers, next } = self.ask(&call).await?;
            let of_item = |container: &ContainerReport| item.is_none() || container.item == item;
            found.extend(containers.container.into_iter().filter(of_item));
            found.truncate(limit);
            after = next;
            if after.is_none() || found.len() >= limit {
                return Ok(found);
            }
        }
    }

    /// One container.
    pub(crate) async fn container(&self, id: ContainerId) -> Result<ContainerReport, ApplicationClientError> {
        let OneContainer { container } =
            self.ask(&ApplicationCall::new(Method::GET, &format!("/containers/{id}"))).await?;
        Ok(container)
    }

    /// Kills an application, unless it is over.
    ///
    /// # Errors
    /// [`ApplicationClientError`]
    pub async fn kill(&self, id: ApplicationId) -> Result<KillOutcome, ApplicationClientError> {
        let call = ApplicationCall::new(Method::PUT, &format!("/apps/{id}/state"))
            .with_body(r#"{"state":"KILLED"}"#.to_owned());
        let answer = self.send(&call).await?;
        let StateAnswer { state } = self.read(&answer.body)?;
        Ok(KillOutcome { state, is_ending: answer.status == StatusCode::ACCEPTED })
    }
}

/// How long the server may hold an answer back, ms: less than a client waits for any answer.
const WAIT_MS: u64 = 25_000;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionNews {
    /// The server does not answer; why.
    Lost(String),
    /// It answers again.
    Back,
}

impl ApplicationClient {
    /// The application once its version differs from `known`; without `known`, at once.
    pub(crate) async fn next_report(
        &self,
        id: ApplicationId,
        known: Option<u64>,
        mut news: impl FnMut(ConnectionNews),
    ) -> Result<ApplicationReport, ApplicationClientError> {
        let call = Self::report_call(id, known.map(|version| (version, WAIT_MS)));
        let mut lost_at = None;
        loop {
            match self.send_once(&call).await {
                Ok(answer) => {
                    if lost_at.take().is_some() {
                        news(ConnectionNews::Back);
                    }
                    let report = self.read_report(&answer)?;
                    if known != Some(report.version) {
                        return Ok(report);
                    }
                    // A server with many waits answers at once.
                    sleep(self.pause).await;
                }
                Err(error) if error.is_passing() => {
                    if lost_at.is_none() {
                        news(ConnectionNews::Lost(error.to_string()));
                    }
                    if lost_at.get_or_insert_with(Instant::now).elapsed() > ANSWER_TIMEOUT {
                        return Err(error);
                    }
                    sleep(self.pause).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
