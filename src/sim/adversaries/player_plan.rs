//! Who plays in a seed: with what money, by which scheme, and what tasks of its jobs do.

use crate::model::{Capability, Credits};
use crate::sim::random::Random;
use crate::sim::user_plan::{Scheme, UserPlan};

/// The smallest part of a credit that plain bids use: an eighth.
pub(in crate::sim) const EIGHTH: i128 = 125_000_000_000;

const PLAN_STREAM: u64 = 8;
/// Those of the players follow.
pub(in crate::sim) const STREAM: u64 = 5_000;
/// What the disks of trackers have room for while there are players, bytes.
pub(in crate::sim) const FREE_DISK_BYTES: i64 = 1 << 30;
/// The players of a seed: a steady bidder, and those who play one or two of the schemes beside it.
pub(in crate::sim) fn plan_players(seed: u64, has_containers: bool) -> Vec<UserPlan> {
    let mut random = Random::stream(seed, PLAN_STREAM);
    let of_tasks: &[&[Scheme]] = &[
        &[Scheme::ClockPlayer],
        &[Scheme::Phantom],
        &[Scheme::Splitter, Scheme::Splitter, Scheme::Splitter],
        &[Scheme::Flipper],
        &[Scheme::Phantom, Scheme::FreeRider],
    ];
    let of_containers: &[&[Scheme]] = &[&[Scheme::Hoarder], &[Scheme::Clinger]];
    let mut choices = of_tasks.to_vec();
    if has_containers {
        choices.extend(of_containers);
    }
    let mut schemes = vec![Scheme::Steady];
    for _ in 0..random.between(1, 2) {
        let place = random.below(choices.len() as u64) as usize;
        schemes.extend(choices.remove(place));
    }
    let numbered = schemes.into_iter().enumerate();
    numbered.map(|(number, scheme)| plan_player(number, scheme, &mut random)).collect()
}

fn plan_player(number: usize, scheme: Scheme, random: &mut Random) -> UserPlan {
    let name = match scheme {
        Scheme::Steady => "steady".to_owned(),
        Scheme::ClockPlayer => "clock".to_owned(),
        Scheme::Phantom => format!("phantom{number}"),
        Scheme::Hoarder => "hoarder".to_owned(),
        Scheme::Clinger => "clinger".to_owned(),
        Scheme::Splitter => format!("splitter{number}"),
        Scheme::Flipper => "flipper".to_owned(),
        Scheme::FreeRider => "rider".to_owned(),
    };
    let eighths = match scheme {
        Scheme::Steady | Scheme::ClockPlayer | Scheme::Clinger => random.between(4, 40),
        Scheme::Phantom => random.between(80, 7_200),
        Scheme::Hoarder => random.between(80, 400),
        Scheme::Splitter | Scheme::Flipper => random.between(1, 8),
        Scheme::FreeRider => 0,
    };
    let rate = match scheme {
        Scheme::FreeRider => Credits::from_units(1),
        _ => Credits::from_units(i128::from(eighths) * EIGHTH),
    };
    let budget = Credits::from_units(i128::from(random.between(100_000, 10_000_000)) * EIGHTH);
    UserPlan { name, budget: Some(budget), rate, scheme: Some(scheme) }
}

/// What tasks of a job do, where its submitter decides that.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct JobShape {
    pub(crate) task_ms: u64,
    pub(crate) output_bytes: i64,
}

pub(super) const ONE_SLOT: Capability = Capability::new(1_024, 1);
