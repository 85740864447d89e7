//! Who does what, and when: alice has the cluster to herself, bob comes and pays more, she pays still more.
//!
//! Everything happens when the jobs have come so far, not at a time: a slow machine takes longer, and shows the same.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::api::QueueStatus;
use crate::client::job::configuration::JobConfiguration;
use crate::client::job::streaming::{InputFormat, Reducer, StreamingJob};
use crate::client::job::submit::{PreparedJob, SigningOptions};
use crate::client::job::view::JobState;
use crate::client::job::{JobId, JobTrackerClient, Kind};
use crate::client::market::{MarketClient, Signer};
use crate::config::HostPort;
use crate::lifecycle::Serving;
use crate::model::Credits;

use super::DemoOptions;
use super::bill::{Bill, Known};
use super::corpus::Corpus;
use super::error::DemoError;
use super::moment::{JobView, Moment};
use super::scratch::{BIDDERS, BUDGET, Bidder, Scratch, TASK_PROGRAM};
use super::screen::Screen;
use super::verdict::{Verdict, counts_in};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(150);
/// Looks until a moment is one: no tick came between its parts.
const MOST_LOOKS: u32 = 3;
/// Ticks at which alice is alone.
const TICKS_ALONE: u64 = 4;
/// What alice bids from halfway on.
const RAISED_BID: &str = "6.6";
const REDUCES: u32 = 2;
/// So long all of it may take, s: on whatever machine.
const PATIENCE_S: u64 = 600;

/// One who has a job.
struct User<'a> {
    bidder: Bidder,
    signer: &'a Signer,
    jobtracker: JobTrackerClient,
    job: Option<JobId>,
    view: Option<JobView>,
    /// When the job was submitted.
    since: Instant,
    lasted: Duration,
    bids: Vec<Credits>,
}

/// A demo on its way.
pub(super) struct Story<'a> {
    scratch: &'a Scratch,
    options: &'a DemoOptions,
    rpc: HostPort,
    http: String,
    market: MarketClient,
    users: [User<'a>; 2],
    /// The first tick that sold slots to alice.
    alone_since: Option<u64>,
    has_raised: bool,
}

// === impl Story ===

impl<'a> Story<'a> {
    /// Nobody has done anything yet.
    pub(super) fn new(scratch: &'a Scratch, options: &'a DemoOptions, serving: &Serving) -> Self {
        let rpc = HostPort { host: serving.rpc.ip().to_string(), port: serving.rpc.port() };
        let http = serving.http.to_string();
        let user = |index: usize| {
            let bidder: Bidder = BIDDERS[index];
            User {
                bidder,
                signer: &scratch.bidders[index],
                jobtracker: JobTrackerClient::new(rpc.clone(), bidder.name),
                job: None,
                view: None,
                since: Instant::now(),
                lasted: Duration::ZERO,
                bids: vec![amount(bidder.bid)],
            }
        };
        let users = [user(0), user(1)];
        let market = MarketClient::new(&http);
        Self { scratch, options, market, users, rpc, http, alone_since: None, has_raised: false }
    }

    /// Plays it until a tick has found both jobs over.
    pub(super) async fn play(&mut self, screen: &mut Screen) -> Result<(), DemoError> {
        let begin = Instant::now();
        self.submit(0, screen).await?;
        let mut last_tick = None;
        loop {
            let moment = self.look(screen).await?;
            screen.show(&moment);
            if self.users.iter().all(User::is_over) {
                // What the last interval has cost is booked at its end.
                if *last_tick.get_or_insert(moment.tick) < moment.tick {
                    return Ok(());
                }
            } else {
                self.go_on(&moment, screen).await?;
            }
            if begin.elapsed().as_secs() > PATIENCE_S {
                return Err(DemoError::TooSlow(PATIENCE_S));
            }
            sleep(PAUSE).await;
        }
    }

    /// Does what is due.
    async fn go_on(&mut self, moment: &Moment, screen: &mut Screen) -> Result<(), DemoError> {
        let (done, all) = moment.maps(self.options.maps);
        if self.users[1].job.is_none() {
            // A short job may be over before any tick has sold her slots.
            let may_go_on = |view: &JobView| view.state.is_finished() || moment.is_sold_to(1);
            let Some(alice) = self.users[0].view.filter(may_go_on) else { return Ok(()) };
            let since = *self.alone_since.get_or_insert(moment.tick);
            if moment.tick - since >= TICKS_ALONE || alice.map.finished * 3 >= alice.map.total {
                self.submit(1, screen).await?;
            }
        } else if !self.has_raised && !self.users[0].is_over() && done * 2 >= all && moment.is_sold_to(2) {
            self.has_raised = true;
            let alice = &mut self.users[0];
            let query = format!("setSpending={RAISED_BID}&queue={}", alice.bidder.name);
            self.market.request_signed(&query, alice.signer).await?;
            alice.bids.push(amount(RAISED_BID));
            screen.say(&format!("-- halfway: {} bids {RAISED_BID} from the next tick on", alice.bidder.name));
        }
        Ok(())
    }

    async fn submit(&mut self, index: usize, screen: &mut Screen) -> Result<(), DemoError> {
        let Self { scratch, options, market, users, .. } = self;
        let User { bidder, signer, jobtracker, job: job_id, since, .. } = &mut users[index];
        let miscount = if options.miscount { " --miscount" } else { "" };
        let job = StreamingJob {
            name: Some(format!("{} counts words", bidder.name)),
            queue: None,
            inputs: vec![Scratch::uri(&scratch.corpus_folder())?],
            output: Scratch::uri(&scratch.output_folder(*bidder))?,
            mapper: format!("{TASK_PROGRAM} demo-task map --at-least-ms {}", options.map_ms),
            combiner: None,
            reducer: Reducer::Command(format!("{TASK_PROGRAM} demo-task reduce{miscount}")),
            reduces: Some(REDUCES),
            files: Vec::new(),
            input_format: InputFormat::Text,
            partitioner: None,
            environment: Vec::new(),
            streaming_jar: None,
        };
        let values = [
            format!("mapred.map.tasks={}", options.maps),
            // So that all slots in the table are at the same work, and none is used twice for one thing.
            "mapred.reduce.slowstart.completed.maps=1.0".to_owned(),
            "mapred.map.tasks.speculative.execution=false".to_owned(),
            "mapred.reduce.tasks.speculative.execution=false".to_owned(),
        ];
        let configuration = JobConfiguration::load(None, &values, bidder.name)?;
        let prepared = PreparedJob::new(job, &configuration, &Scratch::uri(scratch.folder())?)?;
        let signing = SigningOptions { signer: signer.clone(), market: market.clone(), wall_ms: crate::clock::wall_ms };
        *since = Instant::now();
        let submitted = prepared.submit(jobtracker, Some(&signing)).await?;
        *job_id = Some(submitted.job);
        screen.say(&format!(
            "-- {} submits {} (signed, {} maps) and bids {}",
            bidder.name, submitted.job, submitted.maps, bidder.bid
        ));
        Ok(())
    }

    async fn look(&mut self, screen: &mut Screen) -> Result<Moment, DemoError> {
        let ((tick, price), mut queues) = self.standings().await?;
        queues.retain(|queue| BIDDERS.iter().any(|bidder| bidder.name == queue.queue.as_str()));
        let mut jobs = Vec::new();
        for user in &mut self.users {
            if let Some(end) = user.look().await? {
                screen.say(&end);
            }
            jobs.push(user.view);
        }
        Ok(Moment { tick, price, queues, jobs })
    }

    /// The last tick and its price, and how the queues stand after it.
    async fn standings(&self) -> Result<((u64, Credits), Vec<QueueStatus>), DemoError> {
        let mut before = self.last_tick().await?;
        let mut looks = 1;
        loop {
            let queues = self.market.queue_statuses(None, &self.scratch.administrator).await?;
            let after = self.last_tick().await?;
            // On a machine that is slower than the ticks one always comes between.
            if before == after || looks == MOST_LOOKS {
                return Ok((after, queues));
            }
            before = after;
            looks += 1;
        }
    }

    async fn last_tick(&self) -> Result<(u64, Credits), DemoError> {
        let history = self.market.price_history(None, 1).await?;
        Ok(history.points.last().map_or((0, Credits::ZERO), |point| (point.tick, point.price)))
    }

    /// Judges what the users have got, and what they have paid.
    pub(super) async fn verdict(&self, corpus: &Corpus) -> Result<Verdict, DemoError> {
        let (mut counted, mut bills) = (Vec::new(), Vec::new());
        for User { bidder, signer, bids, lasted, .. } in &self.users {
            let statement = self.market.statement(None, None, signer).await?;
            let shown = self.market.request_signed("info", signer).await?;
            let end = shown.queues.first().map_or(Credits::ZERO, |queue| amount(&queue.budget));
            let known = Known { start: amount(BUDGET), end, bids: bids.clone(), lasted: *lasted };
            bills.push(Bill::of(&statement, &known));
            counted.push((bidder.name, counts_in(&self.scratch.output_folder(*bidder))?));
        }
        Ok(Verdict::of(corpus, &counted, &bills))
    }

    /// What can be done with a cluster that is left running.
    pub(super) fn next_steps(&self, scratch: &Scratch, program: &str) -> String {
        let Self { rpc, http, .. } = self;
        let [alice, _] = BIDDERS.map(|bidder| bidder.name);
        let key = scratch.key_file(alice);
        format!(
            "\nThe cluster goes on until Ctrl-C. Look at http://{http}/, and try in another shell:\n  \
             {program} job list --all --jobtracker {rpc}\n  \
             {program} queue statement --server {http} --user {alice} --key-file {}\n  \
             curl 'http://{http}/scheduler?price'",
            key.display()
        )
    }
}

// === impl User ===

impl User<'_> {
    fn is_over(&self) -> bool {
        self.view.is_some_and(|view| view.state.is_finished())
    }

    /// Looks how the job is; says it when it is over.
    async fn look(&mut self) -> Result<Option<String>, DemoError> {
        let Some(job) = self.job.filter(|_| !self.is_over()) else { return Ok(None) };
        let line = self.jobtracker.job(job).await?;
        let map = self.jobtracker.tally(job, Kind::Map).await?;
        let reduce = self.jobtracker.tally(job, Kind::Reduce).await?;
        self.view = Some(JobView { state: line.state, map, reduce });
        if !line.state.is_finished() {
            return Ok(None);
        }
        self.lasted = self.since.elapsed();
        if line.state == JobState::Succeeded {
            let (seconds, tenth) = (self.lasted.as_secs(), self.lasted.subsec_millis() / 100);
            return Ok(Some(format!("-- {}'s job is done after {seconds}.{tenth} s", self.bidder.name)));
        }
        let why = line.failure.unwrap_or_else(|| line.state.name().to_owned());
        Err(DemoError::JobEnded { user: self.bidder.name, why })
    }
}

/// An amount in the words of this program, or of its own server; what is none is found wrong with the bill.
fn amount(text: &str) -> Credits {
    Credits::parse_exact(text).unwrap_or_default()
}
