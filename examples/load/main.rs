//! A load generator: fake trackers and job clients over real IPC, one socket each, against either JobTracker.
//!
//! It runs beside the JobTracker on one machine, over loopback, and reads what that process costs from `/proc`: CPU is user
//! and system time of all its threads. Every loop is bounded in count or time. `docs/performance.md` tells how to use it.

mod arguments;
mod bidding;
mod container_worker;
mod dice;
mod differential;
mod fleet;
mod job_client;
mod latencies;
mod loads;
mod originals;
mod random;
mod row;
#[path = "../../tests/originals/scripted/mod.rs"]
#[allow(dead_code, reason = "the test reads recordings, too")]
mod scripted;
mod server_process;
mod soak;
mod staging;
mod station;
mod steady_tracker;
mod submitters;
mod wayward_tracker;

use std::process::ExitCode;

use clap::Parser;
use tokio::task::LocalSet;

use crate::arguments::{Arguments, Load};
use crate::loads::Bench;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Load::Table = arguments.load {
        let rows = row::read_rows(std::io::stdin().lock())?;
        print!("{}", row::table(&rows));
        return Ok(());
    }
    // One thread: the JobTracker needs the other core.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Load::Differential(wanted) = &arguments.load {
        return match wanted.scheduler {
            None => runtime.block_on(differential::run(wanted)),
            Some(scheduler) => runtime.block_on(originals::run(wanted, scheduler)),
        };
    }
    if let Load::Random(wanted) = &arguments.load {
        return runtime.block_on(random::run(arguments.jobtracker, wanted));
    }
    if let Load::Bidding(wanted) = &arguments.load {
        return runtime.block_on(LocalSet::new().run_until(bidding::run(wanted)));
    }
    if let Load::Soak(wanted) = &arguments.load {
        return runtime.block_on(LocalSet::new().run_until(soak::run(wanted)));
    }
    let bench = Bench::new(arguments)?;
    let rows = runtime.block_on(LocalSet::new().run_until(loads::run(&bench, &arguments.load)))?;
    if arguments.json {
        for row in &rows {
            println!("{}", serde_json::to_string(row)?);
        }
    } else {
        print!("{}", row::table(&rows));
    }
    Ok(())
}
