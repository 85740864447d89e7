//! Response ids: which call of an application is new, which is repeated, and which comes out of order.

use std::sync::Arc;

use crate::api::applications::ApplicationState;

use super::application::Application;
use super::refusal::ApplicationRefusal;

/// What becomes of a call by its attempt and response id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallOrder {
    /// It is new: it is taken in.
    New,
    /// It was taken in and is not answered yet: it waits in the place of the earlier request.
    Again,
    /// It was answered: the same answer again.
    Answered(Arc<[u8]>),
}

impl Application {
    /// Judges a call by its attempt, response id and body.
    pub(super) fn order_of_call(
        &self,
        attempt: u32,
        response_id: u64,
        digest: &[u8; 32],
    ) -> Result<CallOrder, ApplicationRefusal> {
        self.check_attempt(attempt)?;
        let last = self.standing.response_id;
        if response_id == last {
            return match &self.standing.taken_in {
                None => Ok(CallOrder::New),
                Some(taken_in) if taken_in.digest == *digest => Ok(CallOrder::Again),
                Some(_) => {
                    let text = format!("the call with response-id {last} was taken in with another body");
                    Err(ApplicationRefusal::Resync(text))
                }
            };
        }
        match &self.last_answer {
            Some(answer) if response_id.checked_add(1) == Some(last) => Ok(CallOrder::Answered(Arc::clone(answer))),
            _ => Err(ApplicationRefusal::Resync(format!("the last response-id is {last}, not {response_id}"))),
        }
    }

    /// Refuses calls of an attempt that does not count.
    pub(super) fn check_attempt(&self, attempt: u32) -> Result<(), ApplicationRefusal> {
        let (application, current) = (self.id(), self.standing.attempt);
        if self.standing.state == ApplicationState::Accepted {
            return Err(ApplicationRefusal::Resync(format!("no program has registered for {application}")));
        }
        if attempt < current {
            return Err(ApplicationRefusal::Superseded { application, attempt, current });
        }
        if attempt > current {
            let text = format!("{application} has had {current} attempts, not {attempt}");
            return Err(ApplicationRefusal::Resync(text));
        }
        Ok(())
    }
}
