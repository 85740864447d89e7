//! The bytes of a request's body as they arrive: within a time, and of a refused request no more than needed.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use tokio::time::timeout;

use crate::http::{RequestPlace, cut_short};

/// Time for the next bytes of a body.
pub(super) const PIECE_TIMEOUT: Duration = Duration::from_secs(30);
/// Of a refused body, what is read so that the client finds the answer instead of a broken connection.
const DISCARDED_BYTES: u64 = 4 << 20;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

/// The next bytes of a body; none at its end.
pub(super) async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, axum::Error> {
    loop {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await;
        match frame {
            None => return Ok(None),
            Some(frame) => match frame?.into_data() {
                Ok(piece) if !piece.is_empty() => return Ok(Some(piece)),
                // Trailers.
                _ => {}
            },
        }
    }
}

/// Why the next bytes of a body do not come.
#[derive(Debug)]
pub(super) enum PieceError {
    /// None came in [`PIECE_TIMEOUT`].
    TimedOut,
    /// Others need the connection's place.
    GaveWay,
    /// The client has gone.
    CutOff(axum::Error),
}

/// As [`next_piece`], within [`PIECE_TIMEOUT`]; while none comes, the request gives way to others that need its place.
pub(super) async fn next_piece_of_request(
    body: &mut Body,
    place: Option<&RequestPlace>,
) -> Result<Option<Bytes>, PieceError> {
    let wait = place.map(RequestPlace::begin_wait);
    let (_waiting, cut) = wait.unzip();
    tokio::select! {
        biased;
        piece = timeout(PIECE_TIMEOUT, next_piece(body)) => match piece {
            Err(_) => Err(PieceError::TimedOut),
            Ok(piece) => piece.map_err(PieceError::CutOff),
        },
        () = cut_short(cut) => Err(PieceError::GaveWay),
    }
}

/// A body of at most so many bytes; none: it is larger, or does not come.
pub(super) async fn read_small(mut body: Body, most_bytes: usize, place: Option<&RequestPlace>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = timeout(PIECE_TIMEOUT, async {
        while let Some(piece) = next_piece_of_request(&mut body, place).await.ok()? {
            if bytes.len() + piece.len() > most_bytes {
                return None;
            }
            bytes.extend_from_slice(&piece);
        }
        Some(())
    });
    read.await.ok()??;
    Some(bytes)
}

/// Reads the rest of a body that is not wanted, within bounds.
pub(super) async fn discard(mut body: Body) {
    if body.size_hint().lower() > DISCARDED_BYTES {
        return;
    }
    let read = async {
        let mut left_bytes = DISCARDED_BYTES;
        while let Ok(Some(piece)) = next_piece(&mut body).await {
            left_bytes = left_bytes.saturating_sub(piece.len() as u64);
            if left_bytes == 0 {
                return;
            }
        }
    };
    // A client that sends on gets a broken connection.
    let _ = timeout(DISCARD_TIMEOUT, read).await;
}
