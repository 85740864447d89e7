//! Players act: when, with which bids, jobs and applications.

use crate::api::applications::AllocateCall;
use crate::mapreduce::JobSpec;
use crate::market::Account;
use crate::model::Credits;
use crate::sim::bidders::Draft;
use crate::sim::containers::{ApplicationKind, SimApplication};
use crate::sim::cuts::Part;
use crate::sim::event_queue::SimEvent;
use crate::sim::laws::{MoneyChange, Violation};
use crate::sim::random::Random;
use crate::sim::world::World;

use super::player_plan::{JobShape, Scheme};
use super::schemes;

/// Jobs that players may submit beyond those of the honest.
const MORE_LIVE_JOBS: usize = 30;

impl World<'_> {
    pub(in crate::sim) fn run_player(&mut self, place: usize) -> Result<(), Violation> {
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
            Scheme::Phantom => schemes::phantom_call(application),
            Scheme::Hoarder => schemes::hoarder_call(application, interval_ms, now_mono_ms),
            Scheme::Clinger => schemes::clinger_call(application, interval_ms),
            Scheme::Splitter | Scheme::Steady | Scheme::ClockPlayer => schemes::splitter_call(application, interval_ms),
            Scheme::Flipper => schemes::flipper_call(application, interval_ms),
            Scheme::FreeRider => schemes::accomplices_call(application, interval_ms),
        }
    }
}
