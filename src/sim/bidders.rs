//! Requests of users and administrators to the market: honest bids, and whatever else may come over HTTP.
//!
//! As in the daemon, the same functions parse the query and verify the signature, and a request that these refuse never reaches the engine.

use crate::engine::Event;
use crate::market::{AllowanceTerms, ParsedQuery, ServletRequest, signature};
use crate::model::Credits;

use super::ADMINISTRATOR;
use super::cuts::RunPart;
use super::event_queue::SimEvent;
use super::laws::{Intent, MoneyChange, Violation};
use super::plan::plain_rate;
use super::random::Random;
use super::user::SentRequest;
use super::world::World;

pub(super) struct Draft {
    operation: String,
    change: MoneyChange,
    timestamp: Option<String>,
    /// Signed with a key that is not the signer's.
    is_forged: bool,
}

const BAD_AMOUNTS: [&str; 18] = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e9",
    "0x1p3",
    "1.0000000000001",
    "1000000000000.1",
    "",
    "0.5f",
    "1,5",
    "%205",
    "1.2.3",
    "--1",
    "-",
    "99999999999999999999999999999999999999999999",
    "%EF%BC%95",
    "5%00",
    "abc",
];

/// Requests of a user that are kept for replays.
const KEPT_REQUESTS: usize = 8;

impl Draft {
    pub(super) fn new(operation: String, change: MoneyChange) -> Self {
        Self { operation, change, timestamp: None, is_forged: false }
    }

    pub(super) fn without_change(operation: String) -> Self {
        Self::new(operation, MoneyChange::Nothing)
    }
}

impl World<'_> {
    pub(super) fn run_bidder(&mut self, place: usize) -> Result<(), Violation> {
        let (Some(interval_ms), Some(Some(user))) = (self.plan.bidding_interval_ms(), self.users.get_mut(place)) else {
            return Ok(());
        };
        let (name, chance) = (user.name.clone(), user.bidder.below(100));
        let pause_ms = user.bidder.between(1, interval_ms * 3);
        let (is_timed, around) = (user.bidder.one_in(3), user.bidder.below(3));
        let mut random = Random::stream(user.bidder.number(), 0);
        let pause_ms = match is_timed && self.has(RunPart::TimedBids) {
            true => self.until_tick_ms(interval_ms) + interval_ms * (pause_ms % 3) + around,
            false => pause_ms + 1,
        };
        self.schedule_in(pause_ms.saturating_sub(1), SimEvent::Bidder(place));
        if !self.may_act() || !self.has(RunPart::Bidders) {
            return Ok(());
        }
        match chance {
            0..30 if self.has(RunPart::HostileBids) => {
                let draft = self.hostile(&name, &mut random);
                self.ask(&name, draft)
            }
            30..40 if self.has(RunPart::Replays) => {
                let Some(Some(user)) = self.users.get(place) else { return Ok(()) };
                let kept = user.sent.iter().chain(&self.administrator_sent).cloned().collect::<Vec<_>>();
                match random.pick(&kept) {
                    Some(request) => self.send_request(request.clone()),
                    None => Ok(()),
                }
            }
            // Where it is left out, a run is one of before there were orders.
            40..50 if self.has(RunPart::Orders) => {
                let draft = self.order(&mut random);
                self.ask(&name, draft)
            }
            40..55 => self.ask(&name, Draft::without_change("info".to_owned())),
            55.. => {
                let rate = plain_rate(&mut random);
                let change = MoneyChange::Spending(name.clone(), rate);
                self.ask(&name, Draft::new(format!("setSpending={rate}&queue={name}"), change))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn run_administrator(&mut self) -> Result<(), Violation> {
        let Some(interval_ms) = self.plan.bidding_interval_ms() else { return Ok(()) };
        let pause_ms = self.administrator.between(1, interval_ms * 4);
        let mut random = Random::stream(self.administrator.number(), 0);
        self.schedule_in(pause_ms, SimEvent::Administrator);
        if !self.may_act() || !self.has(RunPart::Administrator) {
            return Ok(());
        }
        let Some(queue) = random.pick(&self.plan.users).map(|user| user.name.clone()) else { return Ok(()) };
        let draft = match random.below(12) {
            0..5 => {
                let units = i128::from(random.below(400_000)) * 125_000_000_000 - 5_000_000_000_000;
                let amount = Credits::from_units(if random.one_in(3) { units / 7 } else { units });
                Draft::new(format!("addBudget={amount}&queue={queue}"), MoneyChange::Budget(queue, amount))
            }
            5 => Draft::new(format!("addBudget=-0.000000000001&queue={queue}"), {
                MoneyChange::Budget(queue, Credits::from_units(-1))
            }),
            6 | 7 if self.has(RunPart::QueueChanges) => {
                Draft::new(format!("addQueue={queue}"), MoneyChange::Open(queue))
            }
            8 if self.has(RunPart::QueueChanges) => {
                Draft::new(format!("removeQueue={queue}"), MoneyChange::Close(queue))
            }
            9 => {
                let rate = plain_rate(&mut random);
                Draft::new(format!("setSpending={rate}&queue={queue}"), MoneyChange::Spending(queue, rate))
            }
            10 if self.has(RunPart::HostileBids) => bad_names(&mut random),
            _ => Draft::without_change("infos".to_owned()),
        };
        self.ask(ADMINISTRATOR, draft)
    }

    pub(super) fn until_tick_ms(&self, interval_ms: u64) -> u64 {
        let next_mono_ms = self.checker.next_tick_mono_ms().unwrap_or(0);
        next_mono_ms.saturating_sub(self.daemon_now().mono_ms).min(interval_ms)
    }

    /// An order for a recent job, of whomever it is, or the end of one.
    fn order(&self, random: &mut Random) -> Draft {
        let Some(job) = random.pick(&self.recent_jobs).copied() else {
            return Draft::without_change("info".to_owned());
        };
        if random.one_in(5) {
            return Draft::new(format!("unbid={job}"), MoneyChange::Unorder(job));
        }
        let deadline_ms = self.now.wall_ms.saturating_add_unsigned(random.below(300_000));
        let max_rate = plain_rate(random);
        let max_cost = if random.one_in(2) { format!("&maxCost={}", random.below(200)) } else { String::new() };
        Draft::new(format!("bid={job}&deadline={deadline_ms}&maxRate={max_rate}{max_cost}"), MoneyChange::Order(job))
    }

    fn hostile(&self, user: &str, random: &mut Random) -> Draft {
        let other = random.pick(&self.plan.users).map_or(user, |other| other.name.as_str());
        let foreign = if other == user { "nobody" } else { other };
        let bad = random.pick(&BAD_AMOUNTS).copied().unwrap_or_default();
        let own = |rate: &str| format!("setSpending={rate}&queue={user}");
        let now_ms = self.now.wall_ms;
        let mut draft = Draft::without_change(match random.below(12) {
            0 | 1 => own(bad),
            2 => own("-1"),
            3 => format!("setSpending=1&queue={foreign}"),
            4 => format!("addBudget=1000&queue={user}"),
            5 => format!("addBudget={bad}&queue={user}"),
            6 => format!("removeQueue={other}"),
            7 => format!("setSpending=1&setSpending=2&queue={user}"),
            8 => format!("setSpending=1&addBudget=5&queue={user}"),
            9 => format!("info={foreign}"),
            10 => format!("addQueue={}", "q".repeat(300)),
            _ => "price".to_owned(),
        });
        let stamps = [
            (now_ms + 10_000_000_000).to_string(),
            (now_ms - 10_000_000_000).to_string(),
            "NaN".to_owned(),
            "-1".to_owned(),
            "9223372036854775808".to_owned(),
        ];
        if random.one_in(4) {
            draft = Draft::without_change(own("1"));
            draft.is_forged = random.one_in(2);
            draft.timestamp = if draft.is_forged { None } else { random.pick(&stamps).cloned() };
        }
        draft
    }

    pub(super) fn ask(&mut self, user: &str, draft: Draft) -> Result<(), Violation> {
        let timestamp = draft.timestamp.unwrap_or_else(|| self.now.wall_ms.to_string());
        let query = format!("{}&user={user}&timestamp={timestamp}", draft.operation);
        let Some(entry) = self.acl.get(user) else { return Ok(()) };
        let header = match draft.is_forged {
            true => signature::sign(&query, &crate::market::Key::new("guessed")),
            false => signature::sign(&query, &entry.key),
        };
        let is_administrator = user == ADMINISTRATOR;
        let intent = Intent::Request { user: user.to_owned(), is_administrator, change: draft.change };
        let request = SentRequest { query, header, intent };
        let kept = match self.users.iter_mut().flatten().find(|known| known.name == user) {
            Some(user) => &mut user.sent,
            None => &mut self.administrator_sent,
        };
        if kept.len() >= KEPT_REQUESTS {
            kept.remove(0);
        }
        kept.push(request.clone());
        self.send_request(request)
    }

    fn send_request(&mut self, request: SentRequest) -> Result<(), Violation> {
        let SentRequest { query, header, intent } = request;
        if self.daemon.is_down() {
            return Ok(());
        }
        let Ok(parsed) = ParsedQuery::parse(&query) else { return Ok(()) };
        let verified = signature::verify(&self.acl, parsed.user.as_deref(), &parsed.raw, Some(&header)).ok();
        self.step(Event::Market(Box::new(ServletRequest { verified, query: parsed })), &intent).map(drop)
    }
}

fn bad_names(random: &mut Random) -> Draft {
    let long = "q".repeat(256);
    let names = ["", "a%20b", "a%0Ab%201%201", "a,b", "a%26b", "%00", "%FF", "a/b", &long];
    Draft::without_change(format!("addQueue={}", random.pick(&names).copied().unwrap_or_default()))
}

const REFUSED: [&str; 9] = [
    "allowance=0&every=5",
    "allowance=-1&every=5",
    "allowance=1",
    "allowance=1&every=0",
    "allowance=1&every=1.5",
    "allowance=1&every=99999999999999999999",
    "allowance=1&every=5&cap=-0.1",
    "allowance=0.0000000000001&every=5",
    "allowance=some&every=5",
];

impl World<'_> {
    pub(super) fn run_treasurer(&mut self) -> Result<(), Violation> {
        let Some(interval_ms) = self.plan.bidding_interval_ms() else { return Ok(()) };
        let mut random = Random::stream(self.treasurer.number(), 0);
        self.schedule_in(random.between(1, interval_ms * 8), SimEvent::Treasurer);
        if !self.may_act() || !self.has(RunPart::Treasurer) {
            return Ok(());
        }
        let pick = |random: &mut Random| random.pick(&self.plan.users).map(|user| user.name.clone());
        let (Some(queue), Some(other)) = (pick(&mut random), pick(&mut random)) else { return Ok(()) };
        let draft = match random.below(12) {
            0..5 => {
                let units = i128::from(random.between(1, 80_000)) * 125_000_000_000;
                let credits = Credits::from_units(if random.one_in(3) { (units / 7).max(1) } else { units });
                let every_s = if random.one_in(3) { random.between(1, 5) } else { random.between(5, 120) };
                let cap =
                    random.one_in(2).then(|| Credits::from_units(i128::from(random.below(2_000)) * 10_i128.pow(12)));
                let in_query = cap.map(|cap| format!("&cap={cap}")).unwrap_or_default();
                let operation = format!("allowance={credits}&queue={queue}&every={every_s}{in_query}");
                Draft::new(operation, MoneyChange::Allowance(queue, Some(AllowanceTerms { credits, every_s, cap })))
            }
            5 | 6 => Draft::new(format!("allowance=none&queue={queue}"), MoneyChange::Allowance(queue, None)),
            7 => {
                let refused = random.pick(&REFUSED).copied().unwrap_or_default();
                Draft::without_change(format!("{refused}&queue={queue}"))
            }
            8 => Draft::without_change(format!("transfer=1&from={queue}&to={queue}")),
            _ => {
                let units = i128::from(random.between(1, 400_000)) * 125_000_000_000;
                let amount = Credits::from_units(if random.one_in(3) { (units / 7).max(1) } else { units });
                let operation = format!("transfer={amount}&from={queue}&to={other}&note=lent");
                Draft::new(operation, MoneyChange::Transfer(queue, other, amount))
            }
        };
        self.ask(ADMINISTRATOR, draft)
    }
}
