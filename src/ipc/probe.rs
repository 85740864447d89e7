//! Detects whether the peer of a silent connection is alive.

use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

use super::connection::Connection;
use super::tcp_info::last_ack_ms;

/// Silence after which the kernel probes the peer of any connection.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(120);
/// Keepalive interval during a probe; the peer counts as gone after so many unanswered probes.
const INTERVAL: Duration = Duration::from_secs(1);
const RETRIES: u32 = 3;
/// The kernel's defaults otherwise.
const USUAL_INTERVAL: Duration = Duration::from_secs(75);
const USUAL_RETRIES: u32 = 9;

/// Makes the kernel probe the peer of a connection every second until this is dropped. A connection whose peer resets
/// it or does not answer is closed by the kernel, except while answers are unacknowledged: those are retransmitted at
/// growing intervals; [`Probe::is_answered`] decides sooner.
#[derive(Debug)]
pub(crate) struct Probe {
    connection: Weak<Connection>,
    began_ms: u64,
}

impl Probe {
    pub(super) fn begin(connection: &Rc<Connection>) -> Self {
        let usual = TcpKeepalive::new();
        set_keepalive(connection, &usual.with_time(INTERVAL).with_interval(INTERVAL).with_retries(RETRIES));
        Self { connection: Rc::downgrade(connection), began_ms: connection.shared().clock.mono_ms() }
    }

    pub(crate) fn client(&self) -> Option<SocketAddr> {
        self.connection.upgrade()?.client()
    }

    /// Whether the peer's kernel acknowledged anything within `window_ms`, or since the probe started if that is
    /// shorter; `None` if the local kernel does not report it.
    pub(crate) fn is_answered(&self, window_ms: u64) -> Option<bool> {
        let connection = self.connection.upgrade()?;
        let since_ms = connection.shared().clock.mono_ms().saturating_sub(self.began_ms);
        let (local, client) = connection.ends()?;
        match last_ack_ms(local, client) {
            Ok(ago_ms) => Some(ago_ms <= since_ms.min(window_ms)),
            Err(error) => {
                tracing::debug!("the kernel does not report whether {client} is alive: {error}");
                None
            }
        }
    }

    /// Closes the connection of a peer that is gone.
    pub(crate) fn close(&self) {
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
    // An error means that the connection is closed.
    let _ = SockRef::from(connection.socket()).set_tcp_keepalive(keepalive);
}
