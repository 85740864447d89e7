//! Killed without warning: everything that was told to be durable is there, and nothing half.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::stage::{Scratch, incarnations, wait_until};

use jobtracker::model::FactNumber;
use jobtracker::store::{Store, StoreOptions};

/// Tells the child where its store is.
const STATE_DIR: &str = "STORE_KILL_STATE_DIR";
/// Facts that are handed in together.
const TOGETHER: u64 = 7;
/// What a line about the durable number begins with.
const MARK: &str = "durable ";

#[test]
fn what_was_told_to_be_durable_survives_a_kill() {
    let scratch = Scratch::new();
    for life in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "kill::child_that_writes_until_it_is_killed"])
            .env(STATE_DIR, scratch.options().dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut numbers = lines.filter_map(|line| line.strip_prefix(MARK)?.parse::<u64>().ok());
        let told = numbers.nth(life * 20).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said between the last look and its death.
        let told = numbers.last().unwrap_or(told);
        let (_store, loaded) = scratch.open();
        assert!(loaded.last_fact >= FactNumber(told), "{loaded:?} after {told}");
        assert_eq!(loaded.last_fact.0 % TOGETHER, 0, "facts handed in together are there together");
        assert_eq!(loaded.identifiers.len() as u64, loaded.last_fact.0);
    }
}

#[test]
#[ignore = "the child of the test above; runs until it is killed"]
fn child_that_writes_until_it_is_killed() {
    let Ok(dir) = std::env::var(STATE_DIR) else { return };
    let (store, loaded) = Store::open(StoreOptions::new(dir)).unwrap();
    let sink = store.fact_sender();
    let mut last = loaded.last_fact.0;
    println!();
    loop {
        // Many in flight, so that the kill meets full transactions as well.
        for _ in 0..10 {
            sink.append(FactNumber(last + 1), incarnations(last + 1..=last + TOGETHER));
            last += TOGETHER;
        }
        let durable = wait_until(&sink, |durable| durable.number.0 + 5 * TOGETHER >= last);
        println!("{MARK}{}", durable.number.0);
    }
}
