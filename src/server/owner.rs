//! Owns the engine: passes events to it, facts to the store, and releases replies and effects once their facts are
//! durable.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::engine::{Effect, Engine, Event, LogLevel, Read, Reply, Step};
use crate::ipc::{CallAnswer, PendingCall};
use crate::log::{LogDecision, LogRate};
use crate::market::BudgetLine;
use crate::model::{FactNumber, JobId};
use crate::store::{Durable, FactSender, FaultPoint, FoundTopUps, Health, Pressure};
use crate::views::ViewsFeed;

use super::durability_queue::{AnswerMemory, DurabilityQueue, MemoryReservation};
use super::quarantine::{Quarantine, panic_if_chosen};

/// Items released before yielding.
const RELEASED_AT_ONCE: usize = 64;
/// Interval of the timer's checks while the store is overloaded.
const OVERLOAD_PAUSE: Duration = Duration::from_millis(500);

/// The engine and its surroundings. Lives on one thread; no borrow lasts across an await.
pub struct Owner {
    engine: RefCell<Engine>,
    sink: FactSender,
    store: watch::Receiver<Durable>,
    durable: Cell<FactNumber>,
    held: RefCell<DurabilityQueue<DelayedAnswer>>,
    answer_memory: AnswerMemory,
    clock: Clock,
    /// When the timer fires, ms of the monotonic clock.
    timer_ms: Cell<u64>,
    timer_moved: Notify,
    effects: mpsc::UnboundedSender<Effect>,
    log_rate: LogRate,
    quarantine: OnceCell<Rc<Quarantine>>,
    views: OnceCell<ViewsFeed>,
}

/// What waits for a fact.
enum DelayedAnswer {
    /// The short answer to a change or a heartbeat.
    Answer(PendingCall, CallAnswer),
    /// The encoded answer to a query, with its memory.
    Read(PendingCall, Vec<u8>, MemoryReservation),
    /// A query to repeat: there was no memory for the answer.
    Retry(PendingCall, Box<dyn FnOnce(PendingCall)>),
    Effects(Vec<Effect>),
    Waiter(oneshot::Sender<()>),
}

/// The store's thread has ended: no further fact becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state store has stopped: calls that wait for it cannot be answered")]
pub struct StoreGone;

/// Why the store cannot write.
pub(super) fn complaint_of(health: &Health) -> Option<String> {
    match health {
        Health::Good => None,
        Health::Failing { text, .. } => Some(format!("the state store cannot write: {text}")),
        Health::Broken { text } => Some(format!("the state store is broken: {text}")),
    }
}

impl Owner {
    /// An owner whose facts go into `sink`. The receiver yields each effect once it may be performed; they
    /// are bounded by the number of jobs and hosts.
    /// `held_bytes`: memory for answers that wait for the store.
    pub(crate) fn new(
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
            answer_memory: AnswerMemory::new(held_bytes),
            clock,
            timer_ms: Cell::new(u64::MAX),
            timer_moved: Notify::new(),
            effects,
            log_rate: LogRate::default(),
            quarantine: OnceCell::new(),
            views: OnceCell::new(),
        };
        (Rc::new(owner), performed)
    }

    /// Passes an event to the engine. The reply must not be sent before the fact returned with it is durable.
    pub(crate) fn step(&self, event: Event) -> (Reply, FactNumber) {
        self.step_of(None, event)
    }

    /// As [`Self::step`] for a caller's event; the log lines that the address causes are limited.
    pub(crate) fn step_from(&self, caller: IpAddr, event: Event) -> (Reply, FactNumber) {
        self.step_of(Some(caller), event)
    }

    fn step_of(&self, caller: Option<IpAddr>, event: Event) -> (Reply, FactNumber) {
        if let Some(refusal) = self.quarantine.get().and_then(|quarantine| quarantine.refusal(&event)) {
            return (refusal, FactNumber::default());
        }
        let (step, next_timer_ms) = self.step_engine(event);
        if !step.facts.is_empty() {
            self.sink.append(step.first_fact, step.facts);
        }
        if !step.effects.is_empty() {
            let effects = match caller {
                Some(caller) => self.within_log_rate(caller, step.effects),
                None => step.effects,
            };
            self.hold(step.effects_wait_for, DelayedAnswer::Effects(effects));
        }
        // A timer that moved away may fire early; nothing is due then.
        if next_timer_ms.is_some_and(|next_ms| next_ms < self.timer_ms.get()) {
            self.timer_moved.notify_one();
        }
        (step.reply, step.wait_for)
    }

    /// Steps the engine. After a panic its state may be inconsistent and must not decide anything: the durable state is
    /// consistent, so the process aborts, and a restart continues from there.
    fn step_engine(&self, event: Event) -> (Step, Option<u64>) {
        let quarantine = self.quarantine.get();
        if let Some(quarantine) = quarantine {
            quarantine.begin_step(&event);
        }
        let mut engine = self.engine.borrow_mut();
        let now = self.clock.now();
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            if let Some(quarantine) = quarantine {
                panic_if_chosen(quarantine);
            }
            engine.step(event, now)
        }));
        match stepped {
            Ok(step) => (step, engine.next_timer_ms()),
            Err(panic) => {
                // The panic hook has logged the place.
                let noted = quarantine.map(|quarantine| quarantine.record_panic(panic_text(&*panic)));
                tracing::error!(
                    "a bug interrupted a step of the engine: {}; aborting, a restart continues from the durable state",
                    noted.unwrap_or_default()
                );
                std::process::abort();
            }
        }
    }

    /// Refuses the senders of `quarantine`. It is set once, before the first call.
    pub(crate) fn set_quarantine(&self, quarantine: Rc<Quarantine>) {
        // A second one has the same content: there is one state folder.
        let _ = self.quarantine.set(quarantine);
    }

    /// Keeps the bytes of the heartbeat that is being handled, for the note about a panic; empty: it is handled.
    pub(super) fn keep_frame(&self, frame: &[u8]) {
        if let Some(quarantine) = self.quarantine.get() {
            quarantine.keep_frame(frame);
        }
    }

    /// Queries the engine without changing it. Results that show facts must wait until these are durable.
    pub fn with_engine<T>(&self, ask: impl FnOnce(&Engine) -> T) -> T {
        ask(&self.engine.borrow())
    }

    /// The views that this owner speaks to. They are set once, before the first call.
    pub(crate) fn set_views(&self, views: ViewsFeed) {
        // Each session has its own owner and views.
        let _ = self.views.set(views);
    }

    /// Nothing will be written any more for the user of a job that has ended: everybody may see its end.
    pub(super) fn report_end(&self, job: JobId) {
        self.step(Event::UserCopySettled { id: job });
        if let Some(views) = self.views.get() {
            views.report_end(job);
        }
    }

    /// The accounts and the number of the last tick, for the budget file; `None` without a market.
    pub(crate) fn budgets(&self) -> Option<(Vec<BudgetLine>, u64)> {
        self.engine.borrow().market().map(|market| (market.budget_lines(), market.tick_number()))
    }

    /// The last durable fact that this thread has processed.
    pub(crate) fn durable(&self) -> FactNumber {
        self.durable.get()
    }

    pub(crate) fn last_fact(&self) -> FactNumber {
        self.engine.borrow().last_fact()
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Answers as soon as `number` is durable.
    pub(crate) fn answer(&self, pending: PendingCall, answer: CallAnswer, number: FactNumber) {
        if number <= self.durable.get() {
            pending.answer(&answer);
        } else {
            self.hold(number, DelayedAnswer::Answer(pending, answer));
        }
    }

    /// Answers with what was read as soon as `number` is durable. If the memory for waiting answers is used up, the
    /// answer is dropped and `retry` is called then.
    pub(crate) fn show(
        &self,
        pending: PendingCall,
        answer: &CallAnswer,
        number: FactNumber,
        retry: impl FnOnce(PendingCall) + 'static,
    ) {
        if number <= self.durable.get() {
            return pending.answer(answer);
        }
        let mut response = Vec::new();
        pending.encode(answer, &mut response);
        let held = match self.answer_memory.try_reserve(response.len()) {
            Some(reservation) => DelayedAnswer::Read(pending, response, reservation),
            None => DelayedAnswer::Retry(pending, Box::new(retry)),
        };
        self.hold(number, held);
    }

    /// The memory for answers that wait for the store.
    pub fn answer_memory(&self) -> &AnswerMemory {
        &self.answer_memory
    }

    /// Memory for an answer that cannot be asked for again; none: nothing may be done now that needs one.
    pub(super) fn reserve_answer(&self, bytes: usize) -> Option<MemoryReservation> {
        self.answer_memory.try_reserve(bytes).filter(|_| !self.is_overloaded())
    }

    /// Completes when `number` is durable.
    pub(crate) async fn wait_durable(&self, number: FactNumber) -> Result<(), StoreGone> {
        if number <= self.durable.get() {
            return Ok(());
        }
        let (waiter, released) = oneshot::channel();
        self.hold(number, DelayedAnswer::Waiter(waiter));
        released.await.map_err(|_| StoreGone)
    }

    /// The value once what it shows is durable; none: that will not be.
    pub(super) async fn when_durable<T>(&self, read: Read<T>) -> Option<T> {
        let Read { value, wait_for } = read;
        self.wait_durable(wait_for).await.ok().map(|()| value)
    }

    pub(crate) fn store_health(&self) -> Health {
        self.store.borrow().health.clone()
    }

    /// Why nothing can become durable now; none: it can.
    pub(crate) fn store_complaint(&self) -> Option<String> {
        complaint_of(&self.store.borrow().health)
    }

    /// Completes when nothing can become durable, with the reason.
    pub(crate) async fn store_failure(&self) -> String {
        let mut store = self.store.clone();
        loop {
            let complaint = complaint_of(&store.borrow_and_update().health);
            match complaint {
                Some(why) => return why,
                None if store.changed().await.is_err() => return StoreGone.to_string(),
                None => {}
            }
        }
    }

    /// Whether too many facts wait for the store to accept new work.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.sink.pressure() != Pressure::Normal
    }

    /// Follows the store and releases what waits for it, in order. Completes only with the store.
    pub(crate) async fn release(&self) -> StoreGone {
        let mut store = self.sink.durable();
        loop {
            let durable = store.borrow_and_update().number;
            self.durable.set(durable);
            for count in 1_usize.. {
                let released = self.held.borrow_mut().release(durable);
                match released {
                    Some(held) => self.dispatch_released(held),
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

    /// Fires at once, for work left by the start, and then whenever the engine's timer is due. Never completes.
    pub(crate) async fn run_timer(&self) {
        self.step(Event::Timer { durable: self.durable.get() });
        loop {
            let next_ms = self.engine.borrow().next_timer_ms();
            let is_due = next_ms.is_some_and(|next_ms| next_ms <= self.clock.mono_ms());
            if is_due && self.is_overloaded() {
                // A disk that is full for a night must not fill the memory with ticks; a late tick is one tick.
                tokio::time::sleep(OVERLOAD_PAUSE).await;
                continue;
            }
            if is_due {
                self.step(Event::Timer { durable: self.durable.get() });
                // Yield even if the engine's timer is due at once.
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

    /// Number of items that wait for the store.
    pub fn held(&self) -> usize {
        self.held.borrow().len()
    }

    /// Removes log lines beyond the caller's limit.
    fn within_log_rate(&self, caller: IpAddr, effects: Vec<Effect>) -> Vec<Effect> {
        let mut kept = Vec::with_capacity(effects.len());
        for effect in effects {
            if let Effect::Log { .. } = effect {
                match self.log_rate.decide(caller, self.clock.mono_ms()) {
                    LogDecision::Suppress => continue,
                    LogDecision::Write { suppressed: 0 } => {}
                    LogDecision::Write { suppressed } => {
                        let text = format!("suppressed {suppressed} more lines caused by {caller}");
                        kept.push(Effect::Log { level: LogLevel::Warning, text });
                    }
                }
            }
            kept.push(effect);
        }
        kept
    }

    fn hold(&self, number: FactNumber, held: DelayedAnswer) {
        if number <= self.durable.get() {
            self.dispatch_released(held);
        } else {
            self.held.borrow_mut().hold(number, held);
        }
    }

    fn dispatch_released(&self, held: DelayedAnswer) {
        match held {
            DelayedAnswer::Answer(pending, answer) => pending.answer(&answer),
            DelayedAnswer::Read(pending, response, _reservation) => pending.answer_encoded(response),
            DelayedAnswer::Retry(pending, retry) => retry(pending),
            // A receiver may be gone: its daemon stops, or its caller has left.
            DelayedAnswer::Effects(effects) => effects.into_iter().for_each(|effect| drop(self.effects.send(effect))),
            DelayedAnswer::Waiter(waiter) => drop(waiter.send(())),
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

/// Ends with the publisher, or with the store.
pub(crate) async fn take_over_top_ups(owner: Rc<Owner>, mut found: UnboundedReceiver<FoundTopUps>) {
    while let Some(FoundTopUps { top_ups, answers }) = found.recv().await {
        let (reply, number) = owner.step(Event::TopUpsFound { top_ups });
        let Reply::TopUps(outcomes) = reply else { continue };
        if owner.wait_durable(number).await.is_err() {
            return;
        }
        FaultPoint::TopUpsTaken.pass();
        // A publisher that is closing finds them again, and the ledger knows them.
        let _: Result<(), _> = answers.send(outcomes);
    }
}
