//! Deadline orders: placed and taken back by their owners, ended with their jobs.

use crate::engine::core::Engine;
use crate::engine::state::{Fact, LogLevel, Refusal};
use crate::mapreduce::JobSpec;
use crate::market::{Answer, MarketError, Operation, Order, OrderEnd, OrderError};
use crate::model::{Credits, JobId, Now, OrderTerms, QueueName};

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
}

/// The order that a job of that specification was submitted with, and the queue that pays for it.
fn submitted_order(id: JobId, spec: &JobSpec, submit_ms: i64) -> Option<(QueueName, Order)> {
    let (deadline, terms) = (spec.deadline.as_ref()?, spec.order?);
    let OrderTerms { max_rate, max_cost } = terms;
    let deadline_ms = deadline.due_us(submit_ms).div_euclid(1_000);
    // The market accepts jobs of queues of their users' names alone.
    Some((QueueName::new(&spec.user).ok()?, Order { job: id, deadline_ms, max_rate, max_cost }))
}
