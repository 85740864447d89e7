//! What a connection says of itself before its first call, and whether that is admitted.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

/// The user, protocol and address of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduced {
    /// The user that its calls act for.
    pub user: Arc<str>,
    /// The calling user, if it is another.
    pub real_user: Option<Arc<str>>,
    /// The class name of the protocol.
    pub protocol: Arc<str>,
    /// The client's address.
    pub address: IpAddr,
}

/// Whether a connection is admitted.
pub enum ConnectionCheck {
    /// It is.
    Passed,
    /// It becomes known later, and no call is read until then; the text of a refusal.
    Pending(Pin<Box<dyn Future<Output = Result<(), String>>>>),
}
