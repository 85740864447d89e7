//! The market after a tick, as text.

use crate::api::QueueStatus;
use crate::client::job::view::{JobState, TaskTally};
use crate::model::Credits;

use super::scratch::{BIDDERS, SLOTS};

/// The market after a tick, and the progress of the jobs.
#[derive(Clone, Debug)]
pub(super) struct MarketTable {
    /// The number of the last tick.
    pub(super) tick: u64,
    /// The sum of the effective rates, credits.
    pub(super) price: Credits,
    /// In the order of [`BIDDERS`].
    pub(super) queues: Vec<QueueStatus>,
    /// In the same order; none before the submission.
    pub(super) jobs: Vec<Option<WatchedJob>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedJob {
    pub(super) state: JobState,
    pub(super) map: TaskTally,
    pub(super) reduce: TaskTally,
}

/// Printed decimals of a share.
const SHARE_DECIMALS: usize = 3;

pub(super) fn header() -> String {
    let [alice, bob] = BIDDERS.map(|bidder| bidder.name);
    format!(
        "             each letter    {alice:<5} map slots            {bob:<5} map slots\n\
         tick  price  is a map slot  share used/bought  budget  share used/bought  budget"
    )
}

impl MarketTable {
    pub(super) fn row(&self) -> String {
        let mut text = format!("{:>4} {:>6}  {:<13}", self.tick, self.price.to_string(), self.slot_letters());
        for queue in &self.queues {
            let slots = format!("{}/{}", queue.running.map, queue.quota.map);
            text += &format!("  {:>5} {slots:>11}  {:>6}", truncate_share(&queue.share), queue.budget.to_string());
        }
        text
    }

    /// The owners of the map slots: a letter for each slot, a point for a free one.
    fn slot_letters(&self) -> String {
        let held = self.queues.iter().flat_map(|queue| {
            let letter = queue.queue.as_str().chars().next().unwrap_or('?');
            std::iter::repeat_n(letter, queue.running.map as usize)
        });
        held.chain(std::iter::repeat('.')).take(SLOTS.map as usize).collect()
    }

    pub(super) fn live_lines(&self) -> Vec<String> {
        let head = format!(
            "tick {:<4}  price {:<4}   bid  rate  share   maps  reduces  waiting  budget",
            self.tick,
            self.price.to_string()
        );
        let row = |queue: &QueueStatus| {
            let slots = |running: u32, quota: u32| format!("{running}/{quota}");
            format!(
                "{:<18}{:>7}{:>6}  {:>5}  {:>5}  {:>7}  {:>7}  {:>6}",
                queue.queue.as_str(),
                queue.bid.to_string(),
                queue.rate.to_string(),
                truncate_share(&queue.share),
                slots(queue.running.map, queue.quota.map),
                slots(queue.running.reduce, queue.quota.reduce),
                queue.pending,
                queue.budget.to_string()
            )
        };
        [head].into_iter().chain(self.queues.iter().map(row)).collect()
    }

    /// Whether exactly `queues` queues have bought map slots for the open interval.
    pub(super) fn has_buyers(&self, queues: usize) -> bool {
        self.queues.iter().filter(|queue| queue.quota.map > 0).count() == queues
    }

    /// Finished maps and all maps of all jobs; a job not yet submitted has `to_come` maps.
    pub(super) fn maps(&self, to_come: u32) -> (u32, u32) {
        let of = |job: &Option<WatchedJob>| job.map_or((0, to_come), |job| (job.map.finished, job.map.total));
        self.jobs.iter().map(of).fold((0, 0), |(done, all), (more, of)| (done + more, all + of))
    }
}

impl WatchedJob {
    pub(super) fn bar_text(&self) -> String {
        let Self { state, map, reduce } = self;
        match state {
            JobState::Running => format!(
                "{} running, {} waiting; reduces {}/{}",
                map.running + reduce.running,
                map.pending + reduce.pending,
                reduce.finished,
                reduce.total
            ),
            state => state.name().to_owned(),
        }
    }
}

fn truncate_share(share: &str) -> &str {
    let end = share.find('.').map_or(share.len(), |point| point + 1 + SHARE_DECIMALS);
    share.get(..end).unwrap_or(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PerPool, QueueName};

    fn queue(name: &str, bid: &str, share: &str, running: u32, quota: u32, budget: &str) -> QueueStatus {
        QueueStatus {
            cannot_run: None,
            allowance: None,
            queue: QueueName::new(name).unwrap(),
            budget: budget.parse().unwrap(),
            bid: bid.parse().unwrap(),
            rate: bid.parse().unwrap(),
            share: share.to_owned(),
            quota: PerPool::new(quota, 1, 0),
            running: PerPool::new(running, 0, 0),
            pending: 40,
            lasts_s: None,
            orders: Vec::new(),
        }
    }

    fn table() -> MarketTable {
        let tally = TaskTally { total: 120, finished: 30, running: 5, pending: 85, ..TaskTally::default() };
        let job = WatchedJob { state: JobState::Running, map: tally, reduce: TaskTally::default() };
        MarketTable {
            tick: 7,
            price: "3.3".parse().unwrap(),
            queues: vec![
                queue("alice", "1.1", "0.333333333", 5, 4, "943.9"),
                queue("bob", "2.2", "0.666666666", 6, 8, "1000"),
            ],
            jobs: vec![Some(job), None],
        }
    }

    #[test]
    fn a_line_shows_whose_the_slots_are() {
        insta::assert_snapshot!(format!("{}\n{}", header(), table().row()), @"
                     each letter    alice map slots            bob   map slots
        tick  price  is a map slot  share used/bought  budget  share used/bought  budget
           7    3.3  aaaaabbbbbb.   0.333         5/4   943.9  0.666         6/8  1000.0
        ");
    }

    #[test]
    fn the_table_shows_what_a_line_has_no_room_for() {
        insta::assert_snapshot!(table().live_lines().join("\n"), @"
        tick 7     price 3.3    bid  rate  share   maps  reduces  waiting  budget
        alice                 1.1   1.1  0.333    5/4      0/1       40   943.9
        bob                   2.2   2.2  0.666    6/8      0/1       40  1000.0
        ");
        insta::assert_snapshot!(table().jobs[0].unwrap().bar_text(), @"5 running, 85 waiting; reduces 0/0");
    }

    #[test]
    fn maps_of_jobs_to_come_count() {
        assert_eq!(table().maps(100), (30, 220));
    }

    #[test]
    fn buyers_are_those_with_slots_of_their_own() {
        let mut table = table();
        assert!(table.has_buyers(2) && !table.has_buyers(1));
        table.queues[1].quota.map = 0;
        assert!(table.has_buyers(1) && !table.has_buyers(2));
    }

    #[test]
    fn shares_are_cut_and_not_rounded() {
        assert_eq!(["0.666666666", "1", "1.000000000", "0.5"].map(truncate_share), ["0.666", "1", "1.000", "0.5"]);
    }
}
