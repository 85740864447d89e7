//! HTTP/1 on a listener, within limits. What is asked for and answered is a router's business.

mod in_hand;
mod limits;
mod listener;
mod places;
mod served_names;
mod timed_stream;

pub use limits::WebLimits;
pub use listener::accept_until;
pub use served_names::{ServedNames, require_served_name};
