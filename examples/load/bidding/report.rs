//! The table of a run: a line for each life of the daemon.

use std::time::Duration;

use anyhow::ensure;

use super::amount::decimal;
use super::book::{Book, Outcome};
use super::evidence::Evidence;
use super::moment::Hit;

/// One life of the daemon.
#[derive(Debug)]
pub struct Life {
    /// How it ended.
    end: &'static str,
    /// From its start to ready.
    pub ready: Option<Duration>,
    /// Where the kill hit.
    pub hit: Option<Hit>,
    /// Changes that were acknowledged.
    pub done: u64,
    /// Changes that were refused.
    pub refused: u64,
    /// Changes whose answer was lost, and that were made.
    pub lost_but_done: u64,
    /// Changes whose answer was lost, and that were not made.
    pub lost_and_gone: u64,
    /// Jobs that were accepted.
    pub jobs: usize,
    /// Ticks.
    pub ticks: usize,
    /// Charges.
    pub charges: usize,
    /// Used signatures that were tried at its beginning.
    pub used_signatures: usize,
    /// How many ticks old the budget file was.
    pub behind: Option<usize>,
    /// Whatever was wrong.
    pub wrong: Vec<String>,
}

/// All lives.
#[derive(Debug, Default)]
pub struct Report {
    lives: Vec<Life>,
}

/// Lines of what was wrong that are shown.
const SHOWN: usize = 40;

// === impl Life ===

impl Life {
    /// A life of which nothing is known but its end.
    pub fn new(end: &'static str) -> Self {
        Self {
            end,
            ready: None,
            hit: None,
            done: 0,
            refused: 0,
            lost_but_done: 0,
            lost_and_gone: 0,
            jobs: 0,
            ticks: 0,
            charges: 0,
            used_signatures: 0,
            behind: None,
            wrong: Vec::new(),
        }
    }
}

// === impl Report ===

impl Report {
    /// Prints the head of the table.
    pub fn begin(seed: u64) -> Self {
        println!("seed {seed}");
        println!(
            "{:>4} {:<12} {:>9} {:>8} {:>8} {:>8} {:>9} {:>5} {:>6} {:>8} {:>7} {:>6} {:>6}",
            "kill",
            "in",
            "after ms",
            "ready ms",
            "changes",
            "refused",
            "lost +/-",
            "jobs",
            "ticks",
            "charges",
            "replays",
            "behind",
            "wrong"
        );
        Self::default()
    }

    /// Prints a line.
    pub fn add(&mut self, life: Life) {
        let ms = |time: Option<Duration>| time.map_or("-".to_owned(), |time| time.as_millis().to_string());
        let missed = life.hit.is_some_and(|hit| !hit.is_on_target);
        println!(
            "{:>4} {:<12} {:>9} {:>8} {:>8} {:>8} {:>9} {:>5} {:>6} {:>8} {:>7} {:>6} {:>6}",
            self.lives.len() + 1,
            format!("{}{}", life.end, if missed { "?" } else { "" }),
            ms(life.hit.map(|hit| hit.after)),
            ms(life.ready),
            life.done,
            life.refused,
            format!("{}/{}", life.lost_but_done, life.lost_and_gone),
            life.jobs,
            life.ticks,
            life.charges,
            life.used_signatures,
            life.behind.map_or("-".to_owned(), |ticks| ticks.to_string()),
            life.wrong.len(),
        );
        self.lives.push(life);
    }

    /// Prints the sums; an error when anything was wrong.
    pub fn end(self, book: &Book, left: &Evidence) -> anyhow::Result<()> {
        let kills = self.lives.iter().filter(|life| life.hit.is_some()).count();
        let count = |wanted: Outcome| book.requests.iter().filter(|request| request.outcome == wanted).count();
        let mut ready: Vec<u128> =
            self.lives.iter().filter_map(|life| life.ready).map(|time| time.as_millis()).collect();
        ready.sort_unstable();
        let [least, median, most] = match ready[..] {
            [] => [0, 0, 0],
            [least, ..] => [least, ready[ready.len() / 2], ready[ready.len() - 1]],
        };
        let held: i128 = left.accounts.values().map(|(balance, _)| balance).sum();
        let (issued, charged) = left.issued_and_charged(i64::MAX);
        println!(
            "{kills} kills: {} changes acknowledged and there, {} refused, {} in flight of which {} were made; {} jobs accepted; \
             {} attempts preempted; {} requests that change nothing",
            count(Outcome::Done),
            count(Outcome::Refused),
            count(Outcome::LostButDone) + count(Outcome::LostAndGone),
            count(Outcome::LostButDone),
            book.submissions.iter().filter(|submission| submission.is_accepted).count(),
            left.preempted,
            book.reads,
        );
        println!(
            "{} charges over {} ticks, {} rows of the ledger, folded up to {}; {} issued - {} charged = {} held",
            self.lives.iter().map(|life| life.charges).sum::<usize>(),
            left.ticks.len(),
            left.ledger.last().map_or(0, |row| row.number),
            left.folded_through(),
            decimal(issued),
            decimal(charged),
            decimal(held),
        );
        println!(
            "{} used signatures refused after restarts; from start to ready {least} ms at least, {median} median, {most} at most",
            self.lives.iter().map(|life| life.used_signatures).sum::<usize>(),
        );
        let wrong: Vec<&String> = self.lives.iter().flat_map(|life| &life.wrong).collect();
        println!("{} violations", wrong.len());
        for text in wrong.iter().take(SHOWN) {
            println!("wrong: {text}");
        }
        ensure!(wrong.is_empty(), "{} violations", wrong.len());
        Ok(())
    }
}
