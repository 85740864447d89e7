//! Law 1: the auditor. It keeps books of its own from the market's facts, and knows who asked for what.

use std::collections::BTreeMap;

use crate::engine::{Engine, JobCost};
use crate::market::{Consumer, Interval, LedgerAccount, LedgerEntry, MarketConfig, MarketFact, Reason, Stamp, Tick};
use crate::model::{Credits, JobId, Kind, Now, PerKind};

use super::attempts::AttemptBooks;

/// What a step was made for, as far as money goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Intent {
    /// The start: the budget file comes in.
    Start,
    /// A start after a crash: no money moves.
    Restart,
    /// The timer: a tick may be due.
    Timer,
    /// A job is submitted by this user.
    Submission(String),
    /// A request to the market.
    Request {
        /// Who signed, whether the signature is good or not.
        user: String,
        /// Whether that is an administrator.
        is_administrator: bool,
        /// What granting it would change.
        change: Change,
    },
    /// Anything else: no money moves.
    Other,
}

/// What a request would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Change {
    /// Nothing, or nothing that may be granted.
    Nothing,
    /// A queue's bid.
    Spending(String, Credits),
    /// A queue's balance, by an amount that may be negative.
    Budget(String, Credits),
    /// A new queue.
    Open(String),
    /// The end of a queue.
    Close(String),
}

/// A queue's account in the auditor's own books.
#[derive(Clone, Copy, Debug, Default)]
struct Book {
    balance: Credits,
    rate: Credits,
    open: Option<Interval>,
    next: Option<Interval>,
    charged: Option<Credits>,
}

/// Books of the market.
#[derive(Clone, Debug)]
pub(super) struct Auditor {
    books: BTreeMap<String, Book>,
    total: i128,
    issued: i128,
    charged: i128,
    rows: u64,
    ticks: u64,
    interval_ms: u64,
    next_tick_mono_ms: u64,
    config: MarketConfig,
    /// The last stamp of each consumer, user and key: time and uses.
    stamps: BTreeMap<(Consumer, String, u64), (i64, u32)>,
    /// What the step at hand has used up.
    used_stamp: Option<(Consumer, String)>,
    had_tick: bool,
    /// What each job has cost, and all together, units.
    costs: BTreeMap<JobId, i128>,
    laid: i128,
    /// Slots of the cluster before the step: it may lose trackers after its tick.
    slots: PerKind<u32>,
    is_touched: bool,
}

// === impl Auditor ===

impl Auditor {
    pub(super) fn new(start_mono_ms: u64, interval_ms: u64, config: MarketConfig) -> Self {
        Self {
            books: BTreeMap::new(),
            total: 0,
            issued: 0,
            charged: 0,
            rows: 0,
            ticks: 0,
            interval_ms,
            next_tick_mono_ms: start_mono_ms + interval_ms,
            config,
            stamps: BTreeMap::new(),
            used_stamp: None,
            had_tick: false,
            costs: BTreeMap::new(),
            laid: 0,
            slots: PerKind::default(),
            is_touched: false,
        }
    }

    /// What was issued and what was charged.
    pub(super) fn totals(&self) -> (Credits, Credits) {
        (Credits::from_units(self.issued), Credits::from_units(self.charged))
    }

    /// Takes in a fact; `attempts` is who held slots when it came.
    pub(super) fn take(
        &mut self,
        fact: &MarketFact,
        attempts: &AttemptBooks,
        intent: &Intent,
        now: Now,
    ) -> Result<(), String> {
        self.is_touched = true;
        match fact {
            MarketFact::Stamp(stamp) => self.stamp(stamp, intent, now),
            MarketFact::Ledger(entry) => self.entry(entry, attempts, intent),
            MarketFact::Account { queue, balance, rate } => self.account(queue.as_str(), *balance, *rate, intent),
            MarketFact::AccountRemoved { queue } => self.close(queue.as_str(), attempts, intent),
            MarketFact::Tick(tick) => self.tick(tick, attempts, intent, now),
        }
    }

    /// What was charged is laid on jobs.
    pub(super) fn lay(&mut self, jobs: &[JobCost]) {
        for charged in jobs {
            let units = charged.cost.units();
            self.laid += units - self.costs.insert(charged.job, units).unwrap_or(0);
        }
    }

    /// When the next tick is due, by the daemon's clock that never goes back, ms.
    pub(super) fn next_tick_mono_ms(&self) -> u64 {
        self.next_tick_mono_ms
    }

    /// The daemon has restarted: what is open stays open until the first tick, one whole interval from now.
    pub(super) fn restart(&mut self, engine: &Engine, now: Now) -> Result<(), String> {
        self.next_tick_mono_ms = now.mono_ms + self.interval_ms;
        self.compare(engine)
    }

    /// The timer is about to ring.
    pub(super) fn before_tick(&mut self, engine: &Engine) {
        self.slots = engine.inspect().scheduler().totals().slots.narrow();
    }

    /// A step is over.
    pub(super) fn end_step(&mut self, intent: &Intent, engine: &Engine, now: Now) -> Result<(), String> {
        let had_tick = std::mem::take(&mut self.had_tick);
        self.used_stamp = None;
        if *intent == Intent::Timer && !had_tick && now.mono_ms >= self.next_tick_mono_ms {
            return Err(format!("tick {} is due and does not come", self.ticks + 1));
        }
        if !std::mem::take(&mut self.is_touched) {
            return Ok(());
        }
        if self.total != self.issued - self.charged {
            let (total, expected) = (self.total, self.issued - self.charged);
            return Err(format!("the accounts sum to {total} units, issued less charged are {expected}"));
        }
        let market = engine.market().map(|market| market.total().units());
        if market != Some(self.total) {
            return Err(format!("the accounts sum to {market:?} units, by the ledger to {}", self.total));
        }
        if self.laid != self.charged {
            return Err(format!("{} units were charged, jobs have cost {}", self.charged, self.laid));
        }
        if had_tick {
            self.judge_quotas()?;
        }
        Ok(())
    }

    /// Every account is as the facts tell it.
    pub(super) fn compare(&self, engine: &Engine) -> Result<(), String> {
        let Some(market) = engine.market() else { return Err("there is no market".to_owned()) };
        if market.queues().count() != self.books.len() {
            return Err(format!(
                "{} accounts by the facts, {} by the market",
                self.books.len(),
                market.queues().count()
            ));
        }
        for (queue, book) in &self.books {
            let account = market.account(queue);
            let known = account.map(|account| (account.balance(), account.bid(), account.interval().copied()));
            if known != Some((book.balance, book.rate, book.open)) {
                return Err(format!("{queue} is {book:?} by the facts, {known:?} by the market"));
            }
        }
        let ledger = market.ledger();
        match (ledger.rows, ledger.issued.units(), ledger.charged.units()) == (self.rows, self.issued, self.charged) {
            true => Ok(()),
            false => Err(format!("the ledger's sums are {ledger:?}")),
        }
    }

    fn stamp(&mut self, stamp: &Stamp, intent: &Intent, now: Now) -> Result<(), String> {
        let Stamp { consumer, user, key_id, timestamp_ms, uses } = stamp;
        let limit = if *consumer == Consumer::Job { self.config.job_signature_uses } else { 1 };
        let key = (*consumer, user.clone(), key_id.0);
        let before = self.stamps.insert(key, (*timestamp_ms, *uses));
        if before.is_some_and(|before| before >= (*timestamp_ms, *uses)) || *uses > limit {
            return Err(format!("{user}'s signature of {timestamp_ms} counts again: use {uses} after {before:?}"));
        }
        let window_ms = if *uses > 1 { self.config.job_signature_window_ms } else { self.config.signature_window_ms };
        if timestamp_ms.abs_diff(now.wall_ms) > window_ms {
            return Err(format!("{user}'s signature of {timestamp_ms} is good at {}", now.wall_ms));
        }
        let is_due = match (consumer, intent) {
            (Consumer::Job, Intent::Submission(submitter)) => submitter == user,
            (Consumer::Servlet, Intent::Request { user: signer, .. }) => signer == user,
            _ => false,
        };
        self.used_stamp = Some((*consumer, user.clone()));
        if is_due { Ok(()) } else { Err(format!("{user}'s signature of {timestamp_ms} is used up by {intent:?}")) }
    }

    fn entry(&mut self, entry: &LedgerEntry, attempts: &AttemptBooks, intent: &Intent) -> Result<(), String> {
        self.rows += 1;
        if entry.number != self.rows || entry.amount <= Credits::ZERO {
            return Err(format!("row {} of the ledger is {entry:?}", self.rows));
        }
        let units = entry.amount.units();
        for (side, sign) in [(&entry.debit, -1), (&entry.credit, 1)] {
            match side {
                LedgerAccount::Queue(queue) => {
                    let book = self.books.entry(queue.as_str().to_owned()).or_default();
                    book.balance = Credits::from_units(book.balance.units() + sign * units);
                    self.total += sign * units;
                    if book.balance < Credits::ZERO {
                        return Err(format!("{queue:?} is overdrawn by {entry:?}"));
                    }
                }
                LedgerAccount::Issued => self.issued -= sign * units,
                LedgerAccount::Revenue => self.charged += sign * units,
            }
        }
        match (&entry.debit, &entry.credit, &entry.reason) {
            (LedgerAccount::Queue(queue), LedgerAccount::Revenue, Reason::Charge { rate, map_slots, reduce_slots }) => {
                let slots = PerKind::new(*map_slots, *reduce_slots);
                self.charge(queue.as_str(), *rate, slots, entry.amount, attempts)
            }
            (LedgerAccount::Issued, LedgerAccount::Queue(_), Reason::Endowment) if *intent == Intent::Start => Ok(()),
            (LedgerAccount::Issued, LedgerAccount::Queue(queue), Reason::TopUp) => {
                self.allow(intent, &Change::Budget(queue.as_str().to_owned(), entry.amount))
            }
            (LedgerAccount::Queue(queue), LedgerAccount::Issued, Reason::TopUp) => {
                self.allow(intent, &Change::Budget(queue.as_str().to_owned(), Credits::from_units(-units)))
            }
            (LedgerAccount::Queue(queue), LedgerAccount::Issued, Reason::Closing) => {
                self.allow(intent, &Change::Close(queue.as_str().to_owned()))
            }
            _ => Err(format!("nothing explains {entry:?}")),
        }
    }

    /// What changes was asked for in this very step, by one who may, with a signature of its own.
    fn allow(&self, intent: &Intent, change: &Change) -> Result<(), String> {
        let refuse = || Err(format!("{change:?} comes of {intent:?}"));
        let Intent::Request { user, is_administrator, change: asked } = intent else { return refuse() };
        let is_own = matches!(change, Change::Spending(queue, _) if queue == user);
        let is_signed = self.used_stamp.as_ref() == Some(&(Consumer::Servlet, user.clone()));
        if asked == change && (*is_administrator || is_own) && is_signed { Ok(()) } else { refuse() }
    }

    fn account(&mut self, queue: &str, balance: Credits, rate: Credits, intent: &Intent) -> Result<(), String> {
        match self.books.get(queue) {
            // The row that endows it has come before.
            _ if *intent == Intent::Start => {}
            None => self.allow(intent, &Change::Open(queue.to_owned()))?,
            Some(book) if book.rate != rate => self.allow(intent, &Change::Spending(queue.to_owned(), rate))?,
            Some(_) => {}
        }
        let book = self.books.entry(queue.to_owned()).or_default();
        book.rate = rate;
        if rate < Credits::ZERO || book.balance != balance {
            return Err(format!("{queue} has {balance} at rate {rate}, by the ledger {}", book.balance));
        }
        Ok(())
    }

    fn close(&mut self, queue: &str, attempts: &AttemptBooks, intent: &Intent) -> Result<(), String> {
        self.allow(intent, &Change::Close(queue.to_owned()))?;
        let book = self.books.remove(queue).unwrap_or_default();
        if book.balance != Credits::ZERO || attempts.usage(queue) != PerKind::default() {
            return Err(format!("{queue} is closed with {} and slots it has to pay for", book.balance));
        }
        Ok(())
    }

    fn charge(
        &mut self,
        queue: &str,
        rate: Credits,
        slots: PerKind<u32>,
        amount: Credits,
        attempts: &AttemptBooks,
    ) -> Result<(), String> {
        let Some(book) = self.books.get_mut(queue) else { return Err(format!("{queue} is charged and unknown")) };
        let Some(interval) = &book.open else { return Err(format!("{queue} is charged without an open interval")) };
        let used = within(attempts.usage(queue), interval.quota);
        if (rate, slots, amount) != (interval.share.rate(), used, cost(interval, used)) {
            return Err(format!(
                "{queue} is charged {amount} for {slots:?} at {rate}; it used {used:?} of {interval:?}"
            ));
        }
        match book.charged.replace(amount) {
            None => Ok(()),
            Some(_) => Err(format!("{queue} is charged twice for one interval")),
        }
    }

    fn allocate(&mut self, queue: &str, interval: Interval, attempts: &AttemptBooks) -> Result<(), String> {
        if attempts.usage(queue) == PerKind::default() && interval.pending == 0 {
            return Err(format!("{queue} is idle and gets {interval:?}"));
        }
        match self.books.get_mut(queue) {
            Some(book) => {
                book.next = Some(interval);
                Ok(())
            }
            None => Err(format!("{queue} is unknown and gets {interval:?}")),
        }
    }

    /// The open intervals are over: what was bought has been paid, and what is bought now can be.
    fn tick(&mut self, tick: &Tick, attempts: &AttemptBooks, intent: &Intent, now: Now) -> Result<(), String> {
        let Tick { number, price, .. } = *tick;
        self.ticks += 1;
        if number != self.ticks || now.mono_ms < self.next_tick_mono_ms || self.had_tick {
            return Err(format!("tick {number} comes where tick {} is not due", self.ticks));
        }
        self.had_tick = true;
        let missed = (now.mono_ms - self.next_tick_mono_ms) / self.interval_ms;
        self.next_tick_mono_ms += (missed + 1) * self.interval_ms;
        for entry in tick.charges() {
            self.entry(&entry, attempts, intent)?;
        }
        for queue_tick in &tick.queue_ticks {
            let balance = self.books.get(queue_tick.queue.as_str()).map(|book| book.balance);
            if balance != Some(queue_tick.balance) {
                return Err(format!(
                    "{:?} has {balance:?} by the ledger, and reports {queue_tick:?}",
                    queue_tick.queue
                ));
            }
        }
        for (queue, interval) in tick.intervals() {
            self.allocate(queue.as_str(), *interval, attempts)?;
        }
        let mut rates = 0;
        for (queue, book) in &mut self.books {
            let owed = book
                .open
                .map_or(Credits::ZERO, |interval| cost(&interval, within(attempts.usage(queue), interval.quota)));
            let paid = book.charged.take().unwrap_or(Credits::ZERO);
            if paid != owed {
                return Err(format!("{queue} owes {owed} for its interval and pays {paid}"));
            }
            book.open = book.next.take();
            let Some(interval) = &book.open else { continue };
            let is_funded = book.rate > Credits::ZERO && book.balance >= book.rate;
            let expected = if is_funded { book.rate } else { Credits::ZERO };
            if interval.share.rate() != expected || (is_funded && interval.share.price() != price) {
                return Err(format!("{queue} bids {} with {} and gets {interval:?}", book.rate, book.balance));
            }
            if cost(interval, interval.quota) > book.balance || (!is_funded && interval.quota != PerKind::default()) {
                return Err(format!("{queue} has {} and is sold {interval:?}", book.balance));
            }
            rates += interval.share.rate().units();
        }
        if rates == price.units() {
            Ok(())
        } else {
            Err(format!("the rates sum to {rates} units, the price is {price}"))
        }
    }

    /// No more slots are sold than there are.
    fn judge_quotas(&self) -> Result<(), String> {
        for kind in Kind::ALL {
            let sold: u64 =
                self.books.values().filter_map(|book| book.open).map(|open| u64::from(open.quota[kind])).sum();
            if sold > u64::from(self.slots[kind]) {
                return Err(format!("{sold} {kind:?} slots are sold, there are {}", self.slots[kind]));
            }
        }
        Ok(())
    }
}

fn within(used: PerKind<u32>, quota: PerKind<u32>) -> PerKind<u32> {
    PerKind::new(used.map.min(quota.map), used.reduce.min(quota.reduce))
}

fn cost(interval: &Interval, slots: PerKind<u32>) -> Credits {
    let slots = i128::from(slots.map) + i128::from(slots.reduce);
    Credits::from_units(interval.share.rate().units() * slots)
}
