//! The whole market: a fixture and the requests to it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod allowances;
mod apply_budget_file;
mod containers;
mod laws;
mod requests;
mod submissions;
mod suspension;
mod ticks;

use std::collections::BTreeMap;

use crate::model::{Credits, JobId, Now, PerKind, PerPool, Pool, QueueName};

use super::requests::signature::{sign, verify};
use super::*;

const START: i64 = 1_700_000_000_000;
const ACL: &str = "alice user alicekey-abc\nbob user bobkey\nroot admin rootkey\nmallory user mallorykey\n";

fn credits(text: &str) -> Credits {
    Credits::parse_exact(text).unwrap()
}

fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

/// The use of a queue: running maps and reduces with waiting tasks; slots of containers held, and how many are wanted. A
/// queue with any of these could use all slots.
pub(in crate::market) fn in_use(
    queue: &str,
    (map, reduce, pending): (u32, u32, u64),
    (held, wanted): (u32, u64),
) -> QueueUse {
    let containers = ContainerUse { held, wanted };
    let is_idle = (map, reduce, pending) == (0, 0, 0) && !containers.has_any();
    let want = if is_idle { PerPool::default() } else { QueueUse::wants_all(&containers) };
    QueueUse {
        queue: name(queue),
        running: PerKind::new(map, reduce),
        pending,
        containers,
        want,
        later: PerKind::default(),
    }
}

const INTERVAL_MS: u64 = 1_000;

fn holder_of(queue: &QueueName) -> SlotHolder {
    let number =
        queue.as_str().bytes().fold(1_i32, |number, byte| (number.wrapping_mul(31) + i32::from(byte)) & 0x7fff_ffff);
    SlotHolder::Job(JobId { identifier: "1".parse().unwrap(), number })
}

/// The queues hold this since the last tick, and nothing else; returns the fact of it.
pub(in crate::market) fn hold_since_tick(market: &mut Market, usage: &[QueueUse], now: Now) -> Option<MarketFact> {
    if !market.meter().has_started() {
        assert!(market.start_meter(Vec::new(), INTERVAL_MS, now).is_none());
    }
    let mut by: BTreeMap<SlotHolder, PerPool<i64>> = BTreeMap::new();
    for (holder, held) in market.meter().held() {
        let slots = |pool| -i64::from(held[pool]);
        by.insert(holder, PerPool::new(slots(Pool::Map), slots(Pool::Reduce), slots(Pool::Container)));
    }
    let mut queues = BTreeMap::new();
    for QueueUse { queue, running, containers, .. } in usage {
        let holder = holder_of(queue);
        if queues.insert(holder, queue.clone()).is_none() {
            let sum = by.entry(holder).or_default();
            sum.map += i64::from(running.map);
            sum.reduce += i64::from(running.reduce);
            sum.container += i64::from(containers.held);
        }
    }
    let changes: Vec<_> = by.into_iter().collect();
    // Before any time of the interval has passed.
    market.hold(&changes, &[], &[], 0, |holder| Some((queues.get(&holder)?.clone(), 1)))
}

/// A market, its ACL and a clock that moves by one millisecond with each request.
struct Stage {
    market: Market,
    acl: Acl,
    now: Now,
    facts: Vec<MarketFact>,
    busy: Vec<QueueName>,
    tick_mono_ms: u64,
}

impl Stage {
    fn new(budget_file: &str) -> Stage {
        let mut market = Market::new(MarketConfig::default(), START);
        let now = Now { mono_ms: 1, wall_ms: START + 1 };
        let facts = market.seed_budgets(budget_file::parse(budget_file, "budget").unwrap(), now);
        Stage { market, acl: Acl::parse(ACL, "acl").unwrap(), now, facts, busy: Vec::new(), tick_mono_ms: 1 }
    }

    fn step_clock(&mut self, ms: i64) {
        self.now.wall_ms += ms;
    }

    /// Sends a raw query with a signature as the web server would receive it.
    fn send(&mut self, query: &str, signature: Option<&str>) -> HandledRequest {
        let parsed = ParsedQuery::parse(query).unwrap();
        let verified = verify(&self.acl, parsed.user.as_deref(), query, signature).ok();
        let busy = self.busy.clone();
        let handled = self
            .market
            .handle_request(ServletRequest { verified, query: parsed }, self.now, |queue| busy.contains(queue));
        self.facts.extend(handled.facts.iter().cloned());
        handled
    }

    /// Asks for an operation with the user's signature, a millisecond after the last.
    fn handled(&mut self, user: &str, operation: &str) -> HandledRequest {
        self.step_clock(1);
        let query = format!("{operation}&user={user}&timestamp={}", self.now.wall_ms);
        let signature = self.acl.get(user).map(|entry| sign(&query, &entry.key));
        self.send(&query, signature.as_deref())
    }

    fn ask(&mut self, user: &str, operation: &str) -> Result<Answer, MarketError> {
        self.handled(user, operation).answer
    }

    /// Asks for one queue's information and cuts the frame away.
    fn info(&mut self, user: &str, operation: &str) -> QueueInfo {
        match self.ask(user, operation) {
            Ok(Answer::Queue(info)) => info,
            other => panic!("{operation} of {user} got {other:?}"),
        }
    }

    /// A tick with the given use: queue, running maps, running reduces, pending.
    fn tick(&mut self, slots: (u32, u32), usage: &[(&str, u32, u32, u64)]) -> Tick {
        let without = |&(queue, map, reduce, pending): &_| in_use(queue, (map, reduce, pending), (0, 0));
        self.tick_of(PerPool::new(slots.0, slots.1, 0), &usage.iter().map(without).collect::<Vec<_>>())
    }

    /// A tick with use of all pools, which has lasted for the whole interval.
    fn tick_of(&mut self, slots: PerPool<u32>, usage: &[QueueUse]) -> Tick {
        let at = |mono_ms| Now { mono_ms, wall_ms: self.now.wall_ms };
        self.facts.extend(hold_since_tick(&mut self.market, usage, at(self.tick_mono_ms)));
        self.step_clock(1000);
        self.tick_mono_ms += INTERVAL_MS;
        let now = Now { mono_ms: self.tick_mono_ms, wall_ms: self.now.wall_ms };
        let outcome = self.market.tick(usage, slots, INTERVAL_MS, now);
        self.facts.push(outcome.clone().into_fact());
        outcome
    }

    fn balance(&self, queue: &str) -> Credits {
        self.market.account(queue).unwrap().balance()
    }
}
