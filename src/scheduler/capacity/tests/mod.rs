//! The original's rules and tables of numbers, row by row.

mod configuration;
mod derived_numbers;
mod holds;
mod jobs;
mod queue_slots;
mod reports;
mod turns;
mod user_limit;

use crate::model::Decimal;

use super::{CapacityConfig, WrittenConfig, WrittenQueue};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn written(queues: &[(&str, &str)]) -> WrittenConfig {
    let queues = queues.iter().map(|(name, capacity)| WrittenQueue::with_defaults(name, Some(decimal(capacity))));
    WrittenConfig { queues: queues.collect(), ..WrittenConfig::default() }
}

fn config(queues: &[(&str, &str)]) -> CapacityConfig {
    CapacityConfig::new(&written(queues)).unwrap()
}
