//! Law 1, allowances: books of their own, by the monotonic clock alone while the daemon runs. Each period is paid once,
//! when it has passed; a wall clock that is set pays nothing.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::market::{Allowance, AllowanceTerms, LedgerEntry, MOST_MISSED_PERIODS};
use crate::model::{Credits, Now};

/// A wall clock may be so far off before the stored times follow, ms.
const MOST_DRIFT_MS: u64 = 1_000;

#[derive(Clone, Debug)]
struct Book {
    terms: AllowanceTerms,
    by: String,
    periods: u64,
    /// When the next period ends, by the monotonic clock of this run, ms.
    due_mono_ms: i64,
    /// The same as it is stored, epoch ms.
    due_wall_ms: i64,
    last_paid: u64,
    paid_now: u64,
    passed_now: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AllowanceBooks {
    books: BTreeMap<String, Book>,
    started_mono_ms: i64,
}

impl Book {
    fn every_ms(&self) -> i64 {
        (self.terms.every_s * 1_000).cast_signed()
    }

    /// Periods that ended while the daemon was down and are not paid.
    fn skipped(&self, started_mono_ms: i64) -> u64 {
        let late_ms = started_mono_ms - self.due_mono_ms;
        let missed = if late_ms < 0 { 0 } else { (late_ms / self.every_ms() + 1).cast_unsigned() };
        missed.saturating_sub(MOST_MISSED_PERIODS)
    }

    fn most(&self) -> Credits {
        self.terms.cap.unwrap_or(Credits::MAX)
    }
}

impl AllowanceBooks {
    pub(super) fn new(start_mono_ms: u64) -> Self {
        Self { books: BTreeMap::new(), started_mono_ms: start_mono_ms.cast_signed() }
    }

    /// An administrator sets an allowance, by an authorized request.
    pub(super) fn set(
        &mut self,
        queue: &str,
        terms: &AllowanceTerms,
        stored: &Allowance,
        now: Now,
    ) -> Result<(), String> {
        let before = self.books.remove(queue);
        let (periods, last_paid) = before.map_or((0, 0), |before| (before.periods, before.last_paid));
        let mut book = Book {
            terms: terms.clone(),
            by: stored.by.clone(),
            periods,
            due_mono_ms: 0,
            due_wall_ms: stored.due_ms,
            last_paid,
            paid_now: 0,
            passed_now: 0,
        };
        book.due_mono_ms = now.mono_ms.cast_signed() + book.every_ms();
        self.books.insert(queue.to_owned(), book);
        self.check(queue, stored)
    }

    pub(super) fn end(&mut self, queue: &str) -> Option<()> {
        self.books.remove(queue).map(drop)
    }

    /// A payment; `before` is the balance before it.
    pub(super) fn pay(&mut self, queue: &str, before: Credits, entry: &LedgerEntry) -> Result<(), String> {
        let started_mono_ms = self.started_mono_ms;
        let Some(book) = self.books.get_mut(queue) else { return Err(format!("{entry:?} comes of no allowance")) };
        book.paid_now += 1;
        let number = book.periods + book.skipped(started_mono_ms) + book.paid_now;
        let amount = Credits::from_units(book.terms.credits.units().min(book.most().units() - before.units()));
        let expected = (amount, book.by.as_str(), format!("allowance {number}"));
        if (entry.amount, entry.by.as_str(), entry.note.clone()) != expected || number <= book.last_paid {
            return Err(format!("{entry:?} with {before} before, expected {expected:?} after {}", book.last_paid));
        }
        book.last_paid = number;
        Ok(())
    }

    /// The stored times moved, or periods have passed; `balance` is that after their payments.
    pub(super) fn advance(
        &mut self,
        queue: &str,
        stored: &Allowance,
        balance: Credits,
        is_timer: bool,
        now: Now,
    ) -> Result<(), String> {
        let (started_mono_ms, now_mono_ms) = (self.started_mono_ms, now.mono_ms.cast_signed());
        let Some(book) = self.books.get_mut(queue) else { return Err(format!("nothing explains {stored:?}")) };
        let passed = stored.periods.saturating_sub(book.periods);
        let skipped = if passed > 0 { book.skipped(started_mono_ms) } else { 0 };
        let every_ms = book.every_ms();
        let last_mono_ms = book.due_mono_ms + (passed.cast_signed() - 1) * every_ms;
        if passed > 0 && (!is_timer || last_mono_ms > now_mono_ms) {
            return Err(format!("{passed} periods of {queue} pass at {now:?}, the last is due at {last_mono_ms}"));
        }
        // Those that pay nothing find the balance at its cap.
        let is_short = book.paid_now + skipped < passed;
        if book.paid_now + skipped > passed || (is_short && balance < book.most()) {
            return Err(format!("{passed} periods of {queue} pass, {} are paid, it has {balance}", book.paid_now));
        }
        book.periods += passed;
        book.passed_now += passed - skipped;
        book.paid_now = 0;
        book.due_mono_ms += passed.cast_signed() * every_ms;
        if is_timer {
            // Moves it only at a start at which the stored time is too far ahead: the wall clock was set back, or it was
            // by less than makes the stored times follow.
            book.due_mono_ms = book.due_mono_ms.min(now_mono_ms + every_ms);
        }
        book.due_wall_ms = stored.due_ms;
        self.check(queue, stored)
    }

    /// After each step: what is due is paid, no queue waits longer than a period, and stored times are those of the wall clock.
    pub(super) fn end_step(&mut self, is_timer: bool, now: Now) -> Result<(), String> {
        let now_mono_ms = now.mono_ms.cast_signed();
        for (queue, book) in &mut self.books {
            let passed = std::mem::take(&mut book.passed_now);
            if book.paid_now > 0 {
                return Err(format!("{queue} is paid for a period that has not passed: {book:?}"));
            }
            if is_timer && book.due_mono_ms <= now_mono_ms && passed < MOST_MISSED_PERIODS {
                return Err(format!("{queue} is not paid at {now:?}: {book:?}"));
            }
            if is_timer && book.due_mono_ms > now_mono_ms + book.every_ms() {
                return Err(format!("{queue} waits longer than a period at {now:?}: {book:?}"));
            }
            let expected_ms = now.wall_ms + (book.due_mono_ms - now_mono_ms);
            if expected_ms.abs_diff(book.due_wall_ms) >= MOST_DRIFT_MS {
                return Err(format!("{queue} is due at {expected_ms}, stored is {book:?}"));
            }
        }
        Ok(())
    }

    /// The daemon starts again: what it missed is judged by the wall clock.
    pub(super) fn restart(&mut self, now: Now) {
        self.started_mono_ms = now.mono_ms.cast_signed();
        for book in self.books.values_mut() {
            book.due_mono_ms = book.due_wall_ms - now.wall_ms + now.mono_ms.cast_signed();
        }
    }

    /// Compares all with the market's; `queues` are those that exist.
    pub(super) fn compare<'a>(&self, engine: &Engine, queues: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let Some(market) = engine.market() else { return Ok(()) };
        for queue in queues {
            match (market.allowance(queue), self.books.contains_key(queue)) {
                (None, false) => {}
                (Some(stored), true) => self.check(queue, stored)?,
                (stored, _) => return Err(format!("{queue} has {stored:?}, by the books {:?}", self.books.get(queue))),
            }
        }
        Ok(())
    }

    fn check(&self, queue: &str, stored: &Allowance) -> Result<(), String> {
        let Some(book) = self.books.get(queue) else { return Ok(()) };
        let Allowance { credits, every_s, cap, by, periods, due_ms } = stored.clone();
        let terms = AllowanceTerms { credits, every_s, cap };
        match (&terms, &by, periods, due_ms) == (&book.terms, &book.by, book.periods, book.due_wall_ms) {
            true => Ok(()),
            false => Err(format!("{queue} has {stored:?}, by the books {book:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const CAP: Credits = Credits::from_units(7);

    fn at(mono_ms: u64, wall_ms: i64) -> Now {
        Now { mono_ms, wall_ms }
    }

    fn stored(periods: u64, due_ms: i64) -> Allowance {
        let credits = Credits::from_units(1);
        Allowance { credits, every_s: 2, cap: Some(CAP), by: "root".to_owned(), periods, due_ms }
    }

    /// Books at a start, of an allowance that was set after the wall clock had been set back by 600 ms: the stored time
    /// is so much too late.
    fn started_books() -> AllowanceBooks {
        let mut books = AllowanceBooks::new(0);
        let Allowance { credits, every_s, cap, .. } = stored(0, 0);
        books.set("alice", &AllowanceTerms { credits, every_s, cap }, &stored(0, 12_600), at(0, 10_000)).unwrap();
        books.end_step(false, at(0, 10_000)).unwrap();
        books.restart(at(50, 10_100));
        books
    }

    /// A step of the timer with one fact; the balance is at the cap, so that no payment comes with the period.
    fn fire(books: &mut AllowanceBooks, stored: &Allowance, now: Now) -> Result<(), String> {
        books.advance("alice", stored, CAP, true, now)?;
        books.end_step(true, now)
    }

    #[test]
    fn a_stored_time_that_is_a_little_too_far_ahead_at_a_start_moves_to_the_end_of_a_whole_period() {
        let mut books = started_books();
        fire(&mut books, &stored(0, 12_100), at(50, 10_100)).unwrap();
        let early = fire(&mut books.clone(), &stored(1, 14_100), at(2_049, 12_099));
        assert!(early.unwrap_err().contains("the last is due at 2050"));
        fire(&mut books, &stored(1, 14_100), at(2_050, 12_100)).unwrap();
    }

    #[test]
    fn a_start_that_lets_a_queue_wait_longer_than_a_period_is_noticed() {
        let error = started_books().end_step(true, at(50, 10_100)).unwrap_err();
        assert!(error.contains("waits longer than a period"), "{error}");
        let mut books = started_books();
        fire(&mut books, &stored(0, 12_600), at(50, 10_100)).unwrap();
        let error = books.end_step(true, at(2_050, 12_100)).unwrap_err();
        assert!(error.contains("is not paid"), "{error}");
    }
}
