//! The signals that the daemon acts on.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT and SIGHUP. From the moment these are made, the signals no longer kill the process; those that come
/// before somebody waits for them are not lost.
pub(super) struct Signals {
    pub(super) stop: StopSignals,
    pub(super) hang_up: Signal,
}

/// Those that end the daemon.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

// === impl Signals ===

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        let stop =
            StopSignals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? };
        Ok(Self { stop, hang_up: signal(SignalKind::hangup())? })
    }
}

// === impl StopSignals ===

impl StopSignals {
    /// Completes at the first of them.
    pub(super) async fn stop(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    }
}
