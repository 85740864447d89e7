//! A request to `/scheduler` in one step: guard, use of the timestamp, role, parameters, operation.

use serde::{Deserialize, Serialize};

use crate::market::money::{
    Account, Consumer, LedgerAccount, MAX_QUEUES, Market, MarketFact, Movement, QueueChange, Reason, Signature,
    SignedTextId,
};
use crate::model::{Credits, Now, QueueName};

use super::acl::Role;
use super::answer::{Answer, QueueInfo};
use super::error::{Denial, MarketError};
use super::move_money::Author;
use super::operation_kind::OperationKind;
use super::query::{Operation, ParsedQuery, QueryError};
use super::signature::VerifiedUser;

/// A request whose query was parsed and whose signature was verified by the web server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServletRequest {
    /// The signer; `None` if the signature is missing or not valid.
    pub verified: Option<VerifiedUser>,
    pub query: ParsedQuery,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandledRequest {
    /// The changes, even if the answer is a refusal: a timestamp may have been used.
    pub facts: Vec<MarketFact>,
    pub answer: Result<Answer, MarketError>,
    pub changes: Vec<QueueChange>,
}

impl Market {
    /// Authorizes and performs a request. `is_queue_busy`: whether a queue has unfinished jobs or applications.
    pub fn handle_request(
        &mut self,
        request: ServletRequest,
        now: Now,
        is_queue_busy: impl Fn(&QueueName) -> bool,
    ) -> HandledRequest {
        let mut handled = HandledRequest { facts: Vec::new(), answer: Ok(Answer::Frame), changes: Vec::new() };
        handled.answer = self
            .authorize(&request, now, &mut handled.facts)
            .and_then(|()| self.perform(&request, now, is_queue_busy, &mut handled.facts));
        let changed = |fact: &MarketFact| match fact {
            MarketFact::AccountRemoved { queue } => Some(QueueChange::Removed(queue.clone())),
            MarketFact::Account { queue, .. } if request.query.kind == OperationKind::AddQueue => {
                Some(QueueChange::Added(queue.clone()))
            }
            _ => None,
        };
        handled.changes = handled.facts.iter().filter_map(changed).collect();
        handled
    }

    /// Guard, then role. A request that passes the guard has used its timestamp, even if it is refused afterwards.
    fn authorize(
        &mut self,
        request: &ServletRequest,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<(), MarketError> {
        let ServletRequest { verified, query } = request;
        if query.kind.is_open_to_all() {
            return Ok(());
        }
        let denied = |reason| MarketError::Denied { query: query.raw.clone(), reason };
        let signer = verified.as_ref().ok_or_else(|| denied(None))?;
        let because = |denial| denied(Some((denial, now.wall_ms)));
        let timestamp = query.timestamp.as_deref().unwrap_or_default();
        let timestamp_ms =
            timestamp.parse().map_err(|_| because(Denial::BadTimestamp(timestamp.chars().take(32).collect())))?;
        // Several files of a job arrive within moments, beside other requests of their user.
        let consumer = if query.kind == OperationKind::Upload { Consumer::Upload } else { Consumer::Servlet };
        let text = SignedTextId::of(&query.raw);
        let signature = Signature { consumer, user: &signer.user, key_id: signer.key_id, timestamp_ms, text };
        // For reads too: a replayed request must not be answered again, not even after a crash.
        self.use_signature(&signature, now, facts).map_err(|refusal| because(Denial::Replay(refusal)))?;
        check_role(signer, query).map_err(because)
    }

    fn perform(
        &mut self,
        request: &ServletRequest,
        now: Now,
        is_queue_busy: impl Fn(&QueueName) -> bool,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        match request.query.operation()? {
            Operation::Nothing => Ok(Answer::Frame),
            Operation::Price => Ok(Answer::Price(self.price())),
            Operation::Time => Ok(Answer::Time { start_ms: self.start_ms(), now_ms: now.wall_ms }),
            Operation::Info(queue) => self.info(queue.as_ref().map_or(own_name(request), QueueName::as_str)),
            Operation::Infos => {
                let queues = self.accounts().iter().map(|(queue, account)| self.queue_info(queue, account)).collect();
                Ok(Answer::Queues { price: self.price(), queues })
            }
            Operation::Statement(Some(queue)) => Ok(Answer::Statement(queue)),
            Operation::Statement(None) => Ok(Answer::Statement(own_queue(request)?)),
            Operation::QueueStatus(None) if signed_by_admin(request) => {
                Ok(Answer::Permitted(Operation::QueueStatus(None)))
            }
            Operation::QueueStatus(None) => {
                self.on_existing(own_queue(request)?, |own| Operation::QueueStatus(Some(own)))
            }
            Operation::QueueStatus(Some(queue)) => self.on_existing(queue, |queue| Operation::QueueStatus(Some(queue))),
            Operation::Quote { queue, .. } if !self.is_ruling() => {
                self.existing(&queue)?;
                Err(MarketError::NotRuling)
            }
            Operation::Quote { queue, rate } => self.on_existing(queue, |queue| Operation::Quote { queue, rate }),
            Operation::Bid { queue, .. } | Operation::OrderQuote { queue, .. } if !self.is_ruling() => {
                self.existing(&queue)?;
                Err(MarketError::NotRuling)
            }
            Operation::OrderQuote { queue, max_rate } => {
                self.on_existing(queue, |queue| Operation::OrderQuote { queue, max_rate })
            }
            Operation::Bid { queue, order } => self.on_existing(queue, |queue| Operation::Bid { queue, order }),
            Operation::Unbid { queue, job } => self.on_existing(queue, |queue| Operation::Unbid { queue, job }),
            // A removed queue has a history too.
            history @ (Operation::PriceHistory | Operation::QueueHistory(_)) => Ok(Answer::Permitted(history)),
            Operation::Explain { job, .. } => {
                Ok(Answer::Permitted(Operation::Explain { job, sees_names: signed_by_admin(request) }))
            }
            of_job @ Operation::OfJob(_) => Ok(Answer::Permitted(of_job)),
            Operation::Read { call, by, .. } => {
                Ok(Answer::Permitted(Operation::Read { call, by, has_admin_role: signed_by_admin(request) }))
            }
            // The query was signed by this user.
            allowed @ (Operation::Drain { .. } | Operation::PauseQueue { .. }) => Ok(Answer::Permitted(allowed)),
            Operation::Tasks { by, .. }
                if self.is_ruling() && !signed_by_admin(request) && request.query.target() != Some(&by) =>
            {
                let denial = Denial::NotOwner { operation: request.query.kind.parameter(), user: by };
                Err(MarketError::Denied { query: request.query.raw.clone(), reason: Some((denial, now.wall_ms)) })
            }
            Operation::Tasks { job, by, .. } => {
                Ok(Answer::Permitted(Operation::Tasks { job, by, has_admin_role: signed_by_admin(request) }))
            }
            Operation::JobTimes { costs_of } => {
                let costs_of = costs_of.filter(|_| !signed_by_admin(request));
                Ok(Answer::Permitted(Operation::JobTimes { costs_of }))
            }
            allowed @ (Operation::Upload(_) | Operation::Session { .. }) => Ok(Answer::Permitted(allowed)),
            Operation::SetSpending { queue, rate } => self.set_spending(queue, rate, facts),
            Operation::AddBudget { queue, amount, note } => {
                self.add_budget(queue, amount, &Author { by: signer_of(request), note: &note }, now, facts)
            }
            Operation::Transfer { from, to, amount, note } => {
                self.transfer((from, to), amount, &Author { by: signer_of(request), note: &note }, now, facts)
            }
            Operation::Allowance { queue, terms } => {
                self.change_allowance(queue, terms, signer_of(request), now, facts)
            }
            Operation::Report(report) => self.permit_report(request.verified.as_ref(), report),
            Operation::AddQueue(queue) => self.add_queue(queue, facts),
            Operation::RemoveQueue(queue) if is_queue_busy(&queue) => {
                self.existing(&queue)?;
                Err(MarketError::QueueBusy(queue))
            }
            Operation::RemoveQueue(queue) if self.owes(&queue, now) => Err(MarketError::QueueOwes(queue)),
            Operation::RemoveQueue(queue) => self.remove_queue(queue, signer_of(request), now, facts),
        }
    }

    fn info(&self, queue: &str) -> Result<Answer, MarketError> {
        let (queue, account) =
            self.accounts().get_key_value(queue).ok_or_else(|| MarketError::UnknownQueue(queue.to_owned()))?;
        Ok(Answer::Queue(self.queue_info(queue, account)))
    }

    /// A queue as published at the last tick; its present balance where no ticks come.
    fn queue_info(&self, queue: &QueueName, account: &Account) -> QueueInfo {
        let info = QueueInfo::published(queue, account);
        if self.is_ruling() { info } else { QueueInfo { budget: account.balance(), ..info } }
    }

    fn on_existing(
        &self,
        queue: QueueName,
        operation: impl FnOnce(QueueName) -> Operation,
    ) -> Result<Answer, MarketError> {
        self.existing(&queue)?;
        Ok(Answer::Permitted(operation(queue)))
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

    fn add_queue(&mut self, queue: QueueName, facts: &mut Vec<MarketFact>) -> Result<Answer, MarketError> {
        if self.accounts().contains_key(&queue) {
            return Err(MarketError::QueueExists(queue));
        }
        if self.accounts().len() >= MAX_QUEUES {
            return Err(MarketError::TooManyQueues(MAX_QUEUES));
        }
        let account = MarketFact::Account { queue: queue.clone(), balance: Credits::ZERO, rate: Credits::ZERO };
        self.record(account, facts);
        self.live_answer(&queue)
    }

    fn remove_queue(
        &mut self,
        queue: QueueName,
        by: &str,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        let rest = self.existing(&queue)?.balance();
        let own = LedgerAccount::Queue(queue.clone());
        let (debit, credit, reason) = (own, LedgerAccount::Issued, Reason::Closing);
        self.record_movement(Movement { debit, credit, amount: rest, reason, by, note: "" }, now, facts);
        self.record(MarketFact::AccountRemoved { queue }, facts);
        Ok(Answer::Frame)
    }
}

fn signer_of(request: &ServletRequest) -> &str {
    request.verified.as_ref().map_or("", |signer| &signer.user)
}

/// The signer's name, which is that of its own queue; empty without a signature.
fn own_name(request: &ServletRequest) -> &str {
    request.verified.as_ref().map_or("", |signer| &signer.user)
}

fn own_queue(request: &ServletRequest) -> Result<QueueName, MarketError> {
    Ok(QueueName::new(own_name(request)).map_err(QueryError::from)?)
}

fn signed_by_admin(request: &ServletRequest) -> bool {
    request.verified.as_ref().is_some_and(|signer| signer.role == Role::Admin)
}

/// Whether the signer may do this: administrators everything, others read their own queue and set its rate.
fn check_role(signer: &VerifiedUser, query: &ParsedQuery) -> Result<(), Denial> {
    let (operation, user) = (query.kind.parameter(), signer.user.clone());
    let is_permitted = match query.kind {
        _ if signer.role == Role::Admin => true,
        // The lists of the job decide.
        OperationKind::OfJob(_) | OperationKind::Read => true,
        // Into one's own folder; the owner of the job's id is looked at beside the market.
        OperationKind::Upload => true,
        OperationKind::Info | OperationKind::Statement | OperationKind::QueueStatus => {
            query.target().is_none_or(|queue| queue == signer.user)
        }
        // Of others' rows nothing is shown.
        OperationKind::Report | OperationKind::Session => true,
        OperationKind::SetSpending
        | OperationKind::Quote
        | OperationKind::OrderQuote
        | OperationKind::Bid
        | OperationKind::Unbid
        | OperationKind::QueueHistory
        | OperationKind::Explain => query.target() == Some(&signer.user),
        // Where the market does not rule, the lists of the job decide.
        OperationKind::Tasks => true,
        // It shows more of the signer's own jobs.
        OperationKind::JobTimes => true,
        _ => return Err(Denial::NeedsAdmin { operation, user }),
    };
    if is_permitted { Ok(()) } else { Err(Denial::NotOwner { operation, user }) }
}
