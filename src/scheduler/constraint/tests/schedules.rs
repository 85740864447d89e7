//! Schedules in virtual time: the replay of the document, and its list of tests.

use proptest::prelude::{Just, ProptestConfig, prop, prop_assert, prop_oneof, proptest};

use crate::model::{Kind, PerKind};
use crate::scheduler::constraint::{
    AdmissionRule, AdmissionSlots, ConstraintConfig, Costs, InputVolume, JobWork, KeySpread, Model, OnMissed, Strategy,
};

use super::virtual_cluster::{HEARTBEAT_MS, JobPlanned, VirtualCluster};

const MB: u64 = 1 << 20;

fn escalating() -> ConstraintConfig {
    ConstraintConfig { escalates: true, ..ConstraintConfig::default() }
}

/// 2969.6 MB in equal splits, as the document replays it.
fn replayed(map_ms: u64, deadline_s: u64) -> JobPlanned {
    let costs = Costs {
        map_us_per_mb: 1_300_000,
        reduce_us_per_mb: 390_000,
        copy_us_per_mb: 83_333,
        filter_millionths: 1_000_000,
    };
    JobPlanned {
        tasks: PerKind::new(48, 5),
        task_ms: PerKind::new(map_ms, 281_100),
        deadline_ms: Some(deadline_s * 1_000),
        work: costs.work(&InputVolume::in_equal_splits(29_696 * MB / 480 * 48, 48), 5, KeySpread::Uniform),
    }
}

/// When maps and job end, seconds, and most tasks at a time.
fn replay(map_ms: u64, deadline_s: u64) -> (f64, f64, (u32, u32)) {
    let mut cluster = VirtualCluster::new(escalating(), 10, PerKind::new(2, 2));
    let plan = replayed(map_ms, deadline_s);
    cluster.check(&plan).unwrap();
    let job = cluster.submit(plan);
    cluster.run_until(1_200_000);
    let end = |kind| cluster.ended_ms(job, kind).unwrap() as f64 / 1_000.0;
    (end(Kind::Map), end(Kind::Reduce), cluster.most_at_a_time(job))
}

#[test]
fn the_replay_of_the_document() {
    assert_eq!(replay(62_000, 680), (189.9, 472.5, (20, 5)));
    assert_eq!(replay(62_000, 1_000), (378.9, 942.9, (8, 4)));
}

#[test]
fn the_schedule_depends_on_the_real_start_of_reduces() {
    for map_ms in [64_000, 67_000, 70_000] {
        assert_eq!(replay(map_ms, 680).2, (20, 5), "{map_ms}");
        assert_eq!(replay(map_ms, 1_000).2, (8, 4), "{map_ms}");
    }
    assert_eq!(replay(60_000, 1_000).2, (8, 3));
    assert_eq!(replay(75_000, 1_000).1, 1_014.9);
    let (_, end, most) = replay(83_200, 1_000);
    assert_eq!((end, most), (787.5, (8, 5)));
}

/// Maps of ten seconds, reduces of as much, no copy; the estimates are true.
fn job(maps: u32, reduces: u32, deadline_s: Option<u64>) -> JobPlanned {
    let work = JobWork {
        maps,
        reduces,
        map_us: u64::from(maps) * 10_000_000,
        longest_map_us: 10_000_000,
        copy_us: 0,
        reduce_us: u64::from(reduces) * 10_000_000,
        keys: KeySpread::Uniform,
    };
    JobPlanned {
        tasks: PerKind::new(maps, reduces),
        task_ms: PerKind::new(10_000, 10_000),
        deadline_ms: deadline_s.map(|s| s * 1_000),
        work,
    }
}

/// Four slots of each kind, work in whole tasks: what is admitted is kept.
fn small() -> VirtualCluster {
    VirtualCluster::new(whole(), 2, PerKind::new(2, 2))
}

fn whole() -> ConstraintConfig {
    ConstraintConfig { model: Model::Whole { wait_us: 2 * HEARTBEAT_MS * 1_000 }, ..escalating() }
}

#[test]
fn the_earliest_deadline_is_first_whatever_was_submitted_first() {
    let mut cluster = small();
    // One slot, one slot and two: all that there are.
    let [late, middle, early] = [(8, 200), (7, 120), (6, 60)].map(|(maps, deadline_s)| {
        let plan = job(maps, 0, Some(deadline_s));
        cluster.check(&plan).unwrap();
        cluster.submit(plan)
    });
    cluster.run_until(100);
    let running = [early, middle, late].map(|job| cluster.running(job).0);
    assert_eq!(running, [2, 0, 0], "the first tracker that calls has two slots");
    cluster.run_until(200_000);
    let ends = [early, middle, late].map(|job| cluster.ended_ms(job, Kind::Map).unwrap());
    assert!(ends.is_sorted(), "{ends:?}");
    assert!(ends[0] <= 60_000 && ends[1] <= 120_000 && ends[2] <= 200_000, "{ends:?}");
}

#[test]
fn a_job_with_its_minimum_leaves_slots_to_those_without_a_deadline() {
    let mut cluster = small();
    let due = cluster.submit(job(8, 0, Some(130)));
    cluster.run_until(9_000);
    assert_eq!(cluster.running(due), (1, 0));
    let other = cluster.submit(job(20, 0, None));
    cluster.run_until(13_000);
    assert_eq!((cluster.running(due), cluster.running(other)), ((1, 0), (3, 0)));
    cluster.run_until(130_000);
    assert!(cluster.ended_ms(due, Kind::Map).is_some());
}

#[test]
fn slots_that_are_promised_stay_free() {
    let mut cluster = small();
    // All reduce slots, once its maps are done; until then they are idle.
    let due = cluster.submit(job(8, 4, Some(50)));
    let other = cluster.submit(job(0, 3, None));
    for until_ms in [1_000, 9_000, 20_000] {
        cluster.run_until(until_ms);
        assert_eq!(cluster.running(other), (0, 0), "{until_ms}");
    }
    cluster.run_until(100_000);
    assert!(cluster.ended_ms(due, Kind::Reduce).unwrap() <= 50_000);
    assert!(cluster.ended_ms(other, Kind::Reduce).is_some());
}

#[test]
fn a_second_job_that_needs_the_slots_of_the_first_is_rejected_while_they_are_idle() {
    let mut cluster = small();
    cluster.submit(job(9, 0, Some(50)));
    let text = cluster.check(&job(8, 0, Some(50))).unwrap_err().to_string();
    assert_eq!(
        text,
        "Job job_1 rejected by the constraint scheduler: deadline 50.0 s needs 3 map slots, 1 free until 22:14:08 UTC; \
         earliest feasible deadline now 80.0 s"
    );
    cluster.check(&job(8, 0, Some(80))).unwrap();
    let now = ConstraintConfig { slots: AdmissionSlots::Now, ..whole() };
    let mut cluster = VirtualCluster::new(now, 2, PerKind::new(2, 2));
    cluster.submit(job(9, 0, Some(50)));
    let text = cluster.check(&job(8, 0, Some(80))).unwrap_err().to_string();
    assert!(
        text.ends_with("deadline 80.0 s needs 2 map slots, 1 free; earliest feasible deadline now 128.0 s"),
        "{text}"
    );
}

#[test]
fn a_late_job_stands_behind_those_in_time_and_before_those_without_a_deadline() {
    let mut cluster = small();
    let mut plan = job(40, 0, Some(30));
    // It was believed to be ten times as fast.
    plan.work.map_us /= 10;
    plan.work.longest_map_us /= 10;
    let late = cluster.submit(plan);
    cluster.run_until(40_000);
    let due = cluster.submit(job(12, 0, Some(100)));
    let other = cluster.submit(job(4, 0, None));
    cluster.run_until(140_000);
    assert!(cluster.report(late).unwrap().contains("LATE"), "{:?}", cluster.report(late));
    assert!(cluster.ended_ms(due, Kind::Map).is_some());
    assert_eq!(cluster.ended_ms(other, Kind::Map), None);
    cluster.run_until(300_000);
    let (late, other) = (cluster.ended_ms(late, Kind::Map), cluster.ended_ms(other, Kind::Map));
    assert!(late.is_some() && late < other, "{late:?} {other:?}");
}

#[test]
fn a_late_job_that_continues_keeps_its_place() {
    let config = ConstraintConfig { on_missed: OnMissed::Continue, ..whole() };
    let mut cluster = VirtualCluster::new(config, 2, PerKind::new(2, 2));
    let mut plan = job(20, 0, Some(10));
    plan.work.map_us /= 20;
    let late = cluster.submit(plan);
    cluster.run_until(15_000);
    cluster.submit(job(4, 0, Some(20)));
    cluster.run_until(30_000);
    assert_eq!(cluster.running(late), (4, 0));
}

#[test]
fn jobs_without_maps_reduces_or_content_are_taken() {
    let mut cluster = small();
    let empty =
        JobPlanned { work: JobWork { map_us: 0, longest_map_us: 0, ..job(2, 0, None).work }, ..job(2, 0, Some(60)) };
    for plan in [job(2, 0, Some(60)), job(0, 2, Some(60)), job(0, 0, Some(60)), empty] {
        cluster.check(&plan).unwrap();
    }
    let [maps, reduces] = [cluster.submit(job(2, 0, Some(60))), cluster.submit(job(0, 2, Some(60)))];
    cluster.run_until(60_000);
    assert!(cluster.ended_ms(maps, Kind::Map).is_some() && cluster.ended_ms(reduces, Kind::Reduce).is_some());
    let text = cluster.check(&job(2, 5, Some(600))).unwrap_err().to_string();
    assert!(text.ends_with("needs 5 reduce slots at 584.0 s after submission, 4 free then"), "{text}");
}

#[test]
fn clients_read_the_plan() {
    let mut cluster = small();
    let due = cluster.submit(job(8, 2, Some(50)));
    cluster.run_until(5_000);
    assert_eq!(
        cluster.report(due).unwrap(),
        "Deadline 50.0 s (left 46.0 s, ON_TIME). Maps 4/4 minimum. Reduces 0/2 minimum. Reduce start limit 34.0 s."
    );
    let other = cluster.submit(job(8, 2, None));
    assert_eq!(cluster.report(other), None);
}

#[test]
fn deadlines_far_away_leave_the_cluster_to_others() {
    for slots in [AdmissionSlots::Planned, AdmissionSlots::Now] {
        let config = ConstraintConfig { slots, ..escalating() };
        let mut cluster = VirtualCluster::new(config, 2, PerKind::new(2, 2));
        // Four jobs of one map, due in six hours.
        let far: Vec<_> = (0..4).map(|_| cluster.submit(job(1, 0, Some(21_600)))).collect();
        let near = job(2, 0, Some(60));
        if slots == AdmissionSlots::Now {
            assert!(cluster.check(&near).is_err(), "as the paper tests it");
            continue;
        }
        cluster.check(&near).unwrap();
        let near = cluster.submit(near);
        cluster.run_until(60_000);
        assert!(cluster.ended_ms(near, Kind::Map).is_some());
        assert!(far.iter().all(|far| cluster.ended_ms(*far, Kind::Map).is_some()));
    }
}

#[test]
fn a_job_that_starts_later_takes_no_slot_that_is_promised_before() {
    let mut cluster = small();
    let long = cluster.submit(job(12, 0, Some(100)));
    let first = cluster.submit(job(6, 0, Some(48)));
    // Its deadline is before that of the long job; it starts when the first one is done.
    let second = cluster.submit(job(2, 0, Some(66)));
    let report = cluster.report(second).unwrap();
    assert!(report.contains("ON_TIME). Maps 0/2 minimum from 22:14:08 UTC. Reduces"), "{report}");
    cluster.run_until(13_000);
    assert_eq!([long, first, second].map(|job| cluster.running(job).0), [2, 2, 0]);
    cluster.run_until(100_000);
    let ends = [first, second, long].map(|job| cluster.ended_ms(job, Kind::Map).unwrap());
    assert!(ends[0] <= 48_000 && ends[1] <= 66_000 && ends[2] <= 100_000, "{ends:?}");
}

#[test]
fn a_job_may_use_idle_slots_before_its_start_for_maps_that_end_in_time() {
    let mut cluster = small();
    // Three slots for 48 s; then four for 16 s.
    let first = cluster.submit(job(9, 0, Some(50)));
    let later = cluster.submit(job(8, 0, Some(80)));
    assert!(cluster.report(later).unwrap().contains("from 22:14:08"), "{:?}", cluster.report(later));
    cluster.run_until(10_000);
    assert_eq!(
        (cluster.running(first), cluster.running(later)),
        ((3, 0), (1, 0)),
        "the fourth slot is idle until then"
    );
    // A job without a deadline gets none: how long its maps last is unknown.
    let other = cluster.submit(job(4, 0, None));
    cluster.run_until(40_000);
    assert_eq!(cluster.running(other), (0, 0));
    cluster.run_until(80_000);
    assert!(cluster.ended_ms(first, Kind::Map).unwrap() <= 50_000);
    assert!(cluster.ended_ms(later, Kind::Map).unwrap() <= 80_000);
}

#[test]
fn a_map_time_that_is_not_true_makes_no_later_job_late() {
    let mut cluster = small();
    let mut plan = job(8, 0, Some(300));
    plan.work.map_us = 8_000;
    plan.work.longest_map_us = 1_000;
    plan.task_ms = PerKind::new(30_000, 0);
    let untrue = cluster.submit(plan);
    cluster.run_until(60_000);
    assert_eq!(cluster.running(untrue), (1, 0), "its promise was over at 48 s");
    let text = cluster.check(&job(8, 0, Some(20))).unwrap_err().to_string();
    assert!(text.contains("needs 8 map slots, 3 free; earliest"), "it holds what it runs: {text}");
    let honest = cluster.submit(job(9, 0, Some(48)));
    cluster.run_until(108_000);
    assert!(cluster.ended_ms(honest, Kind::Map).is_some_and(|end_ms| end_ms <= 108_000));
    cluster.run_until(400_000);
    assert!(cluster.ended_ms(untrue, Kind::Map).is_some());
}

#[test]
fn a_job_that_is_admitted_although_the_test_fails_is_at_risk_from_the_start() {
    let config = ConstraintConfig { admission: AdmissionRule::Warn, ..whole() };
    for trackers in [0, 1] {
        let mut cluster = VirtualCluster::new(config, trackers, PerKind::new(2, 2));
        // Three slots of two, or of none.
        let due = cluster.submit(job(3, 0, Some(20)));
        for until_ms in [0, 100, 5_000] {
            cluster.run_until(until_ms);
            assert!(cluster.report(due).unwrap().contains("AT_RISK). Maps"), "{:?}", cluster.report(due));
        }
        assert_eq!(cluster.running(due).0, if trackers == 0 { 0 } else { 2 }, "idle slots are its");
    }
}

#[test]
fn reduces_without_their_slots_leave_a_job_at_risk_after_its_maps() {
    let config = ConstraintConfig { admission: AdmissionRule::Warn, ..whole() };
    // No map, and 3 reduces at a time for 2 slots, or for none; 2 maps, and the same.
    for (maps, trackers) in [(0, 0), (0, 1), (2, 1)] {
        let mut cluster = VirtualCluster::new(config, trackers, PerKind::new(2, 2));
        let due = cluster.submit(job(maps, 3, Some(25)));
        for until_ms in [0, 100, 5_000, 14_000] {
            cluster.run_until(until_ms);
            let report = cluster.report(due).unwrap();
            assert!(report.contains("AT_RISK). Maps"), "{maps} maps, {trackers} trackers at {until_ms} ms: {report}");
        }
    }
}

#[test]
fn what_was_admitted_stays_so_when_trackers_are_lost() {
    let mut cluster = small();
    let due = cluster.submit(job(8, 0, Some(40)));
    assert!(cluster.report(due).unwrap().contains("Maps 0/4 minimum"), "{:?}", cluster.report(due));
    cluster.lose_tracker();
    let text = cluster.check(&job(2, 0, Some(20))).unwrap_err().to_string();
    assert!(text.contains("needs 2 map slots, 0 free until"), "{text}");
    cluster.run_until(30_000);
    assert!(cluster.report(due).unwrap().contains("AT_RISK"), "{:?}", cluster.report(due));
    assert_eq!(cluster.running(due), (2, 0));
    cluster.run_until(100_000);
    assert!(cluster.ended_ms(due, Kind::Map).is_some());
    cluster.check(&job(2, 0, Some(20))).unwrap();
}

#[test]
fn a_tracker_that_shrinks_takes_back_no_promise_and_what_is_promised_is_promised_once() {
    let mut cluster = small();
    let due = cluster.submit(job(8, 0, Some(40)));
    cluster.change_tracker(1, PerKind::new(1, 2));
    let text = cluster.check(&job(2, 0, Some(20))).unwrap_err().to_string();
    assert!(text.contains("needs 2 map slots, 0 free until"), "{text}");
    cluster.run_until(9_000);
    assert!(cluster.report(due).unwrap().contains("/4 minimum"), "{:?}", cluster.report(due));
    assert_eq!(cluster.running(due), (3, 0));
    cluster.run_until(100_000);
    assert!(cluster.ended_ms(due, Kind::Map).is_some());
    // It may have all of what there is now, and no more.
    cluster.check(&job(3, 0, Some(20))).unwrap();
    let text = cluster.check(&job(4, 0, Some(20))).unwrap_err().to_string();
    assert!(text.contains("needs 4 map slots, 3 free"), "{text}");
    cluster.change_tracker(1, PerKind::new(2, 2));
    cluster.check(&job(4, 0, Some(20))).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With true estimates, in whole tasks, whatever else runs, as early as it is admitted or a little later.
    #[test]
    fn what_is_admitted_is_kept(
        jobs in prop::collection::vec(
            (1..20_u32, 0..5_u32, prop::option::of(prop_oneof![0..4_u64, 50..300_u64]), 0..40_u64), 1..12),
        slots in prop_oneof![3 => Just(AdmissionSlots::Planned), 1 => Just(AdmissionSlots::Now)],
        strategy in prop_oneof![Just(Strategy::Minimum), Just(Strategy::All)],
    ) {
        let config = ConstraintConfig { slots, strategy, ..whole() };
        let mut cluster = VirtualCluster::new(config, 2, PerKind::new(2, 2));
        let (mut now_ms, mut admitted) = (0, Vec::new());
        for (maps, reduces, room_s, after_s) in jobs {
            now_ms += after_s * 1_000;
            cluster.run_until(now_ms);
            let mut is_admitted = |deadline_s: &u64| cluster.check(&job(maps, reduces, Some(*deadline_s))).is_ok();
            let deadline_s = room_s.and_then(|room_s| Some((1..2_000).find(&mut is_admitted)? + room_s));
            let mut plan = job(maps, reduces, deadline_s);
            if deadline_s.is_none() {
                plan.task_ms = PerKind::new(35_000, 35_000);
            }
            admitted.push((cluster.submit(plan), plan, now_ms));
        }
        cluster.run_until(2_500_000);
        for (job, plan, submit_ms) in admitted {
            let last = if plan.tasks.reduce > 0 { Kind::Reduce } else { Kind::Map };
            let end_ms = cluster.ended_ms(job, last).unwrap();
            if let Some(deadline_ms) = plan.deadline_ms {
                prop_assert!(end_ms <= submit_ms + deadline_ms, "{job} of {plan:?} at {submit_ms} ended at {end_ms}");
            }
        }
    }
}
