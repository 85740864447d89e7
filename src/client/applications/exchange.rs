//! How a call is sent: signed or in a user's name, and again where its answer is lost.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use crate::client::http_request::{BytesAnswer, HttpError, send_json};
use crate::client::market::{Signer, used_timestamp_in};

use super::call::ApplicationCall;
use super::error::{ApplicationClientError, Problem};

/// Signatures for one call: other programs of the user may use its timestamps, many where a script starts many.
const MOST_SIGNATURES: usize = 50;
/// How often a call is sent again.
const MOST_REPEATS: usize = 60;
/// Pause before a call is sent again.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a server that starts is asked, and the pause between: ten seconds in all, as by the Python package.
const START_REPEATS: usize = 50;
const START_PAUSE: Duration = Duration::from_millis(200);

/// A client of one server for one user.
#[derive(Debug)]
pub struct ApplicationClient {
    server: String,
    /// How the server was found; ends the text of an error where it does not answer.
    origin: String,
    /// Who is believed where the server knows no keys.
    user: String,
    signer: Option<Signer>,
    clock: SigningClock,
    /// Whether the server has refused the signer's key and has believed the user's name.
    is_believed: AtomicBool,
    /// Whether the server has answered.
    has_answered: AtomicBool,
    /// How often a server that has never answered is asked again.
    start_repeats: usize,
    pub(super) pause: Duration,
}

impl ApplicationClient {
    /// A client of `server`, `host:port`, that signs if there is a key. `wall_ms` reads the clock, epoch ms.
    pub fn new(server: String, user: String, signer: Option<Signer>, wall_ms: fn() -> i64) -> Self {
        Self {
            server,
            origin: String::new(),
            user,
            signer,
            clock: SigningClock::new(wall_ms),
            is_believed: AtomicBool::new(false),
            has_answered: AtomicBool::new(false),
            start_repeats: 0,
            pause: PAUSE,
        }
    }

    /// With a text on how the server was found, which ends that of an error where it does not answer.
    #[must_use]
    pub(crate) fn found(self, origin: impl Into<String>) -> Self {
        Self { origin: origin.into(), ..self }
    }

    /// The same, with some patience for a server that was started just now.
    pub(crate) fn awaiting_start(self) -> Self {
        Self { start_repeats: START_REPEATS, ..self }
    }

    /// Without pauses.
    #[cfg(test)]
    pub(crate) fn impatient(self) -> Self {
        Self { pause: Duration::ZERO, ..self }
    }

    /// The server, `host:port`.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Sends a call, again if its answer is lost, and reads the answer.
    pub(super) async fn ask<T: DeserializeOwned>(&self, call: &ApplicationCall) -> Result<T, ApplicationClientError> {
        let answer = self.send(call).await?;
        self.read(&answer.body)
    }

    pub(super) fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, ApplicationClientError> {
        serde_json::from_slice(body).map_err(|error| ApplicationClientError::InvalidAnswer {
            server: self.server.clone(),
            reason: error.to_string(),
        })
    }

    /// Sends a call, again if its answer is lost. A server that has never answered must be there at once, unless its start is awaited.
    pub(super) async fn send(&self, call: &ApplicationCall) -> Result<BytesAnswer, ApplicationClientError> {
        let mut repeats = 0;
        loop {
            let error = match self.send_once(call).await {
                Err(error) if error.is_passing() && repeats < MOST_REPEATS => error,
                answer => return answer,
            };
            let is_absent = matches!(error, ApplicationClientError::Unreachable { is_refused: true, .. });
            let may_start = is_absent && !self.has_answered.load(Ordering::Relaxed);
            if may_start && repeats >= self.start_repeats {
                return Err(error);
            }
            repeats += 1;
            sleep(if may_start { self.pause.min(START_PAUSE) } else { self.pause }).await;
        }
    }

    /// Sends a call once, but again under another timestamp if only this was refused.
    pub(super) async fn send_once(&self, call: &ApplicationCall) -> Result<BytesAnswer, ApplicationClientError> {
        let Some(signer) = self.signer.as_ref().filter(|_| !self.is_believed.load(Ordering::Relaxed)) else {
            return self.checked(self.exchange(call, None).await?);
        };
        let mut signatures = 1;
        let refusal = loop {
            let answer = self.exchange(call, Some((signer, self.clock.stamp_ms()))).await?;
            if answer.status != StatusCode::UNAUTHORIZED {
                return self.checked(answer);
            }
            let problem = Problem::of(answer.status, &answer.body);
            if signatures == MOST_SIGNATURES || !self.clock.correct(&problem) {
                break problem;
            }
            signatures += 1;
        };
        if refusal.name == "signature-refused" {
            // A server without keys believes names, and only those.
            let believed = self.exchange(call, None).await?;
            if believed.status != StatusCode::UNAUTHORIZED {
                self.is_believed.store(true, Ordering::Relaxed);
                return self.checked(believed);
            }
        }
        Err(ApplicationClientError::Denied(refusal))
    }

    async fn exchange(
        &self,
        call: &ApplicationCall,
        signature: Option<(&Signer, i64)>,
    ) -> Result<BytesAnswer, ApplicationClientError> {
        let addressed = match signature {
            Some((signer, timestamp_ms)) => call.signed(signer, timestamp_ms),
            None => call.named(&self.user),
        };
        let (authorization, body) = (addressed.authorization.as_deref(), call.body.as_deref());
        let answer = send_json(&self.server, &call.method, &addressed.target, authorization, body).await;
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    fn checked(&self, answer: BytesAnswer) -> Result<BytesAnswer, ApplicationClientError> {
        let status = answer.status;
        let problem = || Problem::of(status, &answer.body);
        match status {
            status if status.is_success() || status.is_redirection() => Ok(answer),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(ApplicationClientError::Denied(problem())),
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                Err(ApplicationClientError::Unavailable { server: self.server.clone(), problem: problem() })
            }
            status if status.is_server_error() => Err(ApplicationClientError::InvalidAnswer {
                server: self.server.clone(),
                reason: problem().to_string(),
            }),
            _ => match problem() {
                problem
                    if status == StatusCode::NOT_FOUND && ["", "no-such-address"].contains(&problem.name.as_str()) =>
                {
                    Err(ApplicationClientError::NoApplications { server: self.server.clone() })
                }
                problem => Err(ApplicationClientError::Refused(problem)),
            },
        }
    }

    fn unreachable(&self, error: &HttpError) -> ApplicationClientError {
        ApplicationClientError::Unreachable {
            server: self.server.clone(),
            reason: format!("{error}{}", self.origin),
            is_refused: matches!(error, HttpError::Io(_) | HttpError::Request(_)),
        }
    }
}

/// Longest time for which a signature may be good in advance, ms.
const MOST_AHEAD_MS: i64 = 300_000;

#[derive(Debug)]
pub(super) struct SigningClock {
    /// Reads this machine's clock, epoch ms.
    wall_ms: fn() -> i64,
    /// The server's clock minus this machine's, ms.
    offset_ms: AtomicI64,
    /// The last timestamp that was signed, or that the server has accepted of this user, epoch ms.
    last_ms: AtomicI64,
}

impl SigningClock {
    pub(super) fn new(wall_ms: fn() -> i64) -> Self {
        Self { wall_ms, offset_ms: AtomicI64::new(0), last_ms: AtomicI64::new(0) }
    }

    /// A timestamp after all before, epoch ms.
    pub(super) fn stamp_ms(&self) -> i64 {
        let now_ms = (self.wall_ms)().saturating_add(self.offset_ms.load(Ordering::Relaxed));
        let stamp_ms = now_ms.max(self.last_ms.load(Ordering::Relaxed).saturating_add(1));
        self.last_ms.store(stamp_ms, Ordering::Relaxed);
        stamp_ms
    }

    /// Learns from the refusal of a timestamp; `false` if another timestamp will not do either.
    pub(super) fn correct(&self, problem: &Problem) -> bool {
        let Some(server_ms) = problem.server_time_ms else { return false };
        // Another program of the same user may have sent the same.
        let accepted_ms = used_timestamp_in(&problem.detail);
        if accepted_ms.is_some_and(|accepted_ms| accepted_ms.saturating_sub(server_ms) >= MOST_AHEAD_MS) {
            return false;
        }
        self.offset_ms.store(server_ms.saturating_sub((self.wall_ms)()), Ordering::Relaxed);
        self.last_ms.store(accepted_ms.unwrap_or(0), Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(detail: &str, server_ms: i64) -> Problem {
        Problem { detail: detail.to_owned(), server_time_ms: Some(server_ms), ..Problem::default() }
    }

    #[test]
    fn timestamps_rise_and_follow_the_server() {
        let clock = SigningClock::new(|| 9_000_000);
        assert_eq!([clock.stamp_ms(), clock.stamp_ms()], [9_000_000, 9_000_001]);
        assert!(clock.correct(&refusal("timestamp 9000001 is more than 3 ms from the server's time 5", 5)));
        assert_eq!([clock.stamp_ms(), clock.stamp_ms()], [5, 6]);
        let taken = "the signature of timestamp 90 was used before: sign with a later timestamp";
        assert!(clock.correct(&refusal(taken, 8)));
        assert_eq!(clock.stamp_ms(), 91);
    }

    #[test]
    fn nothing_is_signed_for_another_day() {
        let clock = SigningClock::new(|| 7);
        let ahead = "used signatures up to timestamp 300007, ahead of the server's time 7, are no longer kept";
        assert!(!clock.correct(&refusal(ahead, 7)));
        assert!(!clock.correct(&Problem::default()));
    }
}
