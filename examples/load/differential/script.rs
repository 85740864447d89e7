//! What is fed to both JobTrackers: jobs and a fixed order of steps, made from a seed.

use crate::dice::Dice;
use crate::staging::JobFiles;

use jobtracker::fake_tracker::AttemptStep;
use jobtracker::model::Kind;

/// A script.
#[derive(Clone, Debug)]
pub struct Script {
    /// From which the fates of tasks follow.
    pub seed: u64,
    /// How tasks fare.
    pub luck: Luck,
    /// Slots for maps and reduces of each tracker of the fleet.
    pub slots: Vec<(u32, u32)>,
    /// The jobs that may be submitted.
    pub jobs: Vec<JobFiles>,
    /// Tasks that end badly whatever their luck.
    pub dooms: Vec<Doom>,
    /// What happens, in order. Steps that mean nothing as things stand do nothing, so that any of them can be left out.
    pub steps: Vec<Step>,
}

/// How often in a hundred heartbeats a task that is asked what it does ...
#[derive(Clone, Copy, Debug, Default)]
pub struct Luck {
    /// ... does nothing.
    pub waits: u32,
    /// ... throws.
    pub fails: u32,
    /// ... ends and leaves something behind.
    pub fails_unclean: u32,
    /// ... is ended from outside and leaves something behind.
    pub dies_unclean: u32,
    /// ... is ended from outside.
    pub dies: u32,
    /// The same for setups and cleanups of jobs, which only throw.
    pub housekeeping_fails: u32,
}

/// A task that ends badly once it runs.
#[derive(Clone, Copy, Debug)]
pub struct Doom {
    /// Its job.
    pub job: i32,
    /// Its kind.
    pub kind: Kind,
    /// Its index; that of the job's cleanup is one behind the last, that of the setup two.
    pub task: i32,
    /// So many of its first attempts do.
    pub attempts: i32,
    /// How.
    pub fate: AttemptStep,
}

/// One step. Trackers and jobs by number; `roll` decides among what there is at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A job is submitted.
    Submit {
        /// The job.
        job: usize,
    },
    /// A tracker calls.
    Beat {
        /// The tracker.
        tracker: usize,
        /// The fates of its tasks.
        roll: u64,
        /// It never gets the answer, and will ask again.
        is_lost: bool,
    },
    /// A tracker loses everything and registers anew.
    Restart {
        /// The tracker.
        tracker: usize,
        /// The same process does.
        reinit: bool,
    },
    /// A tracker finds the output of a map gone.
    LoseOutput {
        /// The tracker.
        tracker: usize,
        /// Which of its outputs.
        roll: u64,
    },
    /// A running reduce cannot fetch from a map that is done.
    FailFetch {
        /// The tracker of the reduce.
        tracker: usize,
        /// Which of its reduces, which map.
        roll: u64,
    },
    /// A client kills a job.
    KillJob {
        /// The job.
        job: usize,
    },
    /// A client ends an attempt.
    KillTask {
        /// The tracker that runs it.
        tracker: usize,
        /// Which of its attempts.
        roll: u64,
        /// It counts as failed.
        fail: bool,
    },
    /// A client sets a priority.
    SetPriority {
        /// The job.
        job: usize,
        /// Its place among the five, the most urgent first.
        priority: usize,
    },
    /// A tracker calls that nobody knows.
    Stranger,
}

/// Trackers of the fleet: the last shares the host of the one before.
pub const FLEET: u32 = 5;
/// The names of priorities, the most urgent first.
pub const PRIORITIES: [&str; 5] = ["VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"];

/// The host of a tracker of the fleet.
pub fn host(tracker: u32) -> String {
    format!("10.9.0.{}", tracker.min(FLEET - 2) + 1)
}

// === impl Luck ===

impl Luck {
    const CALM: Self = Self { waits: 20, fails: 0, fails_unclean: 0, dies_unclean: 0, dies: 0, housekeeping_fails: 0 };
    const CLEAN: Self =
        Self { waits: 20, fails: 15, fails_unclean: 0, dies_unclean: 0, dies: 0, housekeeping_fails: 5 };
    const ROUGH: Self = Self { waits: 20, fails: 8, fails_unclean: 5, dies_unclean: 3, dies: 1, housekeeping_fails: 5 };
    const WILD: Self =
        Self { waits: 15, fails: 15, fails_unclean: 12, dies_unclean: 6, dies: 4, housekeeping_fails: 25 };
}

// === impl Script ===

impl Script {
    /// The script of a seed.
    pub fn random(seed: u64) -> Self {
        let mut dice = Dice::named(seed, "script");
        // Under Java a map that waits for its task-cleanup may be found again in the list of another host or rack of its
        // input, and runs twice at once; ours waits. So no script has both such maps and such ends.
        let is_placed = dice.percent(50);
        let lucks =
            if is_placed { [Luck::CALM, Luck::CLEAN, Luck::CLEAN] } else { [Luck::CALM, Luck::ROUGH, Luck::WILD] };
        let luck = lucks[dice.below(3) as usize];
        let slots = (0..FLEET).map(|_| (dice.below(4), dice.below(3))).collect::<Vec<_>>();
        let jobs: Vec<JobFiles> = (0..1 + dice.below(3)).map(|_| random_job(&mut dice, is_placed)).collect();
        let length = 40 + dice.below(160);
        let mut steps = vec![Step::Submit { job: 0 }];
        let mut unsubmitted = 1;
        for _ in 0..length {
            let step = random_step(&mut dice, jobs.len(), &mut unsubmitted, is_placed);
            steps.push(step);
        }
        Self { seed, luck, slots, jobs, dooms: Vec::new(), steps }
    }
}

fn random_job(dice: &mut Dice, is_placed: bool) -> JobFiles {
    let maps = if dice.percent(10) { 0 } else { 1 + dice.below(8) };
    let reduces = if dice.percent(25) { 0 } else { 1 + dice.below(4) };
    let splits = (0..maps).map(|_| {
        let mut holders: Vec<String> =
            (0..if is_placed { dice.below(4) } else { 0 }).map(|_| host(dice.below(FLEET))).collect();
        holders.sort();
        holders.dedup();
        holders
    });
    let mut files = JobFiles { splits: splits.collect(), reduces, properties: Vec::new() };
    let mut set = |name: &str, value: String| files.properties.push((name.to_owned(), value));
    set("mapred.map.max.attempts", (1 + dice.below(4)).to_string());
    set("mapred.reduce.max.attempts", (1 + dice.below(4)).to_string());
    for name in ["mapred.max.map.failures.percent", "mapred.max.reduce.failures.percent"] {
        set(name, [0, 0, 34, 50, 100][dice.below(5) as usize].to_string());
    }
    set("mapred.job.priority", PRIORITIES[dice.below(5) as usize].to_owned());
    set("mapred.reduce.slowstart.completed.maps", ["0.05", "0.5", "1.0"][dice.below(3) as usize].to_owned());
    // A host is never avoided for its failures.
    set("mapred.max.tracker.failures", "1000".to_owned());
    files
}

fn random_step(dice: &mut Dice, jobs: usize, unsubmitted: &mut usize, is_placed: bool) -> Step {
    let tracker = dice.below(FLEET) as usize;
    let job = dice.below(jobs as u32) as usize;
    let roll = dice.roll();
    match dice.below(1000) {
        0..40 if *unsubmitted < jobs => {
            *unsubmitted += 1;
            Step::Submit { job: *unsubmitted - 1 }
        }
        40..60 if !is_placed => Step::Restart { tracker, reinit: dice.percent(50) },
        60..80 => Step::LoseOutput { tracker, roll },
        80..100 => Step::FailFetch { tracker, roll },
        100..104 => Step::KillJob { job },
        104..125 if !is_placed => Step::KillTask { tracker, roll, fail: dice.percent(50) },
        125..140 => Step::SetPriority { job, priority: dice.below(5) as usize },
        140..145 => Step::Stranger,
        other => Step::Beat { tracker, roll, is_lost: other < 180 },
    }
}
