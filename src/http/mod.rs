//! HTTP/1 on a listener, within limits. What is asked for and answered is a router's business.

mod limits;
mod listener;
mod timed_stream;

pub use limits::WebLimits;
pub use listener::accept_until;
