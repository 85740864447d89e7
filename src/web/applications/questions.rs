//! A request as the engine is asked: from path, query and body to an `ApplicationQuestion`.

use axum::http::Method;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::api::applications::{ApplicationState, ContainerState};
use crate::engine::{ApplicationFilter, ApplicationQuestion, ContainerFilter, RowPage};
use crate::model::{ApplicationId, ApplicationSecret, ContainerId};

use super::address::Address;
use super::bodies::{
    MAX_WAIT_MS, read_allocate, read_body, read_kill, read_register, read_submission, read_unregister,
    refuse_large_call,
};
use super::path_parts::PathParts;
use super::problem::Problem;
use super::query_parameters::QueryParameters;

/// Entries of a list unless the query says how many.
const DEFAULT_LIMIT: usize = 100;
/// Entries of a list at most.
const MAX_LIMIT: u64 = 1_000;

/// What is asked, and how it is answered beyond what the engine knows of it.
#[derive(Debug)]
pub(super) struct AskedQuestion {
    pub(super) question: ApplicationQuestion,
    /// How long the answer may wait for something to say, ms.
    pub(super) wait_ms: u64,
    pub(super) log: Option<LogPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogPart {
    /// `stdout` or `stderr`.
    pub(super) name: &'static str,
    /// First byte; negative: counted from the end.
    pub(super) start: Option<i64>,
    /// The byte after the last one; negative: counted from the end.
    pub(super) end: Option<i64>,
}

/// A body with its SHA-256.
#[derive(Clone, Debug)]
pub(super) struct ReadBody {
    /// All of it.
    pub(super) bytes: Vec<u8>,
    pub(super) digest: [u8; 32],
}

/// Reads what is asked. `secret` is for an application that is submitted.
pub(super) fn read_question(
    address: Address,
    method: &Method,
    parts: &PathParts,
    mut query: QueryParameters,
    body: &ReadBody,
    secret: ApplicationSecret,
) -> Result<AskedQuestion, Problem> {
    let mut asked = AskedQuestion { question: ApplicationQuestion::Info, wait_ms: 0, log: None };
    let is_get = matches!(*method, Method::GET | Method::HEAD);
    asked.question = match address {
        Address::Info => ApplicationQuestion::Info,
        Address::Nodes => ApplicationQuestion::Nodes,
        Address::Node => ApplicationQuestion::Node(parts.node()),
        Address::NewApplication => ApplicationQuestion::NewId,
        Address::Applications if is_get => ApplicationQuestion::List(application_filter(&mut query)),
        Address::Applications => {
            let submission = Box::new(read_body(&body.bytes, refuse_large_call, read_submission)?);
            ApplicationQuestion::Submit { submission, digest: body.digest, secret }
        }
        Address::Application => {
            asked.wait_ms = query.whole("wait-ms", 0..=MAX_WAIT_MS).unwrap_or_default();
            show_question(asked.wait_ms, parts, &mut query)?
        }
        Address::Register => ApplicationQuestion::Register {
            application: parts.application()?,
            call: read_body(&body.bytes, |_| None, read_register)?,
        },
        Address::Allocate => {
            let call = Box::new(read_body(&body.bytes, refuse_large_call, read_allocate)?);
            asked.wait_ms = call.wait_ms;
            ApplicationQuestion::Allocate { application: parts.application()?, call, digest: body.digest }
        }
        Address::Unregister => ApplicationQuestion::Unregister {
            application: parts.application()?,
            call: read_body(&body.bytes, |_| None, read_unregister)?,
        },
        Address::State if is_get => ApplicationQuestion::State(parts.application()?),
        Address::State => {
            read_body(&body.bytes, |_| None, read_kill)?;
            ApplicationQuestion::Kill(parts.application()?)
        }
        Address::Containers => {
            ApplicationQuestion::Containers { application: parts.application()?, filter: container_filter(&mut query) }
        }
        Address::Container => ApplicationQuestion::Container(parts.container()?),
        Address::Signal => ApplicationQuestion::Signal { container: parts.container()?, signal: parts.signal()? },
        Address::Logs => {
            let offset =
                |query: &mut QueryParameters, name| query.parsed(name, "a whole number", |text| text.parse().ok());
            let (start, end) = (offset(&mut query, "start"), offset(&mut query, "end"));
            asked.log = Some(LogPart { name: parts.log()?, start, end });
            ApplicationQuestion::Logs(parts.container()?)
        }
    };
    query.end()?;
    Ok(asked)
}

/// What is asked of one application: itself, after news where the request waits, or a page of its rows.
fn show_question(wait_ms: u64, parts: &PathParts, query: &mut QueryParameters) -> Result<ApplicationQuestion, Problem> {
    let version = query.whole("version", 0..=u64::MAX);
    if wait_ms > 0 && version.is_none() {
        query.refuse("version", "the parameter is missing: wait-ms waits until it differs");
    }
    let rows = row_page(query);
    if rows.is_some() && version.is_some() {
        query.refuse("rows", "expected without version: who waits gets the first rows");
    }
    let application = parts.application()?;
    Ok(match rows {
        Some(rows) => ApplicationQuestion::ShowRows { application, rows },
        None => ApplicationQuestion::Show { application, known_version: version },
    })
}

/// Which rows of what it asks for a report is to have; none: no word of it.
fn row_page(query: &mut QueryParameters) -> Option<RowPage> {
    let most = query.whole("rows", 0..=MAX_LIMIT);
    let after = query.whole("rows-after", 0..=u64::from(u32::MAX));
    (most.is_some() || after.is_some())
        .then(|| RowPage { after: after.unwrap_or_default(), most: most.unwrap_or(RowPage::FIRST.most) })
}

fn application_filter(query: &mut QueryParameters) -> ApplicationFilter {
    ApplicationFilter {
        states: query.list("states", "states of applications with commas", read_state::<ApplicationState>),
        // Where it names the signer it is taken already.
        user: query.take("user"),
        queue: query.take("queue"),
        limit: query.whole("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT),
        rows: query.whole("rows", 0..=MAX_LIMIT).unwrap_or_default(),
        after: query.parsed::<ApplicationId>("after", "the id of an application", |text| text.parse().ok()),
    }
}

fn read_state<T: DeserializeOwned>(name: &str) -> Option<T> {
    let name: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

fn container_filter(query: &mut QueryParameters) -> ContainerFilter {
    let failed = query.parsed("failed", "true or false", |text| text.parse::<bool>().ok());
    ContainerFilter {
        states: query.list("states", "states of containers with commas", read_state::<ContainerState>),
        failed_only: failed.unwrap_or_default(),
        limit: query.whole("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT),
        after: query.parsed::<ContainerId>("after", "the id of a container", |text| text.parse().ok()),
    }
}
