//! Finds out whether the other end of a silent connection is still there.

use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

use super::connection::Connection;
use super::listener::KEEPALIVE;
use super::tcp_info::last_ack_ms;

/// While a probe lasts the peer's kernel is asked so often, and is gone when it leaves this many questions unanswered.
const INTERVAL: Duration = Duration::from_secs(1);
const RETRIES: u32 = 3;
/// What the kernel does otherwise: its defaults.
const USUAL_INTERVAL: Duration = Duration::from_secs(75);
const USUAL_RETRIES: u32 = 9;

/// Has the kernel ask the peer of a connection every second whether it is there, until the probe is dropped. A connection whose peer
/// resets it or does not answer ends by itself, unless answers of ours are on their way: those are sent again at longer
/// and longer intervals, which [`Probe::is_answered`] shortens.
#[derive(Debug)]
pub struct Probe {
    connection: Weak<Connection>,
    began_ms: u64,
}

// === impl Probe ===

impl Probe {
    pub(super) fn begin(connection: &Rc<Connection>) -> Self {
        let usual = TcpKeepalive::new();
        set_keepalive(connection, &usual.with_time(INTERVAL).with_interval(INTERVAL).with_retries(RETRIES));
        Self { connection: Rc::downgrade(connection), began_ms: connection.shared().clock.mono_ms() }
    }

    /// The peer.
    pub fn client(&self) -> Option<SocketAddr> {
        self.connection.upgrade()?.client()
    }

    /// Whether the peer's kernel has acknowledged anything within `window_ms`, or since the probe began if that is shorter;
    /// none where our kernel does not tell.
    pub fn is_answered(&self, window_ms: u64) -> Option<bool> {
        let connection = self.connection.upgrade()?;
        let since_ms = connection.shared().clock.mono_ms().saturating_sub(self.began_ms);
        let (local, client) = connection.ends()?;
        match last_ack_ms(local, client) {
            Ok(ago_ms) => Some(ago_ms <= since_ms.min(window_ms)),
            Err(error) => {
                tracing::debug!("the kernel does not tell whether {client} is there: {error}");
                None
            }
        }
    }

    /// The peer is gone: closes the connection.
    pub fn give_up(&self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.abandon();
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.upgrade() {
            let usual = TcpKeepalive::new().with_time(KEEPALIVE);
            set_keepalive(&connection, &usual.with_interval(USUAL_INTERVAL).with_retries(USUAL_RETRIES));
        }
    }
}

fn set_keepalive(connection: &Connection, keepalive: &TcpKeepalive) {
    // An error here says that the connection is gone.
    let _ = SockRef::from(connection.socket()).set_tcp_keepalive(keepalive);
}
