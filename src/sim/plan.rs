//! The world of a seed: the cluster, the users and their money, the frequency of faults.

use crate::engine::{EngineConfig, HeartbeatConfig, PolicyConfig, QueueConfig};
use crate::market::{BudgetLine, MarketConfig};
use crate::model::{Credits, Identifier, Now, PerKind, QueueName};

use super::adversaries::{EIGHTH, FREE_DISK_BYTES, plan_players};
use super::containers::ContainerPlan;
use super::plan_policy::policy_config;
use super::random::Random;
use super::run_options::{PolicyChoice, RunOptions};
use super::user_plan::UserPlan;

#[derive(Clone, Debug)]
pub(crate) struct TrackerPlan {
    /// Its name, under which it registers.
    pub(crate) name: String,
    /// Its host; two trackers may share one.
    pub(crate) host: String,
    pub(crate) slots: PerKind<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) start: Now,
    pub(crate) trackers: Vec<TrackerPlan>,
    pub(crate) users: Vec<UserPlan>,
    pub(crate) engine: EngineConfig,
    /// Typical time of a task, ms.
    pub(crate) task_ms: u64,
    /// Typical pause of a user between two submissions, ms.
    pub(crate) submit_pause_ms: u64,
    pub(crate) failing_permille: u64,
    pub(crate) hanging_permille: u64,
    /// Time after which a tracker fails a hanging attempt, ms.
    pub(crate) task_timeout_ms: u64,
    /// Most unfinished jobs of all users together. Below the number of apps that one heartbeat may skip, so that work
    /// conservation can be checked at each heartbeat.
    pub(crate) most_live_jobs: usize,
    /// Typical time between two crashes of the JobTracker, ms; none: it never crashes.
    pub(crate) crash_pause_ms: Option<u64>,
    /// Typical time between two switches of the scheduler, ms; none: it stays.
    pub(crate) switch_pause_ms: Option<u64>,
    /// What the disks of trackers have room for, bytes; none: they do not say.
    pub(super) free_disk_bytes: Option<i64>,
    /// What there is for containers; none: no node has anything for them.
    pub(super) containers: Option<ContainerPlan>,
}

/// The stream of chance that decides whether the JobTracker of a seed crashes.
const CRASH_STREAM: u64 = 5;
/// The one that decides how often the scheduler is switched.
const SWITCH_STREAM: u64 = 6;
/// How users time their requests before the market rules, ms.
const IDLE_BIDDING_INTERVAL_MS: u64 = 5_000;
/// In one of so many seeds it does.
const SEEDS_OF_A_CRASHING_ONE: u64 = 3;

impl Plan {
    pub(crate) fn new(options: &RunOptions) -> Self {
        let RunOptions { seed, policy, has_containers, has_adversaries, .. } = *options;
        let mut random = Random::stream(seed, 0);
        let start = Now { mono_ms: random.between(1, 100_000_000), wall_ms: 1_795_252_000_000 };
        let mut trackers = plan_trackers(&mut random);
        let mut users = plan_users(&mut random);
        if has_adversaries {
            users.extend(plan_players(seed, has_containers));
        }
        let mut engine = engine_config(&mut random, policy, &users, seed % 2 == 1);
        if engine.policy.is_compatible() || policy == PolicyChoice::Mixed {
            // As under 1.2.1, a task that has failed may wait for ever for a host that has no slots of its kind.
            for TrackerPlan { slots, .. } in &mut trackers {
                *slots = PerKind::new(slots.map.max(1), slots.reduce.max(1));
            }
        }
        let slots = trackers.iter().map(|tracker| tracker.slots);
        let containers = has_containers.then(|| ContainerPlan::new(seed, slots));
        if let Some(containers) = &containers {
            // By their names trackers are built-in workers.
            for (tracker, _) in trackers.iter_mut().zip(&containers.bags).filter(|(_, bag)| bag.is_some()) {
                tracker.name = tracker.name.replacen("localhost", crate::wire::STREAMING_ONLY, 1);
            }
            engine.containers = containers.settings.clone();
        }
        Self {
            containers,
            free_disk_bytes: has_adversaries.then_some(FREE_DISK_BYTES),
            start,
            trackers,
            users,
            engine,
            task_ms: random.between(50, 4_000),
            submit_pause_ms: random.between(200, 8_000),
            failing_permille: random.below(80),
            hanging_permille: random.below(30),
            task_timeout_ms: random.between(5_000, 60_000),
            most_live_jobs: random.between(4, 60) as usize,
            crash_pause_ms: crash_pause_ms(seed),
            switch_pause_ms: (policy == PolicyChoice::Mixed)
                .then(|| Random::stream(seed, SWITCH_STREAM).between(500, 60_000)),
        }
    }

    pub(super) fn has_players(&self) -> bool {
        self.users.iter().any(|user| user.scheme.is_some())
    }

    /// The users who do as they like; the players follow.
    pub(super) fn honest_users(&self) -> usize {
        self.users.iter().filter(|user| user.scheme.is_none()).count()
    }

    /// Time by which users time their requests to the market, ms; none without a market.
    pub(crate) fn bidding_interval_ms(&self) -> Option<u64> {
        let interval_ms = tick_interval_ms(&self.engine.policy).unwrap_or(IDLE_BIDDING_INTERVAL_MS);
        self.engine.market.map(|_| interval_ms)
    }

    /// Time between rounds of preemption of the market, ms; none without, or where other schedulers may have chosen attempts too.
    pub(crate) fn kill_interval_ms(&self) -> Option<u64> {
        let rules_always = self.engine.policy.is_market() && self.switch_pause_ms.is_none();
        self.engine.policy.preemption_interval_ms().filter(|_| rules_always)
    }

    pub(crate) fn budget_lines(&self) -> Vec<BudgetLine> {
        let line = |user: &UserPlan| {
            let (budget, queue) = (user.budget?, QueueName::new(&user.name).ok()?);
            Some(BudgetLine { queue, budget, rate: user.rate, is_budget_rounded: false, is_rate_rounded: false })
        };
        self.users.iter().filter_map(line).collect()
    }
}

/// Time between ticks under a policy, ms; none where the market does not rule.
pub(super) fn tick_interval_ms(policy: &PolicyConfig) -> Option<u64> {
    policy.update_interval_ms().filter(|_| policy.is_market())
}

/// From a stream of its own: all else in a seed is as it would be without crashes.
fn crash_pause_ms(seed: u64) -> Option<u64> {
    let mut random = Random::stream(seed, CRASH_STREAM);
    let pause_ms = random.between(1_000, 40_000);
    random.one_in(SEEDS_OF_A_CRASHING_ONE).then_some(pause_ms)
}

fn plan_trackers(random: &mut Random) -> Vec<TrackerPlan> {
    let count = random.between(1, 12);
    let mut trackers: Vec<TrackerPlan> = Vec::new();
    for place in 0..count {
        let host = if place > 0 && random.one_in(8) { place - 1 } else { place };
        let slots = PerKind::new(random.between(0, 6) as u32, random.between(0, 4) as u32);
        let name = format!("tracker_h{host}:localhost/127.0.0.1:{}", 40_000 + place);
        trackers.push(TrackerPlan { name, host: format!("h{host}"), slots });
    }
    // One tracker must be able to run each kind of task, and the first is never left out.
    trackers[0].slots = PerKind::new(trackers[0].slots.map.max(1), trackers[0].slots.reduce.max(1));
    trackers
}

fn plan_users(random: &mut Random) -> Vec<UserPlan> {
    const NAMES: [&str; 7] = ["alice", "bob", "carol", "dave", "erin", "frank", "grace"];
    let count = random.between(1, NAMES.len() as u64) as usize;
    let plan = |(place, name): (usize, &&str)| {
        let budget = match random.below(4) {
            0 => random.between(0, 40),
            1 => random.between(0, 1_000),
            _ => random.between(1_000, 1_000_000),
        };
        // The first user has a queue from the start.
        let has_queue = place == 0 || !random.one_in(5);
        let budget = has_queue.then(|| Credits::from_units(i128::from(budget) * EIGHTH));
        UserPlan { name: (*name).to_owned(), budget, rate: plain_rate(random), scheme: None }
    };
    NAMES.iter().take(count).enumerate().map(plan).collect()
}

/// A rate as users set it: mostly eighths of a credit, sometimes with all decimals there are.
pub(super) fn plain_rate(random: &mut Random) -> Credits {
    let units = match random.below(8) {
        0 => 0,
        1 => i128::from(random.below(3_000_000_000_000)),
        2 => i128::from(random.below(100)) + 1,
        _ => i128::from(random.between(1, 32)) * EIGHTH,
    };
    Credits::from_units(units)
}

fn engine_config(random: &mut Random, policy: PolicyChoice, users: &[UserPlan], preempts: bool) -> EngineConfig {
    let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    let has_market = matches!(policy, PolicyChoice::Dynamic | PolicyChoice::Mixed);
    let policy = policy_config(random, policy, &names, preempts);
    let market = has_market.then(|| MarketConfig {
        job_signature_uses: random.between(1, 3) as u32,
        signature_window_ms: random.between(1_000, 300_000),
        ..MarketConfig::default()
    });
    EngineConfig {
        market,
        queues: users.iter().map(|user| QueueConfig::open(&user.name)).collect(),
        daemon_user: super::ADMINISTRATOR.to_owned(),
        heartbeat: HeartbeatConfig {
            min_interval_ms: random.between(50, 1_000) as u32,
            in_second: random.one_in(4).then(|| random.between(5, 100) as u32),
            scaling_millionths: 1_000_000,
        },
        tracker_expiry_ms: random.between(8_000, 60_000),
        finished_jobs_kept: random.between(0, 40) as usize,
        ..EngineConfig::with_defaults(Identifier::from_number(202_611_210_913), policy)
    }
}
