//! `jobtracker simulate`: runs the simulator and checks the laws.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::Args;

use crate::sim::{Cuts, Law, PolicyChoice, RunOptions, RunPart, SimulatedRun, Tally, Violation, shrink};
use crate::store::InMemoryStore;

use super::market_text::{columns, lines};

/// Simulate a cluster with trackers, users and faults in virtual time, and check the invariants after every step
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// First seed; a seed determines the whole run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of consecutive seeds
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Number of events of each seed, after which the run is completed
    #[arg(long, default_value_t = 100_000)]
    events: u64,
    /// Scheduler; under dynamic and fair, odd seeds run with preemption; mixed switches among all of them
    #[arg(long, value_name = "NAME", value_enum, default_value_t = PolicyArgument::Dynamic)]
    policy: PolicyArgument,
    /// Give nodes memory and cores, and let applications ask for containers. Without it runs are as they were before there
    /// were containers
    #[arg(long)]
    containers: bool,
    /// Let tenants play against the market beside the honest bidders. Without it runs are as they were before there were
    /// such
    #[arg(long)]
    adversaries: bool,
    /// Parts to leave out, as a failing seed prints them
    #[arg(long, value_delimiter = ',')]
    without: Vec<RunPart>,
    /// Virtual time after which no actor starts anything new, ms
    #[arg(long)]
    until: Option<u64>,
    /// Print a failing run without shrinking it first
    #[arg(long)]
    as_it_is: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PolicyArgument {
    Fifo,
    Capacity,
    Fair,
    Constraint,
    Mixed,
    Dynamic,
}

/// Plays the runs. Returns the table, or an error with the broken law and the command that reproduces it.
pub(crate) fn run(arguments: &SimulateArguments) -> Result<String, String> {
    let heads = [
        "seed",
        "events",
        "hours",
        "jobs",
        "attempts",
        "containers",
        "preempted",
        "rounds",
        "ticks",
        "crashes",
        "issued",
        "charged",
        "hash",
    ];
    let mut table = columns(&heads, 0);
    let mut sums = Tally::default();
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds.max(1)) {
        let options = arguments.options(seed);
        let run = play(&options);
        if let Some(violation) = run.violation {
            return Err(arguments.explain(&options, violation));
        }
        // Decisions must depend on the seed only.
        if seed == arguments.seed && play(&options).tally.hash != run.tally.hash {
            return Err(format!("{}: two runs differ\njobtracker simulate {options}", Law::Replay));
        }
        add(&mut sums, &run.tally);
        table.add_row(row(&seed.to_string(), &run.tally));
    }
    if arguments.seeds > 1 {
        table.add_row(row("all", &sums));
    }
    Ok(lines(&table))
}

impl SimulateArguments {
    fn options(&self, seed: u64) -> RunOptions {
        let policy = match self.policy {
            PolicyArgument::Fifo => PolicyChoice::Fifo,
            PolicyArgument::Capacity => PolicyChoice::Capacity,
            PolicyArgument::Fair => PolicyChoice::Fair,
            PolicyArgument::Constraint => PolicyChoice::Constraint,
            PolicyArgument::Mixed => PolicyChoice::Mixed,
            PolicyArgument::Dynamic => PolicyChoice::Dynamic,
        };
        let cuts = Cuts { without: self.without.iter().copied().collect(), until_ms: self.until };
        let (has_containers, has_adversaries) = (self.containers, self.adversaries);
        RunOptions { seed, events: self.events, policy, has_containers, has_adversaries, cuts }
    }

    fn explain(&self, options: &RunOptions, violation: Violation) -> String {
        if self.as_it_is {
            return format!("{violation}\njobtracker simulate --as-it-is {options}");
        }
        let shrunk = shrink(options, violation, |options| play(options).violation);
        format!("{}\njobtracker simulate --as-it-is {}", shrunk.violation, shrunk.options)
    }
}

fn play(options: &RunOptions) -> SimulatedRun {
    let played = catch_unwind(AssertUnwindSafe(|| SimulatedRun::play(options, &mut InMemoryStore::default())));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let culprit = format!("a step panics: {}", text.unwrap_or_default());
        let violation = Violation { law: Law::Order, at_ms: u64::MAX - 1, event: 0, culprit };
        SimulatedRun { tally: Tally::default(), violation: Some(violation) }
    })
}

fn row(name: &str, tally: &Tally) -> [String; 13] {
    let Tally { events, time_ms, jobs, attempts, containers, preempted, ticks, rounds, crashes, issued, charged, hash } =
        tally;
    [
        name.to_owned(),
        events.to_string(),
        (time_ms / 3_600_000).to_string(),
        jobs.to_string(),
        attempts.to_string(),
        containers.to_string(),
        preempted.to_string(),
        rounds.to_string(),
        ticks.to_string(),
        crashes.to_string(),
        issued.to_string(),
        charged.to_string(),
        format!("{hash:016x}"),
    ]
}

fn add(sums: &mut Tally, tally: &Tally) {
    let money = |left: crate::model::Credits, right: crate::model::Credits| left.checked_add(right).unwrap_or(left);
    *sums = Tally {
        events: sums.events + tally.events,
        time_ms: sums.time_ms + tally.time_ms,
        jobs: sums.jobs + tally.jobs,
        attempts: sums.attempts + tally.attempts,
        containers: sums.containers + tally.containers,
        preempted: sums.preempted + tally.preempted,
        ticks: sums.ticks + tally.ticks,
        rounds: sums.rounds + tally.rounds,
        crashes: sums.crashes + tally.crashes,
        issued: money(sums.issued, tally.issued),
        charged: money(sums.charged, tally.charged),
        hash: sums.hash.rotate_left(1) ^ tally.hash,
    };
}
