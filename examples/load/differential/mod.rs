//! The same scripts to two JobTrackers, and where their answers differ.
//!
//! A script is made from a seed: jobs, trackers and a fixed order of heartbeats, failures, kills, restarts and lost answers.
//! Trackers do what the first JobTracker says, so the first difference ends a script; it is then shortened.

mod play;
mod script;
mod shrink;
mod side;
mod told;
mod written;

use anyhow::{Context, ensure};

use crate::arguments::Differential;
use play::PlayError;
use script::Script;
use side::Side;

/// Plays the scripts; an error when any made a difference.
pub async fn run(arguments: &Differential) -> anyhow::Result<()> {
    let ours = arguments.ours.context("--ours is missing")?;
    let mut sides = [Side::connect(arguments.java).await?, Side::connect(ours).await?];
    let mut scripts: Vec<(String, Script)> = Vec::new();
    if !arguments.only_random {
        scripts.extend(written::all().into_iter().map(|(name, script)| (name.to_owned(), script)));
    }
    let seeds = arguments.first_seed..arguments.first_seed + arguments.seeds;
    scripts.extend(seeds.map(|seed| (format!("seed {seed}"), Script::random(seed))));
    if let Some(only) = &arguments.only {
        scripts.retain(|(name, _)| name == only);
    }
    ensure!(!scripts.is_empty(), "no script is called so");
    let (mut alike, mut different) = (0, 0);
    for (name, script) in &scripts {
        match play::play(script, &mut sides).await {
            Ok(()) => {
                alike += 1;
                continue;
            }
            Err(PlayError::Broken(error)) => return Err(error.context(name.clone())),
            Err(PlayError::Differ(difference)) => {
                different += 1;
                play::clear(script, &mut sides).await?;
                let (script, difference) = shrink::shrink(script, *difference, &mut sides, arguments.tries).await?;
                shrink::tell(name, &script, &difference);
            }
        }
        if different >= arguments.most {
            break;
        }
    }
    println!("{alike} scripts alike, {different} different");
    ensure!(different == 0, "the two JobTrackers differ");
    Ok(())
}
