//! The users' actions: alice has the cluster to herself, bob submits and pays more, alice raises her bid. Actions depend on the progress of
//! the jobs, not on time: a slow machine takes longer and shows the same.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::api::QueueStatus;
use crate::client::job::configuration::JobConfiguration;
use crate::client::job::streaming::{Reducer, StreamingJob};
use crate::client::job::submit::{PreparedJob, SigningOptions};
use crate::client::job::view::JobState;
use crate::client::job::{JobId, JobTrackerClient, Kind};
use crate::client::market::{MarketClient, Signer};
use crate::config::HostPort;
use crate::lifecycle::Serving;
use crate::model::Credits;

use super::bill::{Bill, ExpectedBill};
use super::corpus::Corpus;
use super::error::DemoError;
use super::market_table::{MarketTable, WatchedJob};
use super::scratch::{ALLOC_INTERVAL_S, BIDDERS, BUDGET, Bidder, Scratch, TASK_PROGRAM};
use super::screen::Screen;
use super::word_check::{DemoReport, read_counts};

/// Pause between two refreshes.
const PAUSE: Duration = Duration::from_millis(150);
/// Most reads until no tick came between the parts of a table.
const MOST_READS: u32 = 3;
/// Ticks during which alice is alone.
const TICKS_ALONE: u64 = 4;
/// The bid of alice from halfway on.
const RAISED_BID: &str = "6.6";
const REDUCES: u32 = 2;
const TIMEOUT_S: u64 = 600;

struct User<'a> {
    bidder: Bidder,
    signer: &'a Signer,
    jobtracker: JobTrackerClient,
    job: Option<JobId>,
    view: Option<WatchedJob>,
    /// When the job was submitted.
    since: Instant,
    lasted: Duration,
    bids: Vec<Credits>,
}

pub(super) struct Scenario<'a> {
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

impl<'a> Scenario<'a> {
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

    /// Runs it until the first tick after the end of both jobs.
    pub(super) async fn play(&mut self, screen: &mut Screen) -> Result<(), DemoError> {
        let begin = Instant::now();
        self.submit(0, screen).await?;
        let mut last_tick = None;
        loop {
            let table = self.refresh(screen).await?;
            screen.show(&table);
            if self.users.iter().all(User::is_over) {
                // The last interval is charged at its end.
                if *last_tick.get_or_insert(table.tick) < table.tick {
                    return Ok(());
                }
            } else {
                self.perform_due_actions(&table, screen).await?;
            }
            if begin.elapsed().as_secs() > TIMEOUT_S {
                return Err(DemoError::TooSlow(TIMEOUT_S));
            }
            sleep(PAUSE).await;
        }
    }

    async fn perform_due_actions(&mut self, table: &MarketTable, screen: &mut Screen) -> Result<(), DemoError> {
        let (done, all) = table.maps(self.options.maps);
        if self.users[1].job.is_none() {
            // A short job may finish before any tick has sold her slots.
            let is_ready = |view: &WatchedJob| view.state.is_finished() || table.has_buyers(1);
            let Some(alice) = self.users[0].view.filter(is_ready) else { return Ok(()) };
            let since = *self.alone_since.get_or_insert(table.tick);
            if table.tick - since >= TICKS_ALONE || alice.map.finished * 3 >= alice.map.total {
                self.submit(1, screen).await?;
            }
        } else if !self.has_raised && !self.users[0].is_over() && done * 2 >= all && table.has_buyers(2) {
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
            archives: Vec::new(),
            input_format: None,
            partitioner: None,
            environment: Vec::new(),
            streaming_jar: None,
        };
        let values = [
            format!("mapred.map.tasks={}", options.maps),
            // All slots in the table do the same work, and none runs a speculative attempt.
            "mapred.reduce.slowstart.completed.maps=1.0".to_owned(),
            "mapred.map.tasks.speculative.execution=false".to_owned(),
            "mapred.reduce.tasks.speculative.execution=false".to_owned(),
        ];
        let configuration = JobConfiguration::load(None, &values, bidder.name)?;
        let files = configuration.file_systems(bidder.name);
        let prepared = PreparedJob::new(job, &configuration, &files, &Scratch::uri(scratch.folder())?)?;
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

    async fn refresh(&mut self, screen: &mut Screen) -> Result<MarketTable, DemoError> {
        let ((tick, price), mut queues) = self.standings().await?;
        queues.retain(|queue| BIDDERS.iter().any(|bidder| bidder.name == queue.queue.as_str()));
        let mut jobs = Vec::new();
        for user in &mut self.users {
            if let Some(end) = user.refresh().await? {
                screen.say(&end);
            }
            jobs.push(user.view);
        }
        Ok(MarketTable { tick, price, queues, jobs })
    }

    /// The last tick with its price, and the queues after it.
    async fn standings(&self) -> Result<((u64, Credits), Vec<QueueStatus>), DemoError> {
        let mut before = self.last_tick().await?;
        let mut reads = 1;
        loop {
            let queues = self.market.queue_statuses(None, &self.scratch.administrator).await?;
            let after = self.last_tick().await?;
            // On a very slow machine a tick always comes between.
            if before == after || reads == MOST_READS {
                return Ok((after, queues));
            }
            before = after;
            reads += 1;
        }
    }

    async fn last_tick(&self) -> Result<(u64, Credits), DemoError> {
        let history = self.market.price_history(None, 1).await?;
        Ok(history.points.last().map_or((0, Credits::ZERO), |point| (point.tick, point.price)))
    }

    pub(super) async fn check(&self, corpus: &Corpus) -> Result<DemoReport, DemoError> {
        let (mut counted, mut bills) = (Vec::new(), Vec::new());
        for User { bidder, signer, bids, lasted, .. } in &self.users {
            let statement = self.market.statement(None, None, signer).await?;
            let shown = self.market.request_signed("info", signer).await?;
            let end = shown.queues.first().map_or(Credits::ZERO, |queue| amount(&queue.budget));
            let (start, bids, lasted) = (amount(BUDGET), bids.clone(), *lasted);
            let expected = ExpectedBill { start, end, bids, interval_ms: ALLOC_INTERVAL_S * 1_000, lasted };
            bills.push(Bill::of(&statement, &expected));
            counted.push((bidder.name, read_counts(&self.scratch.output_folder(*bidder))?));
        }
        Ok(DemoReport::of(corpus, &counted, &bills))
    }

    pub(super) fn next_steps(&self, scratch: &Scratch, program: &str) -> String {
        let Self { rpc, http, .. } = self;
        let [alice, _] = BIDDERS.map(|bidder| bidder.name);
        let (key, operator) = (scratch.key_file(alice), &scratch.administrator.user);
        let operator_key = scratch.key_file(operator);
        format!(
            "\nThe cluster runs until Ctrl-C. Look at http://{http}/, and try in another shell:\n  \
             {program} job list --all --jobtracker {rpc}\n  \
             {program} queue statement --server {http} --user {alice} --key-file {}\n  \
             {program} open /policy --server {http} --as {operator} --key-file {}\n  \
             curl 'http://{http}/scheduler?price'",
            key.display(),
            operator_key.display()
        )
    }
}

impl User<'_> {
    fn is_over(&self) -> bool {
        self.view.is_some_and(|view| view.state.is_finished())
    }

    /// Reads the job's progress; returns a line when it is done.
    async fn refresh(&mut self) -> Result<Option<String>, DemoError> {
        let Some(job) = self.job.filter(|_| !self.is_over()) else { return Ok(None) };
        let line = self.jobtracker.job(job).await?;
        let map = self.jobtracker.tally(job, Kind::Map).await?;
        let reduce = self.jobtracker.tally(job, Kind::Reduce).await?;
        self.view = Some(WatchedJob { state: line.state, map, reduce });
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

/// Parses an amount of this program or its server; an invalid one fails the check of the bill.
fn amount(text: &str) -> Credits {
    Credits::parse_exact(text).unwrap_or_default()
}

/// What a demo runs, and how.
#[derive(Clone, Debug)]
pub(crate) struct DemoOptions {
    /// Size of the text, MB.
    pub(crate) corpus_mb: u32,
    /// Maps of each job, about.
    pub(crate) maps: u32,
    /// Shortest run time of a map, ms.
    pub(crate) map_ms: u64,
    /// Whether the cluster keeps running after the scenario.
    pub(crate) keep: bool,
    pub(crate) miscount: bool,
    pub(crate) program: String,
}
