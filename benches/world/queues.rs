//! An engine with a queue for each user.

use jobtracker::engine::{Engine, EngineConfig, PolicyConfig, QueueConfig, Restored};
use jobtracker::market::BudgetLine;
use jobtracker::model::{Credits, Now, QueueName};

/// The engine of a daemon that has just started, and its time. Under a market each queue has this budget and one of seven rates.
pub fn engine_with_queues(policy: PolicyConfig, users: &[String], budget: &str) -> (Engine, Now) {
    let queues = users.iter().map(|user| QueueConfig::open(user)).collect();
    let config = EngineConfig { queues, ..EngineConfig::with_defaults("202611210913".parse().unwrap(), policy) };
    let now = Now { mono_ms: 1_000_000, wall_ms: 1_795_252_000_000 };
    let mut engine = Engine::new(config, Restored::default(), now);
    let line = |(number, user): (usize, &String)| BudgetLine {
        queue: QueueName::new(user).unwrap(),
        budget: Credits::parse_exact(budget).unwrap(),
        rate: Credits::parse_exact(&format!("0.{}", number % 7 + 1)).unwrap(),
        is_budget_rounded: false,
        is_rate_rounded: false,
    };
    engine.seed_budgets(users.iter().enumerate().map(line).collect(), now);
    engine.take_start_facts();
    (engine, now)
}
