//! Cuts a script down to what makes the difference.

use super::play::{self, Difference, PlayError};
use super::script::Script;
use super::side::Side;

/// Leaves out steps, many at once and then fewer, as long as any difference remains; plays at most so many scripts.
pub async fn shrink(
    script: &Script,
    difference: Difference,
    sides: &mut [Side; 2],
    mut tries: u32,
) -> anyhow::Result<(Script, Difference)> {
    let mut best = script.clone();
    best.steps.truncate(difference.step);
    let mut difference = difference;
    let mut length = best.steps.len().div_ceil(2);
    while length > 0 && tries > 0 {
        let mut start = 0;
        while start < best.steps.len() && tries > 0 {
            tries -= 1;
            let mut shorter = best.clone();
            shorter.steps.drain(start..(start + length).min(best.steps.len()));
            match play::play(&shorter, sides).await {
                Err(PlayError::Differ(found)) => {
                    shorter.steps.truncate(found.step);
                    best = shorter;
                    difference = *found;
                    play::clear(script, sides).await?;
                }
                Ok(()) => start += length,
                Err(PlayError::Broken(error)) => return Err(error),
            }
        }
        length /= 2;
    }
    Ok((best, difference))
}

/// Prints the script and the difference.
pub fn tell(name: &str, script: &Script, difference: &Difference) {
    println!("{name}: differs at step {} of {}: {}", difference.step, script.steps.len(), difference.what);
    for line in &difference.first {
        println!("    java: {line}");
    }
    for line in &difference.second {
        println!("    ours: {line}");
    }
    println!("    script: slots {:?}", script.slots);
    for (place, job) in script.jobs.iter().enumerate() {
        println!("        job {place}: maps {:?}, {} reduces, {:?}", job.splits, job.reduces, job.properties);
    }
    for step in &script.steps {
        println!("        {step:?}");
    }
}
