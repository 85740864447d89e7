//! What players do: when they act, with which bids, jobs and applications, and scheme by scheme.

use crate::api::applications::{AllocateCall, Placement};
use crate::mapreduce::JobSpec;
use crate::market::Account;
use crate::model::{Capability, Credits, Kind};
use crate::sim::bidders::Draft;
use crate::sim::containers::{ApplicationKind, Program, SimApplication, row};
use crate::sim::cuts::RunPart;
use crate::sim::event_queue::SimEvent;
use crate::sim::laws::{MoneyChange, Violation};
use crate::sim::random::Random;
use crate::sim::user_plan::Scheme;
use crate::sim::world::World;

use super::player_plan::{JobShape, ONE_SLOT};

/// Jobs that players may submit beyond those of the honest.
const MORE_LIVE_JOBS: usize = 30;

impl World<'_> {
    pub(in crate::sim) fn run_player(&mut self, place: usize) -> Result<(), Violation> {
        let Some(scheme) = self.plan.users.get(place).and_then(|user| user.scheme) else { return Ok(()) };
        let Some(Some(user)) = self.users.get_mut(place) else { return Ok(()) };
        let mut random = Random::stream(user.player.number(), 0);
        let pause_ms = self.pause_of(scheme, &mut random);
        self.schedule_in(pause_ms, SimEvent::Player(place));
        if !self.may_act() || !self.has(RunPart::Players) {
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
    pub(super) fn game_interval_ms(&self) -> u64 {
        const WITHOUT_MARKET_MS: u64 = 3_000;
        self.plan.bidding_interval_ms().unwrap_or(WITHOUT_MARKET_MS)
    }

    /// Bids, unless that is the bid already.
    pub(super) fn bid(&mut self, place: usize, rate: Credits) -> Result<(), Violation> {
        let name = self.plan.users[place].name.clone();
        let before = self.engine.market().and_then(|market| market.account(&name)).map(Account::bid);
        if before.is_none_or(|before| before == rate) {
            return Ok(());
        }
        let change = MoneyChange::Spending(name.clone(), rate);
        self.ask(&name, Draft::new(format!("setSpending={rate}&queue={name}"), change))
    }

    pub(super) fn live_jobs_of(&mut self, place: usize) -> usize {
        let checker = &self.checker;
        let Some(Some(user)) = self.users.get_mut(place) else { return 0 };
        user.jobs.retain(|id| checker.is_live(*id));
        user.jobs.len()
    }

    pub(super) fn submit_shaped(&mut self, place: usize, maps: u32, shape: JobShape) -> Result<(), Violation> {
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

    pub(super) fn have_applications(
        &mut self,
        place: usize,
        many: usize,
        random: &mut Random,
    ) -> Result<(), Violation> {
        let mine = self.applications.values().filter(|application| application.user == place).count();
        if self.plan.containers.is_none() || mine >= many {
            return Ok(());
        }
        self.submit_application_of(place, ApplicationKind::Program, Random::stream(random.number(), 0))
    }

    /// The next call of a player's application; none: it has nothing to say for so long, ms.
    pub(in crate::sim) fn played_call(
        &self,
        scheme: Scheme,
        application: &mut SimApplication,
    ) -> Result<AllocateCall, u64> {
        let (interval_ms, now_mono_ms) = (self.game_interval_ms(), self.now.mono_ms);
        match scheme {
            Scheme::Phantom => phantom_call(application),
            Scheme::Hoarder => hoarder_call(application, interval_ms, now_mono_ms),
            Scheme::Clinger => clinger_call(application, interval_ms),
            Scheme::Splitter | Scheme::Steady | Scheme::ClockPlayer => splitter_call(application, interval_ms),
            Scheme::Flipper => flipper_call(application, interval_ms),
            Scheme::FreeRider => accomplices_call(application, interval_ms),
        }
    }

    /// The accomplices: a phantom buys what it never uses, and a free rider, who bids one unit, runs on it beyond its quota:
    /// long maps, and containers that have no end of their own.
    pub(super) fn ride_free(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        self.have_applications(place, 1, random)?;
        if self.live_jobs_of(place) > 0 {
            return Ok(());
        }
        let task_ms = self.game_interval_ms() * random.between(1, 5);
        self.submit_shaped(place, random.between(2, 20) as u32, JobShape { task_ms, output_bytes: 100 })
    }
}

pub(super) fn accomplices_call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    let program = Program { run_ms: interval_ms * 40, ignores_term: false, kill_grace_ms: 0 };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, 8));
    }
    Ok(call)
}

impl World<'_> {
    /// The clinger: buys slots, then bids nothing and stays: its containers ignore TERM, and it asked for the longest grace.
    pub(super) fn cling(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        let rate = self.plan.users[place].rate;
        self.bid(place, if random.one_in(2) { rate } else { Credits::from_units(1) })?;
        self.have_applications(place, 2, random)
    }
}

pub(super) fn clinger_call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    const LONGEST_GRACE_MS: u64 = 600_000;
    let run_ms = interval_ms * application.random.between(2, 30);
    let program = Program { run_ms, ignores_term: true, kill_grace_ms: LONGEST_GRACE_MS };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, application.random.between(1, 6) as u32));
    }
    Ok(call)
}

impl World<'_> {
    /// The clock player: one long map keeps its queue active; right after each tick it submits short ones that end before the next.
    pub(super) fn play_the_clock(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MOST_JOBS: usize = 6;
        let interval_ms = self.game_interval_ms();
        let live = self.live_jobs_of(place);
        if live == 0 {
            self.submit_shaped(place, 1, JobShape { task_ms: interval_ms * 12, output_bytes: 100 })?;
        }
        if live >= MOST_JOBS {
            return Ok(());
        }
        let task_ms = random.between(interval_ms / 10 + 1, interval_ms * 6 / 10 + 1);
        self.submit_shaped(place, random.between(1, 8) as u32, JobShape { task_ms, output_bytes: 100 })
    }

    /// The flipper: bids high right before a tick and next to nothing right after it, or the other way round, with long tasks
    /// that stay where they are.
    pub(super) fn flip(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const HIGH_FACTOR: i128 = 200;
        let interval_ms = self.game_interval_ms();
        let low = self.plan.users[place].rate;
        let is_high = (self.until_tick_ms(interval_ms) <= 3) != random.one_in(4);
        let rate = if is_high { Credits::from_units(low.units() * HIGH_FACTOR) } else { low };
        self.bid(place, rate)?;
        self.have_applications(place, 1, random)?;
        if self.live_jobs_of(place) < 2 {
            let task_ms = random.between(interval_ms / 2, interval_ms * 4);
            self.submit_shaped(place, random.between(4, 30) as u32, JobShape { task_ms, output_bytes: 100 })?;
        }
        Ok(())
    }
}

/// As many containers as there is room for, for long.
pub(super) fn flipper_call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    let run_ms = application.random.between(interval_ms / 2, interval_ms * 6);
    let program = Program { run_ms, ignores_term: false, kill_grace_ms: interval_ms };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, 6));
    }
    Ok(call)
}

impl World<'_> {
    /// The hoarder: asks for all there is, launches nothing, gives back after a part of an interval and asks again in the same call.
    pub(super) fn hoard(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        self.have_applications(place, 2, random)
    }
}

/// Some give back so soon that it is free, most do not.
pub(super) fn hoarder_call(
    application: &mut SimApplication,
    interval_ms: u64,
    now_mono_ms: u64,
) -> Result<AllocateCall, u64> {
    const MANY: u32 = 12;
    if now_mono_ms < application.holds_until_ms {
        return Err(application.holds_until_ms - now_mono_ms);
    }
    let parts = [3, 10, 40, 70, 95][application.random.below(5) as usize];
    application.holds_until_ms = now_mono_ms + (interval_ms * parts / 100).max(1);
    let release = application.known().collect();
    Ok(AllocateCall { ask: vec![row(1, 0, ONE_SLOT, MANY)], release, ..AllocateCall::default() })
}

impl World<'_> {
    /// The phantom: bids high, so that others are not sold what it will never run. Its job writes more than any disk has room
    /// for; its applications ask for a container larger than any node, or for a host that does not exist.
    pub(super) fn want_what_fits_nowhere(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MAPS: u32 = 10;
        self.have_applications(place, 2, random)?;
        if self.live_jobs_of(place) > 0 || (self.plan.containers.is_some() && random.one_in(2)) {
            return Ok(());
        }
        // Once one of ten maps has ended the others are known to fit nowhere.
        self.submit_shaped(place, MAPS, JobShape { task_ms: 50, output_bytes: i64::MAX / 100 })
    }
}

pub(super) fn phantom_call(application: &mut SimApplication) -> Result<AllocateCall, u64> {
    const HUGE: Capability = Capability::new(1_048_576, 1);
    const REPEAT_MS: u64 = 5_000;
    let mut call = AllocateCall { wait_ms: REPEAT_MS, ..AllocateCall::default() };
    if application.wanted.values().any(|wanted| *wanted > 0) {
        return Ok(call);
    }
    if application.random.one_in(2) {
        call.ask.push(row(1, 0, HUGE, application.random.between(1, 3) as u32));
    } else {
        let mut any = row(1, 0, ONE_SLOT, 8);
        any.relax_locality = false;
        let mut nowhere = row(1, 0, ONE_SLOT, 8);
        nowhere.resource_name = Placement::Host("h99".to_owned());
        call.ask.extend([nowhere, any]);
    }
    Ok(call)
}

impl World<'_> {
    /// The splitter: one tenant with many queues that bid little, each with many jobs of one task and applications of one
    /// container, so that rounding, smallest shares and places in limits are all its own.
    pub(super) fn split(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MOST_JOBS: usize = 6;
        self.have_applications(place, 4, random)?;
        if self.live_jobs_of(place) >= MOST_JOBS {
            return Ok(());
        }
        let task_ms = random.between(10, self.game_interval_ms() * 2);
        self.submit_shaped(place, 1, JobShape { task_ms, output_bytes: 100 })
    }
}

/// One container after the other.
pub(super) fn splitter_call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    let run_ms = application.random.between(10, interval_ms * 2);
    let program = Program { run_ms, ignores_term: false, kill_grace_ms: 0 };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, 1));
    }
    Ok(call)
}

impl World<'_> {
    /// The steady bidder, who plays no trick: its bid stays, and it always has more to run than there are slots.
    pub(super) fn keep_busy(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MAPS: u32 = 60;
        const MOST_JOBS: usize = 4;
        let rate = self.plan.users[place].rate;
        self.bid(place, rate)?;
        let scheduler = self.engine.inspect().scheduler();
        let name = self.plan.users[place].name.as_str();
        let waiting = scheduler.group(name).map_or(0, |group| scheduler.waiting(group)[Kind::Map]);
        let slots = scheduler.totals().slots[Kind::Map];
        if u64::from(waiting) >= 2 * slots || self.live_jobs_of(place) >= MOST_JOBS {
            return Ok(());
        }
        let interval_ms = self.game_interval_ms();
        let task_ms = random.between(interval_ms / 10 + 20, interval_ms / 2 + 40);
        self.submit_shaped(place, MAPS, JobShape { task_ms, output_bytes: 100 })
    }
}
