//! Publishes budgets from its own thread, which retries the newest accounts until the back-end accepts them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc as mpsc_async;

use crate::api::BudgetImageStatus;
use crate::market::{BudgetLine, TopUp, TopUpAnswer};
use crate::model::FactNumber;
use crate::store::loaded_state::LoadedState;
use crate::store::state_store::Store;

use super::back_end::{BudgetAtStart, BudgetBackEnd, BudgetBackEndError, CallWatch, Interrupter, now};
use super::file::BudgetFile;
use super::file_back_end::{FileBackEnd, Precedence};
use super::outage::Outage;

/// The first pause before a failed publication is retried; doubles at each failure.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(200);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Time between two looks for top-ups.
const TOP_UP_PAUSE: Duration = Duration::from_secs(2);
const TOP_UP_RETRY_PAUSE_MAX: Duration = Duration::from_secs(10);
/// Time between two looks whether the owner has answered.
const ANSWER_PAUSE: Duration = Duration::from_millis(50);
/// After that a call without an answer is a trouble.
const MOST_SILENCE: Duration = Duration::from_secs(10);
/// Time between two looks whether a call is silent.
const SILENCE_PAUSE: Duration = Duration::from_secs(2);
/// How long a stop waits for a call of the back-end before it is interrupted.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// Publishes budgets from its own thread: to the budget file or another back-end. Dropping it writes what waits and
/// only logs errors: prefer [`BudgetPublisher::close`].
#[derive(Debug)]
pub struct BudgetPublisher {
    orders: mpsc::Sender<PublisherOrder>,
    shared: Arc<SharedPublisher>,
    thread: Option<PublisherThread>,
    found_top_ups: Option<mpsc_async::UnboundedReceiver<FoundTopUps>>,
}

struct PublisherThread {
    handle: JoinHandle<Result<(), BudgetBackEndError>>,
    /// Disconnected once the thread has ended.
    ended: Receiver<()>,
    interrupter: Option<Interrupter>,
}

/// Top-ups for the owner, who says what became of them.
#[derive(Debug)]
pub struct FoundTopUps {
    pub top_ups: Vec<TopUp>,
    pub answers: mpsc::Sender<Vec<TopUpAnswer>>,
}

#[derive(Debug)]
enum PublisherOrder {
    Publish {
        accounts: Vec<BudgetLine>,
        /// The tick that they are the balances after.
        tick: u64,
    },
    /// Publish what waits, and end.
    Close {
        /// The last fact of all, where the stop is a clean one.
        shown: Option<FactNumber>,
    },
}

#[derive(Debug, Default)]
struct SharedPublisher {
    place: String,
    is_file: bool,
    is_closing: Arc<AtomicBool>,
    /// A stop could not wait: no call follows.
    is_interrupted: AtomicBool,
    calls: CallWatch,
    progress: Mutex<PublisherProgress>,
}

#[derive(Debug, Default)]
struct PublisherProgress {
    trouble: Option<String>,
    top_up_trouble: Option<String>,
    /// The tick published last by this process.
    shown: Option<u64>,
    waiting: Option<WaitingTicks>,
    outage: Outage,
}

/// The ticks that are to be published, and since when one is.
#[derive(Clone, Copy, Debug)]
struct WaitingTicks {
    oldest: u64,
    newest: u64,
    since: Instant,
}

/// How far the image is behind the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetLag {
    pub ticks: u64,
    pub seconds: u64,
}

/// Shows other threads whether budgets are published.
#[derive(Clone, Debug)]
pub struct BudgetStatus(Arc<SharedPublisher>);

impl BudgetStatus {
    /// The error of the last try, while it is being retried; or that the first one brings no answer.
    pub fn last_error(&self) -> Option<String> {
        let progress = self.0.progress();
        let trouble = progress.trouble.as_ref().or(progress.top_up_trouble.as_ref()).cloned();
        drop(progress);
        trouble.or_else(|| self.0.silence().map(|(error, _)| error.to_string()))
    }

    /// Why a start would refuse the image now; a database may be out.
    pub(crate) fn hindrance(&self) -> Option<String> {
        self.0.is_file.then(|| self.last_error()).flatten()
    }

    pub fn place(&self) -> &str {
        &self.0.place
    }

    pub(crate) fn shown_tick(&self) -> Option<u64> {
        self.0.progress().shown
    }

    pub(crate) fn read(&self) -> BudgetImageStatus {
        let BudgetLag { ticks, seconds } = self.lag();
        BudgetImageStatus {
            place: self.place().to_owned(),
            tick: self.shown_tick(),
            lag_ticks: ticks,
            lag_s: seconds,
            error: self.last_error(),
        }
    }

    pub fn lag(&self) -> BudgetLag {
        let Some(WaitingTicks { oldest, newest, since }) = self.0.progress().waiting else {
            return BudgetLag::default();
        };
        let ticks = newest.saturating_sub(oldest).saturating_add(1);
        BudgetLag { ticks, seconds: now().saturating_duration_since(since).as_secs() }
    }
}

impl SharedPublisher {
    fn at(place: String) -> Self {
        Self { place, ..Self::default() }
    }

    fn progress(&self) -> MutexGuard<'_, PublisherProgress> {
        // No panic leaves it half changed.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, action: &'static str, reason: String) -> BudgetBackEndError {
        BudgetBackEndError::BackEnd { action, place: self.place.clone(), reason, is_permanent: false }
    }

    fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// A call that has brought no answer for long, as an error, and since when.
    fn silence(&self) -> Option<(BudgetBackEndError, Instant)> {
        let (action, silence) = self.calls.silence().filter(|(_, silence)| *silence >= MOST_SILENCE)?;
        let error = self.failed(action, format!("no answer since {} s", silence.as_secs()));
        Some((error, now().checked_sub(silence).unwrap_or_else(now)))
    }

    /// The calling thread cannot say that it waits.
    fn log_silence(&self) {
        if let Some((error, since)) = self.silence()
            && self.progress().outage.note_failure("no answer", since)
        {
            tracing::warn!("{error}; waiting");
        }
    }

    /// Logs a failure that will be retried, unless its cause is known from the log.
    fn log_failure(&self, error: &BudgetBackEndError) {
        let text = error.to_string();
        // What was tried does not matter.
        let cause = if let BudgetBackEndError::BackEnd { reason, .. } = error { reason } else { &text };
        if self.progress().outage.note_failure(cause, now()) {
            tracing::warn!("{text}; retrying");
        }
    }

    fn log_recovery(&self) {
        let mut progress = self.progress();
        let is_good = progress.trouble.is_none() && progress.top_up_trouble.is_none();
        let Some(outage) = is_good.then(|| progress.outage.end(now())).flatten() else { return };
        drop(progress);
        let tenths = outage.subsec_millis() / 100;
        tracing::info!("the budgets in {} can be updated again after {}.{tenths} s", self.place, outage.as_secs());
    }

    fn note_waiting(&self, tick: u64) {
        let mut progress = self.progress();
        progress.waiting = match progress.waiting {
            Some(waiting) => Some(WaitingTicks { newest: tick, ..waiting }),
            None => Some(WaitingTicks { oldest: tick, newest: tick, since: now() }),
        };
    }

    fn note_result(&self, tick: u64, trouble: Option<String>) {
        let mut progress = self.progress();
        if trouble.is_none() {
            progress.shown = progress.shown.max(Some(tick));
            progress.waiting = progress.waiting.filter(|waiting| waiting.newest > tick);
            if let Some(waiting) = &mut progress.waiting {
                (waiting.oldest, waiting.since) = (tick.saturating_add(1), now());
            }
        }
        progress.trouble = trouble;
    }
}

impl fmt::Debug for PublisherThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublisherThread").finish_non_exhaustive()
    }
}

impl BudgetPublisher {
    /// Compares the file with the recorded hashes and starts the thread that writes it.
    ///
    /// After [`BudgetAtStart::Initial`] and [`BudgetAtStart::Edited`] send the facts that apply it, all at once and as the first of this
    /// start, and publish once they are durable; in all other cases publish the accounts at once, so that the file shows the ledger again.
    ///
    /// # Errors
    /// At first start, or by [`Precedence::File`], a missing or invalid file; at any start a file that cannot be read.
    pub fn open(
        store: &Store,
        loaded: &LoadedState,
        path: &Path,
        precedence: Precedence,
    ) -> Result<(Self, BudgetAtStart), BudgetBackEndError> {
        let file = BudgetFile::at(path, store.folder());
        let shared = SharedPublisher::at(path.display().to_string());
        let shared = Arc::new(SharedPublisher { is_file: true, ..shared });
        let mut images =
            FileBackEnd::new(file, store.meta_writer(), loaded.budget_file.clone(), Arc::clone(&shared.is_closing));
        let found = match precedence {
            _ if loaded.first_start => BudgetAtStart::Initial(images.load()?),
            Precedence::File => images.take_over_file()?,
            Precedence::Ledger => images.check_at_start()?,
        };
        Self::start(images, shared, |_| Ok(found))
    }

    /// The same with another back-end. Its budgets are not read again after the first start, so there are no edits to take over.
    ///
    /// # Errors
    /// At first start those of [`BudgetBackEnd::load`], later those of [`BudgetBackEnd::resume`].
    pub fn with_back_end(
        back_end: impl BudgetBackEnd + 'static,
        loaded: &LoadedState,
    ) -> Result<(Self, BudgetAtStart), BudgetBackEndError> {
        let is_first = loaded.first_start;
        let shared = Arc::new(SharedPublisher::at(back_end.place()));
        Self::start(back_end, shared, move |back_end| match is_first {
            true => back_end.load().map(BudgetAtStart::Initial),
            false => back_end.resume().map(|()| BudgetAtStart::Unchanged),
        })
    }

    /// Begins and works on a thread of its own: callers may be in an async runtime, where a back-end could not block.
    fn start<B: BudgetBackEnd + 'static>(
        mut back_end: B,
        shared: Arc<SharedPublisher>,
        begin: impl FnOnce(&mut B) -> Result<BudgetAtStart, BudgetBackEndError> + Send + 'static,
    ) -> Result<(Self, BudgetAtStart), BudgetBackEndError> {
        let (orders, inbox) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let interrupter = back_end.interrupter();
        back_end.watch_calls(shared.calls.clone());
        let (alive, ended) = mpsc::channel();
        let (begun, at_start) = mpsc::channel();
        let (found, found_top_ups) = mpsc_async::unbounded_channel();
        let (is_working, watched) = mpsc::channel::<()>();
        if interrupter.is_some() {
            let watching = Arc::clone(&shared);
            let watch = move || {
                while watched.recv_timeout(SILENCE_PAUSE) == Err(RecvTimeoutError::Timeout) {
                    watching.log_silence();
                }
            };
            let thread = std::thread::Builder::new().name("budget-watch".to_owned()).spawn(watch);
            thread.map_err(BudgetBackEndError::Thread)?;
        }
        let thread = std::thread::Builder::new().name("budget-image".to_owned());
        let thread = thread.spawn(move || {
            let _alive = (alive, is_working);
            let at_start = begin(&mut back_end);
            let is_refused = at_start.is_err();
            if is_refused {
                drop(back_end);
                // The caller waits for it.
                let _ = begun.send(at_start);
                return Ok(());
            }
            let _ = begun.send(at_start);
            publish_all(&mut back_end, &inbox, &theirs, found)
        });
        let handle = thread.map_err(BudgetBackEndError::Thread)?;
        let at_start = at_start.recv().unwrap_or_else(|_| Err(panicked(&shared.place)))?;
        let thread = Some(PublisherThread { handle, ended, interrupter });
        Ok((Self { orders, shared, thread, found_top_ups: Some(found_top_ups) }, at_start))
    }

    /// Publishes all accounts after a tick, soon. Never waits; of several waiting calls the newest is published.
    pub fn publish(&self, accounts: Vec<BudgetLine>, tick: u64) {
        self.shared.note_waiting(tick);
        // A thread that ended has logged why.
        let _ = self.orders.send(PublisherOrder::Publish { accounts, tick });
    }

    /// The top-ups that others make, for the owner; once.
    pub fn found_top_ups(&mut self) -> Option<mpsc_async::UnboundedReceiver<FoundTopUps>> {
        self.found_top_ups.take()
    }

    pub fn watch(&self) -> BudgetStatus {
        BudgetStatus(Arc::clone(&self.shared))
    }

    /// Publishes what waits, records that the stop was clean and ends the thread. `shown` is the last fact of all,
    /// which the last publication shows. Call it before the store is closed.
    ///
    /// # Errors
    /// The last accounts could not be published; the ledger has them.
    pub fn close(mut self, shown: FactNumber) -> Result<(), BudgetBackEndError> {
        self.shut(Some(shown))
    }

    fn shut(&mut self, shown: Option<FactNumber>) -> Result<(), BudgetBackEndError> {
        let Some(PublisherThread { handle, ended, interrupter }) = self.thread.take() else { return Ok(()) };
        self.shared.is_closing.store(true, Ordering::Relaxed);
        let _ = self.orders.send(PublisherOrder::Close { shown });
        if let (Some(interrupt), Err(RecvTimeoutError::Timeout)) = (interrupter, ended.recv_timeout(STOP_PATIENCE)) {
            self.shared.is_interrupted.store(true, Ordering::Relaxed);
            interrupt();
        }
        handle.join().unwrap_or_else(|_| Err(panicked(&self.shared.place)))
    }
}

fn panicked(place: &str) -> BudgetBackEndError {
    BudgetBackEndError::Store { path: PathBuf::from(place), reason: "its thread has panicked".to_owned() }
}

impl Drop for BudgetPublisher {
    fn drop(&mut self) {
        if let Err(error) = self.shut(None) {
            tracing::error!("{error}");
        }
    }
}

struct PublisherWork<'a> {
    back_end: &'a mut dyn BudgetBackEnd,
    shared: &'a SharedPublisher,
    /// The newest accounts that are not published.
    waiting: Option<(Vec<BudgetLine>, u64)>,
    pause: Duration,
    retry_due: Instant,
    inbox: TopUpInbox,
}

/// What the thread knows of top-ups that others make.
struct TopUpInbox {
    found: mpsc_async::UnboundedSender<FoundTopUps>,
    /// The answers of the owner to those that were found last.
    answers: Option<Receiver<Vec<TopUpAnswer>>>,
    /// Answers that the back-end is still to get.
    unwritten: Vec<TopUpAnswer>,
    /// When to look again; none: there is no inbox.
    due: Option<Instant>,
    pause: Duration,
}

/// Works until [`PublisherOrder::Close`].
fn publish_all(
    back_end: &mut dyn BudgetBackEnd,
    orders: &Receiver<PublisherOrder>,
    shared: &SharedPublisher,
    found: mpsc_async::UnboundedSender<FoundTopUps>,
) -> Result<(), BudgetBackEndError> {
    let inbox = TopUpInbox { found, answers: None, unwritten: Vec::new(), due: Some(now()), pause: TOP_UP_PAUSE };
    let mut work = PublisherWork { back_end, shared, waiting: None, pause: RETRY_PAUSE_MIN, retry_due: now(), inbox };
    loop {
        let first = match work.next_due() {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => orders.recv_timeout(due.saturating_duration_since(now())),
        };
        let mut is_open = !matches!(first, Err(RecvTimeoutError::Disconnected));
        let mut at_close = None;
        for order in first.into_iter().chain(orders.try_iter()) {
            match order {
                PublisherOrder::Publish { accounts, tick } => work.wait_for(accounts, tick),
                PublisherOrder::Close { shown } => {
                    is_open = false;
                    at_close = shown;
                }
            }
        }
        if !is_open {
            work.publish()?;
            return at_close.map_or(Ok(()), |shown| work.back_end.stopped(shown));
        }
        if work.retry_due <= now()
            && let Err(error) = work.publish()
        {
            if shared.is_interrupted() {
                return Err(error);
            }
            shared.log_failure(&error);
        }
        work.look_for_top_ups();
    }
}

impl PublisherWork<'_> {
    /// Accounts to be published: at once, whatever failed before.
    fn wait_for(&mut self, accounts: Vec<BudgetLine>, tick: u64) {
        self.retry_due = now();
        self.waiting = Some((accounts, tick));
    }

    fn next_due(&self) -> Option<Instant> {
        let retry = self.waiting.as_ref().map(|_| self.retry_due);
        let answers = self.inbox.answers.as_ref().map(|_| now() + ANSWER_PAUSE);
        [retry, answers, self.inbox.due].into_iter().flatten().min()
    }

    fn publish(&mut self) -> Result<(), BudgetBackEndError> {
        let Some((accounts, tick)) = &self.waiting else { return Ok(()) };
        // An earlier tick shows nothing that is new.
        let is_shown = self.shared.progress().shown.is_some_and(|shown| *tick < shown);
        let published = if is_shown {
            Ok(())
        } else if self.shared.is_interrupted() {
            Err(self.shared.failed("publish", "no answer until the JobTracker stopped".to_owned()))
        } else {
            self.shared.calls.during("publish", || self.back_end.publish(accounts, *tick))
        };
        self.shared.note_result(*tick, published.as_ref().err().map(ToString::to_string));
        match published {
            Ok(()) => {
                self.waiting = None;
                self.pause = RETRY_PAUSE_MIN;
                self.shared.log_recovery();
            }
            Err(_) => {
                self.retry_due = now() + self.pause;
                self.pause = (self.pause * 2).min(RETRY_PAUSE_MAX);
            }
        }
        published
    }

    /// Writes the answers of the owner, then looks for more.
    fn look_for_top_ups(&mut self) {
        match self.inbox.answers.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return,
            Some(Ok(answers)) => {
                self.inbox.unwritten = answers;
                self.inbox.answers = None;
                if self.inbox.pause == TOP_UP_PAUSE {
                    self.inbox.due = Some(now());
                }
            }
            Some(Err(TryRecvError::Disconnected)) => self.inbox.answers = None,
            None => {}
        }
        if self.shared.is_interrupted() || self.inbox.due.is_none_or(|due| due > now()) {
            return;
        }
        let looked = self.exchange_top_ups();
        self.inbox.pause = match looked {
            Ok(()) => TOP_UP_PAUSE,
            Err(_) => (self.inbox.pause * 2).min(TOP_UP_RETRY_PAUSE_MAX),
        };
        self.inbox.due = self.inbox.due.map(|_| now() + self.inbox.pause);
        if looked.is_ok() && self.inbox.due.is_some() {
            // It answers again.
            self.retry_due = now();
        }
        self.shared.progress().top_up_trouble = looked.as_ref().err().map(ToString::to_string);
        match looked {
            Ok(()) => self.shared.log_recovery(),
            Err(error) if !self.shared.is_interrupted() => self.shared.log_failure(&error),
            Err(_) => {}
        }
    }

    fn exchange_top_ups(&mut self) -> Result<(), BudgetBackEndError> {
        // What has no answer is found again: one that cannot be answered does not keep the others waiting.
        let unwritten = std::mem::take(&mut self.inbox.unwritten);
        let answered = match unwritten.is_empty() {
            true => Ok(()),
            false => self.shared.calls.during("answer the top-ups of", || self.back_end.answer_top_ups(&unwritten)),
        };
        let found = self.shared.calls.during("read the top-ups of", || self.back_end.find_top_ups());
        let Some(top_ups) = found? else {
            self.inbox.due = None;
            return Ok(());
        };
        if top_ups.is_empty() {
            return answered;
        }
        let (sender, answers) = mpsc::channel();
        // Without an owner they are found again.
        if self.inbox.found.send(FoundTopUps { top_ups, answers: sender }).is_ok() {
            self.inbox.answers = Some(answers);
        }
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_silent_for_long_begins_an_outage() {
        let shared = SharedPublisher::at("database accounting".to_owned());
        for (seconds, expected) in [(MOST_SILENCE.as_secs() - 5, None), (MOST_SILENCE.as_secs() + 5, Some(15))] {
            *shared.calls.call() = now().checked_sub(Duration::from_secs(seconds)).map(|since| ("publish", since));
            shared.log_silence();
            let outage = shared.progress().outage.end(now());
            assert_eq!(outage.map(|outage| outage.as_secs()), expected, "{seconds}");
        }
    }
}
