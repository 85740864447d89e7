//! Operations of administrators that move money: top-ups, transfers, allowances.

use crate::market::money::{AllowanceTerms, LedgerAccount, Market, MarketFact, Movement, Reason};
use crate::model::{Credits, Now, QueueName};

use super::answer::{Answer, QueueInfo};
use super::error::MarketError;

/// Who moves money, and what they say about it.
pub(super) struct Author<'a> {
    pub(super) by: &'a str,
    pub(super) note: &'a str,
}

/// The balance of a queue after money was taken out or put in, with its bid.
struct After {
    balance: Credits,
    rate: Credits,
}

impl Market {
    pub(super) fn add_budget(
        &mut self,
        queue: QueueName,
        amount: Credits,
        author: &Author<'_>,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        self.move_from_outside(&queue, amount, Reason::TopUp, author, now, facts)?;
        self.live_answer(&queue)
    }

    /// Adds money to a queue or, below 0, takes it out.
    pub(super) fn move_from_outside(
        &mut self,
        queue: &QueueName,
        amount: Credits,
        reason: Reason,
        author: &Author<'_>,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<(), MarketError> {
        let own = LedgerAccount::Queue(queue.clone());
        let (debit, credit, moved, after) = match amount >= Credits::ZERO {
            true => (LedgerAccount::Issued, own, amount, self.with(queue, amount)?),
            false => {
                let taken = Credits::from_units(-amount.units());
                (own, LedgerAccount::Issued, taken, self.without(queue, taken)?)
            }
        };
        let Author { by, note } = *author;
        self.record_movement(Movement { debit, credit, amount: moved, reason, by, note }, now, facts);
        self.record(account(queue, after), facts);
        Ok(())
    }

    /// Moves credits from one queue to another. Takes no more than a negative `addBudget` would.
    pub(super) fn transfer(
        &mut self,
        (from, to): (QueueName, QueueName),
        amount: Credits,
        author: &Author<'_>,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        self.existing(&to)?;
        let (left, got) = (self.without(&from, amount)?, self.with(&to, amount)?);
        let (debit, credit) = (LedgerAccount::Queue(from.clone()), LedgerAccount::Queue(to.clone()));
        let Author { by, note } = *author;
        self.record_movement(Movement { debit, credit, amount, reason: Reason::Transfer, by, note }, now, facts);
        self.record(account(&from, left), facts);
        self.record(account(&to, got), facts);
        let mut queues = Vec::new();
        for queue in [&from, &to] {
            queues.push(QueueInfo::live(queue, self.existing(queue)?));
        }
        Ok(Answer::Queues { price: self.price(), queues })
    }

    pub(super) fn change_allowance(
        &mut self,
        queue: QueueName,
        terms: Option<AllowanceTerms>,
        by: &str,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<Answer, MarketError> {
        self.existing(&queue)?;
        match terms {
            Some(terms) => self.set_allowance(queue.clone(), terms, by, now, facts),
            None if self.allowance(queue.as_str()).is_none() => return Err(MarketError::NoAllowance(queue)),
            None => self.record(MarketFact::AllowanceEnded { queue: queue.clone() }, facts),
        }
        self.live_answer(&queue)
    }

    fn with(&self, queue: &QueueName, amount: Credits) -> Result<After, MarketError> {
        let account = self.existing(queue)?;
        let (balance, rate) = (account.balance(), account.bid());
        // Both are within 10^12 credits.
        let after = Credits::from_units(balance.units() + amount.units());
        match after > Credits::MAX {
            true => Err(MarketError::BalanceTooLarge { queue: queue.clone(), balance, amount }),
            false => Ok(After { balance: after, rate }),
        }
    }

    fn without(&self, queue: &QueueName, amount: Credits) -> Result<After, MarketError> {
        let account = self.existing(queue)?;
        let (balance, rate, committed) = (account.balance(), account.bid(), self.committed(queue.as_str()));
        let after = Credits::from_units(balance.units() - amount.units());
        if after < Credits::ZERO {
            return Err(MarketError::Overdrawn { queue: queue.clone(), balance, amount });
        }
        match after < committed {
            true => Err(MarketError::Committed { queue: queue.clone(), balance, committed }),
            false => Ok(After { balance: after, rate }),
        }
    }
}

fn account(queue: &QueueName, After { balance, rate }: After) -> MarketFact {
    MarketFact::Account { queue: queue.clone(), balance, rate }
}
