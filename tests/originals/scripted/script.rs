//! What is fed to a JobTracker: jobs and a fixed order of steps.

use std::fmt;

use crate::dice::Dice;

use super::settings::{SchedulerName, Settings};

/// A script.
#[derive(Clone, Debug)]
pub struct Script {
    /// From which all of it follows.
    pub seed: u64,
    /// The configuration.
    pub settings: Settings,
    /// Slots for maps and for reduces of each tracker.
    pub slots: Vec<(u32, u32)>,
    /// Percentage of heartbeats at which a running task fails.
    pub fails: u32,
    /// The jobs that may be submitted.
    pub jobs: Vec<PlannedJob>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// A job of a script.
#[derive(Clone, Debug)]
pub struct PlannedJob {
    /// Its user.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// The pool that it names.
    pub pool: Option<String>,
    /// The hosts that hold the input of each map.
    pub splits: Vec<Vec<String>>,
    /// Its reduces.
    pub reduces: u32,
    /// Its place among [`PRIORITIES`].
    pub priority: usize,
    /// Part of the maps that must be done before reduces start, millionths.
    pub slowstart_millionths: u32,
    /// Memory of a map and of a reduce, MB.
    pub memory_mb: Option<(u32, u32)>,
}

/// One step. A step about a job that is not submitted does nothing.
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
        /// Decides how its tasks fare.
        roll: u64,
    },
    /// Time passes.
    Pass {
        /// ms
        ms: u64,
    },
    /// A client kills a job of which anything was granted.
    KillJob {
        /// The job.
        job: usize,
    },
    /// A client sets a priority.
    SetPriority {
        /// The job.
        job: usize,
        /// Its place among [`PRIORITIES`].
        priority: usize,
    },
}

/// The hosts of the trackers; the last two trackers share one.
pub const HOSTS: [&str; 6] = ["10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4", "10.9.0.5", "10.9.0.5"];
/// The names of priorities, the highest first.
pub const PRIORITIES: [&str; 5] = ["VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"];
/// Who submits.
pub const USERS: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// The rack of a host.
pub fn rack_of(host: &str) -> &'static str {
    if host == HOSTS[0] || host == HOSTS[1] { "/rack-1" } else { "/rack-2" }
}

// === impl Script ===

impl Script {
    /// The script of a seed.
    pub fn random(scheduler: SchedulerName, seed: u64) -> Self {
        let dice = &mut Dice::named(seed, &format!("script for {scheduler}"));
        let settings = Settings::random(scheduler, dice);
        // The first tracker can end every job.
        let slots =
            (0..HOSTS.len()).map(|tracker| (dice.below(6).max(u32::from(tracker == 0)), dice.below(4))).collect();
        let fails = [0, 0, 4][dice.below(3) as usize];
        let is_placed = dice.percent(60);
        let jobs: Vec<_> = (0..2 + dice.below(7)).map(|_| PlannedJob::random(dice, &settings, is_placed)).collect();
        let steps = if settings.jobs.is_in_rounds {
            rounds(dice, &settings, jobs.len())
        } else {
            at_random(dice, &settings, jobs.len())
        };
        Self { seed, settings, slots, fails, jobs, steps }
    }

    /// How many of its steps are answered.
    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Submit { .. } | Step::Beat { .. })).count()
    }

    /// A number that changes with anything of the script, the same on every machine: FNV-1a of its text.
    pub fn digest(&self) -> u64 {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, mix)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in self.settings.files("") {
            writeln!(f, "{name}:\n{text}")?;
        }
        let slots: Vec<_> = self.slots.iter().map(|(maps, reduces)| format!("{maps}+{reduces}")).collect();
        writeln!(f, "slots {}; {} % fail", slots.join(" "), self.fails)?;
        for (place, job) in self.jobs.iter().enumerate() {
            writeln!(f, "job {}: {job}", place + 1)?;
        }
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl fmt::Display for PlannedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let splits: Vec<_> = self.splits.iter().map(|holders| holders.join("+")).collect();
        let pool = self.pool.as_deref().unwrap_or("of no name");
        let priority = PRIORITIES[self.priority];
        write!(
            f,
            "{} in queue {}, pool {pool}, {priority}: {} maps near [{}], ",
            self.user,
            self.queue,
            splits.len(),
            splits.join(" ")
        )?;
        write!(f, "{} reduces after {} millionths", self.reduces, self.slowstart_millionths)?;
        match self.memory_mb {
            Some((map, reduce)) => write!(f, ", {map} and {reduce} MB"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submit { job } => write!(f, "submit job {}", job + 1),
            Self::Beat { tracker, roll } => write!(f, "tracker {tracker} calls, roll {roll}"),
            Self::Pass { ms } => write!(f, "{ms} ms pass"),
            Self::KillJob { job } => write!(f, "kill job {}", job + 1),
            Self::SetPriority { job, priority } => write!(f, "job {} gets {}", job + 1, PRIORITIES[*priority]),
        }
    }
}

/// Trackers call in any order and at any time.
fn at_random(dice: &mut Dice, settings: &Settings, jobs: usize) -> Vec<Step> {
    let mut steps = vec![Step::Submit { job: 0 }];
    let mut submitted = 1;
    let length = 60 + dice.below(100);
    for _ in 0..length {
        let (tracker, job) = (dice.below(HOSTS.len() as u32) as usize, dice.below(jobs as u32) as usize);
        let roll = dice.roll();
        match dice.below(100) {
            0..12 if submitted < jobs => {
                steps.push(Step::Submit { job: submitted });
                submitted += 1;
            }
            12..13 => steps.push(Step::KillJob { job }),
            13..16 if settings.jobs.is_reordered => {
                steps.push(Step::SetPriority { job, priority: dice.below(5) as usize });
            }
            _ => {
                let ms = [100, 300, 700, 1_500][dice.below(4) as usize];
                steps.extend([Step::Pass { ms }, Step::Beat { tracker, roll }]);
            }
        }
    }
    steps
}

/// All trackers call once in three seconds, so that what one check of preemption kills has ended before the next.
fn rounds(dice: &mut Dice, settings: &Settings, jobs: usize) -> Vec<Step> {
    let mut steps = vec![Step::Submit { job: 0 }];
    let mut submitted = 1;
    for _ in 0..12 + dice.below(20) {
        let (job, priority) = (dice.below(jobs as u32) as usize, dice.below(5) as usize);
        if submitted < jobs && dice.percent(35) {
            steps.push(Step::Submit { job: submitted });
            submitted += 1;
        }
        if settings.jobs.is_reordered && dice.percent(8) {
            steps.push(Step::SetPriority { job, priority });
        }
        for tracker in 0..HOSTS.len() {
            steps.extend([Step::Pass { ms: 500 }, Step::Beat { tracker, roll: dice.roll() }]);
        }
    }
    steps
}

// === impl PlannedJob ===

impl PlannedJob {
    fn random(dice: &mut Dice, settings: &Settings, is_placed: bool) -> Self {
        let choices = &settings.jobs;
        let one_of = |dice: &mut Dice, names: &[String]| names[dice.below(names.len() as u32) as usize].clone();
        let maps = 1 + dice.below(10);
        let splits = (0..maps).map(|_| {
            let mut holders: Vec<String> = (0..if is_placed { 1 + dice.below(2) } else { 0 })
                .map(|_| HOSTS[dice.below(HOSTS.len() as u32) as usize].to_owned())
                .collect();
            holders.sort();
            holders.dedup();
            holders
        });
        let splits = splits.collect();
        let memory = |max_mb: u32, dice: &mut Dice| 512 * (1 + dice.below(max_mb / 512));
        Self {
            user: USERS[dice.below(USERS.len() as u32) as usize].to_owned(),
            queue: one_of(dice, &choices.queues),
            pool: (!choices.pools.is_empty() && dice.percent(85)).then(|| one_of(dice, &choices.pools)),
            splits,
            reduces: if dice.percent(25) { 0 } else { 1 + dice.below(5) },
            priority: if dice.percent(60) { 2 } else { dice.below(5) as usize },
            slowstart_millionths: [50_000, 500_000, 1_000_000][dice.below(3) as usize],
            memory_mb: choices.max_memory_mb.map(|max_mb| (memory(max_mb, dice), memory(max_mb, dice))),
        }
    }
}
