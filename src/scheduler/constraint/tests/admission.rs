//! Deadlines that are taken and refused, with the words of the refusal.

use proptest::prelude::*;

use crate::model::PerKind;
use crate::scheduler::AppId;
use crate::scheduler::constraint::{
    Costs, DeadlineRejection, InputVolume, JobPlan, JobWork, KeySpread, Ledger, Model, Promise, SlotSupply, TimedWork,
    admit,
};

const SECOND_US: i64 = 1_000_000;
const WHOLE: Model = Model::Whole { wait_us: 3_000_000 };
const SIX: SlotSupply = SlotSupply(PerKind::new(6, 6));

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

/// Submitted an hour after the common start.
fn job(work: JobWork, deadline_s: i64) -> TimedWork {
    let arrival_us = 3_600 * SECOND_US;
    TimedWork { work, arrival_us, now_us: arrival_us, deadline_us: arrival_us + deadline_s * SECOND_US }
}

fn refusal(deadline_s: i64, ledger: &Ledger, supply: SlotSupply) -> String {
    admit(&job(set_v(), deadline_s), Model::Fluid, ledger, supply).unwrap_err().to_string()
}

#[test]
fn a_deadline_that_the_slots_keep_is_taken() {
    let JobPlan { maps, latest_reduce_start_us } =
        admit(&job(set_v(), 600), Model::Fluid, &Ledger::default(), SIX).unwrap();
    assert_eq!((maps, latest_reduce_start_us / SECOND_US), (6, 3_600 + 331));
}

#[test]
fn refusals_say_what_is_missing_and_which_deadline_would_do() {
    let none = Ledger::default();
    for (deadline_s, text) in [
        (500, "deadline 500.0 s needs 8 map slots, 6 free; earliest feasible deadline now 572.9 s"),
        (268, "deadline 268.0 s is shorter than copy and reduce alone (268.2 s)"),
        (0, "deadline lies in the past"),
        (-5, "deadline lies in the past"),
    ] {
        assert_eq!(refusal(deadline_s, &none, SIX), text);
    }
    let few_reduces = SlotSupply(PerKind::new(6, 5));
    assert_eq!(
        refusal(600, &none, few_reduces),
        "deadline 600.0 s needs 6 reduce slots at 331.9 s after submission, 5 free then"
    );
    let no_maps = SlotSupply(PerKind::new(0, 6));
    assert_eq!(refusal(600, &none, no_maps), "deadline 600.0 s needs 6 map slots, 0 free");
}

#[test]
fn what_others_were_promised_is_not_free_although_it_idles() {
    let mut ledger = Ledger::default();
    let from_us = (3_600 + 300) * SECOND_US;
    let promise = Promise { maps: 2, reduces: 1, reduces_from_us: from_us, until_us: from_us + 200 * SECOND_US };
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

fn any_work() -> impl Strategy<Value = JobWork> {
    let costs = (1..5_000_000_u64, 1..3_000_000_u64, 1..200_000_u64, 0..2_000_000_u64);
    let splits = prop::collection::vec(0..256_u64 << 20, 0..40);
    let keys = prop_oneof![Just(KeySpread::Uniform), Just(KeySpread::Single)];
    (costs, splits, 0..8_u32, keys).prop_map(|((map, reduce, copy, filter_millionths), splits, reduces, keys)| {
        let costs = Costs { map_us_per_mb: map, reduce_us_per_mb: reduce, copy_us_per_mb: copy, filter_millionths };
        costs.work(&splits.into_iter().collect(), reduces, keys)
    })
}

proptest! {
    #[test]
    fn a_second_more_than_the_earliest_deadline_is_taken(
        work in any_work(),
        deadline_ms in -1_000..2_000_000_i64,
        promises in prop::collection::vec((0..4_u32, 0..4_u32, 0..4_000_i64, 0..2_000_i64), 0..12),
        (maps, reduces) in (0..20_u64, 0..20_u64),
        model in prop_oneof![Just(Model::Fluid), Just(WHOLE)],
    ) {
        let mut ledger = Ledger::default();
        for (number, (maps, reduces, from_s, length_s)) in (1..).zip(promises) {
            let reduces_from_us = from_s * SECOND_US;
            let until_us = reduces_from_us + length_s * SECOND_US;
            ledger.set(AppId::new(number), Some(Promise { maps, reduces, reduces_from_us, until_us }));
        }
        let supply = SlotSupply(PerKind::new(maps, reduces));
        let job = TimedWork { work, arrival_us: 0, now_us: 0, deadline_us: deadline_ms * 1_000 };
        let earliest = match admit(&job, model, &ledger, supply) {
            Err(DeadlineRejection::Maps { earliest, .. } | DeadlineRejection::Reduces { earliest, .. }) => earliest,
            _ => None,
        };
        if let Some(earliest) = earliest {
            // As printed: rounded up to a tenth of a second.
            let printed_s: f64 = earliest.to_string().parse().unwrap();
            let deadline_us = (printed_s * 10.0).round() as i64 * 100_000 + SECOND_US;
            let later = TimedWork { deadline_us, ..job };
            let taken = admit(&later, model, &ledger, supply);
            prop_assert!(taken.is_ok(), "{:?} after {}", taken, earliest);
        }
    }
}
