//! The load of one life of the daemon: bidders, administrators, submitters and trackers, until it is killed.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::job_client::{JobClient, StagedJob};
use crate::staging::{JobFiles, signed};
use crate::steady_tracker::{Slots, host_of};
use crate::wayward_tracker::{WaywardTask, WaywardTracker};

use jobtracker::client::signed_query::SignedQuery;
use jobtracker::clock::wall_ms;
use jobtracker::fake_tracker::{AttemptStep, Role};
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};

use super::amount::decimal;
use super::book::{Book, Change, Outcome, Request, Submission};
use super::http::get;
use super::world::{BIDDERS, EXTRA_QUEUES, SUBMITTERS, World, thousandths};

const SLOTS: Slots = Slots::new(4, 2);
const TRACKERS: u32 = 6;
const HEARTBEAT_EVERY: Duration = Duration::from_millis(40);
/// Longer than any life.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Everybody who calls.
#[derive(Debug)]
pub struct Callers {
    /// Where.
    pub world: Arc<World>,
    /// What they asked.
    pub book: RefCell<Book>,
    /// Set just before the daemon is killed.
    pub is_killed: Arc<AtomicBool>,
    /// The last timestamp each user signed.
    signed_ms: RefCell<Vec<i64>>,
    /// How many times slower than usual people act; the sums they move are as much larger.
    pace: u32,
}

/// The daemon does not answer any more.
#[derive(Clone, Copy, Debug)]
pub struct Gone;

/// Trackers that have not called yet.
pub fn fleet() -> Vec<WaywardTracker> {
    (0..TRACKERS).map(|number| WaywardTracker::new(number, &host_of(number), SLOTS)).collect()
}

/// Calls until the daemon is dead; the trackers outlive it.
pub async fn until_killed(
    callers: &Rc<Callers>,
    fleet: &mut Vec<WaywardTracker>,
    mut dice: Dice,
) -> anyhow::Result<()> {
    let mut people = JoinSet::new();
    for user in 0..BIDDERS {
        people.spawn_local(Rc::clone(callers).bid(user, Dice::new(dice.roll())));
    }
    for user in 0..SUBMITTERS {
        people.spawn_local(Rc::clone(callers).submit(user, Dice::new(dice.roll())));
    }
    let administrators: Vec<usize> = (BIDDERS..callers.world.users.len()).collect();
    for (number, user) in administrators.into_iter().enumerate() {
        people.spawn_local(Rc::clone(callers).administer(user, number, Dice::new(dice.roll())));
    }
    let mut trackers = JoinSet::new();
    for tracker in fleet.drain(..) {
        trackers.spawn_local(Rc::clone(callers).track(tracker, Dice::new(dice.roll())));
    }
    while let Some(ended) = people.join_next().await {
        ended?;
    }
    while let Some(ended) = trackers.join_next().await {
        fleet.push(ended?);
    }
    Ok(())
}

// === impl Callers ===

impl Callers {
    /// Callers of a daemon of that world.
    pub fn new(world: World, pace: u32) -> Self {
        let signed_ms = RefCell::new(vec![0; world.users.len()]);
        Self { world: Arc::new(world), book: RefCell::default(), is_killed: Arc::default(), signed_ms, pace }
    }

    /// Whether the daemon is dead or about to be.
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::SeqCst)
    }

    /// Something that no daemon may do.
    pub fn wrong(&self, text: String) {
        self.book.borrow_mut().wrong.push(text);
    }

    /// A timestamp that the user has not signed yet.
    pub fn timestamp_ms(&self, user: usize) -> i64 {
        let last_ms = &mut self.signed_ms.borrow_mut()[user];
        *last_ms = (wall_ms() + self.world.ahead_ms[user]).max(*last_ms + 1);
        *last_ms
    }

    /// Asks `/scheduler` something signed; the status and the body.
    pub async fn ask(&self, user: usize, query: &str) -> anyhow::Result<(u16, String)> {
        let signer = &self.world.users[user];
        let signed = SignedQuery::new(query, &signer.user, self.timestamp_ms(user), &signer.key)?;
        let answer = get(self.world.http, &format!("/scheduler?{}", signed.query), Some(&signed.authorization)).await?;
        Ok((answer.status, answer.body))
    }

    /// Asks for a change and notes what comes of it. A rough sum is made one that names the request.
    async fn change(&self, user: usize, queue: &str, rough: Change) -> Result<u16, Gone> {
        let signer = &self.world.users[user];
        let number = self.book.borrow().requests.len() + 1;
        let (change, query) = match rough {
            Change::Bid(rate) => {
                let rate = Change::numbered(rate, number);
                (Change::Bid(rate), format!("setSpending={}&queue={queue}", decimal(rate)))
            }
            Change::Money(amount) => {
                let amount = Change::numbered(amount.abs(), number) * amount.signum();
                (Change::Money(amount), format!("addBudget={}&queue={queue}", decimal(amount)))
            }
            Change::Open => (Change::Open, format!("addQueue={queue}")),
            Change::Close => (Change::Close, format!("removeQueue={queue}")),
        };
        let timestamp_ms = self.timestamp_ms(user);
        let Ok(signed) = SignedQuery::new(&query, &signer.user, timestamp_ms, &signer.key) else { return Err(Gone) };
        let path = format!("/scheduler?{}", signed.query);
        self.book.borrow_mut().requests.push(Request {
            queue: queue.to_owned(),
            change,
            user,
            query: signed.query,
            authorization: signed.authorization.clone(),
            timestamp_ms,
            sent_ms: wall_ms(),
            answered_ms: None,
            outcome: Outcome::Lost,
        });
        let answered =
            tokio::time::timeout(ANSWER_LIMIT, get(self.world.http, &path, Some(&signed.authorization))).await;
        let was_killed = self.is_killed();
        match answered {
            // Stopping, it says that it cannot tell whether the change was made.
            Ok(Ok(answer)) if answer.status == 503 && was_killed => Err(Gone),
            Ok(Ok(answer)) => {
                let request = &mut self.book.borrow_mut().requests[number - 1];
                request.answered_ms = Some(wall_ms());
                request.outcome = if answer.status == 200 { Outcome::Done } else { Outcome::Refused };
                Ok(answer.status)
            }
            Ok(Err(_)) if was_killed => Err(Gone),
            Ok(Err(error)) => {
                self.wrong(format!("no answer to {path}: {error}"));
                Err(Gone)
            }
            Err(_) => {
                self.wrong(format!("no answer to {path} within {ANSWER_LIMIT:?}"));
                Err(Gone)
            }
        }
    }

    async fn pause(&self, usual_ms: u32) {
        sleep(Duration::from_millis(u64::from(usual_ms * self.pace))).await;
    }

    /// Asks for a change that must be answered so, if it is answered.
    async fn expect(&self, user: usize, queue: &str, change: Change, statuses: &[u16]) -> Result<(), Gone> {
        let what = format!("{change:?} of {queue} by {}", self.world.users[user].user);
        let status = self.change(user, queue, change).await?;
        if !statuses.contains(&status) {
            self.wrong(format!("{what} was answered by {status}, not by one of {statuses:?}"));
        }
        Ok(())
    }

    /// Reads something; what it says does not matter here.
    async fn read(&self, user: usize, query: &str) -> Result<(), Gone> {
        match self.ask(user, query).await {
            Ok((200, _)) => self.book.borrow_mut().reads += 1,
            Ok(_) | Err(_) if self.is_killed() => return Err(Gone),
            Ok((status, body)) => self.wrong(format!("{query} was answered by {status}: {body}")),
            Err(error) => {
                self.wrong(format!("no answer to {query}: {error}"));
                return Err(Gone);
            }
        }
        Ok(())
    }

    /// A bidder changes his bid, looks, and tries what he may not do.
    pub async fn bid(self: Rc<Self>, user: usize, mut dice: Dice) {
        let own = self.world.users[user].user.clone();
        let other = self.world.users[(user + 1) % BIDDERS].user.clone();
        while !self.is_killed() {
            let done = match dice.below(20) {
                0..14 => {
                    let rate = thousandths(&mut dice, 5_000);
                    self.expect(user, &own, Change::Bid(rate), &[200]).await
                }
                14..18 => self.read(user, &format!("info={own}")).await,
                18 => self.expect(user, &other, Change::Bid(thousandths(&mut dice, 9)), &[500]).await,
                _ => self.expect(user, &own, Change::Money(thousandths(&mut dice, 9)), &[500]).await,
            };
            if done.is_err() {
                return;
            }
            self.pause(5 + dice.below(70)).await;
        }
    }

    /// Administrators bring money in and out everywhere; one has queues come and go.
    pub async fn administer(self: Rc<Self>, user: usize, number: usize, mut dice: Dice) {
        let extra: Vec<String> = (0..EXTRA_QUEUES).map(|queue| format!("extra-{queue}")).collect();
        while !self.is_killed() {
            let queue = match dice.below(4) {
                0 => extra[dice.below(EXTRA_QUEUES as u32) as usize].clone(),
                _ => self.world.users[dice.below(BIDDERS as u32) as usize].user.clone(),
            };
            let opens_and_closes = number == 0 && queue.starts_with("extra");
            let done = match dice.below(10) {
                0..4 if opens_and_closes => self.expect(user, &queue, Change::Open, &[200, 409]).await,
                4..6 if opens_and_closes => self.expect(user, &queue, Change::Close, &[200, 404]).await,
                6..8 if opens_and_closes => {
                    self.expect(user, &queue, Change::Bid(thousandths(&mut dice, 5_000)), &[200, 404]).await
                }
                0..6 => {
                    self.expect(user, &queue, Change::Money(thousandths(&mut dice, 40_000 * self.pace)), &[200, 404])
                        .await
                }
                6..9 => {
                    let amount = -thousandths(&mut dice, 40_000 * self.pace);
                    self.expect(user, &queue, Change::Money(amount), &[200, 400, 404, 409]).await
                }
                _ => self.read(user, "infos").await,
            };
            if done.is_err() {
                return;
            }
            self.pause(dice.below(40)).await;
        }
    }

    /// Jobs of a few tasks, one after the other.
    async fn submit(self: Rc<Self>, user: usize, mut dice: Dice) {
        let Ok(mut client) = JobClient::connect(self.world.rpc, &self.world.users[user].user).await else { return };
        while !self.is_killed() {
            let timestamp_ms = self.timestamp_ms(user);
            let files = JobFiles {
                splits: vec![Vec::new(); 1 + dice.below(6) as usize],
                reduces: dice.below(3),
                properties: Vec::new(),
            };
            let Ok(staged) = self.stage(&mut client, user, files, timestamp_ms).await else { return };
            let place = {
                let submissions = &mut self.book.borrow_mut().submissions;
                submissions.push(Submission { job: staged.id, user, timestamp_ms, is_accepted: false });
                submissions.len() - 1
            };
            match client.submit(&staged).await {
                Ok(()) => self.book.borrow_mut().submissions[place].is_accepted = true,
                Err(_) if self.is_killed() => return,
                Err(error) => return self.wrong(format!("{} was not accepted: {error:#}", staged.id)),
            }
            self.pause(100 + dice.below(400)).await;
        }
    }

    /// Writes the files of a job that is signed so.
    pub async fn stage(
        &self,
        client: &mut JobClient,
        user: usize,
        mut files: JobFiles,
        timestamp_ms: i64,
    ) -> anyhow::Result<StagedJob> {
        let signer = &self.world.users[user];
        files.properties.extend(signed(&signer.user, &signer.key, &timestamp_ms.to_string()));
        client.stage(&files).await
    }

    /// Submits a job with a signature that was used; what the daemon says to it, or none when it takes the job.
    pub async fn submit_again(&self, used: &Submission) -> anyhow::Result<Option<String>> {
        let mut client = JobClient::connect(self.world.rpc, &self.world.users[used.user].user).await?;
        let files = JobFiles { splits: vec![Vec::new()], reduces: 0, properties: Vec::new() };
        let staged = self.stage(&mut client, used.user, files, used.timestamp_ms).await?;
        match client.submit(&staged).await {
            Ok(()) => Ok(None),
            Err(error) => match error.downcast_ref::<IpcError>() {
                Some(IpcError::Remote { exception, .. }) => Ok(Some(exception.to_string())),
                _ => Err(error),
            },
        }
    }

    /// A tracker calls; its tasks last for some heartbeats.
    async fn track(self: Rc<Self>, mut tracker: WaywardTracker, mut dice: Dice) -> WaywardTracker {
        let Ok(mut client) = IpcClient::connect(self.world.rpc, Protocol::InterTracker, "hadoop").await else {
            return tracker;
        };
        while !self.is_killed() {
            let fate = |task: &WaywardTask| match (task.role, dice.below(100)) {
                (Role::Work, 0..30) | (Role::TaskCleanup | Role::Housekeeping, _) => AttemptStep::Advance,
                (Role::Work, 30) if task.has_begun() => AttemptStep::DieUnclean,
                (Role::Work, _) => AttemptStep::Wait,
            };
            let request = Box::new(tracker.heartbeat(fate));
            match client.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await {
                Ok(Value::Heartbeat(answer)) => tracker.obey(&answer),
                Ok(other) => self.wrong(format!("a heartbeat was answered by {other:?}")),
                Err(_) if self.is_killed() => break,
                Err(error) => {
                    self.wrong(format!("a heartbeat failed: {error}"));
                    break;
                }
            }
            sleep(HEARTBEAT_EVERY).await;
        }
        tracker
    }
}
