//! Stopping the daemon: by signals, or by the process that embeds it.

use std::io;
use std::sync::Arc;
use std::task::{Context, Waker};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::process_stat::ignores_signal;

/// The stop request of the process that embeds the daemon: stop once it is true, or its sender is dropped.
pub(crate) type StopRequest = watch::Receiver<bool>;

/// What stops the daemon: an operator's request, and another source.
pub(super) struct StopSource {
    operator: Arc<watch::Sender<bool>>,
    source: OuterSource,
}

/// What stops the daemon from outside.
enum OuterSource {
    Signals(StopSignals),
    Request(StopRequest),
}

#[derive(Clone, Debug)]
pub(super) struct OperatorStop {
    requested: Arc<watch::Sender<bool>>,
    /// Whether a service manager may start the daemon again.
    pub(super) is_supervised: bool,
}

/// SIGTERM and SIGINT. Once this exists, the signals no longer kill the process; those that arrive before the first wait are not lost.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

/// Completes at the first SIGTERM or SIGINT, or at SIGHUP, which a closed terminal sends, unless this process was started to
/// ignore it; at once if the system refuses signals.
pub(crate) async fn worker_stop_signal() {
    let waiting = async || {
        let mut signals = StopSignals::new()?;
        if ignores_signal(SignalKind::hangup().as_raw_value()) {
            signals.wait().await;
            return Ok::<_, io::Error>(());
        }
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::select! {
            () = signals.wait() => {}
            _ = hangup.recv() => tracing::info!("SIGHUP: stopping"),
        }
        Ok(())
    };
    if let Err(error) = waiting().await {
        tracing::error!("cannot receive signals: {error}");
    }
}

impl StopSource {
    /// By that request, or by signals if there is none.
    pub(super) fn new(request: Option<StopRequest>) -> io::Result<Self> {
        let source = match request {
            Some(request) => OuterSource::Request(request),
            None => OuterSource::Signals(StopSignals::new()?),
        };
        Ok(Self { operator: Arc::new(watch::Sender::new(false)), source })
    }

    pub(super) fn of_operator(&self, is_supervised: bool) -> OperatorStop {
        OperatorStop { requested: self.operator.clone(), is_supervised }
    }

    /// Completes at the next signal, or once a stop is requested.
    pub(super) async fn requested(&mut self) {
        let mut operator = self.operator.subscribe();
        let outside = async {
            match &mut self.source {
                OuterSource::Signals(signals) => signals.wait().await,
                // Without a sender no request can follow.
                OuterSource::Request(request) => drop(request.wait_for(|stop| *stop).await),
            }
        };
        tokio::select! {
            () = outside => {}
            _ = operator.wait_for(|stop| *stop) => {}
        }
    }

    /// Whether a stop is requested, or a signal is pending.
    pub(super) fn is_requested(&mut self) -> bool {
        *self.operator.borrow()
            || match &mut self.source {
                OuterSource::Signals(signals) => signals.is_requested(),
                OuterSource::Request(request) => *request.borrow(),
            }
    }
}

impl OperatorStop {
    pub(super) fn stop(&self) {
        self.requested.send_replace(true);
    }
}

impl StopSignals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes at the next signal.
    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = self.interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    }

    fn is_requested(&mut self) -> bool {
        let mut no_waker = Context::from_waker(Waker::noop());
        self.terminate.poll_recv(&mut no_waker).is_ready() || self.interrupt.poll_recv(&mut no_waker).is_ready()
    }
}
