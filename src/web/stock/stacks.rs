//! `/stacks`: the threads of this process, with their states and the time that they have run.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::process_stat::ThreadStat;

use super::super::owner::Owner;
use super::super::response::{TEXT, fresh};
use super::super::state::WebState;
use super::access::check_instrumentation;
use super::request::{Asked, Refused};

/// Answers `/stacks`.
pub(super) async fn stacks<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    match answered(&state, request).await {
        Ok(response) | Err(response) => *response,
    }
}

async fn answered<O: Owner>(state: &WebState<O>, request: Request) -> Result<Refused, Refused> {
    let asked = Asked::of(request).await?;
    check_instrumentation(state, asked.user()).await?;
    let threads = ThreadStat::all();
    // The head of 1.2.1; a native program has no stacks that could be shown without being stopped.
    let mut body = format!("Process Thread Dump: \n{} active threads\n", threads.len());
    for ThreadStat { id, name, state, cpu_ms } in threads {
        body.push_str(&format!("Thread {id} ({name}):\n  State: {}\n  CPU time: {cpu_ms} ms\n", state_word(state)));
    }
    Ok(Box::new(fresh(StatusCode::OK, TEXT, body)))
}

/// In the words of a thread dump.
fn state_word(state: char) -> &'static str {
    match state {
        'R' => "RUNNABLE",
        'D' => "BLOCKED",
        _ => "WAITING",
    }
}
