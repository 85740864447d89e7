//! HTTP/1 within limits: serving a router on a listener, and the one client. What is requested and answered is the business of
//! other rooms.

mod client;
mod connection_ends;
mod fair_budget;
mod in_hand;
mod limits;
mod listener;
mod peer;
mod places;
mod served_names;
mod timed_stream;

pub use client::{ClientError, IncomingAnswer, send_request};
pub use connection_ends::{ConnectionEnds, LocalCaller};
pub use fair_budget::{FairBudget, Held, OverBudget};
pub use in_hand::{RequestPlace, RequestWait, cut_short};
pub use limits::WebLimits;
pub use listener::{Listeners, accept_until};
pub use peer::Peer;
pub use served_names::{NameRefused, ServedNames, require_served_name};
