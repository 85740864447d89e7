//! What a connection says of itself before its first call, and whether that is admitted.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

/// The user, protocol and address of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Introduced {
    pub(crate) user: Arc<str>,
    /// The calling user, if it is another.
    pub(crate) real_user: Option<Arc<str>>,
    pub(crate) protocol: Arc<str>,
    pub(crate) address: IpAddr,
}

pub(crate) enum ConnectionCheck {
    Passed,
    /// It becomes known later, and no call is read until then; the text of a refusal.
    Pending(Pin<Box<dyn Future<Output = Result<(), String>>>>),
}
