//! The statement of a queue: its ledger rows, with the balance after each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{Credits, QueueName, names};

/// Why money moved, with the words of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovementReason {
    /// The queue's budget came from the budget file at the first start.
    Endowment,
    /// `addBudget`, positive or negative.
    TopUp,
    /// Slots were used.
    Charge,
    /// The budget file was edited, or one of its amounts was rounded.
    Adjustment,
    /// The queue was removed with this balance.
    Closing,
    /// An administrator moved credits between this queue and another.
    Transfer,
    /// A period of the queue's allowance had passed.
    Allowance,
}

/// One movement, or the sum of all movements of one day with the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRow {
    /// Position in the ledger; for a sum, the position of its last movement.
    pub number: u64,
    /// Time of the movement, epoch ms; for a sum, of its last movement.
    pub time_ms: i64,
    /// Only for a sum: the UTC day, such as `2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Number of movements in this row.
    pub movements: u64,
    /// For a charge, the tick that closed the interval; else the last tick before the movement.
    pub tick: u64,
    /// Why money moved.
    pub reason: MovementReason,
    /// Only for a charge, and for a sum only if an earlier version has made it: credits for one slot over a whole interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Credits>,
    /// Only for a charge, not for a sum: the length of a whole interval, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// Only for a charge: map slots held within what was bought, times the milliseconds for which they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_slot_ms: Option<u64>,
    /// The same of reduce slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_slot_ms: Option<u64>,
    /// The same of slots of containers, with those beyond the quota that stood for slots which others had bought and did
    /// not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_slot_ms: Option<u64>,
    /// Only for a charge of before charges went by time: map slots paid for, summed over the intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_slots: Option<u64>,
    /// The same of reduce slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_slots: Option<u64>,
    /// The same of slots of containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_slots: Option<u64>,
    /// Only for a transfer: the other queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_queue: Option<QueueName>,
    /// Who moved it, or set the allowance; absent for charges and what the system did. For a sum, only if all movements
    /// have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What was said about it, or where it came from. For a sum, only if all movements have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Credits added to the balance; negative for credits taken.
    pub amount: Credits,
    /// The balance after this row. Of a day's sums only the last has one, because their order within the day is lost.
    pub balance: Option<Credits>,
}

/// One page of a queue's ledger rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The queue.
    pub queue: QueueName,
    /// The present balance.
    pub balance: Credits,
    /// The rows, newest last.
    pub rows: Vec<StatementRow>,
    /// Whether earlier rows did not fit; request them with `before` set to the number of the first row here.
    pub has_earlier: bool,
}

names!(MovementReason {
    Endowment = "endowment",
    TopUp = "top_up",
    Charge = "charge",
    Adjustment = "adjustment",
    Closing = "closing",
    Transfer = "transfer",
    Allowance = "allowance",
});

impl fmt::Display for MovementReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_json() {
        for word in ["endowment", "top_up", "charge", "adjustment", "closing", "transfer", "allowance"] {
            let reason = MovementReason::from_name(word).unwrap();
            assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{reason}\""));
        }
        assert_eq!(MovementReason::from_name("theft"), None);
    }
}
