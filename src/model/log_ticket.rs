//! Tickets for the logs of an attempt or a container: the JobTracker gives them to who may see the job or application, and the
//! worker checks them.
//!
//! Both have the job's token, or the key of the application. The key of tickets is derived from it, because it is kept longer than the token: as long as
//! there are logs.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::application_id::ContainerId;
use super::id::AttemptId;
use super::text::hex;

/// How long a ticket is valid, ms.
pub(crate) const LOG_TICKET_MS: i64 = 300_000;

/// What the token of a job signs to become the key of its tickets.
const PURPOSE: &[u8] = b"jobtracker: key of log tickets";
const KEY_BYTES: usize = 32;

/// The key of the tickets of one job. It does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct LogKey([u8; KEY_BYTES]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LogTicketError {
    /// It was made for another attempt, container or time, or by another key.
    #[error("the ticket is not one of the JobTracker for these logs")]
    Wrong,
    #[error("the ticket was valid until {expires_ms}, and it is {now_ms}, both epoch ms")]
    Expired {
        /// The end of its time, epoch ms.
        expires_ms: i64,
        /// Now, epoch ms.
        now_ms: i64,
    },
}

impl LogKey {
    /// The key of the job whose token has this password.
    #[must_use]
    pub fn of_token(password: &[u8]) -> Self {
        Self(mac(password, PURPOSE))
    }

    /// A key that was kept; none if these bytes are not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes to keep. Secret.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A ticket for the logs of an attempt until a time, epoch ms: 64 hexadecimal digits.
    #[must_use]
    pub fn ticket(&self, attempt: AttemptId, expires_ms: i64) -> String {
        self.ticket_of(&attempt, expires_ms)
    }

    /// A ticket for the logs of a container until a time, epoch ms: 64 hexadecimal digits.
    #[must_use]
    pub fn container_ticket(&self, container: ContainerId, expires_ms: i64) -> String {
        self.ticket_of(&container, expires_ms)
    }

    fn ticket_of(&self, whose: &dyn fmt::Display, expires_ms: i64) -> String {
        hex(&mac(&self.0, format!("{whose}\n{expires_ms}").as_bytes()))
    }

    /// The key that these hexadecimal digits are; none if they are none.
    #[must_use]
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let pairs = digits.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
        let bytes: Vec<u8> = pairs.collect::<Option<_>>()?;
        Self::from_bytes(&bytes).filter(|_| digits.len() == 2 * KEY_BYTES)
    }

    /// The key in hexadecimal digits, to send it to a worker. Secret.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    pub(crate) fn check(
        &self,
        attempt: AttemptId,
        expires_ms: i64,
        ticket: &str,
        now_ms: i64,
    ) -> Result<(), LogTicketError> {
        check(&self.ticket(attempt, expires_ms), expires_ms, ticket, now_ms)
    }

    pub(crate) fn check_container(
        &self,
        container: ContainerId,
        expires_ms: i64,
        ticket: &str,
        now_ms: i64,
    ) -> Result<(), LogTicketError> {
        check(&self.container_ticket(container, expires_ms), expires_ms, ticket, now_ms)
    }
}

fn check(right: &str, expires_ms: i64, ticket: &str, now_ms: i64) -> Result<(), LogTicketError> {
    if !bool::from(right.as_bytes().ct_eq(ticket.as_bytes())) {
        return Err(LogTicketError::Wrong);
    }
    if now_ms > expires_ms {
        return Err(LogTicketError::Expired { expires_ms, now_ms });
    }
    Ok(())
}

impl fmt::Debug for LogKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LogKey(…)")
    }
}

fn mac(key: &[u8], message: &[u8]) -> [u8; KEY_BYTES] {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; KEY_BYTES] };
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32) -> AttemptId {
        format!("attempt_202611211027_0016_m_000000_{number}").parse().unwrap()
    }

    #[test]
    fn a_ticket_is_for_one_attempt_of_one_job_until_its_time() {
        let key = LogKey::of_token(b"password");
        let ticket = key.ticket(attempt(0), 1_000);
        assert_eq!(ticket.len(), 64);
        assert_eq!(key.check(attempt(0), 1_000, &ticket, 1_000), Ok(()));
        let expired = LogTicketError::Expired { expires_ms: 1_000, now_ms: 1_001 };
        assert_eq!(key.check(attempt(0), 1_000, &ticket, 1_001), Err(expired));
        assert_eq!(key.check(attempt(1), 1_000, &ticket, 0), Err(LogTicketError::Wrong));
        assert_eq!(key.check(attempt(0), 2_000, &ticket, 1_001), Err(LogTicketError::Wrong), "a longer time");
        for wrong in ["", &ticket[1..], &ticket.to_uppercase()] {
            assert_eq!(key.check(attempt(0), 1_000, wrong, 0), Err(LogTicketError::Wrong), "{wrong}");
        }
        let other = LogKey::of_token(b"passwords");
        assert_eq!(other.check(attempt(0), 1_000, &ticket, 0), Err(LogTicketError::Wrong));
    }

    #[test]
    fn a_key_is_kept_as_its_bytes_and_never_printed() {
        let key = LogKey::of_token(b"password");
        assert_eq!(LogKey::from_bytes(key.as_bytes()), Some(key.clone()));
        assert_eq!(LogKey::from_bytes(b"short"), None);
        assert_eq!(format!("{key:?}"), "LogKey(…)");
        assert_eq!(LogKey::from_hex(&key.to_hex()), Some(key.clone()));
        for bad in ["", &key.to_hex()[1..], &"g".repeat(64), &"0".repeat(66), &"é".repeat(32)] {
            assert_eq!(LogKey::from_hex(bad), None, "{bad}");
        }
    }
}
