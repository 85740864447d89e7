//! Hands files of a job over, before it is submitted.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::StatusCode;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::sleep;

use crate::api::UploadRules;
use crate::client::file_digest::{FileDigest, open_file};
use crate::client::http_request::{HttpAnswer, post_body};
use crate::client::signed_query::{SignedQuery, escaped};
use crate::model::JobId;

use super::{MarketClient, MarketClientError, Signer, TriedTimes};

const UPLOAD: &str = "/scheduler/upload";
/// Read at once, bytes.
const PIECE_BYTES: usize = 128 << 10;
/// Maximum number of retries, a second apart, if the server does not answer or is busy.
const MOST_RETRIES: usize = 60;

#[derive(Clone, Copy, Debug)]
pub(crate) struct UploadedFile<'a> {
    pub(crate) job: JobId,
    pub(crate) name: &'a str,
    /// Where it lies.
    pub(crate) path: &'a Path,
}

/// The content of a file, as it was when its digest was made.
struct UploadBody {
    file: File,
    left_bytes: u64,
}

impl MarketClient {
    /// How the server takes files of jobs.
    pub(crate) async fn upload_rules(&self) -> Result<UploadRules, MarketClientError> {
        self.read_json(&self.body_or_error(self.get(UPLOAD, None).await?)?)
    }

    /// Hands a file over, in the name of `user`; signed, if there is a signer and a market. Repeated while the server is busy or does not
    /// answer: a file that comes again replaces the first.
    pub(crate) async fn upload(
        &self,
        file: UploadedFile<'_>,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), MarketClientError> {
        let UploadedFile { job, name, path } = file;
        let unreadable =
            |error: io::Error| MarketClientError::Refused(format!("cannot read {}: {error}", path.display()));
        let FileDigest { sha256: digest, bytes, .. } = FileDigest::of(path).map_err(unreadable)?;
        let query = format!("job={job}&name={}&sha256={digest}", escaped(name));
        let mut retries = 0;
        loop {
            let body = || open_file(path).map(|file| UploadBody { file, left_bytes: bytes }).map_err(unreadable);
            let sent = self.send_file(&query, user, signer, &body).await;
            let failed = match sent {
                Ok(answer) if answer.status.is_success() => return Ok(()),
                // A full disk is not going to be empty in a minute.
                Ok(full @ HttpAnswer { status: StatusCode::INSUFFICIENT_STORAGE, .. }) => {
                    let error = self.body_or_error(HttpAnswer { status: StatusCode::BAD_REQUEST, ..full });
                    return error.map(drop);
                }
                Ok(answer) => {
                    let is_denied = matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                    match self.body_or_error(answer) {
                        Err(MarketClientError::Refused(reason)) if is_denied => {
                            MarketClientError::Denied { reason: Some(reason) }
                        }
                        Err(error) => error,
                        Ok(_) => return Ok(()),
                    }
                }
                Err(error) => error,
            };
            if retries == MOST_RETRIES || !failed.is_passing() {
                return Err(failed);
            }
            retries += 1;
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn send_file(
        &self,
        query: &str,
        user: &str,
        signer: Option<&Signer>,
        body: &impl Fn() -> Result<UploadBody, MarketClientError>,
    ) -> Result<HttpAnswer, MarketClientError> {
        let time = match signer {
            Some(signer) => match self.request("time").await {
                Ok(answer) => answer.time_ms.map(|time_ms| (signer, time_ms)),
                // No market, so names are believed.
                Err(MarketClientError::Refused(_)) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let post = async |path: String, authorization: Option<&str>| {
            post_body(&self.server, &path, authorization, body()?).await.map_err(|error| self.unanswered(error))
        };
        let Some((signer, time_ms)) = time else {
            return post(format!("{UPLOAD}?{query}&user.name={}", escaped(user)), None).await;
        };
        let mut times = TriedTimes::from(time_ms);
        loop {
            let signed = SignedQuery::new(query, &signer.user, times.next_ms, &signer.key)?;
            let answer = post(format!("{UPLOAD}?{}", signed.query), Some(&signed.authorization)).await?;
            if !times.has_later(&answer) {
                return Ok(answer);
            }
        }
    }
}

impl Body for UploadBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left_bytes == 0 {
            return Poll::Ready(None);
        }
        let bytes = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let mut piece = vec![0; bytes];
        let read = self.file.read_exact(&mut piece).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("the file became shorter while it was sent"),
            _ => error,
        });
        Poll::Ready(Some(read.map(|()| {
            self.left_bytes -= bytes as u64;
            Frame::data(piece.into())
        })))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}
