//! What is not shown: a page that says why, and what to try.

use std::fmt::Display;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use tokio::time::timeout;

use super::super::response::text;
use super::super::state::ANSWER_TIMEOUT;
use super::block::{Block, Section};
use super::page::Page;
use super::piece::{Foreign, Piece};

/// Why there is no such page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) try_commands: Vec<String>,
}

impl Refused {
    pub(super) fn unavailable(why: String) -> Self {
        let title = "The JobTracker does not answer now".to_owned();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, title, detail: why, try_commands: Vec::new() }
    }

    /// A thing that is unknown; `what`: its kind, such as "job".
    pub(super) fn unknown(what: &str, name: &str, try_command: Option<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            title: format!("There is no {what} {name}"),
            detail: "It is not known here, or it is over for so long that it is forgotten.".to_owned(),
            try_commands: try_command.into_iter().collect(),
        }
    }

    /// A parameter that cannot be read; `wanted`: what is.
    pub(super) fn malformed(parameter: &str, value: &str, wanted: &str, try_command: String) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            title: format!("{value} is no {parameter}"),
            detail: format!("The parameter {parameter} is {wanted}."),
            try_commands: vec![try_command],
        }
    }

    /// A page that is not there under the ruling policy.
    pub(super) fn not_now(title: &str, detail: String) -> Self {
        Self { status: StatusCode::NOT_FOUND, title: title.to_owned(), detail, try_commands: Vec::new() }
    }

    pub(super) fn page(&self) -> Page {
        let mut blocks = vec![Block::Line(vec![Piece::sentence(&self.detail)])];
        if !self.try_commands.is_empty() {
            blocks.push(Block::line("Try:"));
            blocks.push(Block::Commands(self.try_commands.clone()));
        }
        blocks.push(Block::line("Search for a job, an attempt, a queue, a user or a worker with the field above."));
        Page {
            status: self.status,
            title: Foreign::new(&self.title).shown,
            heading: vec![Piece::foreign(&self.title)],
            sections: vec![Section::new("error", "What happened", blocks)],
            ..Page::default()
        }
    }

    /// What a page reads, if it comes in time; `what`: the thing that is read, such as "the events were".
    pub(super) async fn unless_read<T, E: Display>(
        read: impl Future<Output = Result<T, E>>,
        what: &str,
    ) -> Result<T, Self> {
        let late = |_| Self::unavailable(format!("{what} not read in time"));
        let found = timeout(ANSWER_TIMEOUT, read).await.map_err(late)?;
        found.map_err(|error| Self::unavailable(error.to_string()))
    }

    /// One line of text that says so.
    pub(super) fn line(&self) -> Response<Body> {
        text(self.status, format_args!("{}: {}", self.title, self.detail))
    }
}
