//! Law 1: the auditor. It keeps its own accounts from the market's facts, and knows which request caused each step.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{ApplicationChange, Engine, JobCost};
use crate::market::{
    Allowance, AllowanceTerms, Charge, Consumer, Interval, LedgerAccount, LedgerEntry, MarketConfig, MarketFact, Order,
    OrderEnd, Reason, Stamp, Tick,
};
use crate::model::{Credits, JobId, Now, PerPool, Pool};

use super::allowances::AllowanceBooks;
use super::attempts::AttemptModel;
use super::holdings::{Holdings, cost};
use super::laid_charges::LaidCharges;
use super::stamps::StampBooks;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Intent {
    /// The start: the budget file is applied.
    Start,
    /// A start after a crash: no money moves.
    Restart,
    /// The timer: a tick may be due.
    Timer,
    /// A job is submitted by this user.
    Submission(String),
    Request {
        /// The signer, whether the signature is valid or not.
        user: String,
        is_administrator: bool,
        /// The change if it is granted.
        change: MoneyChange,
    },
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sim) enum MoneyChange {
    Nothing,
    /// A queue's bid.
    Spending(String, Credits),
    /// A queue's balance, by an amount that may be negative.
    Budget(String, Credits),
    Open(String),
    Close(String),
    Transfer(String, String, Credits),
    Allowance(String, Option<AllowanceTerms>),
    Order(JobId),
    Unorder(JobId),
}

#[derive(Clone, Copy, Debug, Default)]
struct AccountModel {
    balance: Credits,
    rate: Credits,
    open: Option<Interval>,
    next: Option<Interval>,
    charged: Option<Credits>,
}

/// The market's accounts according to the facts.
#[derive(Clone, Debug)]
pub(super) struct Auditor {
    accounts: BTreeMap<String, AccountModel>,
    allowances: AllowanceBooks,
    total: i128,
    issued: i128,
    charged: i128,
    rows: u64,
    ticks: u64,
    /// Time between ticks while it rules, ms; none while another scheduler does.
    interval_ms: Option<u64>,
    next_tick_mono_ms: u64,
    /// After a restart, when the interval ends that was open before it: the tick may come from then on.
    resumed_end_mono_ms: Option<u64>,
    config: MarketConfig,
    /// The last stamp of each consumer, user and key: time and uses.
    stamps: StampBooks,
    /// The signature that this step has used up.
    used_stamp: Option<(Consumer, String)>,
    had_tick: bool,
    begins_to_rule: bool,
    /// The orders that stand, each with its queue.
    orders: BTreeMap<JobId, (String, Order)>,
    /// The jobs whose orders set the rates of open intervals, with what they could cost when these were opened.
    open_by_order: BTreeMap<JobId, Credits>,
    /// The same of the intervals that this step has closed.
    closed_by_order: BTreeMap<JobId, Credits>,
    /// The cost of each job and of all jobs, units.
    costs: Arc<BTreeMap<JobId, i128>>,
    total_job_cost: i128,
    /// What ticks have laid on applications and jobs.
    laid: LaidCharges,
    /// Slots of the cluster before the step, with those for containers: it may lose trackers after its tick.
    slots: PerPool<u64>,
    has_market_facts: bool,
}

impl Auditor {
    /// `interval_ms`: time between ticks; none if another scheduler rules.
    pub(super) fn new(start_mono_ms: u64, interval_ms: Option<u64>, config: MarketConfig) -> Self {
        Self {
            accounts: BTreeMap::new(),
            allowances: AllowanceBooks::new(start_mono_ms),
            total: 0,
            issued: 0,
            charged: 0,
            rows: 0,
            ticks: 0,
            interval_ms,
            next_tick_mono_ms: start_mono_ms + interval_ms.unwrap_or(0),
            resumed_end_mono_ms: None,
            config,
            stamps: StampBooks::default(),
            used_stamp: None,
            had_tick: false,
            begins_to_rule: false,
            orders: BTreeMap::new(),
            open_by_order: BTreeMap::new(),
            closed_by_order: BTreeMap::new(),
            costs: Arc::default(),
            total_job_cost: 0,
            laid: LaidCharges::default(),
            slots: PerPool::default(),
            has_market_facts: false,
        }
    }

    pub(super) fn totals(&self) -> (Credits, Credits) {
        (Credits::from_units(self.issued), Credits::from_units(self.charged))
    }

    pub(super) fn balance(&self, queue: &str) -> Option<Credits> {
        self.accounts.get(queue).map(|account| account.balance)
    }

    /// Applies a fact; `holdings` is what is held at that time.
    pub(super) fn apply(
        &mut self,
        fact: &MarketFact,
        holdings: &Holdings<'_>,
        intent: &Intent,
        now: Now,
    ) -> Result<(), String> {
        self.has_market_facts |= !matches!(fact, MarketFact::Metered(_));
        match fact {
            MarketFact::Stamp(stamp) => self.stamp(stamp, intent, now),
            MarketFact::StampsForgotten(forgotten) => self.stamps.forget(forgotten, &self.config, now),
            MarketFact::Ledger(entry) => self.entry(entry, intent),
            MarketFact::Account { queue, balance, rate } => self.account(queue.as_str(), *balance, *rate, intent),
            MarketFact::AccountRemoved { queue } => self.close(queue.as_str(), holdings, intent),
            MarketFact::AllowanceSet { queue, allowance } => self.set_allowance(queue.as_str(), allowance, intent, now),
            MarketFact::AllowanceEnded { queue } => {
                self.allow(intent, &MoneyChange::Allowance(queue.as_str().to_owned(), None))?;
                self.allowances.end(queue.as_str()).ok_or_else(|| format!("{queue} has no allowance that ends"))
            }
            MarketFact::OrderSet { queue, order } => self.set_order(queue.as_str(), *order, intent, now),
            MarketFact::OrderEnded { job, end, .. } => self.end_order(*job, *end, intent, now),
            MarketFact::Tick(tick) => self.tick(tick, holdings, intent, now),
            // No database of budgets is simulated.
            MarketFact::Metered(_) | MarketFact::TopUpTaken(_) => Ok(()),
        }
    }

    /// An allowance as a request sets it, or as it is after periods have passed or the wall clock was set.
    fn set_allowance(&mut self, queue: &str, stored: &Allowance, intent: &Intent, now: Now) -> Result<(), String> {
        let Allowance { credits, every_s, cap, by, .. } = stored.clone();
        let terms = AllowanceTerms { credits, every_s, cap };
        let change = MoneyChange::Allowance(queue.to_owned(), Some(terms.clone()));
        let balance = self.balance(queue);
        let Some(balance) = balance else { return Err(format!("{queue} is unknown and has {stored:?}")) };
        match intent {
            // The times of those that stand move before the new one is set.
            Intent::Request { user, change: asked, .. }
                if *asked == change && self.used_stamp.is_some() && by == *user =>
            {
                self.allow(intent, &change)?;
                self.allowances.set(queue, &terms, stored, now)
            }
            intent => self.allowances.advance(queue, stored, balance, *intent == Intent::Timer, now),
        }
    }

    fn set_order(&mut self, queue: &str, order: Order, intent: &Intent, now: Now) -> Result<(), String> {
        self.allow_order(queue, intent, &MoneyChange::Order(order.job))?;
        let rate = self.accounts.get(queue).map(|account| account.rate);
        if order.deadline_ms <= now.wall_ms || rate.is_none_or(|rate| order.max_rate < rate) {
            return Err(format!("{order:?} stands for {queue}, which bids {rate:?}"));
        }
        self.orders.insert(order.job, (queue.to_owned(), order));
        Ok(())
    }

    fn end_order(&mut self, job: JobId, end: OrderEnd, intent: &Intent, now: Now) -> Result<(), String> {
        let Some((queue, order)) = self.orders.remove(&job) else { return Err(format!("no order for {job} ends")) };
        match end {
            OrderEnd::Unbid => self.allow_order(&queue, intent, &MoneyChange::Unorder(job)),
            OrderEnd::Passed if order.deadline_ms > now.wall_ms => Err(format!("{order:?} ends before its deadline")),
            OrderEnd::Passed | OrderEnd::JobOver => Ok(()),
        }
    }

    /// Checks that the owner of a queue, or an administrator, asks for the change.
    fn allow_order(&self, queue: &str, intent: &Intent, change: &MoneyChange) -> Result<(), String> {
        let refuse = || Err(format!("{change:?} of {queue} comes of {intent:?}"));
        let Intent::Request { user, is_administrator, change: asked } = intent else { return refuse() };
        let is_signed = self.used_stamp.as_ref() == Some(&(Consumer::Servlet, user.clone()));
        if asked == change && (*is_administrator || user == queue) && is_signed { Ok(()) } else { refuse() }
    }

    pub(super) fn record_job_costs(&mut self, jobs: &[JobCost], attempts: &AttemptModel) -> Result<(), String> {
        for charged in jobs {
            if let Some(most) = self.closed_by_order.get(&charged.job).filter(|most| charged.cost > **most) {
                return Err(format!(
                    "the order for {} has brought its cost to {}, beyond {most}",
                    charged.job, charged.cost
                ));
            }
            let units = charged.cost.units();
            let more = units - Arc::make_mut(&mut self.costs).insert(charged.job, units).unwrap_or(0);
            self.total_job_cost += more;
            if attempts.account_of(charged.job).is_none() {
                return Err(format!("{} is charged {more} units, and no account pays for it", charged.job));
            }
            self.laid.lay_on_job(charged.job, more)?;
        }
        Ok(())
    }

    pub(super) fn record_application_costs(&mut self, changes: &[ApplicationChange]) -> Result<(), String> {
        self.laid.lay_on_applications(changes)
    }

    /// When the next tick is due, by the daemon's monotonic clock, ms; none while another scheduler rules.
    pub(super) fn next_tick_mono_ms(&self) -> Option<u64> {
        self.interval_ms.map(|_| self.next_tick_mono_ms)
    }

    pub(super) fn may_tick(&self, now: Now) -> bool {
        let due_mono_ms = self.resumed_end_mono_ms.unwrap_or(u64::MAX).min(self.next_tick_mono_ms);
        self.interval_ms.is_some() && now.mono_ms >= due_mono_ms
    }

    pub(super) fn has_account(&self, queue: &str) -> bool {
        self.accounts.contains_key(queue)
    }

    /// The market rules from now on, with so long between ticks, or another scheduler does.
    pub(super) fn rule(&mut self, interval_ms: Option<u64>, now: Now) {
        match (self.interval_ms, interval_ms) {
            // The first tick comes with the switch.
            (None, Some(_)) => {
                self.next_tick_mono_ms = now.mono_ms;
                self.begins_to_rule = true;
            }
            (Some(before), Some(interval_ms)) if before != interval_ms => {
                self.next_tick_mono_ms = now.mono_ms + interval_ms;
            }
            _ => {}
        }
        self.interval_ms = interval_ms;
        self.resumed_end_mono_ms = self.resumed_end_mono_ms.filter(|_| interval_ms.is_some());
    }

    /// Checks a restart: open intervals stay open for the rest of them, `left_ms`, and until all trackers have come again, one
    /// whole interval from now at most.
    pub(super) fn restart(&mut self, engine: &Engine, left_ms: u64, now: Now) -> Result<(), String> {
        self.next_tick_mono_ms = now.mono_ms + self.interval_ms.unwrap_or(0);
        self.resumed_end_mono_ms = Some(now.mono_ms + left_ms);
        self.allowances.restart(now);
        self.compare(engine)
    }

    pub(super) fn before_tick(&mut self, engine: &Engine) {
        let scheduler = engine.inspect().scheduler();
        let slots = scheduler.totals().slots;
        self.slots = PerPool::new(slots.map, slots.reduce, scheduler.slots_beyond_tasks());
    }

    pub(super) fn end_step(&mut self, intent: &Intent, engine: &Engine, now: Now) -> Result<(), String> {
        let had_tick = std::mem::take(&mut self.had_tick);
        self.used_stamp = None;
        self.closed_by_order.clear();
        self.laid.end_step()?;
        self.allowances.end_step(*intent == Intent::Timer, now)?;
        let is_timely = std::mem::take(&mut self.begins_to_rule) || *intent == Intent::Timer;
        let is_due = is_timely && self.interval_ms.is_some() && now.mono_ms >= self.next_tick_mono_ms;
        if is_due && !had_tick {
            return Err(format!("tick {} is due and does not come", self.ticks + 1));
        }
        if !std::mem::take(&mut self.has_market_facts) {
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
        let total_cost = self.total_job_cost + self.laid.total();
        if total_cost != self.charged {
            return Err(format!("{} units were charged, jobs and applications have cost {total_cost}", self.charged));
        }
        if self.interval_ms.is_none()
            && let Some((queue, _)) = self.accounts.iter().find(|(_, account)| account.open.is_some())
        {
            return Err(format!("{queue} has an open interval while another scheduler rules"));
        }
        if had_tick {
            self.check_quotas()?;
        }
        Ok(())
    }

    pub(super) fn compare(&self, engine: &Engine) -> Result<(), String> {
        let Some(market) = engine.market() else { return Err("there is no market".to_owned()) };
        if market.queues().count() != self.accounts.len() {
            return Err(format!(
                "{} accounts by the facts, {} by the market",
                self.accounts.len(),
                market.queues().count()
            ));
        }
        for (queue, account) in &self.accounts {
            let known = market.account(queue);
            let known = known.map(|known| (known.balance(), known.bid(), known.interval().copied()));
            if known != Some((account.balance, account.rate, account.open)) {
                return Err(format!("{queue} is {account:?} by the facts, {known:?} by the market"));
            }
        }
        self.allowances.compare(engine, self.accounts.keys().map(String::as_str))?;
        let ledger = market.ledger();
        match (ledger.rows, ledger.issued.units(), ledger.charged.units()) == (self.rows, self.issued, self.charged) {
            true => Ok(()),
            false => Err(format!("the ledger's sums are {ledger:?}")),
        }
    }

    fn stamp(&mut self, stamp: &Stamp, intent: &Intent, now: Now) -> Result<(), String> {
        self.stamps.use_up(stamp, &self.config, now)?;
        let Stamp { consumer, user, timestamp_ms, .. } = stamp;
        let is_due = match (consumer, intent) {
            (Consumer::Job, Intent::Submission(submitter)) => submitter == user,
            (
                Consumer::Servlet | Consumer::Upload | Consumer::Application | Consumer::Secret,
                Intent::Request { user: signer, .. },
            ) => signer == user,
            _ => false,
        };
        self.used_stamp = Some((*consumer, user.clone()));
        if is_due { Ok(()) } else { Err(format!("{user}'s signature of {timestamp_ms} is used up by {intent:?}")) }
    }

    fn entry(&mut self, entry: &LedgerEntry, intent: &Intent) -> Result<(), String> {
        self.rows += 1;
        if entry.number != self.rows || entry.amount <= Credits::ZERO {
            return Err(format!("row {} of the ledger is {entry:?}", self.rows));
        }
        let units = entry.amount.units();
        if let (LedgerAccount::Issued, LedgerAccount::Queue(queue), Reason::Allowance) =
            (&entry.debit, &entry.credit, &entry.reason)
        {
            let before = self.balance(queue.as_str());
            self.allowances.pay(queue.as_str(), before.unwrap_or_default(), entry)?;
        }
        for (side, sign) in [(&entry.debit, -1), (&entry.credit, 1)] {
            match side {
                LedgerAccount::Queue(queue) => {
                    let account = self.accounts.entry(queue.as_str().to_owned()).or_default();
                    account.balance = Credits::from_units(account.balance.units() + sign * units);
                    self.total += sign * units;
                    if account.balance < Credits::ZERO {
                        return Err(format!("{queue:?} is overdrawn by {entry:?}"));
                    }
                }
                LedgerAccount::Issued => self.issued -= sign * units,
                LedgerAccount::Revenue => self.charged += sign * units,
            }
        }
        match (&entry.debit, &entry.credit, &entry.reason) {
            (LedgerAccount::Queue(queue), LedgerAccount::Revenue, &Reason::Charge { rate, interval_ms, slot_ms }) => {
                self.charge(queue.as_str(), Charge { rate, interval_ms, slot_ms }, entry.amount)
            }
            (LedgerAccount::Issued, LedgerAccount::Queue(_), Reason::Endowment) if *intent == Intent::Start => Ok(()),
            (LedgerAccount::Issued, LedgerAccount::Queue(queue), Reason::TopUp) => {
                self.allow(intent, &MoneyChange::Budget(queue.as_str().to_owned(), entry.amount))
            }
            (LedgerAccount::Queue(queue), LedgerAccount::Issued, Reason::TopUp) => {
                self.allow(intent, &MoneyChange::Budget(queue.as_str().to_owned(), Credits::from_units(-units)))
            }
            (LedgerAccount::Issued, LedgerAccount::Queue(_), Reason::Allowance) if *intent == Intent::Timer => Ok(()),
            (LedgerAccount::Queue(from), LedgerAccount::Queue(to), Reason::Transfer) => {
                let (from, to) = (from.as_str().to_owned(), to.as_str().to_owned());
                self.allow(intent, &MoneyChange::Transfer(from, to, entry.amount))
            }
            (LedgerAccount::Queue(queue), LedgerAccount::Issued, Reason::Closing) => {
                self.allow(intent, &MoneyChange::Close(queue.as_str().to_owned()))
            }
            _ => Err(format!("nothing explains {entry:?}")),
        }
    }

    /// Checks that the request of this step asks for the change, by an authorized user with an unused signature.
    fn allow(&self, intent: &Intent, change: &MoneyChange) -> Result<(), String> {
        let refuse = || Err(format!("{change:?} comes of {intent:?}"));
        let Intent::Request { user, is_administrator, change: asked } = intent else { return refuse() };
        let is_own = matches!(change, MoneyChange::Spending(queue, _) if queue == user);
        let is_signed = self.used_stamp.as_ref() == Some(&(Consumer::Servlet, user.clone()));
        if asked == change && (*is_administrator || is_own) && is_signed { Ok(()) } else { refuse() }
    }

    fn account(&mut self, queue: &str, balance: Credits, rate: Credits, intent: &Intent) -> Result<(), String> {
        match self.accounts.get(queue) {
            // Its endowment is an earlier row.
            _ if *intent == Intent::Start => {}
            None => self.allow(intent, &MoneyChange::Open(queue.to_owned()))?,
            Some(account) if account.rate != rate => {
                self.allow(intent, &MoneyChange::Spending(queue.to_owned(), rate))?
            }
            Some(_) => {}
        }
        let account = self.accounts.entry(queue.to_owned()).or_default();
        account.rate = rate;
        if rate < Credits::ZERO || account.balance != balance {
            return Err(format!("{queue} has {balance} at rate {rate}, by the ledger {}", account.balance));
        }
        Ok(())
    }

    fn close(&mut self, queue: &str, holdings: &Holdings<'_>, intent: &Intent) -> Result<(), String> {
        self.allow(intent, &MoneyChange::Close(queue.to_owned()))?;
        let account = self.accounts.remove(queue).unwrap_or_default();
        // Without one nothing ends.
        let _ = self.allowances.end(queue);
        let owes_slots = self.interval_ms.is_some() && holdings.has_any(queue);
        if account.balance != Credits::ZERO || owes_slots {
            return Err(format!("{queue} is closed with {} and slots it has to pay for", account.balance));
        }
        Ok(())
    }

    fn charge(&mut self, queue: &str, charge: Charge, amount: Credits) -> Result<(), String> {
        let Some(account) = self.accounts.get_mut(queue) else { return Err(format!("{queue} is charged and unknown")) };
        let interval = account.open.as_ref();
        let slot_ms = charge.slot_ms.map + charge.slot_ms.reduce + charge.slot_ms.container;
        let units = charge.rate.units() * i128::from(slot_ms) / i128::from(charge.interval_ms.max(1));
        let is_of_interval =
            account.charged.is_none() && interval.is_some_and(|interval| interval.share.rate() == charge.rate);
        // Graces of preempted containers are charged at the rates of their grants.
        let is_of_graces = charge.slot_ms.map == 0 && charge.slot_ms.reduce == 0;
        if amount.units() != units || !is_of_interval && !is_of_graces {
            return Err(format!("{queue} is charged {amount} for {charge:?} of {interval:?}"));
        }
        if is_of_interval {
            account.charged = Some(amount);
        }
        Ok(())
    }

    fn allocate(&mut self, queue: &str, interval: Interval, holdings: &Holdings<'_>) -> Result<(), String> {
        if !holdings.has_any(queue) && interval.pending == 0 {
            return Err(format!("{queue} is idle and gets {interval:?}"));
        }
        match self.accounts.get_mut(queue) {
            Some(account) => {
                account.next = Some(interval);
                Ok(())
            }
            None => Err(format!("{queue} is unknown and gets {interval:?}")),
        }
    }

    /// Closes the open intervals: used slots must be paid, and the new quotas must be affordable.
    fn tick(&mut self, tick: &Tick, holdings: &Holdings<'_>, intent: &Intent, now: Now) -> Result<(), String> {
        let Tick { number, price, .. } = *tick;
        self.ticks += 1;
        let Some(interval_ms) = self.interval_ms else { return self.end_rule(tick) };
        let due_mono_ms = self.resumed_end_mono_ms.take().unwrap_or(u64::MAX).min(self.next_tick_mono_ms);
        if number != self.ticks || now.mono_ms < due_mono_ms || self.had_tick {
            let left_ms = due_mono_ms.saturating_sub(now.mono_ms);
            return Err(format!("tick {number} comes where tick {} is not due for {left_ms} ms", self.ticks));
        }
        self.had_tick = true;
        self.closed_by_order = std::mem::take(&mut self.open_by_order);
        self.next_tick_mono_ms = now.mono_ms + interval_ms;
        self.laid.charge(&tick.laid);
        for entry in tick.charges() {
            self.entry(&entry, intent)?;
        }
        for queue_tick in &tick.queue_ticks {
            let balance = self.balance(queue_tick.queue.as_str());
            if balance != Some(queue_tick.balance) {
                return Err(format!(
                    "{:?} has {balance:?} by the ledger, and reports {queue_tick:?}",
                    queue_tick.queue
                ));
            }
        }
        for (queue, interval) in tick.intervals() {
            self.allocate(queue.as_str(), *interval, holdings)?;
        }
        let rates = self.open_intervals(price)?;
        let by_order = self.accounts.values().filter_map(|account| account.open?.by_order);
        let capped = by_order.filter_map(|job| Some((job, self.orders.get(&job)?.1.max_cost?)));
        self.open_by_order = capped.collect();
        if rates == price.units() {
            Ok(())
        } else {
            Err(format!("the rates sum to {rates} units, the price is {price}"))
        }
    }

    /// Opens the next intervals, whose rates must be what their queues bid and can pay; returns the sum of the rates, units.
    fn open_intervals(&mut self, price: Credits) -> Result<i128, String> {
        let mut rates = 0;
        for (queue, account) in &mut self.accounts {
            account.charged = None;
            account.open = account.next.take();
            let Some(interval) = &account.open else { continue };
            let bid = match interval.by_order {
                None => account.rate,
                Some(job) => {
                    let rate = interval.share.rate();
                    let may = |order: &Order| rate > account.rate && rate <= order.max_rate;
                    let order = self.orders.get(&job).filter(|(of, order)| of == queue && may(order));
                    if order.is_none() {
                        return Err(format!("{queue} bids {} and no order buys {interval:?}", account.rate));
                    }
                    rate
                }
            };
            let is_funded = bid > Credits::ZERO && account.balance >= bid;
            let expected = if is_funded { bid } else { Credits::ZERO };
            if interval.share.rate() != expected || (is_funded && interval.share.price() != price) {
                return Err(format!("{queue} bids {} with {} and gets {interval:?}", account.rate, account.balance));
            }
            if cost(interval, interval.quota) > account.balance || (!is_funded && interval.quota != PerPool::default())
            {
                return Err(format!("{queue} has {} and is sold {interval:?}", account.balance));
            }
            rates += interval.share.rate().units();
        }
        Ok(rates)
    }

    /// Another scheduler takes over: what was sold in this step ends without a charge, and what was sold before has been charged in it.
    fn end_rule(&mut self, tick: &Tick) -> Result<(), String> {
        if tick.number != self.ticks || !self.had_tick || tick.price != Credits::ZERO || !tick.queue_ticks.is_empty() {
            return Err(format!("another scheduler rules, and the market reports {tick:?}"));
        }
        self.accounts.values_mut().for_each(|account| account.open = None);
        Ok(())
    }

    fn check_quotas(&self) -> Result<(), String> {
        for pool in Pool::ALL {
            let sold: u64 =
                self.accounts.values().filter_map(|account| account.open).map(|open| u64::from(open.quota[pool])).sum();
            if sold > self.slots[pool] {
                return Err(format!("{sold} {pool:?} slots are sold, there are {}", self.slots[pool]));
            }
        }
        Ok(())
    }
}
