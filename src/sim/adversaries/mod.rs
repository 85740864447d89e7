//! Tenants who play against the market, beside the honest bidders: each has a queue and money, and bids, submits and asks
//! as its scheme says. Their chance comes from streams of their own.

mod accomplices;
mod clinger;
mod clock_player;
mod flipper;
mod hoarder;
mod phantom;
mod splitter;
mod steady;

use crate::api::applications::AllocateCall;
use crate::mapreduce::JobSpec;
use crate::market::Account;
use crate::model::{Capability, Credits, JobId};

use super::bidders::Draft;
use super::containers::{ApplicationKind, SimApplication};
use super::cuts::Part;
use super::event_queue::SimEvent;
use super::laws::{Change, Violation};
use super::plan::{EIGHTH, UserPlan};
use super::random::Random;
use super::world::World;

/// How a tenant plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scheme {
    /// Honest: a constant bid, and always more to run than there are slots.
    Steady,
    /// Runs short tasks between ticks.
    ClockPlayer,
    /// Asks for what fits nowhere.
    Phantom,
    /// Asks, holds and returns.
    Hoarder,
    /// Ignores TERM.
    Clinger,
    /// Has many queues, with many jobs and applications.
    Splitter,
    /// Bids up and down around ticks.
    Flipper,
    /// Bids next to nothing and runs for long on what others leave; a phantom helps it.
    FreeRider,
}

/// What tasks of a job do, where its submitter decides that.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobShape {
    /// How long one runs, ms.
    pub(super) task_ms: u64,
    /// What a map writes, bytes.
    pub(super) output_bytes: i64,
}

/// The stream that decides who plays.
const PLAN_STREAM: u64 = 8;
/// Those of the players follow.
pub(super) const STREAM: u64 = 5_000;
/// What the disks of trackers have room for while there are players, bytes.
pub(super) const FREE_DISK_BYTES: i64 = 1 << 30;
/// Jobs that players may submit beyond those of the honest.
const MORE_LIVE_JOBS: usize = 30;

/// The players of a seed: a steady bidder, and those who play one or two of the schemes beside it.
pub(super) fn plan_players(seed: u64, has_containers: bool) -> Vec<UserPlan> {
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
    numbered.map(|(number, scheme)| UserPlan::of_player(number, scheme, &mut random)).collect()
}

// === impl UserPlan: players ===

impl UserPlan {
    fn of_player(number: usize, scheme: Scheme, random: &mut Random) -> Self {
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
        let budget = Some(Credits::from_units(i128::from(random.between(100_000, 10_000_000)) * EIGHTH));
        Self { name, budget, rate, scheme: Some(scheme) }
    }
}

// === impl World: players ===

impl World<'_> {
    pub(super) fn run_player(&mut self, place: usize) -> Result<(), Violation> {
        let Some(scheme) = self.plan.users.get(place).and_then(|user| user.scheme) else { return Ok(()) };
        let Some(Some(user)) = self.users.get_mut(place) else { return Ok(()) };
        let mut random = Random::stream(user.player.number(), 0);
        let pause_ms = self.pause_of(scheme, &mut random);
        self.schedule_in(pause_ms, SimEvent::Player(place));
        if !self.may_act() || !self.has(Part::Players) {
            return Ok(());
        }
        match scheme {
            Scheme::Steady => self.keep_busy(place, &mut random),
            Scheme::ClockPlayer => self.play_the_clock(place, &mut random),
            Scheme::Phantom => self.want_what_fits_nowhere(place, &mut random),
            Scheme::Hoarder => self.hoard(place, &mut random),
            Scheme::Clinger => self.cling(place, &mut random),
            Scheme::Splitter => self.split(place, &mut random),
            Scheme::Flipper => self.flip(place, &mut random),
            Scheme::FreeRider => self.ride_free(place, &mut random),
        }
    }

    /// When a player acts next, ms from now.
    fn pause_of(&self, scheme: Scheme, random: &mut Random) -> u64 {
        let interval_ms = self.game_interval_ms();
        match scheme {
            Scheme::Steady => random.between(20, 200),
            // Right after a tick.
            Scheme::ClockPlayer => self.until_tick_ms(interval_ms) + random.between(1, 20),
            // Right before one, or right after.
            Scheme::Flipper => match self.until_tick_ms(interval_ms) {
                until_ms @ 4.. => until_ms - 2,
                until_ms => until_ms + 2,
            },
            _ => random.between(interval_ms / 4 + 1, interval_ms),
        }
    }

    /// By what players time themselves, ms.
    fn game_interval_ms(&self) -> u64 {
        const WITHOUT_MARKET_MS: u64 = 3_000;
        self.plan.bidding_interval_ms().unwrap_or(WITHOUT_MARKET_MS)
    }

    /// Bids, unless that is the bid already.
    fn bid(&mut self, place: usize, rate: Credits) -> Result<(), Violation> {
        let name = self.plan.users[place].name.clone();
        let before = self.engine.market().and_then(|market| market.account(&name)).map(Account::bid);
        if before.is_none_or(|before| before == rate) {
            return Ok(());
        }
        let change = Change::Spending(name.clone(), rate);
        self.ask(&name, Draft::new(format!("setSpending={rate}&queue={name}"), change))
    }

    /// Jobs of a player that are accepted and not over.
    fn live_jobs_of(&mut self, place: usize) -> usize {
        let checker = &self.checker;
        let Some(Some(user)) = self.users.get_mut(place) else { return 0 };
        user.jobs.retain(|id| checker.is_live(*id));
        user.jobs.len()
    }

    /// Submits a job whose tasks do as told.
    fn submit_shaped(&mut self, place: usize, maps: u32, shape: JobShape) -> Result<(), Violation> {
        let live = self.checker.live_jobs() + self.submissions.len();
        if live >= self.plan.most_live_jobs + MORE_LIVE_JOBS {
            return Ok(());
        }
        let name = self.plan.users[place].name.clone();
        let spec = JobSpec { name: "played".to_owned(), ..JobSpec::with_defaults(&name, &name, maps, 0) };
        let Some(id) = self.submit_job(place, spec)? else { return Ok(()) };
        self.job_shapes.insert(id, shape);
        if let Some(Some(user)) = self.users.get_mut(place) {
            user.jobs.push(id);
        }
        Ok(())
    }

    /// Has so many applications that ask by the scheme of their owner.
    fn have_applications(&mut self, place: usize, many: usize, random: &mut Random) -> Result<(), Violation> {
        let mine = self.applications.values().filter(|application| application.user == place).count();
        if self.plan.containers.is_none() || mine >= many {
            return Ok(());
        }
        self.submit_application_of(place, ApplicationKind::Program, Random::stream(random.number(), 0))
    }

    /// The next call of a player's application; none: it has nothing to say for so long, ms.
    pub(super) fn played_call(&self, scheme: Scheme, application: &mut SimApplication) -> Result<AllocateCall, u64> {
        let (interval_ms, now_mono_ms) = (self.game_interval_ms(), self.now.mono_ms);
        match scheme {
            Scheme::Phantom => phantom::call(application),
            Scheme::Hoarder => hoarder::call(application, interval_ms, now_mono_ms),
            Scheme::Clinger => clinger::call(application, interval_ms),
            Scheme::Splitter | Scheme::Steady | Scheme::ClockPlayer => splitter::call(application, interval_ms),
            Scheme::Flipper => flipper::call(application, interval_ms),
            Scheme::FreeRider => accomplices::call(application, interval_ms),
        }
    }
}

/// One slot's worth, as players ask for it.
const ONE_SLOT: Capability = Capability::new(1_024, 1);

/// The id of a job is all that a player remembers of it.
pub(super) type PlayedJobs = Vec<JobId>;
