//! The owner of the engine: hands events to it, facts to the store, replies and effects out once they may go.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::engine::{ClusterSnapshot, Effect, Engine, Event, LogLevel, Read, Reply};
use crate::ipc::{Answer, Ticket};
use crate::log::{LogRate, Verdict};
use crate::market::BudgetLine;
use crate::model::{FactNumber, Now};
use crate::store::{Durable, FactSender, Health, Pressure};

use super::held::HeldQueue;
use super::held_room::{HeldPlaces, HeldRoom};

/// Items released in one go before others get their turn.
const RELEASED_AT_ONCE: usize = 64;
/// How often the timer looks whether the store has caught up.
const PRESSED_PAUSE: Duration = Duration::from_millis(500);

/// The engine and what surrounds it. Lives on one thread; nothing here is borrowed while something is awaited.
pub struct Owner {
    engine: RefCell<Engine>,
    sink: FactSender,
    store: watch::Receiver<Durable>,
    durable: Cell<FactNumber>,
    held: RefCell<HeldQueue<Held>>,
    held_room: HeldRoom,
    clock: Clock,
    /// For when the timer sleeps at present, ms of the monotonic clock.
    timer_ms: Cell<u64>,
    timer_moved: Notify,
    effects: mpsc::UnboundedSender<Effect>,
    log_rate: LogRate,
}

/// What waits for a fact.
enum Held {
    /// To what has changed something, or a heartbeat: there is only the one answer, and not much of it.
    Answer(Ticket, Answer),
    /// To a question, as it travels, and the room it takes.
    Read(Ticket, Vec<u8>, HeldPlaces),
    /// To be asked anew: there was no room for the answer.
    Question(Ticket, Box<dyn FnOnce(Ticket)>),
    Effects(Vec<Effect>),
    Waiter(oneshot::Sender<()>),
}

/// Stands for a step that has begun. State that a panic has left half changed must decide nothing more: what is durable
/// is whole, so the process ends and a restart goes on from there.
struct WholeStep;

impl Drop for WholeStep {
    fn drop(&mut self) {
        tracing::error!(
            "a bug has cut a step of the engine short; the process ends, a restart goes on from what is durable"
        );
        std::process::abort();
    }
}

/// The store's thread is gone: nothing more will become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state store has ended; what waits for it cannot be answered")]
pub struct StoreGone;

// === impl Owner ===

impl Owner {
    /// An owner whose facts go into `sink`. The effects come out of the receiver, each when it may be performed; there
    /// are never more of them than jobs and hosts.
    /// Answers that wait for the store may take `held_bytes`.
    pub fn new(
        engine: Engine,
        sink: FactSender,
        clock: Clock,
        held_bytes: usize,
    ) -> (Rc<Self>, mpsc::UnboundedReceiver<Effect>) {
        let (effects, performed) = mpsc::unbounded_channel();
        let store = sink.durable();
        let durable = store.borrow().number;
        let owner = Self {
            engine: RefCell::new(engine),
            sink,
            store,
            durable: Cell::new(durable),
            held: RefCell::default(),
            held_room: HeldRoom::new(held_bytes),
            clock,
            timer_ms: Cell::new(u64::MAX),
            timer_moved: Notify::new(),
            effects,
            log_rate: LogRate::default(),
        };
        (Rc::new(owner), performed)
    }

    /// Hands an event to the engine. The reply may be shown to nobody before the fact that comes with it is durable.
    pub fn step(&self, event: Event) -> (Reply, FactNumber) {
        self.step_of(None, event)
    }

    /// As [`Self::step`], for one who calls from that address: of the lines of the log that it causes there is a limit.
    pub fn step_from(&self, caller: IpAddr, event: Event) -> (Reply, FactNumber) {
        self.step_of(Some(caller), event)
    }

    fn step_of(&self, caller: Option<IpAddr>, event: Event) -> (Reply, FactNumber) {
        let (step, next_timer_ms) = {
            let mut engine = self.engine.borrow_mut();
            let whole = WholeStep;
            let step = engine.step(event, self.clock.now());
            std::mem::forget(whole);
            (step, engine.next_timer_ms())
        };
        if !step.facts.is_empty() {
            self.sink.append(step.first_fact, step.facts);
        }
        if !step.effects.is_empty() {
            let effects = match caller {
                Some(caller) => self.within_log_rate(caller, step.effects),
                None => step.effects,
            };
            self.hold(step.effects_wait_for, Held::Effects(effects));
        }
        // A timer that moved away may ring early; it finds nothing due and sleeps on.
        if next_timer_ms.is_some_and(|next_ms| next_ms < self.timer_ms.get()) {
            self.timer_moved.notify_one();
        }
        (step.reply, step.wait_for)
    }

    /// Reads from the engine.
    pub fn read<T>(&self, read: impl FnOnce(&Engine) -> Read<T>) -> Read<T> {
        read(&self.engine.borrow())
    }

    /// Asks the engine something that it changes nothing by. What it tells of facts must wait as [`Self::read`] says.
    pub fn with_engine<T>(&self, ask: impl FnOnce(&Engine) -> T) -> T {
        ask(&self.engine.borrow())
    }

    /// What the pages show.
    pub fn overview(&self, now: Now) -> Read<ClusterSnapshot> {
        self.engine.borrow().build_snapshot(now)
    }

    /// The accounts and the last tick they have seen, for the budget file; none without a market.
    pub fn budgets(&self) -> Option<(Vec<BudgetLine>, u64)> {
        self.engine.borrow().market().map(|market| (market.budget_lines(), market.tick_number()))
    }

    /// The last durable fact that is known of here.
    pub fn durable(&self) -> FactNumber {
        self.durable.get()
    }

    /// The last fact of all.
    pub fn last_fact(&self) -> FactNumber {
        self.engine.borrow().last_fact()
    }

    /// The clock of all events.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Answers as soon as `number` is durable.
    pub fn answer(&self, ticket: Ticket, answer: Answer, number: FactNumber) {
        if number <= self.durable.get() {
            ticket.answer(&answer);
        } else {
            self.hold(number, Held::Answer(ticket, answer));
        }
    }

    /// Answers with what was read as soon as `number` is durable. Where too much waits for the store already, the answer
    /// is given up and `ask_again` has the ticket then.
    pub fn show(&self, ticket: Ticket, answer: &Answer, number: FactNumber, ask_again: impl FnOnce(Ticket) + 'static) {
        if number <= self.durable.get() {
            return ticket.answer(answer);
        }
        let mut response = Vec::new();
        ticket.encode(answer, &mut response);
        let held = match self.held_room.try_take(response.len()) {
            Some(places) => Held::Read(ticket, response, places),
            None => Held::Question(ticket, Box::new(ask_again)),
        };
        self.hold(number, held);
    }

    /// The room for answers that wait for the store.
    pub fn held_room(&self) -> &HeldRoom {
        &self.held_room
    }

    /// Completes when `number` is durable.
    pub async fn wait_durable(&self, number: FactNumber) -> Result<(), StoreGone> {
        if number <= self.durable.get() {
            return Ok(());
        }
        let (waiter, released) = oneshot::channel();
        self.hold(number, Held::Waiter(waiter));
        released.await.map_err(|_| StoreGone)
    }

    /// How the store fares.
    pub fn store_health(&self) -> Health {
        self.store.borrow().health.clone()
    }

    /// Whether so many facts wait for the store that no new work should be taken in.
    pub fn is_pressed(&self) -> bool {
        self.sink.pressure() != Pressure::Normal
    }

    /// Follows the store and releases what waits for it, in order. Ends only with the store.
    pub async fn release(&self) -> StoreGone {
        let mut store = self.sink.durable();
        loop {
            let durable = store.borrow_and_update().number;
            self.durable.set(durable);
            for count in 1_usize.. {
                let released = self.held.borrow_mut().release(durable);
                match released {
                    Some(held) => self.let_go(held),
                    None => break,
                }
                if count.is_multiple_of(RELEASED_AT_ONCE) {
                    tokio::task::yield_now().await;
                }
            }
            if store.changed().await.is_err() {
                return StoreGone;
            }
        }
    }

    /// Rings at once, for what the start has left to do, and then when the engine asks to be rung. Never ends.
    pub async fn ring(&self) {
        self.step(Event::Timer { durable: self.durable.get() });
        loop {
            let next_ms = self.engine.borrow().next_timer_ms();
            let is_due = next_ms.is_some_and(|next_ms| next_ms <= self.clock.mono_ms());
            if is_due && self.is_pressed() {
                // A disk that is full for a night must not fill the memory with ticks; a late tick is one tick.
                tokio::time::sleep(PRESSED_PAUSE).await;
                continue;
            }
            if is_due {
                self.step(Event::Timer { durable: self.durable.get() });
                // Others get their turn even if the engine asks to be rung at once.
                tokio::task::yield_now().await;
                continue;
            }
            self.timer_ms.set(next_ms.unwrap_or(u64::MAX));
            match next_ms {
                None => self.timer_moved.notified().await,
                Some(next_ms) => tokio::select! {
                    () = tokio::time::sleep_until(self.clock.instant(next_ms)) => {}
                    () = self.timer_moved.notified() => {}
                },
            }
        }
    }

    /// Everything that still waits for the store.
    pub fn held(&self) -> usize {
        self.held.borrow().len()
    }

    /// Leaves out lines of the log that a caller may not cause any more.
    fn within_log_rate(&self, caller: IpAddr, effects: Vec<Effect>) -> Vec<Effect> {
        let mut kept = Vec::with_capacity(effects.len());
        for effect in effects {
            if let Effect::Log { .. } = effect {
                match self.log_rate.judge(caller, self.clock.mono_ms()) {
                    Verdict::Suppress => continue,
                    Verdict::Write { suppressed: 0 } => {}
                    Verdict::Write { suppressed } => {
                        let text = format!("{suppressed} more lines that {caller} caused were suppressed");
                        kept.push(Effect::Log { level: LogLevel::Warning, text });
                    }
                }
            }
            kept.push(effect);
        }
        kept
    }

    fn hold(&self, number: FactNumber, held: Held) {
        if number <= self.durable.get() {
            self.let_go(held);
        } else {
            self.held.borrow_mut().hold(number, held);
        }
    }

    fn let_go(&self, held: Held) {
        match held {
            Held::Answer(ticket, answer) => ticket.answer(&answer),
            Held::Read(ticket, response, _places) => ticket.answer_encoded(response),
            Held::Question(ticket, ask_again) => ask_again(ticket),
            // Receivers that are gone belong to a daemon that is about to end, or to a caller who left.
            Held::Effects(effects) => effects.into_iter().for_each(|effect| drop(self.effects.send(effect))),
            Held::Waiter(waiter) => drop(waiter.send(())),
        }
    }
}
