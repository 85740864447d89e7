//! The daemon dies at each fault point and is started again; then all that was promised must be there.
//!
//! `CRASH_POINTS=all` cuts each script at every passing of every point (`CRASH_POINTS_EACH` bounds how many of one point
//! and start), without it at each point once, and once more in a start after a crash.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed; what is shared with other tests is used in part"
)]
#![allow(clippy::disallowed_methods, reason = "a test that waits for a daemon gives up some time")]

mod applications;
mod backups;
mod bidding;
mod cluster;
mod container_workers;
#[path = "../daemon/mod.rs"]
mod daemon;
#[path = "../../examples/load/dice.rs"]
mod dice;
mod histories;
mod laws;
mod programs;
mod scenes;
mod stage;
#[path = "../../examples/load/staging.rs"]
mod staging;
#[path = "../../examples/load/steady_tracker.rs"]
mod steady_tracker;
#[path = "../store/stage.rs"]
mod store_stage;
mod tables;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use daemon::postgres::PostgresServer;
use scenes::{SCENES, play};
use stage::{Cut, Passed};

use jobtracker::store::FaultPoint;

/// Runs at one time: they wait more than they work.
const AT_ONE_TIME: usize = 12;

/// A cut of a script, by its place among them.
type Planned = (usize, Cut);

#[test]
fn each_fault_point_is_survived() {
    let prepared = tempfile::tempdir().unwrap();
    scenes::prepare(prepared.path());
    // Its scene is left out where there is none.
    let server = PostgresServer::start_or_skip("each_fault_point_is_survived, budgets in a database");
    server.iter().for_each(|server| tables::prepare(prepared.path(), server));
    let prepared = prepared.path();
    let played = (0..SCENES.len()).filter(|scene| SCENES[*scene].can_be_played(prepared)).collect();
    let passed = at_one_time(played, |&scene| play(&SCENES[scene], prepared, None).outcome().1);
    let passed: Vec<(usize, Passed)> = passed.into_iter().map(|(scene, passed)| (scene, passed.unwrap())).collect();
    let planned = match std::env::var("CRASH_POINTS").as_deref() {
        Ok("all") => each_time(&passed),
        _ => each_once(&passed),
    };
    let cuts_in = |scene| planned.iter().filter(|(of, _)| *of == scene).count();
    let by_scene: Vec<String> =
        SCENES.iter().enumerate().map(|(number, scene)| format!("{} in {:?}", cuts_in(number), scene.name)).collect();
    println!("{} cuts are planned: {}", planned.len(), by_scene.join(", "));
    let cut = |planned| at_one_time(planned, |(scene, cut)| play(&SCENES[*scene], prepared, Some(*cut)).outcome().0);
    let mut outcomes = cut(planned);
    // A script may pass a point only when a kill comes at the right moment, and another one always.
    let elsewhere = cut(elsewhere(&passed, &outcomes));
    outcomes.extend(elsewhere);
    let failed: Vec<String> =
        outcomes.iter().filter(|(_, hit)| hit.is_none()).map(|(planned, _)| told(planned)).collect();
    let points = points_of_death(&outcomes);
    let missing: Vec<&str> =
        FaultPoint::ALL.iter().filter(|point| !points.contains(point)).map(|point| point.name()).collect();
    let missing: Vec<&str> =
        missing.into_iter().filter(|name| !name.starts_with("backup.") && !name.starts_with("restore.")).collect();
    let is_of_tables = |name: &str| name.starts_with("tables.") || name.starts_with("top-ups.");
    let missing: Vec<&str> = missing.into_iter().filter(|name| server.is_some() || !is_of_tables(name)).collect();
    let died = outcomes.iter().filter(|(_, hit)| *hit == Some(true)).count();
    println!(
        "{} runs, {} of them cut, at {} points in {} scripts",
        outcomes.len() + passed.len(),
        died,
        points.len(),
        SCENES.len()
    );
    assert!(failed.is_empty(), "laws were broken by {failed:#?}");
    assert!(missing.is_empty(), "no run died at {missing:?}");
}

fn told((scene, cut): &Planned) -> String {
    format!("{}, start {}, {}", SCENES[*scene].name, cut.life, cut.variable())
}

/// Every point in the first script that passes it, those of a commit in the first with applications, too, and each point of
/// a start in the one after a crash.
fn each_once(passed: &[(usize, Passed)]) -> Vec<Planned> {
    let mut planned = BTreeSet::new();
    let mut known = BTreeSet::new();
    for (scene, passed) in passed {
        for (&(life, point), &times) in passed {
            // Runs differ a little: what came often comes half as often for certain.
            let time = times.div_ceil(2);
            let is_commit = point.name().starts_with("commit.");
            let is_restart = *scene == 0 && life == 2 && !is_commit;
            if known.insert((point, is_commit && SCENES[*scene].has_applications()))
                || is_restart
                || point.name().ends_with("-torn")
            {
                planned.insert((*scene, Cut { life, point, time, bytes: None }));
            }
        }
    }
    planned.into_iter().collect()
}

/// The points at which a run died.
fn points_of_death(outcomes: &[(Planned, Option<bool>)]) -> BTreeSet<FaultPoint> {
    outcomes.iter().filter(|(_, hit)| *hit == Some(true)).map(|((_, cut), _)| cut.point).collect()
}

/// For the points at which no run died, the first passing in every script and start that passes them.
fn elsewhere(passed: &[(usize, Passed)], outcomes: &[(Planned, Option<bool>)]) -> Vec<Planned> {
    let points = points_of_death(outcomes);
    let all = passed.iter().flat_map(|(scene, passed)| passed.keys().map(move |(life, point)| (*scene, *life, *point)));
    all.filter(|(_, _, point)| !points.contains(point))
        .map(|(scene, life, point)| (scene, Cut { life, point, time: 1, bytes: None }))
        .collect()
}

/// Every passing of every point, in every script and start.
fn each_time(passed: &[(usize, Passed)]) -> Vec<Planned> {
    let each: u64 = std::env::var("CRASH_POINTS_EACH").ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
    let mut planned = Vec::new();
    for (scene, passed) in passed {
        for (&(life, point), &times) in passed {
            let step = times.div_ceil(each).max(1);
            for time in (1..=times).step_by(usize::try_from(step).unwrap()) {
                planned.push((*scene, Cut { life, point, time, bytes: None }));
                if point.name().ends_with("-torn") {
                    // Nothing, all but the line's end, and lines that are whole beside others that are missing or old.
                    for bytes in [0, 1, 51, 52, 104] {
                        planned.push((*scene, Cut { life, point, time, bytes: Some(bytes) }));
                    }
                }
            }
        }
    }
    planned
}

/// Does the work of all, some at one time; none comes of what panicked.
fn at_one_time<T: Send + Sync, R: Send>(work: Vec<T>, does: impl Fn(&T) -> R + Sync) -> Vec<(T, Option<R>)> {
    let left = Mutex::new(work);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONE_TIME {
            scope.spawn(|| {
                loop {
                    let Some(work) = left.lock().unwrap().pop() else { return };
                    let result = catch_unwind(AssertUnwindSafe(|| does(&work))).ok();
                    done.lock().unwrap().push((work, result));
                }
            });
        }
    });
    done.into_inner().unwrap()
}
