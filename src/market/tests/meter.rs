//! The meter against sums that are made millisecond by millisecond.

use std::collections::BTreeMap;
use std::iter;

use proptest::prelude::*;

use super::*;
use crate::market::money::allocation::DivisionPart;
use crate::market::money::share::Share;
use crate::model::JobId;

const QUEUES: usize = 4;
const HOLDERS: usize = 8;

fn name(queue: usize) -> QueueName {
    QueueName::new(["alice", "bob", "carol", "dave"][queue]).unwrap()
}

/// Two jobs of each queue.
fn holder(index: usize) -> SlotHolder {
    let identifier = "1".parse().unwrap();
    SlotHolder::Job(JobId { identifier, number: i32::try_from(index).unwrap() + 1 })
}

fn queue_of(index: usize) -> usize {
    index % QUEUES
}

fn at(mono_ms: u64) -> Now {
    Now { mono_ms, wall_ms: 0 }
}

/// What a tick sells to a queue: maps, reduces and containers, rate, and how many slots it can pay for beyond those.
type Sold = ((u32, u32, u32), u32, u32);

fn interval((quota, rate, more): Sold) -> Interval {
    let quota = PerPool::new(quota.0, quota.1, quota.2);
    let (rate, price) = (Credits::from_units(rate.into()), Credits::from_units(1_000));
    let most_paid = u32::try_from(total(quota)).unwrap() + more;
    Interval { share: Share::new(rate, price), quota, most_paid: Some(most_paid), ..Interval::default() }
}

/// After so many ms, a holder holds so much.
type Change = (u64, usize, (u32, u32, u32));

fn any_changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec((0..40_u64, 0..HOLDERS, (0..6_u32, 0..4_u32, 0..9_u32)), 0..30)
}

fn any_sold() -> impl Strategy<Value = Vec<Sold>> {
    prop::collection::vec(((0..6_u32, 0..4_u32, 0..4_u32), 0..5_u32, 0..6_u32), QUEUES)
}

#[derive(Default)]
struct Naive {
    held: Vec<PerPool<u32>>,
    uses: Vec<MeteredUse>,
    slot_ms: Vec<PerPool<u64>>,
}

impl Naive {
    fn new(held: Vec<PerPool<u32>>) -> Self {
        Self { held, uses: vec![MeteredUse::default(); QUEUES], slot_ms: vec![PerPool::default(); HOLDERS] }
    }

    fn pass_a_millisecond(&mut self, sold: &[Sold]) {
        let of_queue = |queue: usize| {
            let mut sum = PerPool::<u32>::default();
            for index in (0..HOLDERS).filter(|index| queue_of(*index) == queue) {
                Pool::ALL.into_iter().for_each(|pool| sum[pool] += self.held[index][pool]);
            }
            sum
        };
        let held: Vec<PerPool<u32>> = (0..QUEUES).map(of_queue).collect();
        let intervals: Vec<Interval> = sold.iter().map(|sold| interval(*sold)).collect();
        let paid = |queue: usize| {
            let (held, quota) = (held[queue], intervals[queue].quota);
            let maps = held.map.min(quota.map);
            let reduces = held.reduce.min(quota.reduce);
            let left = quota.container + quota.map - maps + quota.reduce - reduces;
            PerPool::new(maps, reduces, held.container.min(left))
        };
        let within: Vec<PerPool<u32>> = (0..QUEUES).map(paid).collect();
        let unheld: u64 = (0..QUEUES).map(|queue| total(intervals[queue].quota) - total(within[queue])).sum();
        let parts: Vec<DivisionPart> = (0..QUEUES)
            .map(|queue| {
                let beyond = held[queue].container - within[queue].container;
                let payable = intervals[queue].payable() - total(within[queue]);
                DivisionPart { rate: intervals[queue].share.rate(), most: beyond.min(u32::try_from(payable).unwrap()) }
            })
            .collect();
        for (queue, part) in divide_one_by_one(unheld, &parts).into_iter().enumerate() {
            let sums = &mut self.uses[queue];
            Pool::ALL.into_iter().for_each(|pool| sums.within_ms[pool] += u64::from(within[queue][pool]));
            sums.beyond_ms += u64::from(part);
        }
        for (sum, held) in self.slot_ms.iter_mut().zip(&self.held) {
            Pool::ALL.into_iter().for_each(|pool| sum[pool] += u64::from(held[pool]));
        }
    }
}

/// Each slot to the part that has least for its rate, a slot counted as half held before it is.
fn divide_one_by_one(slots: u64, parts: &[DivisionPart]) -> Vec<u32> {
    let mut divided = vec![0_u32; parts.len()];
    for _ in 0..slots {
        let open = (0..parts.len()).filter(|at| parts[*at].rate > Credits::ZERO && divided[*at] < parts[*at].most);
        let weight = |of: usize, by: usize| i128::from(2 * divided[of] + 1) * parts[by].rate.units();
        let least = open.min_by(|a, b| weight(*a, *b).cmp(&weight(*b, *a)));
        let Some(least) = least else { break };
        divided[least] += 1;
    }
    divided
}

fn open(meter: &mut Meter, tick: u64, length_ms: u64, sold: &[Sold], mono_ms: u64) {
    let sold: BTreeMap<QueueName, Interval> =
        (0..).zip(sold).map(|(queue, sold)| (name(queue), interval(*sold))).collect();
    meter.open(tick, length_ms, sold.iter());
    meter.open_at(at(mono_ms));
}

fn hold(meter: &mut Meter, index: usize, held: PerPool<u32>, mono_ms: u64) -> Metered {
    let known = meter.held().find(|(known, _)| *known == holder(index));
    let before = known.map_or(PerPool::default(), |(_, held)| held);
    let mut by = PerPool::default();
    Pool::ALL.into_iter().for_each(|pool| by[pool] = i64::from(held[pool]) - i64::from(before[pool]));
    let payer = |of: SlotHolder| {
        let index = (0..HOLDERS).find(|index| holder(*index) == of).unwrap();
        Some((name(queue_of(index)), index as u64))
    };
    let metered = meter.changed(&[(holder(index), by)], &[], &[], mono_ms, payer).unwrap();
    meter.apply(&metered);
    metered
}

fn held_of(meter: &Meter, queue: usize, mono_ms: u64) -> Vec<(SlotHolder, PerPool<u64>)> {
    let place = meter.place_of(&name(queue));
    place.into_iter().flat_map(|place| meter.held_by(place, mono_ms)).collect()
}

fn check(meter: &Meter, naive: &Naive, mono_ms: u64) -> Result<(), TestCaseError> {
    for queue in 0..QUEUES {
        prop_assert_eq!(meter.use_of(&name(queue), mono_ms), naive.uses[queue], "{}", name(queue));
        for (of, slot_ms) in held_of(meter, queue, mono_ms) {
            let index = (0..HOLDERS).find(|index| holder(*index) == of).unwrap();
            prop_assert_eq!(slot_ms, naive.slot_ms[index]);
        }
    }
    Ok(())
}

fn pools((map, reduce, container): (u32, u32, u32)) -> PerPool<u32> {
    PerPool::new(map, reduce, container)
}

proptest! {
    #[test]
    fn the_meter_sums_what_walking_all_queues_each_millisecond_sums(
        intervals in prop::collection::vec((any_sold(), any_changes()), 1..4),
        length_ms in 1..400_u64,
    ) {
        let mut meter = Meter::default();
        meter.start(Vec::new(), length_ms, at(7));
        let (mut mono_ms, mut held) = (7, vec![PerPool::default(); HOLDERS]);
        for (tick, (sold, changes)) in (1..).zip(&intervals) {
            open(&mut meter, tick, length_ms, sold, mono_ms);
            let (opened_ms, mut naive) = (mono_ms, Naive::new(held));
            for (after_ms, index, slots) in changes {
                for _ in 0..*after_ms {
                    // More of the interval is free.
                    if mono_ms - opened_ms < length_ms {
                        naive.pass_a_millisecond(sold);
                    }
                    mono_ms += 1;
                }
                hold(&mut meter, *index, pools(*slots), mono_ms);
                naive.held[*index] = pools(*slots);
                check(&meter, &naive, mono_ms)?;
            }
            held = naive.held;
        }
        // What was held and is not held any more is forgotten.
        open(&mut meter, 9, length_ms, &[((0, 0, 0), 0, 0); QUEUES], mono_ms);
        for (index, held) in held.iter().enumerate() {
            prop_assert_eq!(meter.may_charge(holder(index)), *held != PerPool::default());
        }
    }

    #[test]
    fn a_restart_takes_over_what_facts_prove_and_counts_no_moment_twice(
        sold in any_sold(), changes in any_changes(), later in any_changes(), kept in 0..30_usize, down_ms in 0..5_000_u64,
    ) {
        const LENGTH_MS: u64 = 2_000;
        let mut meter = Meter::default();
        meter.start(Vec::new(), LENGTH_MS, at(0));
        open(&mut meter, 1, LENGTH_MS, &sold, 0);
        // Some holdings are older than the interval.
        let mut naive = Naive::new(vec![PerPool::default(); HOLDERS]);
        let (mut mono_ms, mut facts) = (0, Vec::new());
        for (after_ms, index, slots) in changes.iter().take(kept) {
            mono_ms += after_ms;
            (0..*after_ms).for_each(|_| naive.pass_a_millisecond(&sold));
            facts.push(hold(&mut meter, *index, pools(*slots), mono_ms));
            naive.held[*index] = pools(*slots);
        }
        // The daemon dies some time after the last fact, and comes back with another monotonic clock.
        let mut restarted = Meter::default();
        restarted.open(1, LENGTH_MS, (0..).zip(&sold).map(|(queue, sold)| (name(queue), interval(*sold)))
            .collect::<BTreeMap<_, _>>().iter());
        for fact in &facts {
            restarted.apply(&serde_json::from_str(&serde_json::to_string(fact).unwrap()).unwrap());
        }
        let holding = |index: usize| Holding {
            holder: holder(index), queue: name(queue_of(index)), order: index as u64, grace: None, held: naive.held[index],
        };
        let holdings = (0..HOLDERS).map(holding).filter(|holding| holding.held != PerPool::default()).collect();
        restarted.start(holdings, LENGTH_MS, at(down_ms));
        check(&restarted, &naive, down_ms)?;
        let (mut mono_ms, proven_ms) = (down_ms, mono_ms);
        for (after_ms, index, slots) in &later {
            for _ in 0..*after_ms {
                if proven_ms + (mono_ms - down_ms) < LENGTH_MS {
                    naive.pass_a_millisecond(&sold);
                }
                mono_ms += 1;
            }
            hold(&mut restarted, *index, pools(*slots), mono_ms);
            naive.held[*index] = pools(*slots);
            check(&restarted, &naive, mono_ms)?;
        }
    }
}

/// A second, and a tenth of the interval, for each slot that was sold; what is beyond the quota was never charged.
#[test]
fn what_is_given_back_promptly_without_a_launch_is_free_within_bounds() {
    let mut meter = Meter::default();
    let sold = [((0, 0, 4), 1, 0); QUEUES];
    meter.start(Vec::new(), 10_000, at(0));
    open(&mut meter, 1, 10_000, &sold, 0);
    let give_back = |meter: &mut Meter, slots: u32, held_ms: u64, mono_ms: u64| {
        let by = PerPool::new(0, 0, -i64::from(slots));
        let given_back = [GivenBack { holder: holder(0), slots, held_ms }];
        let metered = meter.changed(&[(holder(0), by)], &given_back, &[], mono_ms, |_| None).unwrap();
        meter.apply(&metered);
        metered.changes[0].given_back_ms
    };
    hold(&mut meter, 0, PerPool::new(0, 0, 6), 0);
    assert_eq!(give_back(&mut meter, 3, 800, 800), 800, "two of them were beyond the quota");
    let slot_ms = |meter: &Meter, mono_ms| meter.use_of(&name(0), mono_ms).within_ms.container;
    assert_eq!(slot_ms(&meter, 800), 4 * 800 - 800);
    assert_eq!(give_back(&mut meter, 1, 1_001, 1_001), 0, "too late");
    // As often as it likes, up to a second for each of four slots.
    let mut free = 800;
    for round in 1..=5 {
        hold(&mut meter, 0, PerPool::new(0, 0, 4), 1_001 * round + 1);
        free += give_back(&mut meter, 2, 1_000, 1_001 * (round + 1));
    }
    assert_eq!(free, 4_000);
    let held: Vec<_> = held_of(&meter, 0, 9_000).into_iter().map(|(_, slot_ms)| slot_ms.container).collect();
    assert_eq!(held[0], slot_ms(&meter, 9_000) + 2 * 800, "beyond the quota it was held too");
}

#[test]
fn the_grace_of_a_preempted_container_is_counted_apart_for_an_interval_in_all() {
    const LENGTH_MS: u64 = 1_000;
    let (mut meter, sold) = (Meter::default(), [((0, 0, 4), 1, 0); QUEUES]);
    meter.start(Vec::new(), LENGTH_MS, at(0));
    open(&mut meter, 1, LENGTH_MS, &sold, 0);
    hold(&mut meter, 0, PerPool::new(0, 0, 6), 0);
    let rate = Credits::from_units(7);
    let step = |begins| GraceStep { holder: holder(0), container: 3, slots: 2, rate, begins };
    let begun = meter.changed(&[], &[], &[step(true)], 400, |_| None).unwrap();
    meter.apply(&begun);
    let in_graces = |meter: &Meter, mono_ms| -> Vec<(i128, u64)> {
        let place = meter.place_of(&name(0)).unwrap();
        meter.held_in_graces(place, mono_ms).map(|(rate, _, slot_ms)| (rate.units(), slot_ms.container)).collect()
    };
    assert_eq!(in_graces(&meter, 900), [(7, 2 * 500)]);
    assert_eq!(meter.use_of(&name(0), 900).within_ms.container, 4 * 900, "what it has bought is charged as before");
    let held: Vec<_> = held_of(&meter, 0, 900).into_iter().map(|(_, slot_ms)| slot_ms.container).collect();
    assert_eq!(held, [6 * 400 + 4 * 500]);
    meter.close(at(1_000));
    open(&mut meter, 2, LENGTH_MS, &sold, 1_000);
    assert_eq!(in_graces(&meter, 1_900), [(7, 2 * 400)], "the rest of an interval");
    // A restart knows how much was left of it at the tick.
    let continued = meter.continued(iter::empty()).unwrap();
    let mut restarted = Meter::default();
    let intervals: BTreeMap<QueueName, Interval> =
        (0..).zip(&sold).map(|(queue, sold)| (name(queue), interval(*sold))).collect();
    restarted.open(2, LENGTH_MS, intervals.iter());
    restarted.apply(&continued);
    let holding = |grace, slots| {
        let held = PerPool::new(0, 0, slots);
        Holding { holder: holder(0), queue: name(0), order: 0, grace, held }
    };
    let grace = Grace { container: 3, rate, left_ms: LENGTH_MS };
    restarted.start(vec![holding(Some(grace), 2), holding(None, 4)], LENGTH_MS, at(50_000));
    assert_eq!(in_graces(&restarted, 50_900), [(7, 2 * 400)]);
    // The scheduler has released its slots; its application holds the others as before.
    let by = PerPool::new(0, 0, -2);
    let ended = meter.changed(&[(holder(0), by)], &[], &[step(false)], 1_100, |_| None).unwrap();
    meter.apply(&ended);
    assert_eq!(in_graces(&meter, 1_900), [(7, 2 * 100)]);
    assert_eq!(meter.held().collect::<Vec<_>>(), [(holder(0), PerPool::new(0, 0, 4))]);
    meter.close(at(2_000));
    open(&mut meter, 3, LENGTH_MS, &sold, 2_000);
    assert_eq!(meter.continued(iter::empty()), None);
}

/// Rows of jobs that say less than the facts of the meter, as after a job that the restart did not keep.
#[test]
fn what_is_held_after_a_restart_is_what_the_rows_of_jobs_say() {
    let mut meter = Meter::default();
    let sold = [((9, 0, 0), 1, 0); QUEUES];
    let sold: BTreeMap<QueueName, Interval> = (0..).zip(&sold).map(|(q, sold)| (name(q), interval(*sold))).collect();
    meter.open(1, 1_000, sold.iter());
    let change = |index: usize, before: u32, after: u32| HeldChange {
        holder: holder(index),
        queue: name(queue_of(index)),
        order: 1,
        grace: None,
        before: PerPool::new(before, 0, 0),
        after: PerPool::new(after, 0, 0),
        given_back_ms: 0,
    };
    meter.apply(&Metered { tick: 0, offset_ms: 9, changes: vec![change(0, 0, 7)] });
    meter.apply(&Metered { tick: 1, offset_ms: 100, changes: vec![change(0, 1, 3)] });
    meter.apply(&Metered { tick: 1, offset_ms: 300, changes: Vec::new() });
    let holding = |index, maps| Holding {
        holder: holder(index),
        queue: name(queue_of(index)),
        order: 1,
        grace: None,
        held: PerPool::new(maps, 0, 0),
    };
    let corrected = meter.start(vec![holding(0, 2), holding(1, 4)], 1_000, at(50_000));
    let corrected = corrected.map(|fact| (fact.offset_ms, fact.changes));
    assert_eq!(corrected, Some((300, vec![change(0, 3, 2)])), "a later restart would count what is held no more");
    let maps = |queue, mono_ms| meter.use_of(&name(queue), mono_ms).within_ms.map;
    assert_eq!([maps(0, 50_000), maps(1, 50_000)], [100 + 3 * 200, 4 * 300], "up to the last fact");
    assert_eq!(maps(0, 50_010), 700 + 2 * 10);
    assert_eq!(maps(0, 99_999), 700 + 2 * 700, "no more than an interval in all");
}

/// A job that is over is in no row, and its attempts hold slots until their trackers have ended them.
#[test]
fn what_a_job_that_is_over_held_is_charged_after_a_restart_as_far_as_facts_prove_it() {
    const LENGTH_MS: u64 = 1_000;
    let sold = [((9, 0, 0), 1, 0); QUEUES];
    let sold: BTreeMap<QueueName, Interval> = (0..).zip(&sold).map(|(q, sold)| (name(q), interval(*sold))).collect();
    let holding = Holding { holder: holder(0), queue: name(0), order: 1, grace: None, held: PerPool::new(2, 0, 0) };
    let mut meter = Meter::default();
    meter.open(1, LENGTH_MS, sold.iter());
    meter.start(vec![holding], LENGTH_MS, at(0));
    let over = || [holder(0), holder(5)].into_iter();
    let restarted_after = |fact: Option<Metered>| {
        let mut restarted = Meter::default();
        restarted.open(1, LENGTH_MS, sold.iter());
        fact.iter().for_each(|fact| restarted.apply(fact));
        restarted.apply(&Metered { tick: 1, offset_ms: 600, changes: Vec::new() });
        restarted.start(Vec::new(), LENGTH_MS, at(50_000));
        restarted.use_of(&name(0), 50_300).within_ms.map
    };
    assert_eq!(restarted_after(None), 0, "nothing else says it");
    assert_eq!(restarted_after(meter.proof(over(), 400)), 2 * 600, "it ended in the interval");
    assert_eq!(restarted_after(meter.continued(over())), 2 * 600, "it had ended before");
    assert_eq!(meter.proof([holder(5)].into_iter(), 400), None);
}
