//! The statement of a queue: its rows of the ledger, seen from its side, with the balance after each.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::credits::Credits;
use super::query::{QueryError, decode, number, set_once};
use super::queue_name::QueueName;

/// What moved the money, as the ledger spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovementReason {
    /// A budget came in with the budget file at first start.
    Endowment,
    /// `addBudget`, either way.
    TopUp,
    /// Slots were used.
    Charge,
    /// An amount that had to be rounded, or an edit of the budget file.
    Adjustment,
    /// What was left when the queue was removed.
    Closing,
}

/// One movement, or the sum of a day's of one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRow {
    /// Position in the ledger; of a sum that of its last movement.
    pub number: u64,
    /// When, epoch ms; of a sum when the last was.
    pub time_ms: i64,
    /// Of a sum the day of UTC, such as `2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// How many movements this is.
    pub movements: u64,
    /// For charges the tick that ended the interval, else the last one before.
    pub tick: u64,
    /// Why.
    pub reason: MovementReason,
    /// Of a charge credits for one slot over one interval; of a sum only if all had the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Credits>,
    /// Of a charge the map slots paid for, each interval's counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_slots: Option<u64>,
    /// Of a charge the reduce slots paid for, each interval's counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_slots: Option<u64>,
    /// What came in; negative: what went out.
    pub amount: Credits,
    /// The queue's balance afterwards. Of the sums of a day only the last has one: within the day the order is lost.
    pub balance: Option<Credits>,
}

/// A part of a queue's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The queue.
    pub queue: QueueName,
    /// Its balance now.
    pub balance: Credits,
    /// The rows, newest last.
    pub rows: Vec<StatementRow>,
    /// Whether earlier rows were asked for too and do not fit in: they are got by `before` the first one here.
    pub has_earlier: bool,
}

/// Which rows are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementPage {
    /// Only those of this moment or later, epoch ms.
    pub since_ms: Option<i64>,
    /// Only those before this number.
    pub before: Option<u64>,
}

// === impl StatementPage ===

impl StatementPage {
    /// Rows in one answer at most.
    pub const MOST_ROWS: usize = 5_000;

    /// Reads `since` and `before` out of a raw query string.
    ///
    /// # Errors
    /// A repeated parameter, or one that is no number.
    pub fn parse(query: &str) -> Result<StatementPage, QueryError> {
        let (mut since, mut before) = (None, None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match decode(name)?.as_ref() {
                "since" => set_once(&mut since, "since", value)?,
                "before" => set_once(&mut before, "before", value)?,
                _ => {}
            }
        }
        Ok(StatementPage { since_ms: number("since", since)?, before: number("before", before)? })
    }
}

// === impl MovementReason ===

impl MovementReason {
    const ALL: [MovementReason; 5] = [
        MovementReason::Endowment,
        MovementReason::TopUp,
        MovementReason::Charge,
        MovementReason::Adjustment,
        MovementReason::Closing,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            MovementReason::Endowment => "endowment",
            MovementReason::TopUp => "top_up",
            MovementReason::Charge => "charge",
            MovementReason::Adjustment => "adjustment",
            MovementReason::Closing => "closing",
        }
    }

    /// The reason that a word stands for.
    pub fn named(word: &str) -> Option<MovementReason> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

impl fmt::Display for MovementReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read() {
        let page = StatementPage::parse("statement=q&since=-5&before=7&user=u&timestamp=1").unwrap();
        assert_eq!(page, StatementPage { since_ms: Some(-5), before: Some(7) });
        assert_eq!(StatementPage::parse("statement"), Ok(StatementPage::default()));
        for (query, told) in [
            ("since=x", "since: \"x\" is not a whole number"),
            ("before=-1", "before: \"-1\" is not a whole number"),
            ("since=", "since: \"\" is not a whole number"),
            ("since=1&since=1", "the parameter since is given more than once"),
        ] {
            assert_eq!(StatementPage::parse(query).unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn words_are_those_of_json() {
        for reason in MovementReason::ALL {
            assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{reason}\""));
            assert_eq!(MovementReason::named(reason.as_str()), Some(reason));
        }
        assert_eq!(MovementReason::named("theft"), None);
    }
}
