//! What the owner says while it is read, such as explanations: of what it speaks next, and how old the last that it said may be.

use std::collections::BTreeMap;

/// Least time between two answers about one thing, ms: a little less than from one delta to the next.
const AGAIN_MS: u64 = 900;
/// Most answers in a second: each holds heartbeats up for as long as it takes.
const IN_A_SECOND: usize = 20;
/// Most things.
const THINGS: usize = 1_000;

/// The jobs, or other things, that were read of late.
#[derive(Debug)]
pub(super) struct LastReads<K> {
    things: BTreeMap<K, LastRead>,
    /// When the present second began, ms of the monotonic clock, and how many answers it has had.
    second_ms: u64,
    in_second: usize,
}

#[derive(Debug)]
struct LastRead {
    /// When it was read last, ms of the monotonic clock.
    read_ms: u64,
    /// When the owner was asked for it last; 0: not yet.
    said_ms: u64,
}

impl<K> Default for LastReads<K> {
    fn default() -> Self {
        Self { things: BTreeMap::new(), second_ms: 0, in_second: 0 }
    }
}

impl<K: Ord + Copy> LastReads<K> {
    /// A thing is read. Answers since when what is said of it must have been made, ms of the monotonic clock: the first reader sees
    /// this moment, others see what was made in the last round over all of them.
    pub(super) fn read(&mut self, thing: K, now_ms: u64) -> u64 {
        self.things.retain(|_, last| now_ms.saturating_sub(last.read_ms) < LOOKED_MS);
        let round_ms = (self.things.len() / IN_A_SECOND) as u64 * 1_000;
        let is_full = self.things.len() >= THINGS;
        match self.things.get_mut(&thing) {
            Some(last) => {
                last.read_ms = now_ms;
                now_ms.saturating_sub(FRESH_MS + round_ms)
            }
            None => {
                if !is_full {
                    self.things.insert(thing, LastRead { read_ms: now_ms, said_ms: 0 });
                }
                now_ms
            }
        }
    }

    /// Of what to speak now, the one spoken of longest ago last.
    pub(super) fn take_due(&mut self, now_ms: u64) -> Vec<K> {
        if now_ms.saturating_sub(self.second_ms) >= 1_000 {
            (self.second_ms, self.in_second) = (now_ms, 0);
        }
        let is_due = |last: &LastRead| {
            now_ms.saturating_sub(last.read_ms) < LOOKED_MS
                && (last.said_ms == 0 || now_ms.saturating_sub(last.said_ms) >= AGAIN_MS)
        };
        let due = self.things.iter().filter(|(_, last)| is_due(last));
        let mut due: Vec<(u64, K)> = due.map(|(thing, last)| (last.said_ms, *thing)).collect();
        due.sort_unstable();
        due.truncate(IN_A_SECOND.saturating_sub(self.in_second));
        self.in_second += due.len();
        for (_, thing) in &due {
            if let Some(last) = self.things.get_mut(thing) {
                last.said_ms = now_ms;
            }
        }
        due.into_iter().rev().map(|(_, thing)| thing).collect()
    }
}

/// So long after the last look the owner still speaks every second, ms.
pub(super) const LOOKED_MS: u64 = 15_000;
/// Age up to which what is no fact is shown without waiting, ms: a second, and what a walk and a publication take.
pub(super) const FRESH_MS: u64 = 1_250;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Identifier, JobId};

    fn job(number: i32) -> JobId {
        JobId::new(Identifier::from_number(1), number)
    }

    #[test]
    fn a_job_is_explained_once_a_second_while_it_is_read() {
        let mut read = LastReads::default();
        assert_eq!(read.take_due(10_000), []);
        assert_eq!(read.read(job(1), 10_000), 10_000, "the first reader sees this moment");
        assert_eq!(read.take_due(10_010), [job(1)]);
        assert_eq!(read.take_due(10_260), [], "it was explained a moment ago");
        assert_eq!(read.read(job(1), 10_500), 10_500 - FRESH_MS);
        assert_eq!(read.take_due(11_010), [job(1)]);
        assert_eq!(read.take_due(10_500 + LOOKED_MS), [], "the last reader left long ago");
        assert_eq!(read.read(job(1), 10_500 + LOOKED_MS), 10_500 + LOOKED_MS);
    }

    #[test]
    fn of_many_jobs_those_explained_longest_ago_come_first_and_no_second_has_too_many() {
        let mut read = LastReads::default();
        for number in 0..50 {
            read.read(job(number), 10_000);
        }
        let mut rounds: Vec<Vec<JobId>> = Vec::new();
        for now_ms in [10_000, 10_250, 11_000, 12_000, 13_000] {
            rounds.push(read.take_due(now_ms));
        }
        assert_eq!(
            rounds.iter().map(Vec::len).collect::<Vec<_>>(),
            [IN_A_SECOND, 0, IN_A_SECOND, IN_A_SECOND, IN_A_SECOND]
        );
        let first_three: Vec<JobId> = rounds[..4].iter().flat_map(|round| round.iter().rev().copied()).collect();
        assert_eq!(first_three[..50], (0..50).map(job).collect::<Vec<_>>(), "each once before any again");
        assert_eq!(read.read(job(7), 13_000), 13_000 - FRESH_MS - 2_000, "a round takes longer");
        for number in 50..2_000 {
            read.read(job(number), 13_000);
        }
        assert_eq!(read.things.len(), THINGS);
    }
}
