//! The engine, without a daemon around it.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, bail};

use jobtracker::config::LoadOptions;
use jobtracker::config::settings::{CAPACITY_CLASS, FAIR_CLASS, FIFO_CLASS};
use jobtracker::engine::{
    Caller, Effect, Engine, EngineConfig, Event, HeartbeatAnswer, IdOwner, PolicyConfig, QueueConfig, ReadSubmission,
    Reply, Restored, Step, SubmissionReply,
};
use jobtracker::mapreduce::{JobSpec, POOL_PROPERTY, PoolProperties, SplitTable};
use jobtracker::market::JobSignature;
use jobtracker::model::{Identifier, Now, PerKind, Priority};
use jobtracker::scheduler::FifoOptions;
use jobtracker::server::engine_config;
use jobtracker::wire::{Decode, HeartbeatRequest, HeartbeatResponse, Reader};

use super::fleet::fleet;
use super::play::{JobTracker, job_id};
use super::script::{PRIORITIES, PlannedJob, Script, rack_of};
use super::settings::{QUEUES, SchedulerName, Settings};

/// An engine that gives exactly what the original gives in a heartbeat.
#[derive(Debug)]
pub struct InProcess {
    scheduler: SchedulerName,
    /// The script played before: its trackers are registered until each calls for the first time in the next one.
    before: Option<Script>,
    engine: Engine,
    now: Now,
}

/// At time 0 of a script.
const START: Now = Now { mono_ms: 1_000_000, wall_ms: 1_795_252_000_000 };
const DAY_MS: u64 = 86_400_000;
const SPLIT_BYTES: i64 = 64 << 20;

// === impl InProcess ===

impl InProcess {
    /// An engine under a scheduler; none where ours has no such one.
    pub fn new(scheduler: SchedulerName) -> Option<Self> {
        // Each script brings its own settings.
        let policy = PolicyConfig::Fifo(FifoOptions { compatible: true, pad_millionths: 10_000 });
        let config = EngineConfig::with_defaults(Identifier::from_number(0), policy);
        Some(Self { scheduler, before: None, engine: engine(config), now: START })
    }

    fn step(&mut self, event: Event) -> Step {
        let step = self.engine.step(event, self.now);
        for effect in &step.effects {
            if let Effect::ResolveRack { host } = effect {
                self.engine.step(Event::RackResolved { host: host.clone(), rack: rack_of(host).to_owned() }, self.now);
            }
        }
        step
    }

    fn ring(&mut self) {
        let durable = self.engine.last_fact();
        self.step(Event::Timer { durable });
    }
}

impl JobTracker for InProcess {
    async fn begin(&mut self, script: &Script) -> anyhow::Result<()> {
        self.engine = engine(configuration(self.scheduler, &script.settings)?);
        self.now = START;
        if let Some(before) = self.before.replace(script.clone()) {
            for (tracker, scripted) in (1..).zip(&mut fleet(&before)) {
                // Known to the original before its new scheduler first sorts queues.
                let request = HeartbeatRequest { accept_new_tasks: false, ..scripted.heartbeat(&before, 0) };
                self.step(Event::Heartbeat { request, connection: tracker, address: None });
                self.step(Event::ConnectionClosed { connection: tracker });
            }
        }
        Ok(())
    }

    async fn advance(&mut self, now_ms: u64) -> anyhow::Result<()> {
        let end_ms = START.mono_ms + now_ms;
        while let Some(due_ms) = self.engine.next_timer_ms().filter(|due_ms| *due_ms <= end_ms) {
            self.now = at(due_ms.max(self.now.mono_ms));
            self.ring();
            // It may want to ring at once again, but not for ever.
            if self.engine.next_timer_ms() == Some(due_ms) {
                break;
            }
        }
        self.now = at(end_ms);
        Ok(())
    }

    async fn submit(&mut self, job: usize, plan: &PlannedJob) -> anyhow::Result<bool> {
        let owner = IdOwner::named(plan.user.as_str());
        let Reply::JobId(id) = self.step(Event::NewJobId { owner }).reply else { bail!("no job id") };
        anyhow::ensure!(id == job_id(job), "job {job} of the script became {id}");
        let caller = || Caller::named(plan.user.as_str());
        self.step(Event::SubmissionRequested { id, caller: caller() });
        let read = ReadSubmission {
            id,
            caller: caller(),
            spec: Arc::new(spec(plan)),
            splits: Arc::new(splits(plan)),
            credentials: Default::default(),
            signature: JobSignature::Missing,
            token_secret: [7; 20],
            job_xml: Arc::default(),
        };
        match self.step(Event::SubmissionRead(Box::new(read))).reply {
            Reply::Submission(SubmissionReply::WriteSystemDir { .. }) => {}
            Reply::Refused(_) => return Ok(false),
            other => bail!("a submission was answered by {other:?}"),
        }
        self.step(Event::SystemDirWritten { id });
        Ok(true)
    }

    async fn beat(&mut self, tracker: usize, request: HeartbeatRequest) -> anyhow::Result<HeartbeatResponse> {
        match self.step(Event::Heartbeat { request, connection: tracker as u64 + 1, address: None }).reply {
            Reply::Heartbeat(HeartbeatAnswer::Fresh(answer)) => Ok(answer),
            Reply::Heartbeat(HeartbeatAnswer::Encoded(body)) => {
                HeartbeatResponse::decode(&mut Reader::new(&body)).context("an encoded answer")
            }
            other => bail!("a heartbeat was answered by {other:?}"),
        }
    }

    async fn kill_job(&mut self, job: usize) -> anyhow::Result<()> {
        self.step(Event::KillJob { id: job_id(job), caller: Caller::named("mapred") });
        Ok(())
    }

    async fn set_priority(&mut self, job: usize, priority: &str) -> anyhow::Result<()> {
        let caller = Caller::named("mapred");
        self.step(Event::SetJobPriority { id: job_id(job), priority: priority.to_owned(), caller });
        Ok(())
    }
}

/// The engine's configuration as a daemon has it from a conf folder.
fn configuration(scheduler: SchedulerName, settings: &Settings) -> anyhow::Result<EngineConfig> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_str().context("a folder without a name")?;
    for (name, text) in settings.files(path) {
        std::fs::write(folder.path().join(name), text)?;
    }
    let class = match scheduler {
        SchedulerName::Fifo => FIFO_CLASS,
        SchedulerName::Capacity => CAPACITY_CLASS,
        SchedulerName::Fair => FAIR_CLASS,
    };
    let overrides = [
        format!("mapred.jobtracker.taskScheduler={class}"),
        format!("mapred.queue.names={}", QUEUES.join(",")),
        "jobtracker.scheduler.compatible=true".to_owned(),
        format!("hadoop.tmp.dir={path}"),
        "mapred.job.tracker=127.0.0.1:0".to_owned(),
    ];
    let options = LoadOptions {
        conf_dir: Some(folder.path().to_owned()),
        overrides: overrides.to_vec(),
        ..LoadOptions::default()
    };
    let (loaded, _) = jobtracker::config::Settings::load(&options)?;
    Ok(engine_config(&loaded, &BTreeSet::new(), 0, String::new())?)
}

fn engine(found: EngineConfig) -> Engine {
    let mut config = EngineConfig::with_defaults(Identifier::from_number(0), found.policy);
    config.queues = QUEUES.iter().map(|queue| QueueConfig::open(queue)).collect();
    config.limits.max_task_memory_mb = found.limits.max_task_memory_mb;
    // No tracker and no launch expires.
    config.tracker_expiry_ms = DAY_MS;
    let mut engine = Engine::new(config, Restored::default(), START);
    engine.take_start_facts();
    engine
}

fn at(mono_ms: u64) -> Now {
    Now { mono_ms, wall_ms: START.wall_ms + (mono_ms - START.mono_ms).cast_signed() }
}

fn spec(plan: &PlannedJob) -> JobSpec {
    let memory_mb = |mb: Option<u32>| mb.map(u64::from);
    JobSpec {
        priority: PRIORITY[plan.priority],
        map_memory_mb: memory_mb(plan.memory_mb.map(|(map, _)| map)),
        reduce_memory_mb: memory_mb(plan.memory_mb.map(|(_, reduce)| reduce)),
        slowstart_millionths: plan.slowstart_millionths,
        pool_properties: pool_properties(plan),
        // A host is never avoided for its failures.
        max_tracker_failures: 1_000,
        speculative: PerKind::new(false, false),
        ..JobSpec::with_defaults(&plan.user, &plan.queue, plan.splits.len() as u32, plan.reduces)
    }
}

fn pool_properties(plan: &PlannedJob) -> PoolProperties {
    let named = plan.pool.iter().map(|pool| (POOL_PROPERTY.to_owned(), pool.clone()));
    PoolProperties(named.collect())
}

/// The same order as [`PRIORITIES`].
const PRIORITY: [Priority; PRIORITIES.len()] =
    [Priority::VeryHigh, Priority::High, Priority::Normal, Priority::Low, Priority::VeryLow];

fn splits(plan: &PlannedJob) -> SplitTable {
    let mut splits = SplitTable::builder();
    for (map, holders) in (0_i64..).zip(&plan.splits) {
        splits.push(map * SPLIT_BYTES, SPLIT_BYTES, holders.iter().map(String::as_str));
    }
    splits.build(|host| rack_of(host).to_owned())
}
