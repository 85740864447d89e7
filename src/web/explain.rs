//! `/scheduler/explain`: why a job has the slots it has, as JSON. Signed by the queue's user or an admin; without a market
//! there are no keys, and anyone may ask what the start page tells anyone too.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::time::timeout;

use super::response::{JSON, fresh, json, json_refusal};
use super::signed::{Asked, ask, check_method, mismatch};
use super::{Owner, OwnerGone, WebState};
use crate::engine::explanation::Explanation;
use crate::market::{Answer, Operation, Shape};

/// Answers one request.
pub(super) async fn explain<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let asked = Asked { method, uri, headers };
    let permitted = if state.has_market { signed(&state, asked).await } else { unsigned(&asked) };
    let (job, sees_names) = match permitted {
        Ok(permitted) => permitted,
        Err(refusal) => return *refusal,
    };
    match read(&state, &job, sees_names).await {
        Ok(explanation) => fresh(StatusCode::OK, JSON, json(&explanation)),
        Err((status, message)) => json_refusal(status, &message),
    }
}

type Permitted = Result<(String, bool), Box<Response<Body>>>;

async fn signed<O: Owner>(state: &WebState<O>, asked: Asked) -> Permitted {
    match ask(state, asked, Shape::parse_explain, json_refusal).await? {
        Answer::Permitted(Operation::Explain { job, sees_names }) => Ok((job, sees_names)),
        _ => {
            let (status, message) = mismatch();
            Err(Box::new(json_refusal(status, &message)))
        }
    }
}

fn unsigned(asked: &Asked) -> Permitted {
    check_method(&asked.method, json_refusal)?;
    let shape = Shape::parse_explain(asked.uri.query().unwrap_or_default());
    let shape = shape.map_err(|error| json_refusal(StatusCode::BAD_REQUEST, &error.to_string()))?;
    Ok((shape.value, false))
}

async fn read<O: Owner>(state: &WebState<O>, job: &str, sees_names: bool) -> Result<Explanation, (StatusCode, String)> {
    let id = job.parse().map_err(|_| (StatusCode::BAD_REQUEST, format!("job: {job:?} is not the id of a job")))?;
    let gone = || (StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string());
    let Ok(Ok(found)) = timeout(super::ANSWER_PATIENCE, state.owner.explain(id, sees_names)).await else {
        return Err(gone());
    };
    let explained = found.ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no job {job} in memory")))?;
    // The search for a rate takes many allocations.
    tokio::task::spawn_blocking(move || explained.finish()).await.map_err(|_| gone())
}
