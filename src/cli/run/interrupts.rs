//! Signals that ask this command to end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// What a shell adds to a signal's number for the exit code.
pub(super) const INTERRUPTED_BASE: u8 = 128;

/// The numbers of signals as they come.
pub(super) type Interrupts = UnboundedReceiver<u8>;

pub(super) fn interrupts() -> io::Result<Interrupts> {
    let (send, receive) = unbounded_channel();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind)?;
        let send = send.clone();
        let number = u8::try_from(kind.as_raw_value()).unwrap_or_default();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if send.send(number).is_err() {
                    return;
                }
            }
        });
    }
    Ok(receive)
}
