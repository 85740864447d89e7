//! Renders a queue's statement as a table for people and as JSON for programs.

use comfy_table::CellAlignment;

use crate::api::{Statement, StatementRow};
use crate::model::Credits;

use super::market_text::{OutputForm, columns, json, lines};
use super::report_text::{comma_separated, format_rfc_3339};
use super::terminal::visible;
use super::time_text::format_time;

/// The rows, newest last. In the table, a row with a date as its time is a daily sum.
pub(super) fn render_statement(statement: &Statement, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(statement);
    }
    let rows = &statement.rows;
    let has = |of: fn(&StatementRow) -> Option<u64>| rows.iter().any(|row| of(row).is_some_and(|slots| slots > 0));
    let has_samples = rows.iter().any(|row| row.map_slots.is_some());
    let mut columns_of_slots: Vec<SlotColumn> = vec![
        ("map slot-s", |row| row.map_slot_ms.map(format_seconds)),
        ("reduce slot-s", |row| row.reduce_slot_ms.map(format_seconds)),
    ];
    if has(|row| row.container_slot_ms) {
        columns_of_slots.push(("container slot-s", |row| row.container_slot_ms.map(format_seconds)));
    }
    columns_of_slots.push(("average slots", average_slots));
    // Of before charges went by time.
    if has_samples {
        columns_of_slots.push(("map slots", |row| row.map_slots.map(|slots| slots.to_string())));
        columns_of_slots.push(("reduce slots", |row| row.reduce_slots.map(|slots| slots.to_string())));
    }
    if has(|row| row.container_slots) {
        columns_of_slots.push(("container slots", |row| row.container_slots.map(|slots| slots.to_string())));
    }
    let before = ["time", "reason", "movements", "rate"].into_iter();
    let heads: Vec<&str> = before
        .chain(columns_of_slots.iter().map(|(head, _)| *head))
        .chain(["amount", "balance", "by", "note"])
        .collect();
    let mut table = columns(&heads, 2);
    for column in table.column_iter_mut().skip(heads.len() - 2) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in rows {
        let slots = columns_of_slots.iter().map(|(_, cell)| cell(row).unwrap_or_default());
        table.add_row(cells(row, slots));
    }
    lines(&table)
}

/// Comma-separated values, a line each movement or daily sum, the oldest first. Exact amounts, times in UTC.
pub(super) fn render_csv(statement: &Statement) -> String {
    let heads = "time,reason,movements,rate,interval_ms,map_slot_ms,reduce_slot_ms,container_slot_ms,\
                 map_slots,reduce_slots,container_slots,amount,balance,by,other_queue,note";
    let mut text = format!("{heads}\n");
    for row in &statement.rows {
        let money = |amount: Option<Credits>| amount.map(|amount| amount.to_string()).unwrap_or_default();
        let slots = |slots: Option<u64>| slots.map(|slots| slots.to_string()).unwrap_or_default();
        let cells = [
            row.day.clone().or_else(|| format_rfc_3339(row.time_ms)).unwrap_or_default(),
            row.reason.to_string(),
            row.movements.to_string(),
            money(row.rate),
            slots(row.interval_ms),
            slots(row.map_slot_ms),
            slots(row.reduce_slot_ms),
            slots(row.container_slot_ms),
            slots(row.map_slots),
            slots(row.reduce_slots),
            slots(row.container_slots),
            row.amount.to_string(),
            money(row.balance),
            row.by.clone().unwrap_or_default(),
            row.other_queue.as_ref().map(ToString::to_string).unwrap_or_default(),
            row.note.clone().unwrap_or_default(),
        ];
        text += &comma_separated(cells.into_iter());
    }
    text
}

/// A column of slots: its head, and its cell in a row.
type SlotColumn = (&'static str, fn(&StatementRow) -> Option<String>);

/// Slot-milliseconds as slot-seconds.
fn format_seconds(slot_ms: u64) -> String {
    format!("{}.{:03}", slot_ms / 1_000, slot_ms % 1_000)
}

/// Slots over the whole interval, rounded down to hundredths; none for a daily sum, which has no one length.
fn average_slots(row: &StatementRow) -> Option<String> {
    let parts = [row.map_slot_ms?, row.reduce_slot_ms?, row.container_slot_ms?];
    let slot_ms = parts.into_iter().map(u128::from).sum::<u128>();
    let hundredths = slot_ms * 100 / u128::from(row.interval_ms.filter(|interval_ms| *interval_ms > 0)?);
    Some(format!("{}.{:02}", hundredths / 100, hundredths % 100))
}

fn cells(row: &StatementRow, slots: impl Iterator<Item = String>) -> Vec<String> {
    let money = |amount: Option<Credits>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    let moved = if row.amount > Credits::ZERO { format!("+{}", row.amount) } else { row.amount.to_string() };
    let before = [
        row.day.clone().unwrap_or_else(|| format_time(row.time_ms)),
        row.reason.to_string(),
        row.movements.to_string(),
        money(row.rate),
    ];
    // Others write them; a mark of writing direction would turn the row around, in a pager too.
    let by = visible(row.by.as_deref().unwrap_or_default()).into_owned();
    let after = [moved, money(row.balance), by, visible(&note(row)).into_owned()];
    before.into_iter().chain(slots).chain(after).collect()
}

/// The note, after where a transfer came from or went to.
fn note(row: &StatementRow) -> String {
    let direction = if row.amount > Credits::ZERO { "from" } else { "to" };
    let other = row.other_queue.as_ref().map(|queue| format!("{direction} {queue}"));
    other.into_iter().chain(row.note.clone()).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::MovementReason;

    fn row(number: u64, reason: MovementReason, amount: &str, balance: Option<&str>) -> StatementRow {
        StatementRow {
            number,
            time_ms: 1_795_000_000_000 + number as i64 * 20_000,
            day: None,
            movements: 1,
            tick: number,
            reason,
            rate: None,
            interval_ms: None,
            map_slot_ms: None,
            reduce_slot_ms: None,
            container_slot_ms: None,
            map_slots: None,
            reduce_slots: None,
            container_slots: None,
            other_queue: None,
            by: None,
            note: None,
            amount: amount.parse().unwrap(),
            balance: balance.map(|balance| balance.parse().unwrap()),
        }
    }

    #[test]
    fn what_others_wrote_turns_no_row_around() {
        let statement = Statement {
            rows: vec![StatementRow {
                by: Some("sql:\u{202e}root".to_owned()),
                note: Some("inv-1: a\u{2066}b".to_owned()),
                ..row(1, MovementReason::Adjustment, "5", Some("5"))
            }],
            ..statement()
        };
        let text = render_statement(&statement, OutputForm::Table);
        assert!(text.contains(r"sql:\u{202e}root") && text.contains(r"inv-1: a\u{2066}b"), "{text}");
        assert!(render_csv(&statement).contains("a\u{2066}b"), "a program gets what was written");
    }

    fn statement() -> Statement {
        let day = Some("2026-10-01".to_owned());
        let top_up = StatementRow {
            day: day.clone(),
            movements: 2,
            by: Some("root".to_owned()),
            ..row(3, MovementReason::TopUp, "100", None)
        };
        let lent = StatementRow {
            other_queue: Some("bob".parse().unwrap()),
            by: Some("root".to_owned()),
            note: Some("lent".to_owned()),
            ..row(4002, MovementReason::Transfer, "-5", Some("82.499999999995"))
        };
        // Of before charges went by time.
        let folded = StatementRow {
            day,
            movements: 3998,
            map_slots: Some(19_990),
            reduce_slots: Some(0),
            container_slots: Some(0),
            ..row(4000, MovementReason::Charge, "-12.5", Some("87.5"))
        };
        let last = StatementRow {
            rate: Some("0.000000000001".parse().unwrap()),
            interval_ms: Some(20_000),
            map_slot_ms: Some(100_000),
            reduce_slot_ms: Some(0),
            container_slot_ms: Some(0),
            ..row(4001, MovementReason::Charge, "-0.000000000005", Some("87.499999999995"))
        };
        Statement {
            queue: "alice".parse().unwrap(),
            balance: "82.499999999995".parse().unwrap(),
            rows: vec![top_up, folded, last, lent],
            has_earlier: false,
        }
    }

    #[test]
    fn people_get_a_table() {
        insta::assert_snapshot!(render_statement(&statement(), OutputForm::Table), @r"
        TIME                  REASON    MOVEMENTS            RATE  MAP SLOT-S  REDUCE SLOT-S  AVERAGE SLOTS  MAP SLOTS  REDUCE SLOTS           AMOUNT          BALANCE  BY    NOTE
        2026-10-01            top_up            2                                                                                              +100.0                   root
        2026-10-01            charge         3998                                                                19990             0            -12.5             87.5
        2026-11-19T09:20:20Z  charge            1  0.000000000001     100.000          0.000           5.00                           -0.000000000005  87.499999999995
        2026-11-19T09:20:40Z  transfer          1                                                                                                -5.0  82.499999999995  root  to bob: lent
        ");
    }

    #[test]
    fn tables_of_other_programs_get_commas() {
        insta::assert_snapshot!(render_csv(&statement()), @r"
        time,reason,movements,rate,interval_ms,map_slot_ms,reduce_slot_ms,container_slot_ms,map_slots,reduce_slots,container_slots,amount,balance,by,other_queue,note
        2026-10-01,top_up,2,,,,,,,,,100.0,,root,,
        2026-10-01,charge,3998,,,,,,19990,0,0,-12.5,87.5,,,
        2026-11-19T09:20:20Z,charge,1,0.000000000001,20000,100000,0,0,,,,-0.000000000005,87.499999999995,,,
        2026-11-19T09:20:40Z,transfer,1,,,,,,,,,-5.0,82.499999999995,root,bob,lent
        ");
    }

    #[test]
    fn machines_get_json() {
        insta::assert_snapshot!(render_statement(&statement(), OutputForm::Json), @r#"
        {
          "queue": "alice",
          "balance": "82.499999999995",
          "rows": [
            {
              "number": 3,
              "time_ms": 1795000060000,
              "day": "2026-10-01",
              "movements": 2,
              "tick": 3,
              "reason": "top_up",
              "by": "root",
              "amount": "100.0",
              "balance": null
            },
            {
              "number": 4000,
              "time_ms": 1795080000000,
              "day": "2026-10-01",
              "movements": 3998,
              "tick": 4000,
              "reason": "charge",
              "map_slots": 19990,
              "reduce_slots": 0,
              "container_slots": 0,
              "amount": "-12.5",
              "balance": "87.5"
            },
            {
              "number": 4001,
              "time_ms": 1795080020000,
              "movements": 1,
              "tick": 4001,
              "reason": "charge",
              "rate": "0.000000000001",
              "interval_ms": 20000,
              "map_slot_ms": 100000,
              "reduce_slot_ms": 0,
              "container_slot_ms": 0,
              "amount": "-0.000000000005",
              "balance": "87.499999999995"
            },
            {
              "number": 4002,
              "time_ms": 1795080040000,
              "movements": 1,
              "tick": 4002,
              "reason": "transfer",
              "other_queue": "bob",
              "by": "root",
              "note": "lent",
              "amount": "-5.0",
              "balance": "82.499999999995"
            }
          ],
          "has_earlier": false
        }
        "#);
    }
}
