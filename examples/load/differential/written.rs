//! Scripts written by hand, one for each thing that must be alike.

use crate::staging::JobFiles;

use jobtracker::fake_tracker::AttemptStep;
use jobtracker::model::Kind;

use super::script::{Doom, FLEET, Luck, Script, Step, host};

/// All of them, by name.
pub fn all() -> Vec<(&'static str, Script)> {
    let two = || [job(4, 2), job(3, 1)];
    let prepared = [Step::Submit { job: 0 }, beat(0), beat(0)];
    vec![
        ("normal", script([job(6, 2)], [], submit_and([rounds(9)]))),
        ("no tasks at all", script([job(0, 0)], [], submit_and([rounds(5)]))),
        ("only reduces", script([job(0, 3)], [], submit_and([rounds(8)]))),
        ("near and far", script([near_and_far()], [], submit_and([rounds(9)]))),
        ("throws", script([job(3, 1)], [doom(Kind::Map, 1, 9, AttemptStep::Fail)], submit_and([rounds(12)]))),
        ("throws once", script([job(3, 1)], [doom(Kind::Map, 1, 1, AttemptStep::Fail)], submit_and([rounds(12)]))),
        (
            "may lose half",
            script([may_lose_half()], [doom(Kind::Map, 1, 9, AttemptStep::Fail)], submit_and([rounds(16)])),
        ),
        ("reduce throws", script([job(2, 2)], [doom(Kind::Reduce, 0, 9, AttemptStep::Fail)], submit_and([rounds(20)]))),
        ("unclean", script([job(3, 2)], unclean(), submit_and([rounds(16)]))),
        ("setup throws", script([job(2, 1)], [doom(Kind::Map, 3, 9, AttemptStep::Fail)], submit_and([rounds(9)]))),
        ("cleanup throws", script([job(2, 1)], [doom(Kind::Map, 2, 9, AttemptStep::Fail)], submit_and([rounds(14)]))),
        ("attempts killed", script([job(4, 1)], [], submit_and([rounds(2), killed_attempts(), rounds(9)]))),
        ("output lost", script([job(3, 2)], [], submit_and([rounds(5), lost_output(), rounds(9)]))),
        ("output not fetched", script([job(3, 2)], [], submit_and([rounds(5), failed_fetches(), rounds(9)]))),
        ("answers lost", script([job(4, 2)], [], submit_and([lost_answers(), lost_answers(), rounds(9)]))),
        ("a stranger", script([job(1, 0)], [], submit_and([vec![Step::Stranger, Step::Stranger], rounds(4)]))),
        ("trackers restart", script([job(5, 2)], [], submit_and([rounds(4), restarts(), rounds(12)]))),
        ("priorities", script(two(), [], [submit(2), rounds(2), priorities(), rounds(9)].concat())),
        ("killed preparing", script([job(3, 1)], [], [prepared.to_vec(), kill(), rounds(6)].concat())),
        ("killed mapping", script([job(6, 1)], [], submit_and([rounds(3), kill(), rounds(6)]))),
        ("killed reducing", script([job(1, 3)], [], submit_and([rounds(6), kill(), rounds(6)]))),
        ("killed cleaning up", script([job(1, 0)], [], submit_and([rounds(6), kill(), rounds(6)]))),
        ("killed when over", script([job(1, 0)], [], submit_and([rounds(12), kill(), rounds(2)]))),
        ("one killed of two", script(two(), [], [submit(2), rounds(3), kill(), rounds(9)].concat())),
    ]
}

fn script(jobs: impl IntoIterator<Item = JobFiles>, dooms: impl IntoIterator<Item = Doom>, steps: Vec<Step>) -> Script {
    Script {
        seed: 0,
        luck: Luck::default(),
        slots: vec![(2, 1); FLEET as usize],
        jobs: jobs.into_iter().collect(),
        dooms: dooms.into_iter().collect(),
        steps,
    }
}

/// Maps whose input is nowhere.
fn job(maps: usize, reduces: u32) -> JobFiles {
    JobFiles { splits: vec![Vec::new(); maps], reduces, properties: Vec::new() }
}

fn near_and_far() -> JobFiles {
    let splits = [&[0, 1][..], &[1, 2], &[2], &[0, 1, 2], &[], &[3], &[0, 3]];
    let splits = splits.iter().map(|holders| holders.iter().map(|tracker| host(*tracker)).collect());
    JobFiles { splits: splits.collect(), reduces: 1, properties: Vec::new() }
}

fn may_lose_half() -> JobFiles {
    let mut files = job(3, 1);
    files.properties.push(("mapred.max.map.failures.percent".to_owned(), "50".to_owned()));
    files
}

fn doom(kind: Kind, task: i32, attempts: i32, fate: AttemptStep) -> Doom {
    Doom { job: 0, kind, task, attempts, fate }
}

fn unclean() -> [Doom; 3] {
    [
        doom(Kind::Map, 0, 1, AttemptStep::FailUnclean),
        doom(Kind::Map, 1, 2, AttemptStep::DieUnclean),
        doom(Kind::Reduce, 1, 1, AttemptStep::FailUnclean),
    ]
}

fn beat(tracker: usize) -> Step {
    Step::Beat { tracker, roll: 0, is_lost: false }
}

fn rounds(count: usize) -> Vec<Step> {
    (0..count).flat_map(|_| (0..FLEET as usize).map(beat)).collect()
}

fn submit(count: usize) -> Vec<Step> {
    (0..count).map(|job| Step::Submit { job }).collect()
}

fn submit_and<const N: usize>(steps: [Vec<Step>; N]) -> Vec<Step> {
    [submit(1), steps.concat()].concat()
}

fn kill() -> Vec<Step> {
    vec![Step::KillJob { job: 0 }]
}

/// On every tracker, one wish or the other, and once both.
fn killed_attempts() -> Vec<Step> {
    let wish = |tracker, fail| Step::KillTask { tracker, roll: 0, fail };
    let mut steps: Vec<Step> = (0..FLEET as usize).map(|tracker| wish(tracker, tracker % 2 == 0)).collect();
    steps.push(wish(0, false));
    steps
}

fn lost_output() -> Vec<Step> {
    (0..FLEET as usize).map(|tracker| Step::LoseOutput { tracker, roll: 0 }).collect()
}

fn failed_fetches() -> Vec<Step> {
    let told = |tracker| [Step::FailFetch { tracker, roll: 0 }, beat(tracker)];
    (0..4).flat_map(|_| (0..FLEET as usize).flat_map(told)).collect()
}

fn lost_answers() -> Vec<Step> {
    (0..FLEET as usize)
        .flat_map(|tracker| [Step::Beat { tracker, roll: 0, is_lost: true }, beat(tracker), beat(tracker)])
        .collect()
}

fn restarts() -> Vec<Step> {
    vec![Step::Restart { tracker: 0, reinit: false }, beat(0), Step::Restart { tracker: 3, reinit: true }, beat(3)]
}

fn priorities() -> Vec<Step> {
    vec![
        Step::SetPriority { job: 1, priority: 0 },
        beat(0),
        Step::SetPriority { job: 0, priority: 0 },
        beat(1),
        Step::SetPriority { job: 1, priority: 4 },
    ]
}
