//! Statements: balances after each row, pages, sums of days.

use super::*;
use crate::store::database::open_for_writing;
use crate::store::options::DAY_MS;

struct Scratch {
    database: Connection,
    _folder: tempfile::TempDir,
}

/// A ledger in whole credits: time, reason, amount as the queue sees it, and the day of a sum.
fn ledger(balance: Option<i64>, rows: &[(i64, &str, i64, Option<&str>)]) -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    let database = open_for_writing(&folder.path().join("state.db")).unwrap();
    let units = |credits: i64| format!("{credits}000000000000");
    if let Some(balance) = balance {
        let sql = "INSERT INTO account VALUES ('alice', 'x', ?1, '0.0', '0')";
        database.execute(sql, [units(balance)]).unwrap();
    }
    for (number, (wall_ms, reason, amount, day)) in (1_i64..).zip(rows) {
        let (debit, credit) = match amount {
            0.. => ("issued", "queue:alice"),
            _ if *reason == "charge" => ("queue:alice", "revenue"),
            _ => ("queue:alice", "issued"),
        };
        let sql = "INSERT INTO ledger (number, tick, wall_ms, queue, reason, amount, amount_units, debit, credit, day,
                       movements) VALUES (?1, 0, ?2, 'alice', ?3, 'x', ?4, ?5, ?6, ?7, 1)";
        let values = rusqlite::params![number, wall_ms, reason, units(amount.abs()), debit, credit, day];
        database.execute(sql, values).unwrap();
    }
    Scratch { database, _folder: folder }
}

fn alice() -> QueueName {
    "alice".parse().unwrap()
}

/// Number, amount and balance of each row.
fn shown(statement: &Statement) -> Vec<String> {
    let text = |row: &StatementRow| {
        let balance = row.balance.map_or("-".to_owned(), |balance| balance.to_string());
        format!("{} {} {balance}", row.number, row.amount)
    };
    statement.rows.iter().map(text).collect()
}

#[test]
fn each_row_has_the_balance_after_it() {
    let rows =
        [(5, "endowment", 100, None), (6, "charge", -30, None), (7, "top_up", -20, None), (8, "top_up", 1, None)];
    let scratch = ledger(Some(51), &rows);
    let statement = read(&scratch.database, &alice(), StatementPage::default(), 10).unwrap().unwrap();
    assert_eq!(shown(&statement), ["1 100.0 100.0", "2 -30.0 70.0", "3 -20.0 50.0", "4 1.0 51.0"]);
    assert_eq!((statement.balance.to_string().as_str(), statement.has_earlier), ("51.0", false));
    let since = StatementPage { since_ms: Some(7), before: None };
    let statement = read(&scratch.database, &alice(), since, 10).unwrap().unwrap();
    assert_eq!(shown(&statement), ["3 -20.0 50.0", "4 1.0 51.0"]);
    assert!(!statement.has_earlier);
}

#[test]
fn pages_lead_back_to_the_first_row() {
    let rows: Vec<_> = (0..7).map(|at| (at, "top_up", 1, None)).collect();
    let scratch = ledger(Some(7), &rows);
    let mut page = StatementPage::default();
    let mut pages = Vec::new();
    loop {
        let statement = read(&scratch.database, &alice(), page, 3).unwrap().unwrap();
        page.before = statement.rows.first().map(|row| row.number);
        pages.push(shown(&statement).join(", "));
        if !statement.has_earlier {
            break;
        }
    }
    assert_eq!(pages, ["5 1.0 5.0, 6 1.0 6.0, 7 1.0 7.0", "2 1.0 2.0, 3 1.0 3.0, 4 1.0 4.0", "1 1.0 1.0"]);
}

#[test]
fn within_a_folded_day_only_the_end_has_a_balance() {
    let (first, second) = (Some("1970-01-01"), Some("1970-01-02"));
    let rows = [
        (5, "charge", -130, first),
        (6, "top_up", 150, first),
        (DAY_MS, "charge", -5, second),
        (2 * DAY_MS, "charge", -5, None),
        (2 * DAY_MS, "charge", -5, None),
    ];
    let scratch = ledger(Some(5), &rows);
    let statement = read(&scratch.database, &alice(), StatementPage::default(), 10).unwrap().unwrap();
    let expected = ["1 -130.0 -", "2 150.0 20.0", "3 -5.0 15.0", "4 -5.0 10.0", "5 -5.0 5.0"];
    assert_eq!(shown(&statement), expected);
    assert_eq!(statement.rows[2].day.as_deref(), second);
}

/// One row of the ledger is a row in the statements of two queues.
#[test]
fn a_transfer_is_in_both_statements() {
    let scratch = ledger(Some(60), &[(1, "endowment", 100, None)]);
    let sql = "INSERT INTO ledger (number, tick, wall_ms, queue, reason, amount, amount_units, debit, credit, other_queue,
                   made_by, note)
               VALUES (?1, 0, ?1, ?2, 'transfer', 'x', ?3 || '000000000000', 'queue:' || ?2, 'queue:' || ?4, ?4, 'root', ?5)";
    for (number, from, amount, to, note) in
        [(2, "alice", 50, "bob", Some("lent")), (3, "bob", 10, "alice", None), (4, "bob", 1, "carol", None)]
    {
        scratch.database.execute(sql, rusqlite::params![number, from, amount, to, note]).unwrap();
    }
    scratch.database.execute("INSERT INTO account VALUES ('bob', 'x', '39000000000000', '0.0', '0')", []).unwrap();
    let statement = read(&scratch.database, &alice(), StatementPage::default(), 10).unwrap().unwrap();
    assert_eq!(shown(&statement), ["1 100.0 100.0", "2 -50.0 50.0", "3 10.0 60.0"]);
    let lent = &statement.rows[1];
    let [other, by, note] =
        [lent.other_queue.as_ref().map(QueueName::as_str), lent.by.as_deref(), lent.note.as_deref()];
    assert_eq!([other, by, note], [Some("bob"), Some("root"), Some("lent")]);
    assert_eq!((statement.rows[0].by.as_deref(), statement.rows[0].other_queue.as_ref()), (None, None));
    let of_bob = read(&scratch.database, &"bob".parse().unwrap(), StatementPage::default(), 2).unwrap().unwrap();
    assert_eq!((shown(&of_bob), of_bob.has_earlier), (vec!["3 -10.0 40.0".to_owned(), "4 -1.0 39.0".to_owned()], true));
    let before = StatementPage { since_ms: None, before: Some(3) };
    let of_bob = read(&scratch.database, &"bob".parse().unwrap(), before, 2).unwrap().unwrap();
    assert_eq!(shown(&of_bob), ["2 50.0 50.0"]);
    // That of a queue which only ever got money.
    let of_carol = read(&scratch.database, &"carol".parse().unwrap(), before, 2).unwrap();
    assert!(of_carol.is_some(), "it has a history");
}

#[test]
fn removed_queues_have_a_history_and_unknown_ones_none() {
    let removed = ledger(None, &[(1, "endowment", 9, None), (2, "closing", -9, None)]);
    let statement = read(&removed.database, &alice(), StatementPage::default(), 10).unwrap().unwrap();
    assert_eq!(shown(&statement), ["1 9.0 9.0", "2 -9.0 0.0"]);
    assert_eq!(read(&removed.database, &"bob".parse().unwrap(), StatementPage::default(), 10).unwrap(), None);
    let fresh = ledger(Some(0), &[]);
    let statement = read(&fresh.database, &alice(), StatementPage::default(), 10).unwrap().unwrap();
    assert!(statement.rows.is_empty());
}

#[test]
fn a_ledger_that_is_not_there_or_damaged_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let reader = LedgerReader::new(&folder.path().join("state.db"));
    let error = reader.statement(&alice(), StatementPage::default()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /"), "{error}");
    let scratch = ledger(Some(0), &[(1, "theft", 9, None)]);
    assert!(read(&scratch.database, &alice(), StatementPage::default(), 10).is_err());
}
