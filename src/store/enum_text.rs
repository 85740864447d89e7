//! Texts of values in the database: names of enums that are named so here only, and values as JSON in a column.

use crate::mapreduce::{AttemptRole, KillRequest};
use crate::market::Consumer;

pub(super) fn kill_request(request: KillRequest) -> &'static str {
    match request {
        KillRequest::Kill => "KILLED",
        KillRequest::Fail => "FAILED",
        KillRequest::Preempt => "PREEMPTED",
    }
}

/// A task cleanup has no row of its own: it is part of the attempt it cleans up after.
pub(super) fn role(role: AttemptRole) -> &'static str {
    match role {
        AttemptRole::JobSetup => "job_setup",
        AttemptRole::JobCleanup => "job_cleanup",
        AttemptRole::Work => "work",
        AttemptRole::TaskCleanup => "task_cleanup",
    }
}

pub(super) fn consumer(consumer: Consumer) -> &'static str {
    match consumer {
        Consumer::Servlet => "servlet",
        Consumer::Job => "job",
        Consumer::Upload => "upload",
        Consumer::Application => "application",
        Consumer::Secret => "secret",
    }
}

/// The value with this text.
fn parse<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> Option<T> {
    all.iter().copied().find(|value| name(*value) == text)
}

pub(super) fn parse_kill_request(text: &str) -> Option<KillRequest> {
    parse(&[KillRequest::Kill, KillRequest::Fail, KillRequest::Preempt], kill_request, text)
}

pub(super) fn parse_role(text: &str) -> Option<AttemptRole> {
    parse(&[AttemptRole::JobSetup, AttemptRole::JobCleanup, AttemptRole::Work], role, text)
}

pub(super) fn parse_consumer(text: &str) -> Option<Consumer> {
    use Consumer as C;
    parse(&[C::Servlet, C::Job, C::Upload, C::Application, C::Secret], consumer, text)
}

pub(super) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
