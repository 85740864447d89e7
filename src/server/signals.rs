//! The signals that end the daemon.

use std::io;
use std::task::{Context, Waker};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT. From the moment these are made, the signals no longer kill the process; those that come before
/// somebody waits for them are not lost.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

/// Completes at the first SIGTERM or SIGINT; at once when the system gives no signals.
pub async fn stop_asked() {
    match StopSignals::new() {
        Ok(mut signals) => signals.stop().await,
        Err(error) => tracing::error!("no signals: {error}"),
    }
}

// === impl StopSignals ===

impl StopSignals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes at the first of them that nobody has heard of yet.
    pub(super) async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    }

    /// Whether one has come that nobody has heard of yet.
    pub(super) fn was_told(&mut self) -> bool {
        let mut nobody = Context::from_waker(Waker::noop());
        self.terminate.poll_recv(&mut nobody).is_ready() || self.interrupt.poll_recv(&mut nobody).is_ready()
    }
}
