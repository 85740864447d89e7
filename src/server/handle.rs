//! The way to the owner for other threads.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::engine::explanation::Explained;
use crate::engine::{ClusterSnapshot, Event, Read, Reply};
use crate::market::{
    Acl, Answer, HistoryPage, PriceHistory, QueueName, ServletRequest, SpendingHistory, Statement, StatementPage,
};
use crate::model::JobId;
use crate::store::{BudgetStatus, Durable, Health as StoreHealth, LedgerReader, StoreError};
use crate::web::{Health, LedgerUnreadable, MarketReply, OwnerGone};

use super::acl_file::AclFile;
use super::owner::Owner;
use super::turns::StuckTurns;

/// Requests that wait for the owner; more wait in their senders.
const WAITING_REQUESTS: usize = 256;
/// Statements that are read at one time; more wait.
const STATEMENTS_AT_ONE_TIME: usize = 2;
/// Age up to which a snapshot is shown again, ms: a page that many look at costs as much as one that one looks at.
const FRESH_MS: u64 = 250;
/// What an answer of the market takes at most, but for lists of queues, and each queue of such a list, bytes.
const ANSWER_BYTES: usize = 4 << 10;
const QUEUE_BYTES: usize = 256;
/// A snapshot that is not durable after so long gives way to the one before.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(2);

/// A way to the owner. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub struct OwnerHandle {
    requests: mpsc::Sender<Request>,
    acl: Option<Arc<AclFile>>,
    budget: Option<BudgetStatus>,
    store: watch::Receiver<Durable>,
    serving: Arc<AtomicBool>,
    ledger: Option<Ledger>,
    file_turns: Option<StuckTurns>,
}

/// Who reads statements and histories, and the turns for it: reading takes a disk and a thread for itself.
#[derive(Clone, Debug)]
struct Ledger {
    reader: LedgerReader,
    statements: Arc<Semaphore>,
    /// Anyone may ask for prices, so those who sign do not wait behind them.
    prices: Arc<Semaphore>,
}

/// What other threads ask, for [`Requests::answer`].
#[derive(Debug)]
pub struct Requests {
    requests: mpsc::Receiver<Request>,
    serving: Arc<AtomicBool>,
}

/// Tells all handles whether calls are taken.
#[derive(Clone, Debug)]
pub(crate) struct Serving(Arc<AtomicBool>);

#[derive(Debug)]
enum Request {
    Market(Box<ServletRequest>, oneshot::Sender<MarketReply>),
    Overview(oneshot::Sender<Arc<ClusterSnapshot>>),
    Explain(JobId, bool, oneshot::Sender<Option<Box<Explained>>>),
}

// === impl OwnerHandle ===

impl OwnerHandle {
    /// A handle, and its other end. Where there is a market, `acl`: who may sign, `budget`: how its file fares.
    pub fn new(
        store: watch::Receiver<Durable>,
        acl: Option<Arc<AclFile>>,
        budget: Option<BudgetStatus>,
    ) -> (Self, Requests) {
        let (sender, requests) = mpsc::channel(WAITING_REQUESTS);
        let serving = Arc::new(AtomicBool::new(false));
        let handle =
            Self { requests: sender, acl, budget, store, serving: serving.clone(), ledger: None, file_turns: None };
        (handle, Requests { requests, serving })
    }

    /// The same with statements, which nobody reads without.
    #[must_use]
    pub fn with_ledger(self, ledger: LedgerReader) -> Self {
        let statements = Arc::new(Semaphore::new(STATEMENTS_AT_ONE_TIME));
        let prices = Arc::new(Semaphore::new(1));
        Self { ledger: Some(Ledger { reader: ledger, statements, prices }), ..self }
    }

    /// The same where health tells of turns for files of jobs.
    #[must_use]
    pub fn with_file_turns(self, file_turns: StuckTurns) -> Self {
        Self { file_turns: Some(file_turns), ..self }
    }

    /// Reads on a thread of the pool, when it is its turn.
    async fn read_ledger<T: Send + 'static>(
        &self,
        turns: impl FnOnce(&Ledger) -> &Arc<Semaphore>,
        read: impl FnOnce(&LedgerReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerUnreadable> {
        let unreadable = |reason: &dyn std::fmt::Display| LedgerUnreadable(reason.to_string());
        let Some(ledger) = self.ledger.clone() else { return Err(unreadable(&"there is no ledger")) };
        let turn = turns(&ledger).clone().acquire_owned().await.map_err(|error| unreadable(&error))?;
        let read = tokio::task::spawn_blocking(move || {
            // Kept until the reading is over, also when nobody waits for it any more.
            let _turn = turn;
            read(&ledger.reader)
        });
        read.await.map_err(|error| unreadable(&error))?.map_err(|error| unreadable(&error))
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, OwnerGone> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| OwnerGone)?;
        answer.await.map_err(|_| OwnerGone)
    }
}

impl crate::web::Owner for OwnerHandle {
    async fn market(&self, request: ServletRequest) -> Result<MarketReply, OwnerGone> {
        self.ask(|reply| Request::Market(Box::new(request), reply)).await
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        self.ask(Request::Overview).await
    }

    async fn explain(&self, job: JobId, sees_names: bool) -> Result<Option<Box<Explained>>, OwnerGone> {
        self.ask(|reply| Request::Explain(job, sees_names, reply)).await
    }

    async fn statement(&self, queue: QueueName, page: StatementPage) -> Result<Option<Statement>, LedgerUnreadable> {
        self.read_ledger(|ledger| &ledger.statements, move |reader| reader.statement(&queue, page)).await
    }

    async fn price_history(&self, page: HistoryPage) -> Result<PriceHistory, LedgerUnreadable> {
        self.read_ledger(|ledger| &ledger.prices, move |reader| reader.price_history(page)).await
    }

    async fn spending_history(
        &self,
        queue: QueueName,
        page: HistoryPage,
    ) -> Result<Option<SpendingHistory>, LedgerUnreadable> {
        self.read_ledger(|ledger| &ledger.statements, move |reader| reader.spending_history(&queue, page)).await
    }

    async fn acl(&self) -> Arc<Acl> {
        match &self.acl {
            Some(acl) => acl.latest().await,
            None => Arc::default(),
        }
    }

    fn health(&self) -> Health {
        let is_alive = !self.requests.is_closed();
        let is_serving = self.serving.load(Ordering::Relaxed);
        let Durable { health: store, missed_updates, .. } = self.store.borrow().clone();
        let store_error = missed_updates.complaint();
        let acl_error = self.acl.as_ref().and_then(|acl| acl.error());
        let budget_error = self.budget.as_ref().and_then(BudgetStatus::last_error);
        let hung = self.file_turns.as_ref().and_then(StuckTurns::stuck);
        let no_turn = self.file_turns.as_ref().is_some_and(StuckTurns::are_all);
        let text = match (&store, store_error.as_ref().or(acl_error.as_ref()).or(budget_error.as_ref())) {
            _ if !is_alive => "the owner of all state has stopped".to_owned(),
            _ if !is_serving => "not serving yet, or not any more".to_owned(),
            (StoreHealth::Failing { text, tries, .. }, _) => {
                format!("the state store cannot write ({tries} tries so far): {text}")
            }
            (StoreHealth::Broken { text }, _) => format!("the state store is broken: {text}"),
            (StoreHealth::Good, _) if no_turn => {
                "no job can be submitted: no turn for files of jobs is free, for all hang on files that do not answer"
                    .to_owned()
            }
            // Jobs run, though new users have to wait or a file is behind the ledger: not ready would be too much.
            (StoreHealth::Good, Some(error)) => format!("ok, but {error}"),
            (StoreHealth::Good, None) => match hung {
                Some((hung, most)) => {
                    format!("ok, but {hung} of {most} turns for files of jobs hang on files that do not answer")
                }
                None => "ok".to_owned(),
            },
        };
        let is_ready = is_alive && is_serving && store.is_good() && !no_turn;
        Health {
            is_alive,
            is_ready,
            text,
            acl_error,
            budget_error,
            store_error,
            rowless_updates: missed_updates.updates,
        }
    }
}

// === impl Serving ===

impl Serving {
    pub(crate) fn set(&self, is_serving: bool) {
        self.0.store(is_serving, Ordering::Relaxed);
    }
}

// === impl Requests ===

impl Requests {
    /// Where it is told whether calls are taken.
    pub(crate) fn serving(&self) -> Serving {
        Serving(self.serving.clone())
    }

    /// Answers what comes, one request each turn. Ends when all handles are gone; or, once `stopping` completes, when
    /// what has come by then is answered: nothing comes in any more.
    pub async fn answer(mut self, owner: Rc<Owner>, stopping: impl Future<Output = ()>) {
        let snapshot = Rc::new(RefCell::new(Snapshot::default()));
        let mut in_hand = JoinSet::new();
        let mut stopping = pin!(stopping);
        let mut is_stopping = false;
        loop {
            let request = tokio::select! {
                request = self.requests.recv() => request,
                Some(_) = in_hand.join_next() => continue,
                () = &mut stopping, if !is_stopping => {
                    is_stopping = true;
                    self.requests.close();
                    continue;
                }
            };
            match request {
                Some(Request::Market(request, reply)) => market(&owner, *request, reply, &mut in_hand),
                Some(Request::Overview(reply)) => overview(&owner, &snapshot, reply, &mut in_hand),
                Some(Request::Explain(job, sees_names, reply)) => {
                    explain(&owner, job, sees_names, reply, &mut in_hand);
                }
                None => break,
            }
            // Heartbeats that are ready go first.
            tokio::task::yield_now().await;
        }
        while in_hand.join_next().await.is_some() {}
    }
}

fn market(owner: &Rc<Owner>, request: ServletRequest, reply: oneshot::Sender<MarketReply>, in_hand: &mut JoinSet<()>) {
    // Signatures that are used up are kept, of questions too, and no question can be asked anew once its signature is.
    // Without a reply the request is refused.
    let Some(mut places) = owner.held_room().try_take(ANSWER_BYTES).filter(|_| !owner.is_pressed()) else { return };
    let (answer, wait_for) = owner.step(Event::Market(Box::new(request)));
    let Reply::Market(result) = answer else { return };
    let queues = match &result {
        Ok(Answer::Queues { queues, .. }) => queues.len(),
        Ok(Answer::Standings(standings)) => standings.len(),
        _ => 0,
    };
    // What has been stepped is told; it counts as far as there is room.
    if let Some(all) = owner.held_room().try_take(queues * QUEUE_BYTES) {
        places.join(all);
    }
    let owner = owner.clone();
    in_hand.spawn_local(async move {
        if owner.wait_durable(wait_for).await.is_ok() {
            let _ = reply.send(result);
        }
        drop(places);
    });
}

fn explain(
    owner: &Rc<Owner>,
    job: JobId,
    sees_names: bool,
    reply: oneshot::Sender<Option<Box<Explained>>>,
    in_hand: &mut JoinSet<()>,
) {
    let explain = move |owner: &Owner| owner.read(|engine| engine.explain(job, sees_names, owner.clock().now()));
    let Read { value, wait_for } = explain(owner);
    if wait_for <= owner.durable() {
        // The asker may have left.
        let _ = reply.send(value.map(Box::new));
        return;
    }
    drop(value);
    let owner = owner.clone();
    in_hand.spawn_local(async move {
        // Asked anew then: a job that goes on changing must not keep whoever asks waiting, so that answer is kept.
        if owner.wait_durable(wait_for).await.is_ok() {
            let Read { value, wait_for } = explain(&owner);
            if owner.wait_durable(wait_for).await.is_ok() {
                let _ = reply.send(value.map(Box::new));
            }
        }
    });
}

/// The last snapshot that was shown.
#[derive(Default)]
struct Snapshot {
    overview: Arc<ClusterSnapshot>,
    taken_ms: Option<u64>,
    /// Who waits for the next one, while that is not durable.
    waiting: Vec<oneshot::Sender<Arc<ClusterSnapshot>>>,
}

/// Shows the last snapshot while it is fresh, else makes one; whoever comes meanwhile waits for the same.
fn overview(
    owner: &Rc<Owner>,
    snapshot: &Rc<RefCell<Snapshot>>,
    reply: oneshot::Sender<Arc<ClusterSnapshot>>,
    in_hand: &mut JoinSet<()>,
) {
    let now = owner.clock().now();
    let is_fresh = snapshot.borrow().taken_ms.is_some_and(|taken_ms| now.mono_ms < taken_ms + FRESH_MS);
    if is_fresh {
        // The asker may have left.
        let _ = reply.send(snapshot.borrow().overview.clone());
        return;
    }
    let is_in_the_making = {
        let waiting = &mut snapshot.borrow_mut().waiting;
        waiting.push(reply);
        waiting.len() > 1
    };
    if is_in_the_making {
        return;
    }
    let read = owner.overview(now);
    let (owner, snapshot) = (owner.clone(), snapshot.clone());
    in_hand.spawn_local(async move {
        let durable = tokio::time::timeout(SNAPSHOT_PATIENCE, owner.wait_durable(read.wait_for));
        let is_durable = durable.await.is_ok_and(|waited| waited.is_ok());
        let mut snapshot = snapshot.borrow_mut();
        if is_durable {
            snapshot.overview = Arc::new(read.value);
            snapshot.taken_ms = Some(now.mono_ms);
        }
        for reply in std::mem::take(&mut snapshot.waiting) {
            let _ = reply.send(snapshot.overview.clone());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FactNumber;
    use crate::web::Owner as _;

    #[test]
    fn health_tells_of_turns_that_hang() {
        let durable = Durable { number: FactNumber(0), health: StoreHealth::Good, missed_updates: Default::default() };
        let (_store, durable) = watch::channel(durable);
        let (handle, requests) = OwnerHandle::new(durable, None, None);
        requests.serving().set(true);
        let health = |stuck| handle.clone().with_file_turns(StuckTurns::of(stuck, 16)).health();
        assert!(health(0).is_ready && health(0).text == "ok");
        let some = health(3);
        assert!(some.is_ready && some.text.contains("3 of 16 turns"), "{some:?}");
        let all = health(16);
        assert!(!all.is_ready && all.is_alive && all.text.contains("no turn for files of jobs is free"), "{all:?}");
    }
}
