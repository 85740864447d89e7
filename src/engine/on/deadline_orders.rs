//! Deadline orders: what they must be to stand, placed and taken back by their owners, ended with their jobs, and quotes of
//! them: what the next tick would buy for a job that might be submitted.

use crate::api::{OrderQuote, OrderState};
use crate::engine::core::Engine;
use crate::engine::state::{Fact, LogLevel, OrderStanding, Refusal};
use crate::mapreduce::JobSpec;
use crate::market::{
    Account, Answer, ContainerUse, MAX_ORDERS_OF_QUEUE, MarketError, Operation, Order, OrderEnd, OrderError, QueueUse,
};
use crate::model::{Credits, JobId, Kind, Now, OrderTerms, PerKind, QueueName};
use crate::scheduler::AppId;
use crate::scheduler::constraint::{JobWork, Model};

use super::market_queries::{queue_usage, sold_slots};
use super::order_rates::{OpenOrder, OrderCharges, QueueOrders, raise_bids, slot_cost_units};
use super::order_statuses::{OrderNeed, OrderWork, need_of_new};
use super::what_if::DeadlineQuestion;

/// The place of a job that is not there: behind all that are.
const LAST: (i64, AppId) = (i64::MAX, AppId::new(u32::MAX));

/// What an order buys for the tasks of one kind.
struct Bought {
    slots: u32,
    rate: Credits,
    state: OrderState,
    sufficient_rate: Option<Credits>,
    /// What its queue has to pay with.
    balance: Credits,
}

impl Engine {
    /// Performs what the market permits of orders; passes other answers through.
    pub(super) fn perform_order(&mut self, answer: Answer, now: Now) -> Result<Answer, MarketError> {
        match answer {
            Answer::Permitted(Operation::Bid { queue, order }) => {
                self.place_order(&queue, order, now)?;
                Ok(self.answer_orders(&queue))
            }
            Answer::Permitted(Operation::Unbid { queue, job }) => {
                if !self.end_order(queue.as_str(), job, OrderEnd::Unbid) {
                    return Err(OrderError::NoOrder(job).into());
                }
                Ok(self.answer_orders(&queue))
            }
            other => Ok(other),
        }
    }

    /// Places the order that a job was submitted with, where the market rules. The job is new: it has cost nothing.
    pub(super) fn place_order_of(&mut self, id: JobId, now: Now) {
        let job = self.jobs.get(id).filter(|_| self.ruling_market().is_some());
        let Some((queue, order)) = job.and_then(|job| submitted_order(id, &job.spec, job.submit_ms)) else { return };
        if let Err(error) = self.place_order(&queue, order, now) {
            self.outbox.log_line(LogLevel::Warning, format!("{id} has no order: {error}"));
        }
    }

    /// Refuses a new job whose order could not stand.
    pub(super) fn check_order_of(&self, id: JobId, spec: &JobSpec, wall_ms: i64) -> Result<(), Refusal> {
        let Some((queue, order)) = submitted_order(id, spec, wall_ms) else { return Ok(()) };
        let checked = self.check_terms(&queue, &order, wall_ms);
        checked.map_err(|error| Refusal::Invalid(format!("Job {id} rejected by the market: {error}")))
    }

    fn place_order(&mut self, queue: &QueueName, order: Order, now: Now) -> Result<(), OrderError> {
        let id = order.job;
        let job = self.jobs.get(id).ok_or(OrderError::UnknownJob(id))?;
        if job.is_over() {
            return Err(OrderError::JobOver(id));
        }
        if job.spec.payer() != Some(queue.as_str()) {
            return Err(OrderError::NotPaid(id));
        }
        self.check_terms(queue, &order, now.wall_ms)?;
        let spent = self.cost_of(job).map_or(Credits::ZERO, |cost| cost.cost);
        if let Some(max_cost) = order.max_cost.filter(|max_cost| *max_cost < spent) {
            return Err(OrderError::MaxCostBelowSpent { job: id, max_cost, spent });
        }
        let estimate = self.estimate_now(&self.deadline_config().history, job);
        self.set_estimate(id, estimate);
        let foreseen = self.foresee(queue, &order, now);
        if let Some(market) = &mut self.market {
            let fact = market.accounts.set_order(queue.clone(), order);
            market.standings.remove(&id);
            market.standings.extend(foreseen.map(|standing| (id, standing)));
            self.outbox.record(Fact::Market(fact));
        }
        self.renew_deadline(id);
        Ok(())
    }

    /// Ends the order for a job; whether there was one.
    pub(super) fn end_order(&mut self, queue: &str, job: JobId, end: OrderEnd) -> bool {
        let Some(market) = &mut self.market else { return false };
        let Some(fact) = market.accounts.end_order(queue, job, end) else { return false };
        market.standings.remove(&job);
        self.outbox.record(Fact::Market(fact));
        self.renew_deadline(job);
        true
    }

    /// Ends the order for a job that is over.
    pub(super) fn end_order_of(&mut self, id: JobId) {
        let payer = self.jobs.get(id).and_then(|job| job.spec.payer()).map(str::to_owned);
        if let Some(queue) = payer {
            self.end_order(&queue, id, OrderEnd::JobOver);
        }
    }

    pub(super) fn end_passed_orders(&mut self, now: Now) {
        let Some(market) = self.ruling_market() else { return };
        let passed = market.orders().flat_map(|(queue, orders)| {
            let passed = orders.filter(|order| order.deadline_ms <= now.wall_ms);
            passed.map(move |order| (queue.clone(), order.job))
        });
        for (queue, job) in passed.collect::<Vec<_>>() {
            self.end_order(queue.as_str(), job, OrderEnd::Passed);
        }
    }

    /// What an order of the queue would buy for a job that is submitted now, its maps first and then its reduces, by the
    /// tick's own code and the present bids, orders and usage.
    ///
    /// # Errors
    /// [`MarketError`] where the order could not be placed.
    pub(crate) fn quote_order(
        &self,
        queue: &QueueName,
        max_rate: Credits,
        question: &DeadlineQuestion,
        now: Now,
    ) -> Result<OrderQuote, MarketError> {
        if self.ruling_market().is_none() {
            return Err(MarketError::NotRuling);
        }
        let now_us = now.wall_ms.saturating_mul(1_000);
        let deadline_us = question.deadline.due_us(now.wall_ms);
        let deadline_ms = deadline_us.div_euclid(1_000);
        let job = JobId { identifier: self.config.identifier, number: 0 };
        let order = Order { job, deadline_ms, max_rate, max_cost: None };
        self.check_terms(queue, &order, now.wall_ms)?;
        let (work, model) = (self.asked_work(question), self.order_model());
        let need = need_of_new(&work, model, now_us, deadline_us);
        let open = OpenOrder { order, place: LAST, need, work: OrderWork::of(&work, &work) };
        Ok(self.quote_open(queue, open, &work, now))
    }

    /// How an order stands before the next tick, by what it would buy for what is left of its job; none: as a new one.
    pub(super) fn foresee(&self, queue: &QueueName, order: &Order, now: Now) -> Option<OrderStanding> {
        self.ruling_market()?;
        let (job, open) = (self.jobs.get(order.job)?, self.open_order(order, now)?);
        let (left, _) = self.order_work(job, order);
        let spent = self.cost_of(job).map_or(Credits::ZERO, |cost| cost.cost);
        let less = |most: Credits| Credits::from_units((most.units() - spent.units()).max(0));
        let max_cost = order.max_cost.map(less);
        // Whether the whole cost is within it, not that of the next interval, decides.
        let open = OpenOrder { order: Order { max_cost: None, ..open.order }, ..open };
        let quote = self.quote_open(queue, open, &left, now).within(max_cost);
        let is_beyond = quote.is_beyond(max_cost);
        let OrderQuote { state, sufficient_rate, cost, .. } = quote;
        let in_all = (spent.units() + cost.units()).min(Credits::MAX.units());
        let cost = is_beyond.then(|| Credits::from_units(in_all));
        (state != OrderState::OnTime).then_some(OrderStanding { state, at_ms: now.wall_ms, sufficient_rate, cost })
    }

    /// What an open order buys for the work that is left.
    fn quote_open(&self, queue: &QueueName, open: OpenOrder, work: &JobWork, now: Now) -> OrderQuote {
        let (model, now_us) = (self.order_model(), now.wall_ms.saturating_mul(1_000));
        let (need, deadline_ms) = (open.need, open.order.deadline_ms);
        let deadline_us = deadline_ms.saturating_mul(1_000);
        let maps_end_us = maps_end_us(work, model, now_us, need.slots.map).unwrap_or(deadline_us);
        let reduces = match work.maps {
            // Some of them may run.
            0 => need.slots.reduce,
            _ => model.least_reduces(&JobWork { maps: 0, ..*work }, maps_end_us, deadline_us),
        };
        let needed = PerKind::new(need.slots.map, reduces);
        let buy = |kind: Kind| {
            let mut slots = PerKind::default();
            slots[kind] = needed[kind];
            self.buy(queue, OpenOrder { need: OrderNeed { slots, ..need }, ..open }, kind, now)
        };
        let phases = PerKind::new(buy(Kind::Map), buy(Kind::Reduce));
        let bought = PerKind::new(phases.map.slots, phases.reduce.slots);
        let each = Kind::ALL.map(|kind| &phases[kind]);
        let short: Vec<_> = each.iter().filter(|phase| phase.state != OrderState::OnTime).collect();
        let sufficient_rate = short.iter().map(|phase| phase.sufficient_rate).collect::<Option<Vec<_>>>();
        // Each reduce holds its slot while it copies.
        let reduce_us = work.reduce_us.saturating_add(work.copy_us.saturating_mul(work.reduces.into()));
        let costs = [(phases.map.rate, work.map_us), (phases.reduce.rate, reduce_us)];
        let interval_ms = self.alloc_interval_ms();
        let cost_units = costs.map(|(rate, slot_us)| slot_cost_units(rate, slot_us, interval_ms)).iter().sum::<i128>();
        let quote = OrderQuote {
            deadline_ms,
            state: if short.is_empty() { OrderState::OnTime } else { OrderState::AtRisk },
            needed,
            bought,
            rate: phases.map.rate.max(phases.reduce.rate),
            sufficient_rate: sufficient_rate.and_then(|rates| rates.into_iter().max()),
            cost: Credits::from_units(cost_units.min(Credits::MAX.units())),
            budget: Some(phases.map.balance),
            end_ms: end_us(work, model, now_us, bought).map(|end_us| -(-end_us).div_euclid(1_000)),
        };
        quote.within(None)
    }

    /// What one more order buys at the next tick for the tasks of one kind.
    fn buy(&self, queue: &QueueName, open: OpenOrder, kind: Kind, now: Now) -> Bought {
        let Some(market) = &self.market else { return Bought::nothing(Credits::ZERO) };
        let (job, needed, is_feasible) = (open.order.job, open.need.slots[kind], open.need.is_feasible);
        let mut orders = self.open_orders(now);
        // One that stands already is not bought twice.
        orders.iter_mut().for_each(|queue| queue.remove(job));
        let earlier = QueueOrders::add(&mut orders, queue, open)[kind];
        let (mut usage, _) = queue_usage(market, &self.cluster.scheduler, &self.applications);
        match usage.binary_search_by(|queue_use| queue_use.queue.cmp(queue)) {
            // The job that is asked about waits with the others.
            Ok(place) => usage[place].want = QueueUse::wants_all(&usage[place].containers),
            Err(place) => {
                let (running, later, containers) = (PerKind::default(), PerKind::default(), ContainerUse::default());
                let want = QueueUse::wants_all(&containers);
                usage.insert(place, QueueUse { queue: queue.clone(), running, pending: 1, containers, want, later });
            }
        }
        let interval_ms = self.alloc_interval_ms();
        let (mut bids, laid) = market.accounts.open_bids(&usage, sold_slots(&self.cluster.scheduler));
        let charges = OrderCharges { costs: &market.costs, laid: &laid, interval_ms };
        let standings = raise_bids(&orders, &mut bids, &charges, now.wall_ms);
        let Some(place) = bids.place(queue.as_str()) else { return Bought::nothing(Credits::ZERO) };
        let balance = bids.balance(place);
        let Some(standing) = standings.get(&job) else { return Bought::nothing(balance) };
        let rate = bids.rate(place);
        let slots = bids.quota(place, rate)[kind].saturating_sub(earlier).min(needed);
        let is_short = slots < needed || !is_feasible;
        let state = if is_short { OrderState::AtRisk } else { OrderState::OnTime };
        Bought { slots, rate, state, sufficient_rate: standing.sufficient_rate, balance }
    }

    pub(super) fn check_terms(&self, queue: &QueueName, order: &Order, now_ms: i64) -> Result<(), OrderError> {
        let Order { deadline_ms, max_rate, .. } = *order;
        if deadline_ms <= now_ms {
            return Err(OrderError::Passed { deadline_ms, now_ms });
        }
        let Some(market) = self.market() else { return Ok(()) };
        if market.has_all_orders(queue.as_str(), order.job) {
            return Err(OrderError::TooManyOrders { queue: queue.clone(), most: MAX_ORDERS_OF_QUEUE });
        }
        let bid = market.account(queue.as_str()).map(Account::bid);
        match bid.filter(|bid| max_rate < *bid) {
            Some(bid) => Err(OrderError::MaxRateBelowBid { queue: queue.clone(), max_rate, bid }),
            None => Ok(()),
        }
    }
}

/// The order that a job of that specification was submitted with, and the queue that pays for it.
fn submitted_order(id: JobId, spec: &JobSpec, submit_ms: i64) -> Option<(QueueName, Order)> {
    let (deadline, terms) = (spec.deadline.as_ref()?, spec.order?);
    let OrderTerms { max_rate, max_cost } = terms;
    let deadline_ms = deadline.due_us(submit_ms).div_euclid(1_000);
    // The market accepts jobs of queues of their users' names alone.
    Some((QueueName::new(&spec.user).ok()?, Order { job: id, deadline_ms, max_rate, max_cost }))
}

impl Bought {
    fn nothing(balance: Credits) -> Self {
        Self { slots: 0, rate: Credits::ZERO, state: OrderState::AtRisk, sufficient_rate: None, balance }
    }
}

/// When the last map ends on so many slots; none: never.
fn maps_end_us(work: &JobWork, model: Model, start_us: i64, slots: u32) -> Option<i64> {
    after_rounds(start_us, work.maps, slots, model.map_round_us(work))
}

/// When the job ends on so many slots; none: never.
fn end_us(work: &JobWork, model: Model, start_us: i64, slots: PerKind<u32>) -> Option<i64> {
    let copied_us = maps_end_us(work, model, start_us, slots.map)?.saturating_add_unsigned(work.copy_us);
    after_rounds(copied_us, work.reduces, slots.reduce, model.reduce_round_us(work))
}

fn after_rounds(start_us: i64, tasks: u32, slots: u32, round_us: u64) -> Option<i64> {
    match (tasks, slots) {
        (0, _) => Some(start_us),
        (_, 0) => None,
        (tasks, slots) => Some(start_us.saturating_add_unsigned(round_us.saturating_mul(tasks.div_ceil(slots).into()))),
    }
}
