//! HTTP/1 within limits: serving a router on a listener, and the one client. What is requested and answered is the business of
//! other rooms.

mod client;
mod fair_budget;
mod in_hand;
mod limits;
mod listener;
mod peer;
mod places;
mod served_names;
mod timed_stream;

pub(crate) use client::{ClientError, IncomingAnswer, SentBody, send_request};
pub(crate) use fair_budget::{FairBudget, Held, OverBudget};
pub(crate) use in_hand::{RequestPlace, RequestWait, cut_short};
pub use limits::WebLimits;
pub(crate) use listener::{ConnectionEnds, Listeners, LocalCaller, accept_until};

pub(crate) use peer::Peer;
pub use served_names::ServedNames;
pub(crate) use served_names::{NameRefused, require_served_name};
