//! Whether a connection has a request in hand: from its head until all of the answer is written.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

use super::fair_budget::Held;
use super::places::ConnectionPlace;

/// What a connection's service, answers and stream know together.
#[derive(Debug)]
pub(super) struct InHand {
    place: ConnectionPlace,
    /// Bytes of answers that are not written yet.
    unsent: Held,
    /// A body is on its way, or the service works on it.
    has_answer_to_give: AtomicBool,
    was_asked: AtomicBool,
}

/// The place of a request's connection, for requests that wait.
#[derive(Clone, Debug)]
pub(crate) struct RequestPlace(pub(super) Arc<InHand>);

/// A wait of a request; over when dropped.
#[derive(Debug)]
pub(crate) struct RequestWait {
    in_hand: Arc<InHand>,
}

pub(super) struct AnswerBody {
    body: Body,
    in_hand: Arc<InHand>,
}

impl InHand {
    /// Of a connection that was asked for nothing yet.
    pub(super) fn new(place: ConnectionPlace, unsent: Held) -> Self {
        Self { place, unsent, has_answer_to_give: AtomicBool::new(false), was_asked: AtomicBool::new(false) }
    }

    /// The head of a request has arrived.
    pub(super) fn begin(&self) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.has_answer_to_give.store(true, Ordering::Relaxed);
        self.place.set_busy();
    }

    /// Whether there was ever a request.
    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }

    /// Whether there is a request now.
    pub(super) fn is_busy(&self) -> bool {
        self.place.is_busy()
    }

    pub(super) fn all_is_written(&self) {
        self.unsent.clear();
        if !self.has_answer_to_give.load(Ordering::Relaxed) && self.place.is_busy() {
            self.place.set_idle();
        }
    }
}

impl RequestPlace {
    /// Connections that hold places, and the most that may.
    pub(crate) fn connections(&self) -> (u64, u64) {
        self.0.place.connections()
    }

    /// From now until the first is dropped, the request waits; the second is done when it must be answered at once, because others need
    /// the place.
    pub(crate) fn begin_wait(&self) -> (RequestWait, oneshot::Receiver<()>) {
        let is_cut = self.0.place.set_waiting();
        (RequestWait { in_hand: self.0.clone() }, is_cut)
    }
}

impl Drop for RequestWait {
    fn drop(&mut self) {
        self.in_hand.place.set_busy();
    }
}

/// Completes when a wait is cut short; never, where nothing can cut it.
pub(crate) async fn cut_short(cut: Option<oneshot::Receiver<()>>) {
    let is_cut = match cut {
        Some(cut) => cut.await.is_ok(),
        None => false,
    };
    if !is_cut {
        std::future::pending::<()>().await;
    }
}

impl AnswerBody {
    /// The body of the answer to the request in hand.
    pub(super) fn new(body: Body, in_hand: Arc<InHand>) -> Self {
        Self { body, in_hand }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.in_hand.has_answer_to_give.store(false, Ordering::Relaxed);
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(piece) = frame.data_ref()
        {
            self.in_hand.unsent.grow(piece.len() as u64).map_err(axum::Error::new)?;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        hyper::body::Body::is_end_stream(&self.body)
    }

    fn size_hint(&self) -> SizeHint {
        hyper::body::Body::size_hint(&self.body)
    }
}
