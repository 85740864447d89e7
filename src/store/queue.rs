//! The writer's queue. Invariant: its facts are numbered without a gap, from the one after the last durable fact.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use crate::engine::Fact;
use crate::model::FactNumber;

use super::error::StoreError;
use super::fact_feed::FactBatch;

#[derive(Debug)]
pub(super) enum Message {
    /// Facts to record, numbered upwards from `first`.
    Facts {
        first: FactNumber,
        facts: Vec<Fact>,
    },
    /// A value to set in `meta`, after all facts sent before.
    Meta {
        key: &'static str,
        value: String,
        /// Whether the caller may wait until this process may serve.
        can_wait: bool,
        /// Notified once it is durable.
        done: Sender<()>,
    },
    /// Commit the migration of the schema, if one is held.
    CommitMigration {
        /// Notified of the outcome.
        done: Sender<Result<(), StoreError>>,
    },
    Close,
}

#[derive(Debug)]
pub(super) struct WriterQueue {
    pub(super) batches: VecDeque<FactBatch>,
    pub(super) facts: usize,
    pub(super) meta_values: Vec<MetaValue>,
    next: FactNumber,
    pub(super) closing: bool,
}

#[derive(Debug)]
pub(super) struct MetaValue {
    pub(super) key: &'static str,
    pub(super) value: String,
    pub(super) done: Sender<()>,
}

impl WriterQueue {
    pub(super) fn after(last: FactNumber) -> Self {
        let next = FactNumber(last.0 + 1);
        Self { batches: VecDeque::new(), facts: 0, meta_values: Vec::new(), next, closing: false }
    }

    /// Takes a message in; an error says what is wrong with its facts.
    pub(super) fn take(&mut self, message: Message) -> Result<(), String> {
        match message {
            Message::Facts { first, .. } if first != self.next => {
                return Err(format!("fact {} was handed in where fact {} is next", first.0, self.next.0));
            }
            Message::Facts { first, facts } => {
                self.next = FactNumber(first.0 + facts.len() as u64);
                self.facts += facts.len();
                self.batches.push_back(FactBatch { first, facts });
            }
            Message::Meta { key, value, can_wait: _, done } => self.meta_values.push(MetaValue { key, value, done }),
            // None is held: the caller may have stopped waiting.
            Message::CommitMigration { done } => drop(done.send(Ok(()))),
            Message::Close => self.closing = true,
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.meta_values.is_empty()
    }

    /// How many batches the next transaction takes: whole ones, at least one.
    pub(super) fn next_batches(&self, limit_facts: usize) -> usize {
        let mut facts = 0;
        let fitting = self.batches.iter().take_while(|batch| {
            facts += batch.facts.len();
            facts <= limit_facts
        });
        fitting.count().max(1).min(self.batches.len())
    }
}
