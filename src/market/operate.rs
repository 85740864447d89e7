//! A request to `/scheduler` in one step: guard, consumption of the timestamp, role, parameters, operation.

use serde::{Deserialize, Serialize};

use crate::model::Now;

use super::account::Account;
use super::acl::Role;
use super::answer::Answer;
use super::budget_file::MAX_QUEUES;
use super::credits::Credits;
use super::error::{Denial, MarketError};
use super::fact::MarketFact;
use super::ledger::{LedgerAccount, Reason};
use super::query::{Operation, OperationKind, QueryError, Shape};
use super::queue_name::QueueName;
use super::replay::Consumer;
use super::signature::VerifiedUser;
use super::state::Market;

/// A request whose query has been read and whose signature has been checked by the edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServletRequest {
    /// Who signed; `None` when the signature is missing or not good.
    pub verified: Option<VerifiedUser>,
    /// What is asked.
    pub shape: Shape,
}

/// What a request has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operated {
    /// What changed, even when the answer is a refusal: a timestamp may have been consumed.
    pub facts: Vec<MarketFact>,
    /// The answer.
    pub answer: Result<Answer, MarketError>,
    /// Queues that came or went.
    pub changes: Vec<QueueChange>,
}

/// A queue came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueChange {
    /// It came.
    Opened(QueueName),
    /// It went.
    Closed(QueueName),
}

impl Market {
    /// Does what a request asks. `queue_busy` tells whether a queue has unfinished jobs.
    pub fn operate(&mut self, request: ServletRequest, now: Now, queue_busy: impl Fn(&QueueName) -> bool) -> Operated {
        let mut operated = Operated { facts: Vec::new(), answer: Ok(Answer::Frame), changes: Vec::new() };
        operated.answer = self
            .authorize(&request, now, &mut operated.facts)
            .and_then(|()| self.perform(&request, now, queue_busy, &mut operated.facts));
        let changed = |fact: &MarketFact| match fact {
            MarketFact::AccountRemoved { queue } => Some(QueueChange::Closed(queue.clone())),
            MarketFact::Account { queue, .. } if request.shape.kind == OperationKind::AddQueue => {
                Some(QueueChange::Opened(queue.clone()))
            }
            _ => None,
        };
        operated.changes = operated.facts.iter().filter_map(changed).collect();
        operated
    }

    /// Guard, then role. A request that passes the guard has used up its timestamp, whatever becomes of it.
    fn authorize(
        &mut self,
        request: &ServletRequest,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<(), MarketError> {
        let ServletRequest { verified, shape } = request;
        if shape.kind.is_open_to_all() {
            return Ok(());
        }
        let denied = |reason| MarketError::Denied { query: shape.query.clone(), reason };
        let signer = verified.as_ref().ok_or_else(|| denied(None))?;
        let because = |denial| denied(Some((denial, now.wall_ms)));
        let timestamp = shape.timestamp.as_deref().unwrap_or_default();
        let timestamp_ms =
            timestamp.parse().map_err(|_| because(Denial::BadTimestamp(timestamp.chars().take(32).collect())))?;
        let stamp = self
            .guard
            .accept(Consumer::Servlet, &signer.user, signer.key_id, timestamp_ms, now.wall_ms, &self.config)
            .map_err(|refusal| because(Denial::Replay(refusal)))?;
        // Of reads too: what was shown once must not be shown again to whoever has seen the request, not over a crash either.
        self.record(MarketFact::Stamp(stamp), facts);
        check_role(signer, shape).map_err(because)
    }

    fn perform(
        &mut self,
        request: &ServletRequest,
        now: Now,
        queue_busy: impl Fn(&QueueName) -> bool,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        match request.shape.operation()? {
            Operation::Nothing => Ok(Answer::Frame),
            Operation::Price => Ok(Answer::Price(self.price())),
            Operation::Time => Ok(Answer::Time { start_ms: self.guard.start_ms(), now_ms: now.wall_ms }),
            Operation::Info(queue) => {
                let own = request.verified.as_ref().map_or("", |signer| &signer.user);
                self.info(queue.as_ref().map_or(own, QueueName::as_str))
            }
            Operation::Infos => {
                let queues = self.accounts.iter().map(|(queue, account)| account.published_info(queue)).collect();
                Ok(Answer::Queues { price: self.price(), queues })
            }
            Operation::Statement(Some(queue)) => Ok(Answer::Statement(queue)),
            Operation::Statement(None) => {
                let own = request.verified.as_ref().map_or("", |signer| &signer.user);
                Ok(Answer::Statement(QueueName::new(own).map_err(QueryError::from)?))
            }
            Operation::Standings(None) if signed_by_admin(request) => Ok(Answer::Permitted(Operation::Standings(None))),
            Operation::Standings(None) => {
                let own = request.verified.as_ref().map_or("", |signer| &signer.user);
                self.on_existing(QueueName::new(own).map_err(QueryError::from)?, |own| Operation::Standings(Some(own)))
            }
            Operation::Standings(Some(queue)) => self.on_existing(queue, |queue| Operation::Standings(Some(queue))),
            Operation::Quote { queue, rate } => self.on_existing(queue, |queue| Operation::Quote { queue, rate }),
            // A queue that is gone has a history.
            history @ (Operation::PriceHistory | Operation::QueueHistory(_)) => Ok(Answer::Permitted(history)),
            Operation::Explain { job, .. } => {
                Ok(Answer::Permitted(Operation::Explain { job, sees_names: signed_by_admin(request) }))
            }
            Operation::SetSpending { queue, rate } => self.set_spending(queue, rate, facts),
            Operation::AddBudget { queue, amount } => self.add_budget(queue, amount, now, facts),
            Operation::AddQueue(queue) => self.add_queue(queue, facts),
            Operation::RemoveQueue(queue) if queue_busy(&queue) => {
                self.existing(&queue)?;
                Err(MarketError::QueueBusy(queue))
            }
            Operation::RemoveQueue(queue) => self.remove_queue(queue, now, facts),
        }
    }

    fn info(&self, queue: &str) -> Result<Answer, MarketError> {
        let (queue, account) =
            self.accounts.get_key_value(queue).ok_or_else(|| MarketError::UnknownQueue(queue.to_owned()))?;
        Ok(Answer::Queue(account.published_info(queue)))
    }

    fn existing(&self, queue: &QueueName) -> Result<&Account, MarketError> {
        self.accounts.get(queue).ok_or_else(|| MarketError::UnknownQueue(queue.to_string()))
    }

    fn on_existing(
        &self,
        queue: QueueName,
        operation: impl FnOnce(QueueName) -> Operation,
    ) -> Result<Answer, MarketError> {
        self.existing(&queue)?;
        Ok(Answer::Permitted(operation(queue)))
    }

    fn live_answer(&self, queue: &QueueName) -> Result<Answer, MarketError> {
        Ok(Answer::Queue(self.existing(queue)?.live_info(queue)))
    }

    fn set_spending(
        &mut self,
        queue: QueueName,
        rate: Credits,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        let balance = self.existing(&queue)?.balance();
        self.record(MarketFact::Account { queue: queue.clone(), balance, rate }, facts);
        self.live_answer(&queue)
    }

    fn add_budget(
        &mut self,
        queue: QueueName,
        amount: Credits,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        let account = self.existing(&queue)?;
        let (balance, rate, committed) = (account.balance(), account.bid(), account.committed());
        // Both are within 10^12 credits.
        let after = Credits::from_units(balance.units() + amount.units());
        let taken = Credits::from_units(-amount.units());
        if after < Credits::ZERO {
            return Err(MarketError::Overdrawn { queue, balance, amount: taken });
        }
        if after > Credits::MAX {
            return Err(MarketError::BalanceTooLarge { queue, balance, amount });
        }
        let own = LedgerAccount::Queue(queue.clone());
        if amount >= Credits::ZERO {
            self.record_movement(LedgerAccount::Issued, own, amount, Reason::TopUp, now, facts);
        } else if after < committed {
            return Err(MarketError::Committed { queue, balance, committed });
        } else {
            self.record_movement(own, LedgerAccount::Issued, taken, Reason::TopUp, now, facts);
        }
        self.record(MarketFact::Account { queue: queue.clone(), balance: after, rate }, facts);
        self.live_answer(&queue)
    }

    fn add_queue(&mut self, queue: QueueName, facts: &mut Vec<MarketFact>) -> Result<Answer, MarketError> {
        if self.accounts.contains_key(&queue) {
            return Err(MarketError::QueueExists(queue));
        }
        if self.accounts.len() >= MAX_QUEUES {
            return Err(MarketError::TooManyQueues(MAX_QUEUES));
        }
        let account = MarketFact::Account { queue: queue.clone(), balance: Credits::ZERO, rate: Credits::ZERO };
        self.record(account, facts);
        self.live_answer(&queue)
    }

    fn remove_queue(&mut self, queue: QueueName, now: Now, facts: &mut Vec<MarketFact>) -> Result<Answer, MarketError> {
        let rest = self.existing(&queue)?.balance();
        let own = LedgerAccount::Queue(queue.clone());
        self.record_movement(own, LedgerAccount::Issued, rest, Reason::Closing, now, facts);
        self.record(MarketFact::AccountRemoved { queue }, facts);
        Ok(Answer::Frame)
    }
}

fn signed_by_admin(request: &ServletRequest) -> bool {
    request.verified.as_ref().is_some_and(|signer| signer.role == Role::Admin)
}

/// Whether the signer may do this: administrators anything, others look at and set the rate of their own queue.
fn check_role(signer: &VerifiedUser, shape: &Shape) -> Result<(), Denial> {
    let (operation, user) = (shape.kind.parameter(), signer.user.clone());
    let own_queue = match shape.kind {
        _ if signer.role == Role::Admin => true,
        OperationKind::Info | OperationKind::Statement | OperationKind::Standings => {
            shape.target().is_none_or(|queue| queue == signer.user)
        }
        OperationKind::SetSpending | OperationKind::Quote | OperationKind::QueueHistory | OperationKind::Explain => {
            shape.target() == Some(&signer.user)
        }
        _ => return Err(Denial::NeedsAdmin { operation, user }),
    };
    if own_queue { Ok(()) } else { Err(Denial::NotOwner { operation, user }) }
}
