//! Scripts for one scheduler: what the original grants, in a Java JobTracker, and what the engine does.

mod stepped;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};

use crate::arguments::Differential;
use crate::scripted::in_process::InProcess;
use crate::scripted::play::{PlayError, play};
use crate::scripted::recording::Recording;
use crate::scripted::script::Script;
use crate::scripted::settings::SchedulerName;

use stepped::SteppedJobTracker;

/// Plays the scripts to the original, then to the engine, which must answer alike; an error when it does not. Where the engine
/// has no such scheduler, or the recording is all that is wanted, the original is only recorded.
pub async fn run(arguments: &Differential, scheduler: SchedulerName) -> anyhow::Result<()> {
    let control = arguments.control.context("--scheduler needs --control")?;
    let mut original = SteppedJobTracker::connect(arguments.java, control, scheduler).await?;
    let mut record = arguments.record.as_ref().map(|path| record_file(path, scheduler)).transpose()?;
    let mut ours = InProcess::new(scheduler);
    ensure!(ours.is_some() || record.is_some(), "ours has no {scheduler} scheduler: only --record is possible");
    let (mut alike, mut different) = (0, 0);
    for seed in arguments.first_seed..arguments.first_seed + arguments.seeds {
        let script = Script::random(scheduler, seed);
        let answers = play(&script, &mut original, None).await.with_context(|| format!("seed {seed}"))?;
        if let Some(ours) = &mut ours {
            match play(&script, ours, Some(&answers)).await {
                Ok(_) => alike += 1,
                Err(PlayError::Broken(error)) => return Err(error.context(format!("seed {seed}"))),
                Err(difference) => {
                    different += 1;
                    println!("seed {seed}: {difference}\n{script}");
                }
            }
        }
        if let Some(file) = &mut record {
            let recording = Recording { seed, digest: script.digest(), answers };
            writeln!(file, "{}", recording.line())?;
        }
        if different >= arguments.most {
            break;
        }
    }
    match ours {
        Some(_) => println!("{alike} scripts alike, {different} different"),
        None => println!("{} scripts recorded", arguments.seeds),
    }
    ensure!(different == 0, "the original and ours differ");
    Ok(())
}

fn record_file(path: &PathBuf, scheduler: SchedulerName) -> anyhow::Result<fs::File> {
    let mut file = fs::File::create(path).with_context(|| path.display().to_string())?;
    writeln!(file, "# Grants of the {scheduler} scheduler of Hadoop 1.2.1, by tests/hadoop/differential.sh.")?;
    writeln!(
        file,
        "# A line is a seed, the digest of its script and the answers: tests/originals/scripted/recording.rs, grants.rs."
    )?;
    Ok(file)
}
