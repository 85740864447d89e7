//! `/scheduler`, pages, metrics and health over HTTP.
//!
//! Invariants: nothing here holds or changes state; every answer comes from the [`Owner`], and one that shows a change
//! leaves only after the change is durable. A request may wait for the owner, the owner never waits for a request.

mod denied;
mod explain;
mod health;
mod history;
mod metrics;
mod owner;
mod process_usage;
mod response;
mod routes;
mod scheduler;
mod signed;
mod standings;
mod start_page;
mod start_page_rows;
mod statement;
mod time_text;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

pub use crate::http::{ServedNames, WebLimits};
pub use owner::{Health, LedgerUnreadable, MarketReply, Owner, OwnerGone};

/// Time that the owner has for an answer; 503 after it.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// What the web server knows besides what the owner tells it.
#[derive(Debug)]
pub struct WebState<O> {
    /// Who answers.
    pub owner: O,
    /// Names that requests may be addressed to; `/healthz` answers under any.
    pub names: ServedNames,
    /// Name of this host, as the `<host>` element and the page show it; cut at the first dot there.
    pub host: String,
    /// Whether the scheduler has a market. Without one `/scheduler` answers 404.
    pub has_market: bool,
    /// Whether shares of queues and costs of jobs are shown to who does not sign. The price is, in any case.
    pub shows_money: bool,
    /// How much of the daemon a client may take.
    pub limits: WebLimits,
}

/// Serves HTTP on `listener` until `shutdown` completes and the requests in hand are answered, or
/// [`WebLimits::drain`] has passed.
pub async fn serve<O: Owner>(listener: TcpListener, state: WebState<O>, shutdown: impl Future<Output = ()> + Send) {
    let limits = state.limits;
    crate::http::accept_until(listener, routes::routes(Arc::new(state)), limits, shutdown).await;
}
