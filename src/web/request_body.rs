//! The bytes of a request's body as they arrive, within a time, of a refused request no more than needed; and the fields of a form.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Uri};
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

/// Largest body, bytes: as many job ids as one form may name; it is read as the query of an address, which may not be longer than 64 KiB.
const MAX_BYTES: usize = 60 << 10;
/// The content type of a form.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Whether a body is a form by its content type.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the form is no text, is larger than {MAX_BYTES} bytes, or did not come in time")]
pub(super) struct UnreadableForm;

/// The fields as the text of a query; none for another method or another kind of body.
pub(super) async fn read_form(
    method: &Method,
    headers: &HeaderMap,
    body: Body,
    place: Option<&RequestPlace>,
) -> Result<Option<String>, UnreadableForm> {
    if *method != Method::POST || !is_form(headers) {
        return Ok(None);
    }
    let bytes = read_small(body, MAX_BYTES, place).await.ok_or(UnreadableForm)?;
    String::from_utf8(bytes).map(Some).map_err(|_| UnreadableForm)
}

/// The decoded pairs of a form or a query, in order.
pub(super) fn form_pairs(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let uri = Uri::builder().path_and_query([b"/?", bytes].concat()).build().ok()?;
    Query::try_from_uri(&uri).ok().map(|Query(pairs)| pairs)
}

/// All values of a field, in order.
pub(super) fn values_of(bytes: &[u8], name: &str) -> impl Iterator<Item = String> {
    let pairs = form_pairs(bytes).unwrap_or_default();
    pairs.into_iter().filter(move |(known, _)| known == name).map(|(_, value)| value)
}

/// The first field of a form or a query that is there twice, with the values that it has.
pub(super) fn repeated_field(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    let pairs = form_pairs(bytes)?;
    let values = |name: &str| pairs.iter().filter(|(other, _)| other == name).map(|(_, value)| value.clone()).collect();
    let mut fields = pairs.iter().map(|(name, _)| (name.clone(), values(name)));
    fields.find(|(_, values): &(String, Vec<String>)| values.len() > 1)
}

/// The decoded fields of a form or a query, each at most once.
pub(super) fn form_fields(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let pairs = form_pairs(bytes)?;
    let count = pairs.len();
    let fields: BTreeMap<String, String> = pairs.into_iter().collect();
    (fields.len() == count).then_some(fields)
}
