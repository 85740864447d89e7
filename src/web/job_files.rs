//! Files of jobs over HTTP, between the handlers and what keeps the files: those that a client hands over, and those that a worker
//! fetches.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::http::StatusCode;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

use crate::http::Peer;
use crate::market::JobUpload;

/// Why a file is neither stored nor given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRefusal {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

/// A file that a client wants to hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUpload {
    pub(crate) file: JobUpload,
    /// The user who hands it over.
    pub(crate) user: Arc<str>,
    /// Whose connection it comes by.
    pub(crate) peer: Peer,
    /// Its length, if the request says it.
    pub(crate) length_bytes: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum UploadPiece {
    Bytes(Bytes),
    /// All bytes have been sent; without this the upload has been cut off.
    End,
}

/// Where the pieces of an upload go, and its outcome: the length, or why it is not stored.
#[derive(Debug)]
pub struct UploadSink {
    /// Takes the pieces; closed when the upload has failed.
    pub(crate) pieces: mpsc::Sender<UploadPiece>,
    pub(crate) stored: oneshot::Receiver<Result<u64, FileRefusal>>,
    /// Done when the upload has to give way to others.
    pub(crate) gives_way: oneshot::Receiver<()>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFileRequest {
    /// Path and query as received: what is signed.
    pub(crate) path_and_query: String,
    pub(crate) url_hash: String,
}

#[derive(Debug)]
pub struct JobFile {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: PieceBody,
}

/// A body whose pieces another thread reads.
#[derive(Debug)]
pub(crate) struct PieceBody {
    /// The pieces, in order.
    pub(crate) pieces: mpsc::Receiver<io::Result<Bytes>>,
    /// Length of those that are still to come, bytes.
    pub(crate) left_bytes: u64,
}

impl FileRefusal {
    pub(crate) fn new(status: StatusCode, text: impl fmt::Display) -> Self {
        Self { status, text: text.to_string() }
    }

    /// What a daemon without files of jobs answers.
    pub(super) fn absent() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there are no files of jobs here")
    }
}

impl hyper::body::Body for PieceBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left_bytes == 0 {
            return Poll::Ready(None);
        }
        let Poll::Ready(piece) = self.pieces.poll_recv(context) else { return Poll::Pending };
        let piece = piece.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
        Poll::Ready(Some(piece.map(|piece| {
            self.left_bytes = self.left_bytes.saturating_sub(piece.len() as u64);
            Frame::data(piece)
        })))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}
