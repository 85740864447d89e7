//! Prices and spending in spans.

use super::*;
use crate::store::database::open_for_writing;

struct Scratch {
    database: Connection,
    _folder: tempfile::TempDir,
}

fn scratch() -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    let database = open_for_writing(&folder.path().join("state.db")).unwrap();
    Scratch { database, _folder: folder }
}

fn units(credits: i64) -> String {
    format!("{credits}000000000000")
}

/// Ticks: time and price in whole credits.
fn with_ticks(ticks: &[(i64, i64)]) -> Scratch {
    let scratch = scratch();
    for (number, (wall_ms, price)) in (1_i64..).zip(ticks) {
        let sql = "INSERT INTO tick VALUES (?1, ?2, 'x', ?3, 0, '0.0', '0', '0.0', '0', NULL)";
        scratch.database.execute(sql, rusqlite::params![number, wall_ms, units(*price)]).unwrap();
    }
    scratch
}

fn charge(scratch: &Scratch, number: i64, wall_ms: i64, amount: i64, rate: Option<i64>, movements: i64) {
    let sql = "INSERT INTO ledger (number, tick, wall_ms, queue, reason, rate_units, map_slots, reduce_slots, amount,
                   amount_units, debit, credit, movements)
               VALUES (?1, 0, ?2, 'alice', 'charge', ?3, 2, 1, 'x', ?4, 'queue:alice', 'revenue', ?5)";
    let values = rusqlite::params![number, wall_ms, rate.map(units), units(amount), movements];
    scratch.database.execute(sql, values).unwrap();
}

fn page(since_ms: i64, points: u32) -> HistoryPage {
    HistoryPage { since_ms: Some(since_ms), points }
}

#[test]
fn prices_are_folded_into_spans() {
    let scratch = with_ticks(&[(5, 9), (10, 1), (11, 4), (19, 2), (29, 7)]);
    let history = prices(&scratch.database, page(10, 2)).unwrap();
    let points: Vec<_> = history
        .points
        .iter()
        .map(|point| format!("{} #{} {} {}-{}", point.time_ms, point.tick, point.price, point.low, point.high))
        .collect();
    assert_eq!((history.step_ms, points), (10, vec!["19 #4 2.0 1.0-4.0".to_owned(), "29 #5 7.0 7.0-7.0".to_owned()]));
    let whole = prices(&scratch.database, page(0, 1000)).unwrap();
    assert_eq!((whole.step_ms, whole.points.len()), (1, 5), "each tick by itself");
}

#[test]
fn the_last_day_is_shown_where_nothing_is_said() {
    const HOUR_MS: i64 = 3_600_000;
    let scratch = with_ticks(&[(HOUR_MS, 1), (26 * HOUR_MS, 2), (48 * HOUR_MS, 3)]);
    let history = prices(&scratch.database, HistoryPage { since_ms: None, points: 10 }).unwrap();
    assert_eq!(history.points.iter().map(|point| point.tick).collect::<Vec<_>>(), [2, 3]);
    let empty = self::scratch();
    assert_eq!(prices(&empty.database, page(0, 10)).unwrap().points, []);
}

#[test]
fn spending_adds_up_and_keeps_a_rate_that_was_one() {
    let scratch = with_ticks(&[(29, 1)]);
    for (number, wall_ms, amount, rate, movements) in [
        (1, 5, 100, Some(1), 1),
        (2, 10, 6, Some(2), 1),
        (3, 15, 6, Some(2), 1),
        (4, 22, 6, Some(2), 1),
        (5, 25, 900, None, 3),
    ] {
        charge(&scratch, number, wall_ms, amount, rate, movements);
    }
    let history = spending(&scratch.database, &"alice".parse().unwrap(), page(10, 2)).unwrap().unwrap();
    let points: Vec<_> = history
        .points
        .iter()
        .map(|point| {
            let rate = point.rate.map_or("-".to_owned(), |rate| rate.to_string());
            let SpendingPoint { time_ms, spent, intervals, map_slots, reduce_slots, .. } = point;
            format!("{time_ms} {spent} {intervals} {map_slots}+{reduce_slots} {rate}")
        })
        .collect();
    assert_eq!(points, ["15 12.0 2 4+2 2.0", "25 906.0 4 4+2 -"]);
    assert_eq!(spending(&scratch.database, &"bob".parse().unwrap(), page(0, 2)).unwrap(), None);
}
