//! Authorization of job submissions: checked before the job's splits are read, and final when the job is accepted.
//! Recovered jobs are not authorized again.

use crate::market::money::{Consumer, KeyId, Market, MarketFact};
use crate::model::Now;

use super::error::JobDenied;
use super::signature::{JobSignature, SignatureError};

// === impl Market: job submissions ===

impl Market {
    /// Authorizes `user` to submit to `queue`: the names must be equal (for administrators too), the signature valid
    /// and its timestamp fresh; checked in this order. The returned fact records that the signature was used.
    pub fn authorize_job(
        &mut self,
        user: &str,
        queue: &str,
        signature: &JobSignature,
        now: Now,
    ) -> Result<Vec<MarketFact>, JobDenied> {
        check_own_queue(user, queue)?;
        self.authorize_submitter(user, signature, now)
    }

    /// Authorizes `user` to submit to a queue of another scheduler: the signature is valid, its timestamp fresh. The
    /// returned fact records that the signature was used.
    pub fn authorize_submitter(
        &mut self,
        user: &str,
        signature: &JobSignature,
        now: Now,
    ) -> Result<Vec<MarketFact>, JobDenied> {
        let (key_id, timestamp_ms) = check_signer(user, signature)?;
        let stamp = self.guard.accept(Consumer::Job, user, key_id, timestamp_ms, now.wall_ms, &self.config)?;
        let mut facts = Vec::new();
        self.record(MarketFact::Stamp(stamp), &mut facts);
        Ok(facts)
    }

    /// Reports what [`Self::authorize_job`] would refuse now, without using the signature.
    pub fn check_job(&self, user: &str, queue: &str, signature: &JobSignature, now: Now) -> Result<(), JobDenied> {
        check_own_queue(user, queue)?;
        self.check_submitter(user, signature, now)
    }

    /// Reports what [`Self::authorize_submitter`] would refuse now, without using the signature.
    pub fn check_submitter(&self, user: &str, signature: &JobSignature, now: Now) -> Result<(), JobDenied> {
        let (key_id, timestamp_ms) = check_signer(user, signature)?;
        self.guard.check(Consumer::Job, user, key_id, timestamp_ms, now.wall_ms, &self.config)?;
        Ok(())
    }
}

/// A job goes to the queue of its user's name.
fn check_own_queue(user: &str, queue: &str) -> Result<(), JobDenied> {
    match user == queue {
        true => Ok(()),
        false => Err(JobDenied::QueueDiffers { queue: beginning_of(queue), user: beginning_of(user) }),
    }
}

/// The key and the timestamp of a signature by which `user` may submit.
fn check_signer(user: &str, signature: &JobSignature) -> Result<(KeyId, i64), JobDenied> {
    let refuse = |error| Err(JobDenied::Signature { user: beginning_of(user), error });
    match signature {
        JobSignature::Missing => Err(JobDenied::MissingSignature),
        JobSignature::MissingTimestamp => Err(JobDenied::MissingTimestamp),
        JobSignature::NotVerified(error) => refuse(*error),
        JobSignature::BadTimestamp(text) => Err(JobDenied::BadTimestamp(beginning_of(text))),
        JobSignature::Verified { user: signer, .. } if signer.user != user => refuse(SignatureError::Mismatch),
        JobSignature::Verified { user: signer, timestamp_ms } => Ok((signer.key_id, *timestamp_ms)),
    }
}

/// Largest number of characters of a submitter's text that a refusal repeats.
const SHOWN_CHARACTERS: usize = 64;

fn beginning_of(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}
