//! Deadlines that are taken and refused, with the words of the refusal.

use proptest::prelude::*;

use crate::model::PerKind;
use crate::scheduler::AppId;
use crate::scheduler::constraint::{
    Costs, DeadlineRejection, InputVolume, JobPlan, JobWork, KeySpread, MapClaim, Model, Promise, PromiseLedger,
    SlotSupply, TimedWork, admit, what_if,
};

const SECOND_US: i64 = 1_000_000;
const WHOLE: Model = Model::Whole { wait_us: 3_000_000 };
const SIX: SlotSupply = slots(6, 6);
const ARRIVAL_US: i64 = 3_600 * SECOND_US;

const fn slots(maps: u64, reduces: u64) -> SlotSupply {
    SlotSupply { slots: PerKind::new(maps, reduces), has_workers: true }
}

/// Set V of the document: 975 MB on six slots of each kind.
fn set_v() -> JobWork {
    let costs = Costs {
        map_us_per_mb: 1_875_000,
        reduce_us_per_mb: 1_150_000,
        copy_us_per_mb: 83_333,
        filter_millionths: 1_000_000,
    };
    costs.work(&InputVolume::in_blocks(975 << 20, 64 << 20), 6, KeySpread::Uniform)
}

fn job(work: JobWork, deadline_s: i64) -> TimedWork {
    let deadline_us = ARRIVAL_US + deadline_s * SECOND_US;
    TimedWork { work, arrival_us: ARRIVAL_US, now_us: ARRIVAL_US, deadline_us }
}

fn refusal(deadline_s: i64, ledger: &PromiseLedger, supply: SlotSupply) -> String {
    admit(&job(set_v(), deadline_s), Model::Fluid, ledger, supply).unwrap_err().to_string()
}

#[test]
fn a_deadline_that_the_slots_keep_is_taken() {
    let JobPlan { maps, latest_reduce_start_us, .. } =
        admit(&job(set_v(), 600), Model::Fluid, &PromiseLedger::default(), SIX).unwrap();
    assert_eq!((maps, latest_reduce_start_us / SECOND_US), (6, 3_600 + 331));
}

#[test]
fn refusals_say_what_is_missing_and_which_deadline_would_do() {
    let none = PromiseLedger::default();
    for (deadline_s, text) in [
        (500, "deadline 500.0 s needs 8 map slots, 6 free; earliest feasible deadline now 572.9 s"),
        (268, "deadline 268.0 s is shorter than copy and reduce alone (268.2 s)"),
        (0, "deadline lies in the past"),
        (-5, "deadline lies in the past"),
    ] {
        assert_eq!(refusal(deadline_s, &none, SIX), text);
    }
    let few_reduces = slots(6, 5);
    assert_eq!(
        refusal(600, &none, few_reduces),
        "deadline 600.0 s needs 6 reduce slots at 331.9 s after submission, 5 free then"
    );
    let no_maps = slots(0, 6);
    assert_eq!(refusal(600, &none, no_maps), "deadline 600.0 s needs 6 map slots, 0 free");
}

#[test]
fn what_others_were_promised_is_not_free_although_it_idles() {
    let mut ledger = PromiseLedger::default();
    let from_us = (3_600 + 300) * SECOND_US;
    let maps = [MapClaim::lasting(2), MapClaim::default()];
    let promise = Promise { maps, reduces: 1, reduces_from_us: from_us, until_us: from_us + 200 * SECOND_US };
    ledger.set(AppId::new(1), Some(promise));
    assert_eq!(
        refusal(600, &ledger, SIX),
        "deadline 600.0 s needs 6 map slots, 4 free; earliest feasible deadline now 768.2 s",
        "the reduces of the other job end at 500 s"
    );
    assert_eq!(
        refusal(750, &ledger, SIX),
        "deadline 750.0 s needs 6 reduce slots at 481.9 s after submission, 5 free then; \
         earliest feasible deadline now 768.2 s"
    );
    assert!(admit(&job(set_v(), 770), Model::Fluid, &ledger, SIX).is_ok());
}

/// Six slots; all are promised for 100 s from now on, and four of them for 300 s.
fn promised_for_a_time() -> PromiseLedger {
    let mut ledger = PromiseLedger::default();
    for (number, slots, until_s) in [(1, 2, 100), (2, 4, 300)] {
        let claim = MapClaim { slots, from_us: i64::MIN, until_us: ARRIVAL_US + until_s * SECOND_US };
        let maps = [claim, MapClaim::default()];
        ledger.set(AppId::new(number), Some(Promise { maps, ..Promise::default() }));
    }
    ledger
}

#[test]
fn a_job_starts_when_earlier_promises_end() {
    let ledger = promised_for_a_time();
    // Maps of 30 s in all.
    let work = JobWork { maps: 3, map_us: 30_000_000, longest_map_us: 10_000_000, ..JobWork::default() };
    for (deadline_s, maps, start_s) in [(200, 1, 100), (130, 1, 100), (120, 2, 100), (115, 2, 100), (310, 1, 100)] {
        let plan = admit(&job(work, deadline_s), Model::Fluid, &ledger, SIX).unwrap();
        assert_eq!((plan.maps, (plan.start_us - ARRIVAL_US) / SECOND_US), (maps, start_s), "{deadline_s}");
    }
    let wide = JobWork { maps: 60, map_us: 600_000_000, ..work };
    for (deadline_s, maps, start_s) in [(399, 3, 0), (400, 2, 100), (700, 1, 100), (800, 1, 100)] {
        let plan = admit(&job(wide, deadline_s), Model::Fluid, &ledger, SIX);
        let plan = plan.map(|plan| (plan.maps, (plan.start_us - ARRIVAL_US) / SECOND_US));
        match start_s {
            0 => assert!(plan.is_err(), "{deadline_s}: {plan:?}"),
            _ => assert_eq!(plan, Ok((maps, start_s)), "{deadline_s}"),
        }
    }
}

#[test]
fn a_rejection_says_until_when_slots_are_promised() {
    let ledger = promised_for_a_time();
    assert_eq!(
        refusal(500, &ledger, SIX),
        "deadline 500.0 s needs 8 map slots, 0 free until 01:01:40 UTC; earliest feasible deadline now 872.9 s"
    );
    // 1828.125 s of maps: all six slots from 300 s on.
    let JobPlan { maps, start_us, .. } = admit(&job(set_v(), 873), Model::Fluid, &ledger, SIX).unwrap();
    assert_eq!((maps, start_us - ARRIVAL_US), (6, 300 * SECOND_US));
    assert!(admit(&job(set_v(), 872), Model::Fluid, &ledger, SIX).is_err());
}

#[test]
fn without_a_worker_a_rejection_says_so() {
    let none = SlotSupply::default();
    let text = refusal(600, &PromiseLedger::default(), none);
    assert_eq!(text, "deadline 600.0 s cannot be kept: no worker is connected");
    // Its slots are in use.
    assert_eq!(refusal(600, &PromiseLedger::default(), slots(0, 6)), "deadline 600.0 s needs 6 map slots, 0 free");
}

#[test]
fn exact_quotients_are_not_rounded_up() {
    let work = JobWork { maps: 3, map_us: 3_000_000, longest_map_us: 1_000_000, ..JobWork::default() };
    let earliest = |slots| what_if(&job(work, 1), Model::Fluid, &PromiseLedger::default(), slots).earliest.unwrap();
    assert_eq!((earliest(slots(2, 2)).us, earliest(slots(2, 2)).to_string()), (1_500_000, "1.5".to_owned()));
    let reduces = JobWork { reduces: 2, reduce_us: 4_000_000, ..JobWork::default() };
    let earliest = what_if(&job(reduces, 1), Model::Fluid, &PromiseLedger::default(), SIX).earliest.unwrap();
    assert_eq!(earliest.us, 2_000_000, "no map");
}

#[test]
fn reduces_that_do_not_fit_at_their_latest_start_may_start_earlier() {
    let work = JobWork {
        maps: 2,
        reduces: 6,
        map_us: 20_000_000,
        longest_map_us: 10_000_000,
        reduce_us: 60_000_000,
        ..JobWork::default()
    };
    let mut ledger = PromiseLedger::default();
    let from_us = ARRIVAL_US + 50 * SECOND_US;
    let promise =
        Promise { reduces: 1, reduces_from_us: from_us, until_us: from_us + 50 * SECOND_US, ..Promise::default() };
    ledger.set(AppId::new(1), Some(promise));
    // By its deadline its reduces start at 60 s, when a slot is promised.
    let plan = admit(&job(work, 70), Model::Fluid, &ledger, SIX).unwrap();
    assert_eq!(plan.latest_reduce_start_us, ARRIVAL_US + 20 * SECOND_US, "when its maps are done, one after the other");
}

fn any_work() -> impl Strategy<Value = JobWork> {
    let costs = (1..5_000_000_u64, 1..3_000_000_u64, 1..200_000_u64, 0..2_000_000_u64);
    let splits = prop::collection::vec(0..256_u64 << 20, 0..40);
    let keys = prop_oneof![Just(KeySpread::Uniform), Just(KeySpread::Single)];
    (costs, splits, 0..8_u32, keys).prop_map(|((map, reduce, copy, filter_millionths), splits, reduces, keys)| {
        let costs = Costs { map_us_per_mb: map, reduce_us_per_mb: reduce, copy_us_per_mb: copy, filter_millionths };
        costs.work(&splits.into_iter().collect(), reduces, keys)
    })
}

/// Slots, since when and for how long: maps, reduces.
type AnyPromise = ((u32, i64, i64), (u32, i64, i64));

fn ledgers(promises: Vec<AnyPromise>) -> (PromiseLedger, PromiseLedger) {
    let (mut planned, mut now) = (PromiseLedger::default(), PromiseLedger::default());
    for (number, ((maps, start_s, during_s), (reduces, from_s, length_s))) in (1..).zip(promises) {
        let (from_us, reduces_from_us) = (start_s * SECOND_US, from_s * SECOND_US);
        let claim = MapClaim { slots: maps, from_us, until_us: from_us + during_s * SECOND_US };
        let until_us = reduces_from_us + length_s * SECOND_US;
        let promise = |claim| Promise { maps: [claim, MapClaim::default()], reduces, reduces_from_us, until_us };
        planned.set(AppId::new(number), Some(promise(claim)));
        now.set(AppId::new(number), Some(promise(MapClaim::lasting(maps))));
    }
    (planned, now)
}

fn any_promises() -> impl Strategy<Value = Vec<AnyPromise>> {
    prop::collection::vec(((0..8_u32, -50..400_i64, 1..600_i64), (0..4_u32, 0..4_000_i64, 0..2_000_i64)), 0..24)
}

fn any_model() -> impl Strategy<Value = Model> {
    prop_oneof![Just(Model::Fluid), Just(WHOLE)]
}

proptest! {
    #[test]
    fn the_earliest_deadline_is_taken_as_is_any_later_one_and_none_before(
        work in any_work(),
        deadline_ms in -1_000..2_000_000_i64,
        later_us in 0..2_000_000_000_i64,
        promises in any_promises(),
        (maps, reduces) in (0..20_u64, 0..20_u64),
        model in any_model(),
        is_planned in any::<bool>(),
    ) {
        let (planned, now) = ledgers(promises);
        let ledger = if is_planned { planned } else { now };
        let supply = slots(maps, reduces);
        let at = |deadline_us: i64| TimedWork { work, arrival_us: 0, now_us: 0, deadline_us };
        let job = at(deadline_ms * 1_000);
        let verdict = admit(&job, model, &ledger, supply);
        let earliest = what_if(&job, model, &ledger, supply).earliest;
        if let Err(DeadlineRejection::Maps { earliest: said, .. } | DeadlineRejection::Reduces { earliest: said, .. }) = verdict {
            prop_assert_eq!(said, earliest);
        }
        let Some(earliest) = earliest else {
            prop_assert!(verdict.is_err(), "{:?}", verdict);
            return Ok(());
        };
        for deadline_us in [earliest.us, earliest.us + 1_000_000, earliest.us + later_us] {
            let taken = admit(&at(deadline_us), model, &ledger, supply);
            prop_assert!(taken.is_ok(), "{:?} at {}, the earliest is {}", taken, deadline_us, earliest.us);
        }
        // A fluid job may be due before its maps are done if all run at a time: then the earliest one is that of the formula.
        let may_be_late = model == Model::Fluid && u64::from(work.maps) <= maps;
        let sooner = admit(&at(earliest.us - 1), model, &ledger, supply);
        prop_assert!(sooner.is_err() || may_be_late, "{:?} before {}", sooner, earliest.us);
    }

    #[test]
    fn what_the_paper_admits_is_admitted_against_promises_that_end(
        work in any_work(),
        deadline_ms in -1_000..2_000_000_i64,
        promises in any_promises(),
        (maps, reduces) in (0..40_u64, 0..20_u64),
        model in any_model(),
    ) {
        let (planned, now) = ledgers(promises);
        let job = TimedWork { work, arrival_us: 0, now_us: 0, deadline_us: deadline_ms * 1_000 };
        let supply = slots(maps, reduces);
        if let Ok(plan) = admit(&job, model, &now, supply) {
            let planned = admit(&job, model, &planned, supply);
            prop_assert!(planned.is_ok(), "{:?}, beside promises for ever {:?}", planned, plan);
        }
    }

    /// A plan takes no slot that is promised, and ends in time.
    #[test]
    fn a_plan_takes_free_slots_until_its_reduces_start(
        work in any_work(),
        deadline_ms in 1..3_000_000_i64,
        promises in any_promises(),
        (maps, reduces) in (1..40_u64, 1..20_u64),
        model in any_model(),
    ) {
        let (ledger, _) = ledgers(promises);
        let job = TimedWork { work, arrival_us: 0, now_us: 0, deadline_us: deadline_ms * 1_000 };
        let Ok(plan) = admit(&job, model, &ledger, slots(maps, reduces)) else { return Ok(()) };
        let during_us = model.maps_us(&work, plan.maps).unwrap() as i64;
        let end_us = plan.start_us + during_us;
        prop_assert!(plan.start_us >= 0 && plan.maps <= work.maps);
        let is_all_at_once = model == Model::Fluid && plan.start_us == 0 && plan.maps == work.maps;
        prop_assert!(end_us <= plan.latest_reduce_start_us || is_all_at_once, "{:?} ends at {}", plan, end_us);
        if plan.maps > 0 {
            let promised = ledger.most_maps(plan.start_us, end_us - 1);
            prop_assert!(promised + u64::from(plan.maps) <= maps, "{} are promised beside {:?}", promised, plan);
        }
        let reduce_end_us = plan.latest_reduce_start_us + model.after_maps_us(&work) as i64;
        prop_assert!(reduce_end_us <= job.deadline_us);
        if work.reduces > 0 {
            let promised = ledger.most_reduces(plan.latest_reduce_start_us, reduce_end_us);
            prop_assert!(promised + u64::from(work.reduces) <= reduces, "{} are promised beside {:?}", promised, plan);
        }
    }
}
