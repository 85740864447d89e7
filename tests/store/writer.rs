//! The writer: order, group commit, a disk that fails, a second daemon, copies, the gate.

use crate::gated_store::GatedStore;
use crate::stage::{Scratch, incarnation, incarnations, record, wait_until};

use jobtracker::model::FactNumber;
use jobtracker::store::{Health, Pressure, Store, StoreError, StoreOptions, backup};

#[test]
fn facts_survive_a_close_without_any_wait() {
    let scratch = Scratch::new();
    let (store, loaded) = scratch.open();
    assert_eq!((loaded.last_fact, loaded.first_start), (FactNumber(0), true));
    store.fact_sender().append(FactNumber(1), incarnations(1..=500));
    store.close().unwrap();
    let (store, loaded) = scratch.open();
    assert_eq!(loaded.last_fact, FactNumber(500));
    assert_eq!(loaded.identifiers.len(), 500);
    assert_eq!(store.durable().borrow().number, FactNumber(500));
}

/// An admin's write lock holds the first commit up; all that comes meanwhile goes into one transaction.
#[test]
fn all_that_waits_is_committed_at_once() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let sink = store.fact_sender();
    let admin = scratch.look();
    admin.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 1..=300 {
        sink.append(FactNumber(number), vec![incarnation(number)]);
    }
    let durable = wait_until(&sink, |durable| !durable.health.is_good());
    assert_eq!(durable.number, FactNumber(0));
    assert!(matches!(&durable.health, Health::Failing { text, .. } if text.contains("locked")), "{durable:?}");
    assert_eq!(sink.waiting_facts(), 300);
    admin.execute_batch("COMMIT").unwrap();
    let durable = wait_until(&sink, |durable| durable.number == FactNumber(300));
    assert_eq!((durable.health, sink.waiting_facts()), (Health::Good, 0));
    let stats = store.stats();
    assert_eq!(stats.facts, 300);
    // The first try may have begun before the last append: its batch is committed alone, the rest together.
    assert!(stats.commits <= 2, "{stats:?}");
    assert!(stats.failures >= 1);
    assert_eq!(stats.commit_times.count(), stats.commits, "a failed try is none");
    let (waiting, most) = store.meter().waiting_facts();
    assert_eq!((waiting, most), (0, StoreOptions::new("x").backlog_limit_facts));
}

/// A trigger plays the disk that is full in the middle of a transaction.
#[test]
fn a_failing_disk_holds_the_number_and_loses_nothing() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let sink = store.fact_sender();
    let last = record(&sink, FactNumber(0), incarnations(1..=3));
    let admin = scratch.look();
    admin
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON daemon_run WHEN new.start_ms = 7
             BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
        )
        .unwrap();
    sink.append(FactNumber(last.0 + 1), incarnations(4..=10));
    let durable = wait_until(&sink, |durable| !durable.health.is_good());
    sink.append(FactNumber(11), incarnations(11..=20));
    let tried_again =
        wait_until(&sink, |durable| matches!(durable.health, Health::Failing { tries, .. } if tries >= 3));
    let since = |health: &Health| match health {
        Health::Failing { since_ms, text, .. } => (*since_ms, text.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(since(&durable.health), since(&tried_again.health));
    assert_eq!(since(&durable.health).1, "disk is full");
    assert_eq!(tried_again.number, FactNumber(3));
    let rows = |sql| admin.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(rows("SELECT count(*) FROM daemon_run"), 3, "nothing of a failed transaction stays");
    admin.execute_batch("DROP TRIGGER full").unwrap();
    wait_until(&sink, |durable| durable.number == FactNumber(20) && durable.health.is_good());
    assert_eq!(rows("SELECT count(*) FROM daemon_run"), 20);
    store.close().unwrap();
    assert_eq!(scratch.open().1.last_fact, FactNumber(20));
}

#[test]
fn closing_over_a_failing_disk_tells_what_is_lost() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let admin = scratch.look();
    admin.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.fact_sender().append(FactNumber(1), incarnations(1..=4));
    let error = store.close().unwrap_err();
    assert!(matches!(&error, StoreError::Unwritten { facts: 4, text } if text.contains("locked")), "{error}");
    drop(admin);
    assert_eq!(scratch.open().1.last_fact, FactNumber(0));
}

#[test]
fn facts_out_of_order_stop_the_store_after_what_was_in_order() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let sink = store.fact_sender();
    sink.append(FactNumber(1), incarnations(1..=2));
    sink.append(FactNumber(4), incarnations(4..=5));
    let durable = wait_until(&sink, |durable| matches!(durable.health, Health::Broken { .. }));
    assert_eq!(durable.health, Health::Broken { text: "fact 4 was handed in where fact 3 is next".into() });
    assert_eq!(durable.number, FactNumber(2));
    store.close().unwrap_err();
    assert_eq!(scratch.open().1.last_fact, FactNumber(2));
}

#[test]
fn pressure_is_reported_and_ends() {
    let scratch = Scratch::new();
    let options = StoreOptions { backlog_limit_facts: 10, ..scratch.options() };
    let (store, _) = Store::open(options).unwrap();
    let admin = scratch.look();
    admin.execute_batch("BEGIN IMMEDIATE").unwrap();
    let sink = store.fact_sender();
    assert_eq!(sink.append(FactNumber(1), incarnations(1..=10)), Pressure::Normal);
    assert_eq!(sink.append(FactNumber(11), incarnations(11..=11)), Pressure::High);
    admin.execute_batch("COMMIT").unwrap();
    wait_until(&sink, |durable| durable.number == FactNumber(11));
    assert_eq!(sink.pressure(), Pressure::Normal);
    store.close().unwrap();
    assert_eq!(sink.append(FactNumber(12), incarnations(12..=12)), Pressure::Closed);
}

#[test]
fn what_is_durable_is_handed_on_and_who_takes_none_of_it_holds_nothing_up() {
    let scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    let follower = store.follow().unwrap();
    assert!(store.follow().is_none(), "it is followed once");
    let sink = store.fact_sender();
    sink.append(FactNumber(1), incarnations(1..=3));
    wait_until(&sink, |durable| durable.number == FactNumber(3));
    let followed = follower.next(None).batches;
    let taken: Vec<_> = followed.iter().map(|batch| (batch.first, batch.facts.len())).collect();
    assert_eq!(taken, [(FactNumber(1), 3)]);
    let loaded = store.state_reader().load().unwrap();
    assert_eq!((loaded.last_fact, loaded.identifiers.len()), (FactNumber(3), 3));
    for number in 4..=500 {
        sink.append(FactNumber(number), vec![incarnation(number)]);
    }
    wait_until(&sink, |durable| durable.number == FactNumber(500));
    store.close().unwrap();
    let followed = follower.next(None);
    let facts: usize = followed.batches.iter().map(|batch| batch.facts.len()).sum();
    assert_eq!((facts, followed.is_overflown, followed.is_closed), (497, false, true));
}

/// The transaction limit splits what waits, never what was handed in together.
#[test]
fn facts_handed_in_together_are_never_parted() {
    let scratch = Scratch::new();
    let options = StoreOptions { transaction_limit_facts: 4, ..scratch.options() };
    let (store, _) = Store::open(options).unwrap();
    let sink = store.fact_sender();
    let mut durable = sink.durable();
    let ends: Vec<u64> = (1..=40).map(|batch| batch * 3).chain([220]).collect();
    for &end in &ends {
        sink.append(
            FactNumber(if end == 220 { 121 } else { end - 2 }),
            incarnations(match end {
                220 => 121..=220,
                end => end - 2..=end,
            }),
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut last = FactNumber(0);
    while last < FactNumber(220) {
        last = runtime.block_on(async { durable.wait_for(|durable| durable.number > last).await.unwrap().number });
        assert!(ends.contains(&last.0), "{last:?}");
    }
    assert_eq!(store.stats().commits, 41);
}

#[test]
fn a_second_daemon_is_refused_by_name() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let error = Store::open(scratch.options()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { pid: Some(pid), .. } if pid == std::process::id()));
    drop(store);
    scratch.open();
}

#[test]
fn a_copy_is_whole_while_the_store_goes_on() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let sink = store.fact_sender();
    let last = record(&sink, FactNumber(0), incarnations(1..=50));
    let copy_dir = scratch.dir.path().join("copy");
    std::fs::create_dir(&copy_dir).unwrap();
    store.backup(&copy_dir.join("state.db")).unwrap();
    record(&sink, last, incarnations(51..=60));
    let error = store.backup(&copy_dir.join("state.db")).unwrap_err().to_string();
    assert!(error.contains("copy/state.db"), "{error}");
    let (_copy, loaded) = Store::open(StoreOptions::new(&copy_dir)).unwrap();
    assert_eq!(loaded.last_fact, FactNumber(50));
    assert_eq!(loaded.identifiers.len(), 50);
    let state = scratch.dir.path().join("state/state.db");
    backup(&state, &scratch.dir.path().join("from-outside.db")).unwrap();
}

/// Copies are made one after the other while facts are recorded: none is torn, and no commit fails or is tried again.
#[test]
fn copies_disturb_no_commit_and_hold_one_moment() {
    let scratch = Scratch::new();
    let options = StoreOptions { checkpoint_bytes: 64 << 10, ..scratch.options() };
    let (store, _) = Store::open(options).unwrap();
    let sink = store.fact_sender();
    let mut last = record(&sink, FactNumber(0), incarnations(1..=2000));
    let state = scratch.dir.path().join("state/state.db");
    let folder = scratch.dir.path().to_owned();
    let copying = std::thread::spawn(move || {
        (0..10).map(|copy| backup(&state, &folder.join(format!("copy-{copy}.db"))).unwrap().last_fact).collect()
    });
    while !copying.is_finished() {
        last = record(&sink, last, incarnations(last.0 + 1..=last.0 + 10));
    }
    let told: Vec<FactNumber> = copying.join().unwrap();
    assert!(told.is_sorted() && told.iter().all(|number| (2000..=last.0).contains(&number.0)), "{told:?}");
    for (copy, number) in told.iter().enumerate() {
        let path = scratch.dir.path().join(format!("copy-{copy}.db"));
        let rows = rusqlite::Connection::open(path)
            .unwrap()
            .query_row("SELECT count(*) FROM daemon_run", [], |row| row.get::<_, i64>(0));
        assert_eq!(rows.unwrap(), number.0.cast_signed());
    }
    assert_eq!(store.stats().failures, 0);
}

#[test]
fn the_log_is_moved_when_it_is_large_and_when_idle() {
    let scratch = Scratch::new();
    let options = StoreOptions { checkpoint_bytes: 64 << 10, ..scratch.options() };
    let (store, _) = Store::open(options).unwrap();
    let sink = store.fact_sender();
    let mut last = FactNumber(0);
    while store.stats().checkpoints == 0 {
        last = record(&sink, last, incarnations(last.0 + 1..=last.0 + 500));
        assert!(last.0 < 50_000, "the log is never moved");
    }
    store.close().unwrap();
    let log = scratch.dir.path().join("state/state.db-wal");
    assert!(!log.exists() || log.metadata().unwrap().len() == 0);
    assert_eq!(scratch.open().1.last_fact, last);
}

#[test]
fn a_gate_holds_facts_until_they_are_let_through() {
    let (gate, sink) = GatedStore::alone(FactNumber(10));
    sink.append(FactNumber(11), incarnations(11..=13));
    assert_eq!(sink.durable().borrow().number, FactNumber(10));
    assert_eq!(gate.held().len(), 3);
    gate.release(FactNumber(12));
    assert_eq!((sink.durable().borrow().number, sink.waiting_facts()), (FactNumber(12), 1));
    gate.release(FactNumber(14));
    assert_eq!(sink.durable().borrow().number, FactNumber(13));
    sink.append(FactNumber(14), incarnations(14..=15));
    assert_eq!(sink.durable().borrow().number, FactNumber(14));
    assert_eq!(gate.release_held(), Some(FactNumber(15)));
    assert_eq!(gate.release_held(), None);
    gate.set_health(Health::Broken { text: "test".into() });
    assert!(!sink.durable().borrow().health.is_good());
}

#[test]
fn a_gate_before_a_store_lets_only_released_facts_be_written() {
    let scratch = Scratch::new();
    let (store, _) = scratch.open();
    let (gate, sink) = GatedStore::before(store.fact_sender());
    sink.append(FactNumber(1), incarnations(1..=5));
    assert_eq!(sink.waiting_facts(), 5);
    gate.release(FactNumber(3));
    wait_until(&sink, |durable| durable.number == FactNumber(3));
    store.close().unwrap();
    assert_eq!(scratch.open().1.identifiers.len(), 3);
}
