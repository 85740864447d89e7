//! Authorization of job submissions: checked before the job's splits are read, and final when the job is accepted.
//! Recovered jobs are not authorized again.

use crate::market::money::{Consumer, Market, MarketFact, Signature, SignedTextId};
use crate::model::{Now, QueueName, excerpt};

use super::error::JobDenied;
use super::signature::{JobSignature, SignatureError};

impl Market {
    /// Authorizes `user` to submit to `queue`: the user must be known, the names equal (for administrators too), the signature
    /// valid and its timestamp fresh; checked in this order. The returned fact records that the signature was used.
    pub(crate) fn authorize_job(
        &mut self,
        user: &str,
        queue: &str,
        signature: &JobSignature,
        now: Now,
    ) -> Result<Vec<MarketFact>, JobDenied> {
        check_known(user, signature)?;
        self.check_own_queue(user, queue)?;
        self.authorize_submitter(user, signature, now)
    }

    /// Authorizes `user` to submit to a queue of another scheduler: the signature is valid, its timestamp fresh. The
    /// returned fact records that the signature was used.
    pub(crate) fn authorize_submitter(
        &mut self,
        user: &str,
        signature: &JobSignature,
        now: Now,
    ) -> Result<Vec<MarketFact>, JobDenied> {
        let signature = check_signer(user, signature)?;
        let mut facts = Vec::new();
        self.use_signature(&signature, now, &mut facts)?;
        Ok(facts)
    }

    /// Reports what [`Self::authorize_job`] would refuse now, without using the signature.
    pub(crate) fn check_job(
        &self,
        user: &str,
        queue: &str,
        signature: &JobSignature,
        now: Now,
    ) -> Result<(), JobDenied> {
        check_known(user, signature)?;
        self.check_own_queue(user, queue)?;
        self.check_submitter(user, signature, now)
    }

    /// Reports what [`Self::authorize_submitter`] would refuse now, without using the signature.
    pub(crate) fn check_submitter(&self, user: &str, signature: &JobSignature, now: Now) -> Result<(), JobDenied> {
        self.check_signature(&check_signer(user, signature)?, now)?;
        Ok(())
    }

    /// A job goes to the queue of its user's name.
    fn check_own_queue(&self, user: &str, queue: &str) -> Result<(), JobDenied> {
        if user == queue {
            return Ok(());
        }
        let (queue, is_missing) = (excerpt(queue), !self.accounts().contains_key(user));
        match QueueName::new(user).ok().filter(|_| is_missing) {
            Some(_) => Err(JobDenied::NoQueue { queue, user: user.to_owned() }),
            None => Err(JobDenied::QueueDiffers { queue, user: excerpt(user) }),
        }
    }
}

/// An unknown user is refused as that, whatever else is wrong.
fn check_known(user: &str, signature: &JobSignature) -> Result<(), JobDenied> {
    match signature {
        JobSignature::NotVerified(SignatureError::UnknownUser) => Err(JobDenied::UnknownUser(excerpt(user))),
        _ => Ok(()),
    }
}

fn check_signer<'a>(user: &'a str, signature: &JobSignature) -> Result<Signature<'a>, JobDenied> {
    check_known(user, signature)?;
    let refuse = |error| Err(JobDenied::Signature { user: excerpt(user), error });
    match signature {
        JobSignature::Missing => Err(JobDenied::MissingSignature),
        JobSignature::MissingTimestamp => Err(JobDenied::MissingTimestamp),
        JobSignature::NotVerified(error) => refuse(*error),
        JobSignature::BadTimestamp(text) => Err(JobDenied::BadTimestamp(excerpt(text))),
        JobSignature::Verified { user: signer, .. } if signer.user != user => refuse(SignatureError::Mismatch),
        JobSignature::Verified { user: signer, timestamp_ms } => {
            let (consumer, text) = (Consumer::Job, SignedTextId::default());
            Ok(Signature { consumer, user, key_id: signer.key_id, timestamp_ms: *timestamp_ms, text })
        }
    }
}
