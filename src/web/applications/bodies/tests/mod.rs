//! Bodies: what is read, and each member that is refused with its pointer.

mod accepted;
mod limits;
mod malformed;

use crate::engine::BodyFault;

use super::super::json::Item;
use super::{BodyError, read_allocate, read_body, read_submission, refuse_large_call};

/// What is wrong in a body, as `pointer: detail`.
fn faults<T>(text: &str, read: impl FnOnce(Item<'_>) -> Option<T>) -> Vec<String> {
    match read_body(text.as_bytes(), refuse_large_call, read) {
        Ok(_) => Vec::new(),
        Err(BodyError::Invalid(found)) => {
            found.into_iter().map(|BodyFault { pointer, detail }| format!("{pointer}: {detail}")).collect()
        }
        Err(other) => vec![format!("{other:?}")],
    }
}

/// An allocate call with these members beside those that it needs.
fn call(members: &str) -> String {
    format!(r#"{{"attempt": 1, "response-id": 0, {members}}}"#)
}

/// An allocate call whose only row has these members; its name, capability and priority are good.
fn row(members: &str) -> String {
    let row =
        format!(r#"{{"priority": 1, "resource-name": "*", "capability": {{"memory": 1024, "vCores": 1}}, {members}}}"#);
    call(&format!(r#""ask": [{row}]"#))
}

/// An allocate call that stores a context with these members beside a command.
fn context(members: &str) -> String {
    call(&format!(r#""specs": {{"sim": {{"command": ["true"], {members}}}}}"#))
}

/// A submission with these members beside its id.
fn submission(members: &str) -> String {
    format!(r#"{{"application-id": "application_1700000000000_0001", {members}}}"#)
}

fn call_faults(text: &str) -> Vec<String> {
    faults(text, read_allocate)
}

fn submission_faults(text: &str) -> Vec<String> {
    faults(text, read_submission)
}
