//! The market's word on a job submission. It is asked once, when a job comes in; never again for a recovered one.

use super::error::JobDenied;
use super::fact::MarketFact;
use super::replay::Consumer;
use super::signature::{JobSignature, SignatureError};
use super::state::Market;
use crate::engine::Now;

impl Market {
    /// Whether `user` may submit to `queue`: the names must be equal (for administrators too), the signature good and
    /// its timestamp fresh; asked in this order. The fact that comes back is the consumption of the signature.
    pub fn authorize_job(
        &mut self,
        user: &str,
        queue: &str,
        signature: &JobSignature,
        now: Now,
    ) -> Result<Vec<MarketFact>, JobDenied> {
        if user != queue {
            return Err(JobDenied::QueueDiffers { queue: queue.to_owned(), user: user.to_owned() });
        }
        let refuse = |error| Err(JobDenied::Signature { user: user.to_owned(), error });
        let (signer, timestamp_ms) = match signature {
            JobSignature::Missing => return Err(JobDenied::MissingSignature),
            JobSignature::MissingTimestamp => return Err(JobDenied::MissingTimestamp),
            JobSignature::NotVerified(error) => return refuse(*error),
            JobSignature::BadTimestamp(text) => return Err(JobDenied::BadTimestamp(text.clone())),
            JobSignature::Verified { user: signer, .. } if signer.user != user => {
                return refuse(SignatureError::Mismatch);
            }
            JobSignature::Verified { user: signer, timestamp_ms } => (signer, *timestamp_ms),
        };
        let stamp = self.guard.accept(Consumer::Job, user, signer.key_id, timestamp_ms, now.wall_ms, &self.config)?;
        let mut facts = Vec::new();
        self.record(MarketFact::Stamp(stamp), &mut facts);
        Ok(facts)
    }
}
