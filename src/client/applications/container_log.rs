//! Reads a log of a container from its worker, which the server points to.

use hyper::{Method, StatusCode};

use crate::client::http_request::get_bytes;
use crate::model::{ContainerId, HttpUrl, named};

use super::call::ApplicationCall;
use super::error::ApplicationClientError;
use super::exchange::ApplicationClient;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogName {
    /// Standard output.
    Stdout,
    /// The standard error output.
    Stderr,
}

/// A log of one container, of which more may come.
#[derive(Debug)]
pub(crate) struct ContainerLog<'a> {
    client: &'a ApplicationClient,
    container: ContainerId,
    name: LogName,
    /// Where the server has pointed to.
    place: Option<LogAddress>,
}

/// An address at a worker, with a ticket that is good for some minutes.
#[derive(Debug)]
struct LogAddress {
    /// `host:port`.
    node: String,
    /// Path and query, without a range.
    target: String,
}

named!(LogName { Stdout = "stdout", Stderr = "stderr" });

impl<'a> ContainerLog<'a> {
    pub(crate) fn new(client: &'a ApplicationClient, container: ContainerId, name: LogName) -> Self {
        Self { client, container, name, place: None }
    }

    /// What it has from an offset on, bytes; empty if there is nothing yet.
    /// Errors: its node is lost, the caller may not see it, or the worker does not answer.
    pub(crate) async fn read_from(&mut self, from_bytes: u64) -> Result<Vec<u8>, ApplicationClientError> {
        let is_known = self.place.is_some();
        let (node, status, body) = self.read_once(from_bytes).await?;
        let is_refused = |status| matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let (node, status, body) = match is_known && is_refused(status) {
            // The ticket may have lapsed.
            true => {
                self.place = None;
                self.read_once(from_bytes).await?
            }
            false => (node, status, body),
        };
        match status {
            StatusCode::OK => Ok(body),
            // A worker that has not made the log yet, or has removed it.
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Vec::new()),
            status => {
                let text = String::from_utf8_lossy(&body);
                let reason = format!("{status} {}", text.lines().next().unwrap_or_default());
                Err(self.failure(node, reason.trim_end().to_owned()))
            }
        }
    }

    async fn read_once(&mut self, from_bytes: u64) -> Result<(String, StatusCode, Vec<u8>), ApplicationClientError> {
        let place = match self.place.take() {
            Some(place) => place,
            None => self.find().await?,
        };
        let target = format!("{}&start={from_bytes}&end=-1", place.target);
        let answer = get_bytes(&place.node, &target).await;
        let node = place.node.clone();
        self.place = Some(place);
        match answer {
            Ok((status, body)) => Ok((node, status, body)),
            Err(error) => Err(self.failure(node, error.to_string())),
        }
    }

    async fn find(&self) -> Result<LogAddress, ApplicationClientError> {
        let Self { container, name, .. } = self;
        let address = format!("/containers/{container}/logs/{}", name.name());
        let answer = self.client.send(&ApplicationCall::new(Method::GET, &address)).await?;
        let invalid = || ApplicationClientError::InvalidAnswer {
            server: self.client.server().to_owned(),
            reason: format!("no place of the logs of {container}"),
        };
        place_in(answer.location.as_deref().unwrap_or_default()).ok_or_else(invalid)
    }

    fn failure(&self, node: String, reason: String) -> ApplicationClientError {
        ApplicationClientError::Log { container: self.container, node, reason }
    }
}

fn place_in(location: &str) -> Option<LogAddress> {
    let url = HttpUrl::parse(location).ok()?;
    let target = url.path_and_query();
    let (path, query) = target.split_once('?')?;
    let is_range = |parameter: &&str| ["start=", "end="].iter().any(|name| parameter.starts_with(name));
    let parameters: Vec<&str> = query.split('&').filter(|parameter| !is_range(parameter)).collect();
    Some(LogAddress { node: url.host_header().to_owned(), target: format!("{path}?{}", parameters.join("&")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_ticket_and_no_range() {
        let place = place_in("http://h1:50060/ws/v1/node/c/logs/stdout?expires=5&ticket=ab&start=0&end=-1").unwrap();
        assert_eq!(place.node, "h1:50060");
        assert_eq!(place.target, "/ws/v1/node/c/logs/stdout?expires=5&ticket=ab");
        assert!(place_in("/elsewhere?a=b").is_none() && place_in("").is_none() && place_in("http://h/").is_none());
        assert!(place_in("http://h1:99999/ws?a=b").is_none());
    }
}
