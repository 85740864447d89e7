//! Renders a queue's statement as a table for people and as JSON for programs.

use comfy_table::CellAlignment;

use crate::api::{Statement, StatementRow};
use crate::model::Credits;

use super::market_text::{Form, columns, format_utc, json, lines};
use super::report_text::{comma_separated, format_rfc_3339};

/// The rows, newest last. In the table, a row with a date as its time is a daily sum.
pub(super) fn render_statement(statement: &Statement, form: Form) -> String {
    if form == Form::Json {
        return json(statement);
    }
    let mut heads = vec![
        "time (UTC)",
        "reason",
        "movements",
        "rate",
        "map slots",
        "reduce slots",
        "amount",
        "balance",
        "by",
        "note",
    ];
    let has_containers = statement.rows.iter().any(|row| row.container_slots.is_some_and(|slots| slots > 0));
    if has_containers {
        heads.insert(AFTER_SLOTS, "container slots");
    }
    let mut table = columns(&heads, 2);
    for column in table.column_iter_mut().skip(heads.len() - 2) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in &statement.rows {
        let mut cells = cells(row).to_vec();
        if has_containers {
            cells.insert(AFTER_SLOTS, row.container_slots.map(|slots| slots.to_string()).unwrap_or_default());
        }
        table.add_row(cells);
    }
    lines(&table)
}

/// Comma-separated values, a line each movement or daily sum, the oldest first. Exact amounts, times in UTC.
pub(super) fn render_csv(statement: &Statement) -> String {
    let heads = "time,reason,movements,rate,map_slots,reduce_slots,container_slots,amount,balance,by,other_queue,note";
    let mut text = format!("{heads}\n");
    for row in &statement.rows {
        let money = |amount: Option<Credits>| amount.map(|amount| amount.to_string()).unwrap_or_default();
        let slots = |slots: Option<u64>| slots.map(|slots| slots.to_string()).unwrap_or_default();
        let cells = [
            row.day.clone().or_else(|| format_rfc_3339(row.time_ms)).unwrap_or_default(),
            row.reason.to_string(),
            row.movements.to_string(),
            money(row.rate),
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

/// The column after those of map and reduce slots.
const AFTER_SLOTS: usize = 6;

fn cells(row: &StatementRow) -> [String; 10] {
    let money = |amount: Option<Credits>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    let slots = |slots: Option<u64>| slots.map(|slots| slots.to_string()).unwrap_or_default();
    let moved = if row.amount > Credits::ZERO { format!("+{}", row.amount) } else { row.amount.to_string() };
    [
        row.day.clone().unwrap_or_else(|| format_utc(row.time_ms)),
        row.reason.to_string(),
        row.movements.to_string(),
        money(row.rate),
        slots(row.map_slots),
        slots(row.reduce_slots),
        moved,
        money(row.balance),
        row.by.clone().unwrap_or_default(),
        note(row),
    ]
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

    fn statement() -> Statement {
        let day = Some("2026-10-01".to_owned());
        let charge = |row: StatementRow, rate: Option<&str>| StatementRow {
            rate: rate.map(|rate| rate.parse().unwrap()),
            map_slots: Some(5),
            reduce_slots: Some(0),
            container_slots: Some(0),
            ..row
        };
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
        let folded = charge(row(4000, MovementReason::Charge, "-12.5", Some("87.5")), None);
        let folded = StatementRow { day, movements: 3998, map_slots: Some(19_990), ..folded };
        let last = charge(
            row(4001, MovementReason::Charge, "-0.000000000005", Some("87.499999999995")),
            Some("0.000000000001"),
        );
        Statement {
            queue: "alice".parse().unwrap(),
            balance: "82.499999999995".parse().unwrap(),
            rows: vec![top_up, folded, last, lent],
            has_earlier: false,
        }
    }

    #[test]
    fn people_get_a_table() {
        insta::assert_snapshot!(render_statement(&statement(), Form::Table), @r"
        TIME (UTC)           REASON    MOVEMENTS            RATE  MAP SLOTS  REDUCE SLOTS           AMOUNT          BALANCE  BY    NOTE
        2026-10-01           top_up            2                                                    +100.0                   root
        2026-10-01           charge         3998                      19990             0            -12.5             87.5
        2026-11-19 09:20:20  charge            1  0.000000000001          5             0  -0.000000000005  87.499999999995
        2026-11-19 09:20:40  transfer          1                                                      -5.0  82.499999999995  root  to bob: lent
        ");
    }

    #[test]
    fn tables_of_other_programs_get_commas() {
        insta::assert_snapshot!(render_csv(&statement()), @r"
        time,reason,movements,rate,map_slots,reduce_slots,container_slots,amount,balance,by,other_queue,note
        2026-10-01,top_up,2,,,,,100.0,,root,,
        2026-10-01,charge,3998,,19990,0,0,-12.5,87.5,,,
        2026-11-19T09:20:20Z,charge,1,0.000000000001,5,0,0,-0.000000000005,87.499999999995,,,
        2026-11-19T09:20:40Z,transfer,1,,,,,-5.0,82.499999999995,root,bob,lent
        ");
    }

    #[test]
    fn machines_get_json() {
        insta::assert_snapshot!(render_statement(&statement(), Form::Json), @r#"
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
              "map_slots": 5,
              "reduce_slots": 0,
              "container_slots": 0,
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
