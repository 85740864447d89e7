//! Operations of administrators that move money: top-ups, transfers, allowances.

use crate::market::money::{
    Account, AllowanceTerms, LedgerAccount, MOST_NOTE_CHARACTERS, Market, MarketFact, Movement, Reason, TakenTopUp,
    TopUp,
};
use crate::model::{Credits, Now, QueueName};

use super::answer::{Answer, QueueInfo};
use super::error::MarketError;

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

    pub(super) fn existing(&self, queue: &QueueName) -> Result<&Account, MarketError> {
        self.accounts().get(queue).ok_or_else(|| MarketError::UnknownQueue(queue.to_string()))
    }

    pub(super) fn live_answer(&self, queue: &QueueName) -> Result<Answer, MarketError> {
        Ok(Answer::Queue(QueueInfo::live(queue, self.existing(queue)?)))
    }
}

fn account(queue: &QueueName, After { balance, rate }: After) -> MarketFact {
    MarketFact::Account { queue: queue.clone(), balance, rate }
}

/// Before the name of who made a top-up, since that is no user of the market.
pub(crate) const FROM_SQL: &str = "sql:";
const MOST_REFERENCE_BYTES: usize = 100;
/// The longest name of a role in a database.
const MOST_AUTHOR_BYTES: usize = 63;

impl Market {
    /// Takes over a top-up as an adjustment. One that was taken over before is answered as it was then.
    ///
    /// # Errors
    /// The reference was used for another one, or refused before; no such queue; an amount that is 0, too large, or more than the queue
    /// has; texts that the ledger does not hold.
    pub fn take_top_up(
        &mut self,
        top_up: &TopUp,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<TakenTopUp, MarketError> {
        let TopUp { reference, queue, amount, made_by, note } = top_up;
        if let Some(taken) = self.taken_top_up(reference) {
            if taken.is_refused() {
                return Err(MarketError::ReferenceRefused(reference.clone()));
            }
            return match taken.queue.as_str() == queue && taken.amount == *amount {
                true => Ok(taken.clone()),
                false => Err(MarketError::ReferenceUsed(Box::new(taken.clone()))),
            };
        }
        let note = if note.is_empty() { reference.clone() } else { format!("{reference}: {note}") };
        let by = format!("{FROM_SQL}{made_by}");
        if !is_reference(reference) {
            return Err(MarketError::BadReference);
        }
        if [made_by, &note].iter().any(|text| text.chars().any(char::is_control))
            || made_by.len() > MOST_AUTHOR_BYTES
            || note.chars().count() > MOST_NOTE_CHARACTERS
        {
            return Err(MarketError::BadNote);
        }
        if *amount == Credits::ZERO {
            return Err(MarketError::NoAmount);
        }
        let queue = QueueName::new(queue).map_err(|_| MarketError::UnknownQueue(queue.clone()))?;
        let author = Author { by: &by, note: &note };
        let moved = self.move_from_outside(&queue, *amount, Reason::Adjustment, &author, now, facts);
        let ledger = if moved.is_ok() { self.ledger().rows } else { 0 };
        let taken = TakenTopUp { reference: reference.clone(), queue, amount: *amount, ledger };
        self.record(MarketFact::TopUpTaken(taken.clone()), facts);
        moved.map(|()| taken)
    }
}

/// No two references look alike, and the first blank ends one where it stands before a note.
fn is_reference(text: &str) -> bool {
    (1..=MOST_REFERENCE_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use crate::market::money::{MarketConfig, budget_file};

    use super::*;

    const NOW: Now = Now { mono_ms: 0, wall_ms: 1 };

    fn market() -> Market {
        let mut market = Market::new(MarketConfig::default(), 0);
        market.seed_budgets(budget_file::parse("alice 100 1\n", "budget").unwrap(), NOW);
        market
    }

    fn top_up(reference: &str, queue: &str, amount: &str) -> TopUp {
        let amount = Credits::parse_exact(amount).unwrap();
        let (made_by, note) = ("accounting".to_owned(), "grant".to_owned());
        TopUp { reference: reference.to_owned(), queue: queue.to_owned(), amount, made_by, note }
    }

    #[test]
    fn a_reference_moves_money_once_and_a_restart_knows_it() {
        let mut market = market();
        let mut facts = Vec::new();
        let taken = market.take_top_up(&top_up("inv-1", "alice", "5.5"), NOW, &mut facts).unwrap();
        assert_eq!(taken.ledger, 2);
        let [MarketFact::Ledger(entry), MarketFact::Account { .. }, MarketFact::TopUpTaken(_)] = &facts[..] else {
            panic!("{facts:?}")
        };
        assert_eq!((entry.by.as_str(), entry.note.as_str()), ("sql:accounting", "inv-1: grant"));
        let mut later = self::market();
        facts.iter().for_each(|fact| later.apply(fact));
        for market in [&mut market, &mut later] {
            let mut again = Vec::new();
            assert_eq!(market.take_top_up(&top_up("inv-1", "alice", "5.5"), NOW, &mut again).unwrap(), taken);
            assert_eq!((again, market.total()), (vec![], Credits::parse_exact("105.5").unwrap()));
            assert_eq!(market.ledger().expected_balance(), market.total());
        }
    }

    #[test]
    fn what_cannot_be_taken_over_is_refused_with_its_reason_and_changes_nothing() {
        let mut market = market();
        market.take_top_up(&top_up("used", "alice", "1"), NOW, &mut Vec::new()).unwrap();
        let long = "x".repeat(300);
        for (top_up, expected) in [
            (
                top_up("used", "alice", "2"),
                "the reference used was taken over for queue alice and 1.0, as ledger entry 2",
            ),
            (top_up("2", "a b", "1"), "there is no queue a b"),
            (top_up("5", "alice", "0"), "an amount other than 0"),
            (top_up("a\nb", "alice", "1"), "visible ASCII"),
            (top_up("inv-1 ", "alice", "1"), "visible ASCII"),
            (top_up("inv\u{2010}1", "alice", "1"), "visible ASCII"),
            (top_up("a: b", "alice", "1"), "visible ASCII"),
            (top_up(&long, "alice", "1"), "visible ASCII"),
            (TopUp { made_by: "x".repeat(64), ..top_up("6", "alice", "1") }, "at most 63 bytes"),
            (TopUp { note: "x".repeat(257), ..top_up("7", "alice", "1") }, "at most 256 characters"),
            (TopUp { note: "a\nb".to_owned(), ..top_up("8", "alice", "1") }, "without control characters"),
        ] {
            let (mut facts, before) = (Vec::new(), market.total());
            let error = market.take_top_up(&top_up, NOW, &mut facts).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!((facts, market.total()), (vec![], before));
        }
    }

    #[test]
    fn a_reference_that_was_refused_never_pays_though_the_market_would_take_it_now() {
        let mut market = market();
        let mut facts = Vec::new();
        let cases = [
            (top_up("1", "bob", "1"), "there is no queue bob"),
            (top_up("2", "alice", "-102"), "less than the 102.0 to be taken out"),
            (top_up("3", "alice", "1000000000000"), "exceed 10^12"),
        ];
        for (top_up, expected) in &cases {
            let error = market.take_top_up(top_up, NOW, &mut facts).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!((facts.len(), market.total()), (3, Credits::parse_exact("100").unwrap()));
        let mut later = Market::new(MarketConfig::default(), 0);
        later.seed_budgets(budget_file::parse("alice 1000 1\nbob 1 1\n", "budget").unwrap(), NOW);
        facts.iter().for_each(|fact| later.apply(fact));
        for (again, _) in &cases {
            let (mut facts, before) = (Vec::new(), later.total());
            let error = later.take_top_up(again, NOW, &mut facts).unwrap_err().to_string();
            assert!(error.contains("was refused before, and is refused for ever"), "{error}");
            assert_eq!((facts, later.total()), (vec![], before));
        }
    }
}
