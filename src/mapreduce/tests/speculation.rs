//! The rule of the original, on progress as it may be.

use proptest::prelude::*;

use crate::model::{AttemptId, AttemptState, Kind, TrackerId};
use crate::scheduler::{Distance, Level};

use super::stage::Stage;

const ANYWHERE: Distance = Distance { nearest: Level::Any, farthest: Level::Any };

/// A second after the minute without speculation.
const OLD_MS: i64 = 61_000;

/// Launches a waiting map or a straggler on the tracker.
fn take(stage: &mut Stage, tracker: TrackerId) -> Option<AttemptId> {
    stage.act(|job, context| {
        let (number, hosts) = job.take_task(Kind::Map, tracker, ANYWHERE, context.nodes)?;
        let (launch, _) = job.launch_task(Kind::Map, number, tracker, context.nodes, context.now, context.violations);
        context.scheduler.withdraw_request(job.app, Kind::Map, &hosts, 1);
        context.scheduler.add_running(job.app, Kind::Map, tracker);
        Some(launch.attempt)
    })
}

proptest! {
    #[test]
    fn the_slowest_that_lags_gets_a_second_attempt_where_it_may_run(
        progress in prop::collection::vec((0_u8..=64, any::<bool>(), any::<bool>()), 1..12),
        age_ms in prop_oneof![Just(59_999_i64), Just(60_000), Just(OLD_MS)],
    ) {
        let count = progress.len() as u32;
        let mut stage = Stage::running(count, 0);
        let (left, right) = (stage.add_tracker("h1"), stage.add_tracker("h2"));
        stage.now.wall_ms = age_ms;
        let mut running = Vec::new();
        for (_, on_left, _) in &progress {
            let tracker = if *on_left { left } else { right };
            running.push((take(&mut stage, tracker).unwrap(), tracker));
        }
        for ((attempt, tracker), (progress, _, succeeds)) in running.iter().zip(&progress) {
            let state = if *succeeds { AttemptState::Succeeded } else { AttemptState::Running };
            stage.report_with(*tracker, *attempt, state, |report| report.progress = f32::from(*progress) / 64.0);
        }
        stage.job.assert_consistent(stage.waiting());
        let of = |(progress, _, succeeds): &(u8, bool, bool)| if *succeeds { 1.0 } else { f64::from(*progress) / 64.0 };
        let mean = progress.iter().map(of).sum::<f64>() / progress.len() as f64;
        prop_assume!(progress.iter().all(|task| (mean - of(task) - 0.2).abs() > 1e-5));
        let lags = |task: &&(u8, bool, bool)| !task.2 && mean - of(task) >= 0.2;
        let due = age_ms >= 60_000;
        let some = due && progress.iter().any(|task| lags(&task));
        prop_assert_eq!(stage.waiting().map, u32::from(some));

        // Only what runs on the left may run on the right, the slowest first.
        let on_left = (0..).zip(&progress).filter(|(_, task)| task.1 && lags(task) && due);
        let slowest = on_left.min_by_key(|(number, task)| (task.0, *number)).map(|(number, _)| number);
        let second = take(&mut stage, right);
        prop_assert_eq!(second.map(|attempt| attempt.task.number), slowest);
        stage.job.assert_consistent(stage.waiting());
        if let Some(second) = second {
            prop_assert_eq!(second.number, 1);
            stage.report(right, second, AttemptState::Running);
            stage.job.assert_consistent(stage.waiting());
        }
    }
}
