//! What the market has told, as tables for people and as JSON for machines. Text only.
//!
//! In JSON, amounts are decimal texts, which hold them to the last unit, and times are epoch ms.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use jiff::Timestamp;
use serde::Serialize;

use crate::client::market::{MarketAnswer, QueueLine};

/// How an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Table,
    Json,
}

/// Whose rate a queue's is, for the head of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateOf {
    /// The effective one of the last tick.
    LastTick,
    /// The bid, which counts from the next tick on.
    Bid,
}

/// Queues, one a line; none but the head when there are none.
pub(super) fn queues_text(queues: &[QueueLine], rate_of: RateOf, form: Form) -> String {
    if form == Form::Json {
        return json(&queues);
    }
    let rate = if rate_of == RateOf::Bid { "bid" } else { "rate" };
    let mut table = columns(&["queue", "budget", rate, "share", "used", "pending"], 1);
    for line in queues {
        let QueueLine { queue, budget, spending, share, used, pending } = line;
        table.add_row([queue, budget, spending, share, &used.to_string(), &pending.to_string()]);
    }
    lines(&table)
}

/// The one queue of an answer.
pub(super) fn queue_text(queue: &QueueLine, rate_of: RateOf, form: Form) -> String {
    if form == Form::Json { json(queue) } else { queues_text(std::slice::from_ref(queue), rate_of, form) }
}

/// That a queue is gone.
pub(super) fn removed_text(queue: &str, form: Form) -> String {
    if form == Form::Json {
        return json(&serde_json::json!({ "removed": queue }));
    }
    format!("queue {queue} is removed; what was left in it is booked as taken out\n")
}

/// The price.
pub(super) fn price_text(answer: &MarketAnswer, form: Form) -> String {
    let price = answer.price.as_deref().unwrap_or_default();
    if form == Form::Json { json(&serde_json::json!({ "price": price })) } else { format!("{price}\n") }
}

/// The server's start and clock.
pub(super) fn time_text(answer: &MarketAnswer, form: Form) -> String {
    let MarketAnswer { start_ms, time_ms, .. } = answer;
    if form == Form::Json {
        return json(&serde_json::json!({ "start_ms": start_ms, "time_ms": time_ms }));
    }
    let mut table = columns(&["what", "ms", "UTC"], 1);
    for (what, at_ms) in [("start", start_ms), ("time", time_ms)] {
        let at_ms = at_ms.unwrap_or_default();
        table.add_row([what.to_owned(), at_ms.to_string(), moment(at_ms)]);
    }
    lines(&table)
}

/// A table with these heads, the columns after the first few set to the right.
pub(super) fn columns(heads: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(heads.iter().map(|head| head.to_uppercase()));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A table as text, without blanks at the ends of its lines.
pub(super) fn lines(table: &Table) -> String {
    table.trim_fmt() + "\n"
}

/// A value as JSON, for people who look at it too.
pub(super) fn json(value: &impl Serialize) -> String {
    // Texts, numbers and lists always have a JSON form.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A moment of UTC; a dash for what no calendar holds.
pub(super) fn moment(epoch_ms: i64) -> String {
    match Timestamp::from_millisecond(epoch_ms) {
        Ok(moment) => moment.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(queue: &str, budget: &str) -> QueueLine {
        QueueLine {
            queue: queue.to_owned(),
            budget: budget.to_owned(),
            spending: "0.5".to_owned(),
            share: "0.333333333".to_owned(),
            used: 12,
            pending: 3,
        }
    }

    #[test]
    fn queues_are_lines_of_a_table() {
        let queues = [line("alice", "1000000.000000000001"), line("bob@example.org", "2.0")];
        insta::assert_snapshot!(queues_text(&queues, RateOf::LastTick, Form::Table), @r"
        QUEUE                          BUDGET  RATE        SHARE  USED  PENDING
        alice            1000000.000000000001   0.5  0.333333333    12        3
        bob@example.org                   2.0   0.5  0.333333333    12        3
        ");
        insta::assert_snapshot!(queues_text(&[], RateOf::LastTick, Form::Table), @"QUEUE  BUDGET  RATE  SHARE  USED  PENDING");
        insta::assert_snapshot!(queue_text(&queues[1], RateOf::Bid, Form::Table), @r"
        QUEUE            BUDGET  BID        SHARE  USED  PENDING
        bob@example.org     2.0  0.5  0.333333333    12        3
        ");
    }

    #[test]
    fn machines_get_json() {
        insta::assert_snapshot!(queues_text(&[line("alice", "2.0")], RateOf::LastTick, Form::Json), @r#"
        [
          {
            "queue": "alice",
            "budget": "2.0",
            "spending": "0.5",
            "share": "0.333333333",
            "used": 12,
            "pending": 3
          }
        ]
        "#);
        insta::assert_snapshot!(queue_text(&line("alice", "2.0"), RateOf::Bid, Form::Json), @r#"
        {
          "queue": "alice",
          "budget": "2.0",
          "spending": "0.5",
          "share": "0.333333333",
          "used": 12,
          "pending": 3
        }
        "#);
        insta::assert_snapshot!(removed_text("bob", Form::Json), @r#"
        {
          "removed": "bob"
        }
        "#);
    }

    #[test]
    fn price_and_time_are_for_both() {
        let answer = MarketAnswer {
            price: Some("12.249998".to_owned()),
            start_ms: Some(1_238_600_160_788),
            time_ms: Some(1_238_605_061_519),
            ..MarketAnswer::default()
        };
        assert_eq!(price_text(&answer, Form::Table), "12.249998\n");
        insta::assert_snapshot!(price_text(&answer, Form::Json), @r#"
        {
          "price": "12.249998"
        }
        "#);
        insta::assert_snapshot!(time_text(&answer, Form::Table), @r"
        WHAT              MS                  UTC
        start  1238600160788  2009-04-01 15:36:00
        time   1238605061519  2009-04-01 16:57:41
        ");
        insta::assert_snapshot!(time_text(&answer, Form::Json), @r#"
        {
          "start_ms": 1238600160788,
          "time_ms": 1238605061519
        }
        "#);
        assert_eq!(moment(i64::MAX), "-");
    }
}
