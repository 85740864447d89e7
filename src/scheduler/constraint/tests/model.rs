//! The rows of the two parameter sets that reproduce the paper's evaluation, and the same jobs in whole tasks.

use crate::scheduler::constraint::{Costs, InputVolume, JobWork, KeySpread, Model};

const SECOND_US: i64 = 1_000_000;
const WHOLE: Model = Model::Whole { wait_us: 3_000_000 };
/// 64 MB, the block size of the evaluation.
const BLOCK: u64 = 64 << 20;
/// The network of the evaluation moves 12 MB a second.
const COPY_US_PER_MB: u64 = 83_333;

fn costs(map_us_per_mb: u64, reduce_us_per_mb: u64) -> Costs {
    Costs { map_us_per_mb, reduce_us_per_mb, copy_us_per_mb: COPY_US_PER_MB, filter_millionths: 1_000_000 }
}

/// Set V: 975 MB on three trackers with two slots of each kind.
fn set_v(reduce_us_per_mb: u64, keys: KeySpread) -> JobWork {
    costs(1_875_000, reduce_us_per_mb).work(&InputVolume::in_blocks(975 << 20, BLOCK), 6, keys)
}

/// Set P: 2969.6 MB on ten trackers with two slots of each kind.
fn set_p() -> JobWork {
    // 2969.6 MB are 3040870.4 kB.
    costs(1_200_000, 413_000).work(&InputVolume::in_blocks(3_113_851_290, BLOCK), 5, KeySpread::Uniform)
}

fn seconds(us: i64) -> f64 {
    ((us as f64) / 1e3).round() / 1e3
}

fn least_maps(model: Model, work: &JobWork, deadline_s: i64) -> Option<u32> {
    model.least_maps(work, 0, model.latest_reduce_start_us(work, deadline_s * SECOND_US))
}

#[test]
fn rows_of_set_v() {
    let work = set_v(1_150_000, KeySpread::Uniform);
    assert_eq!(work.maps, 16);
    for (deadline_s, latest_s, maps) in [
        (268, -0.125, None),
        (500, 231.875, Some(8)),
        (572, 303.875, Some(7)),
        (573, 304.875, Some(6)),
        (600, 331.875, Some(6)),
        (634, 365.875, Some(5)),
        (638, 369.875, Some(5)),
        (640, 371.875, Some(5)),
        (700, 431.875, Some(5)),
        (725, 456.875, Some(5)),
        (726, 457.875, Some(4)),
        (900, 631.875, Some(3)),
    ] {
        let latest = seconds(Model::Fluid.latest_reduce_start_us(&work, deadline_s * SECOND_US));
        // The copy rate is a whole number of microseconds per MB.
        assert!((latest - latest_s).abs() < 0.001, "{deadline_s}: {latest}");
        assert_eq!(least_maps(Model::Fluid, &work, deadline_s), maps, "{deadline_s}");
    }
    let earliest = Model::Fluid.earliest_deadline_us(&work, 0, 6).unwrap();
    assert!((seconds(earliest) - 572.8125).abs() < 0.001, "{earliest}");
}

#[test]
fn the_least_maps_are_no_more_than_all_maps() {
    let work = set_v(1_150_000, KeySpread::Uniform);
    // By the formula 2090, of 16.
    assert_eq!(least_maps(Model::Fluid, &work, 269), Some(16));
}

#[test]
fn rows_of_set_v_with_all_keys_in_one_reduce() {
    let work = set_v(200_000, KeySpread::Single);
    for (deadline_s, latest_s, maps) in [(600, 323.75, Some(6)), (700, 423.75, Some(5))] {
        let latest = seconds(Model::Fluid.latest_reduce_start_us(&work, deadline_s * SECOND_US));
        assert!((latest - latest_s).abs() < 0.001, "{deadline_s}: {latest}");
        assert_eq!(least_maps(Model::Fluid, &work, deadline_s), maps, "{deadline_s}");
    }
    assert_eq!(Model::Fluid.least_reduces(&work, 0, 10_000 * SECOND_US), 6);
}

#[test]
fn rows_of_set_p() {
    let work = set_p();
    for (deadline_s, latest_s, maps) in [(640, 147.244, 25), (670, 177.244, 21)] {
        let latest = seconds(Model::Fluid.latest_reduce_start_us(&work, deadline_s * SECOND_US));
        assert!((latest - latest_s).abs() < 0.002, "{deadline_s}: {latest}");
        assert_eq!(least_maps(Model::Fluid, &work, deadline_s), Some(maps), "{deadline_s}");
    }
    for (deadline_s, latest_s, maps, start_s, reduces, end_s) in [
        (680, 187.244, 20, 178.18, 5, 670.9),
        (700, 207.244, 18, 197.97, 5, 690.7),
        (720, 227.244, 16, 222.72, 5, 715.5),
        (800, 307.244, 12, 296.96, 5, 789.7),
        (900, 407.244, 9, 395.95, 5, 888.7),
        (1000, 507.244, 8, 445.44, 4, 999.5),
        (1200, 707.244, 6, 593.92, 4, 1148.0),
    ] {
        let deadline_us = deadline_s * SECOND_US;
        let latest = seconds(Model::Fluid.latest_reduce_start_us(&work, deadline_us));
        assert!((latest - latest_s).abs() < 0.002, "{deadline_s}: {latest}");
        assert_eq!(least_maps(Model::Fluid, &work, deadline_s), Some(maps), "{deadline_s}");
        let start_us = work.map_us.div_ceil(maps.into()) as i64;
        assert!((seconds(start_us) - start_s).abs() < 0.01, "{deadline_s}: {start_us}");
        assert_eq!(Model::Fluid.least_reduces(&work, start_us, deadline_us), reduces, "{deadline_s}");
        let end_us = start_us + (work.copy_us + work.reduce_us.div_ceil(reduces.into())) as i64;
        assert!((seconds(end_us) - end_s).abs() < 0.06, "{deadline_s}: {end_us}");
    }
}

#[test]
fn rows_in_whole_tasks() {
    // The evaluation has equal splits.
    let equal = |maps: u32, volume_kb: u64| {
        InputVolume::in_equal_splits((volume_kb << 10) / u64::from(maps) * u64::from(maps), maps)
    };
    let v = costs(1_875_000, 1_150_000).work(&equal(16, 975 << 10), 6, KeySpread::Uniform);
    let p = costs(1_200_000, 413_000).work(&equal(48, 3_040_870), 5, KeySpread::Uniform);
    let rows = [
        (&v, 600, 8),
        (&v, 622, 8),
        (&v, 623, 6),
        (&v, 700, 6),
        (&v, 741, 4),
        (&p, 680, 24),
        (&p, 727, 24),
        (&p, 728, 16),
        (&p, 805, 12),
        (&p, 1000, 8),
    ];
    for (work, deadline_s, maps) in rows {
        assert_eq!(least_maps(WHOLE, work, deadline_s), Some(maps), "{deadline_s}");
    }
    for (work, slots, earliest_s) in [(&v, 6, 622.9), (&p, 20, 727.5)] {
        let earliest_us = WHOLE.earliest_deadline_us(work, 0, slots).unwrap();
        assert!((seconds(earliest_us) - earliest_s).abs() < 0.06, "{earliest_us}");
    }
}

#[test]
fn a_job_of_maps_alone_has_until_its_deadline() {
    let work = costs(1_000_000, 500_000).work(&InputVolume::in_equal_splits(40 << 20, 4), 0, KeySpread::Uniform);
    assert_eq!((work.copy_us, work.reduce_us, work.longest_reduce_us()), (0, 0, 0));
    assert_eq!(Model::Fluid.latest_reduce_start_us(&work, 20 * SECOND_US), 20 * SECOND_US);
    assert_eq!(least_maps(Model::Fluid, &work, 20), Some(2), "40 s of maps: the quotient is exact");
    assert_eq!(least_maps(Model::Fluid, &work, 19), Some(3));
    assert_eq!(Model::Fluid.least_reduces(&work, 0, 20 * SECOND_US), 0);
    assert_eq!(Model::Fluid.earliest_deadline_us(&work, 0, 2), Some(20 * SECOND_US));
    assert_eq!(Model::Fluid.earliest_deadline_us(&work, 0, 0), None, "no slot ends no map");
}

#[test]
fn a_job_without_input_needs_no_map() {
    let work = costs(1_000_000, 500_000).work(&InputVolume::default(), 0, KeySpread::Uniform);
    assert_eq!(least_maps(Model::Fluid, &work, 1), Some(0));
    assert_eq!(Model::Fluid.earliest_deadline_us(&work, 0, 0), Some(0));
}

#[test]
fn reduces_that_start_too_late_all_run_at_once() {
    let work = set_p();
    assert_eq!(Model::Fluid.least_reduces(&work, 900 * SECOND_US, 1000 * SECOND_US), 5);
    assert_eq!(WHOLE.least_reduces(&work, 900 * SECOND_US, 1000 * SECOND_US), 5);
}

#[test]
fn costs_beyond_all_numbers_are_longer_than_any_deadline() {
    let costs = Costs {
        map_us_per_mb: u64::MAX,
        reduce_us_per_mb: u64::MAX,
        copy_us_per_mb: u64::MAX,
        filter_millionths: u64::MAX,
    };
    let work = costs.work(&[u64::MAX; 3].into_iter().collect(), 2, KeySpread::Uniform);
    for model in [Model::Fluid, WHOLE] {
        assert_eq!(model.least_maps(&work, 0, model.latest_reduce_start_us(&work, i64::MAX)), None);
        assert_eq!(model.earliest_deadline_us(&work, 0, 1), Some(i64::MAX));
    }
}

#[test]
fn what_is_left_of_a_job_shrinks_with_its_maps() {
    let work = set_p();
    assert_eq!(work.with_maps_left(work.maps), work);
    assert_eq!(work.with_maps_left(0).map_us, 0);
    assert_eq!(work.with_maps_left(1).map_us, work.map_us.div_ceil(work.maps.into()));
}
