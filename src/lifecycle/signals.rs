//! What ends the daemon: signals, or a word of the process that it is a part of.

use std::io;
use std::task::{Context, Waker};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The word of the process that the daemon is a part of: true, or its sender gone, once the daemon is to stop.
pub type StopWord = watch::Receiver<bool>;

/// Who tells the daemon to stop.
pub(super) enum Stop {
    /// Whoever sends signals to its process, which is all its own.
    Signals(StopSignals),
    /// The process that it is a part of.
    Word(StopWord),
}

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

// === impl Stop ===

impl Stop {
    /// By that word, or by signals where there is none.
    pub(super) fn new(word: Option<StopWord>) -> io::Result<Self> {
        Ok(match word {
            Some(word) => Self::Word(word),
            None => Self::Signals(StopSignals::new()?),
        })
    }

    /// Completes at the first signal that nobody has heard of yet, or once the word is said.
    pub(super) async fn stop(&mut self) {
        match self {
            Self::Signals(signals) => signals.stop().await,
            // Without a sender nobody could say it any more.
            Self::Word(word) => drop(word.wait_for(|stop| *stop).await),
        }
    }

    /// Whether it is to stop, by a signal that nobody has heard of yet.
    pub(super) fn was_told(&mut self) -> bool {
        match self {
            Self::Signals(signals) => signals.was_told(),
            Self::Word(word) => *word.borrow(),
        }
    }
}

// === impl StopSignals ===

impl StopSignals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes at the first of them that nobody has heard of yet.
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    }

    /// Whether one has come that nobody has heard of yet.
    fn was_told(&mut self) -> bool {
        let mut nobody = Context::from_waker(Waker::noop());
        self.terminate.poll_recv(&mut nobody).is_ready() || self.interrupt.poll_recv(&mut nobody).is_ready()
    }
}
