//! Compaction of the ledger changes no sum.

use proptest::prelude::*;

use super::*;
use crate::store::database::open_for_writing;
use crate::store::options::DAY_MS;

/// Day 20000 since the epoch.
const DAY_0_MS: i64 = 20_000 * DAY_MS;
const SCALE: i128 = 1_000_000_000_000;

/// One movement: ms after the one before (a clock may go back), queue, kind, units.
type Movement = (i64, u8, u8, i128);

struct Scratch {
    database: Connection,
    _folder: tempfile::TempDir,
}

fn scratch() -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    let database = open_for_writing(&folder.path().join("state.db")).unwrap();
    // No power fails here.
    database.pragma_update(None, "synchronous", "OFF").unwrap();
    Scratch { database, _folder: folder }
}

fn insert(database: &Connection, number: i64, wall_ms: i64, (_, queue, kind, units): Movement) {
    let (queue, amount) = (format!("q{queue}"), Credits::from_units(units));
    let own = format!("queue:{queue}");
    let (reason, rate, slots, slot_ms, debit, credit) = match kind {
        0 => ("top_up", None, None, None, "issued".to_owned(), own),
        1 => ("top_up", None, None, None, own, "issued".to_owned()),
        2 => ("closing", None, None, None, own, "issued".to_owned()),
        // Of before charges went by time.
        3 | 4 => ("charge", Some(i128::from(kind) * SCALE), Some(2), None, own, "revenue".to_owned()),
        kind => ("charge", Some(i128::from(kind) * SCALE), None, Some(7_000), own, "revenue".to_owned()),
    };
    let sql =
        "INSERT INTO ledger (number, tick, wall_ms, queue, reason, rate, rate_units, map_slots, reduce_slots, amount,
                   amount_units, debit, credit, container_slots, map_slot_ms, reduce_slot_ms, container_slot_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15, ?15 + 5)";
    let rate_text = rate.map(|units| Credits::from_units(units).to_string());
    database
        .execute(
            sql,
            params![
                number,
                number,
                wall_ms,
                queue,
                reason,
                rate_text,
                rate.map(|units| units.to_string()),
                slots,
                slots,
                amount.to_string(),
                units.to_string(),
                debit,
                credit,
                slots.map(|slots| slots + 5),
                slot_ms
            ],
        )
        .unwrap();
}

fn tick(database: &Connection, number: i64, wall_ms: i64, ledger_rows: i64) {
    let sql = "INSERT INTO tick VALUES (?1, ?2, '0.0', '0', ?3, '0.0', '0', '0.0', '0', NULL)";
    database.execute(sql, [number, wall_ms, ledger_rows]).unwrap();
}

/// Rows, movements, slots and units by day, reason, debit, credit and queue.
fn sums(database: &Connection) -> BTreeMap<String, (i64, i64, i128)> {
    let mut sums = BTreeMap::new();
    let sql =
        "SELECT coalesce(day, date(wall_ms / 1000, 'unixepoch')) || reason || debit || credit || queue, movements,
                   coalesce(map_slots + reduce_slots + 100 * container_slots, 0)
                       + 1000 * coalesce(map_slot_ms + 2 * reduce_slot_ms + 3 * container_slot_ms, 0),
                   amount_units, amount FROM ledger";
    let mut statement = database.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let amount = units_column(row, 3).unwrap();
        assert_eq!(amount.to_string(), row.get::<_, String>(4).unwrap());
        let sum: &mut (i64, i64, i128) = sums.entry(row.get(0).unwrap()).or_default();
        sum.0 += row.get::<_, i64>(1).unwrap();
        sum.1 += row.get::<_, i64>(2).unwrap();
        sum.2 += amount.units();
    }
    sums
}

fn count(database: &Connection, condition: &str) -> i64 {
    database.query_row(&format!("SELECT count(*) FROM ledger WHERE {condition}"), [], |row| row.get(0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_sum_is_the_same_before_and_after(
        movements in prop::collection::vec((-1000..20_000_000_i64, 0..3_u8, 0..6_u8, 1..2 * SCALE * SCALE), 1..120),
        after_tick in 0..3_usize,
        detail_days in 0..4_u32,
        limit in 1..50_usize,
    ) {
        let mut scratch = scratch();
        let database = &mut scratch.database;
        let mut wall_ms = DAY_0_MS;
        for (number, movement) in (1..).zip(&movements) {
            wall_ms += movement.0;
            insert(database, number, wall_ms, *movement);
            // The ledger is compacted while it grows.
            if number % 40 == 0 {
                tick(database, number, wall_ms, number);
                compact_ledger(database, detail_days, limit).unwrap();
            }
        }
        let rows = movements.len() as i64;
        tick(database, rows + 1, wall_ms, rows - after_tick.min(movements.len()) as i64);
        let mut before = BTreeMap::new();
        let mut day_ms = DAY_0_MS;
        for movement in &movements {
            day_ms += movement.0;
            let sum: &mut i128 = before.entry(day_ms.div_euclid(DAY_MS)).or_default();
            *sum += movement.3;
        }
        let then = sums(database);
        let mut steps = 0;
        while compact_ledger(database, detail_days, limit).unwrap() {
            steps += 1;
            prop_assert!(steps <= movements.len(), "it never ends");
        }
        prop_assert_eq!(sums(database), then);
        let all: i128 = sums(database).values().map(|sum| sum.2).sum();
        prop_assert_eq!(all, before.values().sum::<i128>());
        let first_kept_ms = (wall_ms.div_euclid(DAY_MS) - i64::from(detail_days)) * DAY_MS;
        prop_assert_eq!(count(database, &format!("day IS NOT NULL AND wall_ms >= {first_kept_ms}")), 0);
        let after = rows - after_tick.min(movements.len()) as i64;
        prop_assert_eq!(count(database, &format!("day IS NOT NULL AND number > {after}")), 0);
    }
}

#[test]
fn a_sum_has_an_author_and_a_note_only_if_all_of_it_has() {
    let mut scratch = scratch();
    let database = &mut scratch.database;
    let sql =
        "INSERT INTO ledger (number, tick, wall_ms, queue, reason, amount, amount_units, debit, credit, other_queue,
                   made_by, note)
               VALUES (?1, 0, ?2, 'a', ?3, '0.000000000001', '1', 'queue:a', ?4, ?5, ?6, ?7)";
    let movements = [
        ("transfer", Some("b"), "root", Some("lent")),
        ("transfer", Some("b"), "root", Some("lent")),
        ("transfer", Some("c"), "root", Some("lent")),
        ("transfer", Some("c"), "root", None),
        ("top_up", None, "root", Some("back")),
        ("top_up", None, "eve", Some("back")),
    ];
    for (number, (reason, to, by, note)) in (1_i64..).zip(movements) {
        let credit = to.map_or("issued".to_owned(), |to| format!("queue:{to}"));
        database.execute(sql, params![number, DAY_0_MS + number, reason, credit, to, by, note]).unwrap();
    }
    tick(database, 1, DAY_0_MS + 5 * DAY_MS, 6);
    while compact_ledger(database, 0, 2).unwrap() {}
    let shown = "SELECT concat_ws(' ', movements, reason, other_queue, made_by, note) FROM ledger ORDER BY number";
    let mut select = database.prepare(shown).unwrap();
    let rows: Vec<String> = select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows, ["2 transfer b root lent", "2 transfer c root", "2 top_up back"]);
}

#[test]
fn a_day_becomes_one_row_of_each_kind() {
    let mut scratch = scratch();
    let database = &mut scratch.database;
    for (number, at_ms, movement) in [
        (1, 0, (0, 1, 0, 100)),
        (2, 5, (0, 1, 3, 7)),
        (3, 6, (0, 1, 3, 8)),
        (4, 7, (0, 2, 3, 1)),
        (5, 8, (0, 2, 4, 2)),
        (6, DAY_MS, (0, 1, 3, 9)),
        (7, 31 * DAY_MS, (0, 1, 3, 9)),
    ] {
        insert(database, number, DAY_0_MS + at_ms, movement);
    }
    tick(database, 9, DAY_0_MS + 31 * DAY_MS + 5, 7);
    assert!(!compact_ledger(database, 30, 1000).unwrap());
    let mut statement = database
        .prepare(
            "SELECT number || ' ' || queue || ' ' || reason || ' ' || amount_units || ' ' || movements || ' '
                 || coalesce(rate, '-') || ' ' || coalesce(map_slots, '-') || ' ' || coalesce(day, '-')
             FROM ledger ORDER BY number",
        )
        .unwrap();
    let rows: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        rows,
        [
            "1 q1 top_up 100 1 - - 2024-10-04",
            "3 q1 charge 15 2 - 4 2024-10-04",
            "5 q2 charge 3 2 - 4 2024-10-04",
            "6 q1 charge 9 1 3.0 2 -",
            "7 q1 charge 9 1 3.0 2 -",
        ]
    );
}

#[test]
fn without_a_tick_or_with_damaged_rows_nothing_is_folded() {
    let mut scratch = scratch();
    let database = &mut scratch.database;
    insert(database, 1, DAY_0_MS, (0, 1, 0, 100));
    assert!(!compact_ledger(database, 0, 10).unwrap());
    tick(database, 1, DAY_0_MS + 9 * DAY_MS, 1);
    database.execute("UPDATE ledger SET amount_units = 'x'", []).unwrap();
    assert!(compact_ledger(database, 0, 10).is_err());
    assert_eq!(count(database, "day IS NULL"), 1);
}
