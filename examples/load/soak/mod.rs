//! A soak: trackers, signed jobs, bidders, administrators and polling clients on a daemon that gets SIGKILL once in a while and is
//! started again at once, while everybody goes on calling.
//!
//! Each death is followed by the audit of a copy of what was left, by the same laws as in `bidding`, while the next life has begun. At the
//! end nothing new comes, every job must end, and a clean stop and a last audit follow. A line for each life tells what the daemon takes.

mod clients;
mod figures;
mod register;
mod stage;
mod tracker;

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use anyhow::{Context, ensure};
use rustix::process::{Signal, kill_process};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking, spawn_local};
use tokio::time::{Duration, Instant, sleep, sleep_until};

use crate::arguments::Soak;
use crate::bidding::daemon::{self, Daemon};
use crate::bidding::evidence::Evidence;
use crate::bidding::load::Callers;
use crate::bidding::money::{self, Seen};
use crate::bidding::world::{BIDDERS, SUBMITTERS, World};
use crate::bidding::{after, age_rows, forget_age, image, promises};
use crate::dice::Dice;
use crate::server_process::ServerProcess;
use figures::{Life, Sample};
use stage::Stage;
use tracker::Station;

/// How many times slower than in `bidding` people bid and pay in.
const PACE: u32 = 30;
const POLLERS: usize = 4;
/// Finished jobs that the daemon keeps at hand: a minute's worth or more.
const FINISHED_JOBS: u32 = 200;
/// Those that it keeps on the disk: few enough for `state.db` to be as large as it gets in the first quarter of a run.
const FINISHED_JOBS_ON_DISK: u32 = 250;
/// Jobs after which a run is steady: those kept are full, and as many are unfinished as will be.
const STEADY_AFTER_JOBS: u64 = 4 * FINISHED_JOBS_ON_DISK as u64;
/// Before every so many starts all but the last movements of money are made older than the ledger's detail is kept.
const AGED_EACH: u32 = 10;
/// Those last movements: as many each time, for `state.db` to be as large as it gets in the first quarter of a run.
const MOVEMENTS_IN_DETAIL: i64 = 500;
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(2);
const SETTLE_EVERY: Duration = Duration::from_secs(1);
const DRAIN_LIMIT: Duration = Duration::from_secs(180);
/// Lines of what was wrong that are shown.
const SHOWN: usize = 40;

struct Run {
    arguments: Soak,
    stage: Rc<Stage>,
    dice: Dice,
    began: Instant,
    audited: Audited,
    log_lines: usize,
    lives: Vec<Life>,
    wrong: Vec<String>,
}

/// What the audits go by.
#[derive(Default)]
struct Audited {
    left: Evidence,
    seen: Seen,
}

/// A start of the daemon that is being watched.
struct Watch {
    daemon: Daemon,
    started: Instant,
    samples: Rc<RefCell<Vec<Sample>>>,
    port: Rc<Cell<Option<Duration>>>,
    tasks: Vec<JoinHandle<()>>,
}

/// Runs it; an error when anything was wrong or not flat.
pub async fn run(arguments: &Soak) -> anyhow::Result<()> {
    let further = [
        ("mapred.job.tracker.retiredjobs.cache.size", FINISHED_JOBS.to_string()),
        ("jobtracker.state.finished-jobs", FINISHED_JOBS_ON_DISK.to_string()),
    ];
    let world = World::create(&arguments.folder, arguments.seed, &further)?;
    let stage = Rc::new(Stage::new(Rc::new(Callers::new(world, PACE))));
    let mut run = Run {
        arguments: arguments.clone(),
        stage,
        dice: Dice::named(arguments.seed, "soak"),
        began: Instant::now(),
        audited: Audited::default(),
        log_lines: 0,
        lives: Vec::new(),
        wrong: Vec::new(),
    };
    run.populate();
    Life::print_head();
    run.live().await?;
    run.report()
}

// === impl Run ===

impl Run {
    /// Those who call through all lives.
    fn populate(&mut self) {
        for number in 0..self.arguments.trackers {
            let station = Station::new(number, Dice::new(self.dice.roll()));
            spawn_local(station.run(Rc::clone(&self.stage)));
        }
        for _ in 0..POLLERS {
            spawn_local(clients::poll(Rc::clone(&self.stage), Dice::new(self.dice.roll())));
        }
        spawn_local(clients::browse(Rc::clone(&self.stage)));
        let stage = Rc::clone(&self.stage);
        spawn_local(async move {
            while !stage.is_closed() {
                stage.register.borrow_mut().settle();
                sleep(SETTLE_EVERY).await;
            }
        });
    }

    /// Life after life, each with its kill, until the time is over; then the end of all jobs, and a clean stop.
    async fn live(&mut self) -> anyhow::Result<()> {
        let period = Duration::from_secs(self.arguments.kill_every_s.into());
        let kills = self.arguments.minutes * 60 / self.arguments.kill_every_s.max(1);
        let mut watch = self.start().await?;
        let mut before: Option<(JoinHandle<anyhow::Result<Audit>>, Life, Option<i64>)> = None;
        for number in 0..=kills {
            let callers = Rc::clone(&self.stage.callers);
            let mut life = Life::default();
            if let Some((audit, life, aged)) = before.take() {
                self.take_audit(audit.await??, life, aged);
            }
            callers.is_killed.store(false, Ordering::SeqCst);
            let (wrong, _) = after::replays(&callers).await?;
            self.wrong.extend(wrong);
            let is_last = number == kills;
            let mut people = JoinSet::new();
            if is_last {
                self.drain().await;
            } else {
                people = self.people();
                // At a moment of chance within the middle of each period.
                let part = 0.1 + 0.8 * f64::from(self.dice.below(10_000)) / 10_000.0;
                sleep_until(self.began + period * number + period.mul_f64(part)).await;
            }
            callers.is_killed.store(true, Ordering::SeqCst);
            self.stage.begin_outage();
            watch.fill(&mut life, &self.stage);
            let daemon = watch.daemon;
            if is_last {
                self.stage.close();
                let status = daemon.stop().await?;
                ensure!(status.success(), "the daemon ended with {status}");
                self.describe(&mut life);
                let audit = self.audit(self.copy()?);
                self.take_audit(audit.await??, life, None);
                return Ok(());
            }
            kill_process(daemon.pid().context("a process has an id")?, Signal::KILL)?;
            daemon.ended().await?;
            let copy = self.copy()?;
            let aged = self.age(number)?;
            watch = self.start().await?;
            self.describe(&mut life);
            while let Some(ended) = people.join_next().await {
                ended?;
            }
            let audit = self.audit(copy);
            before = Some((audit, life, aged));
        }
        Ok(())
    }

    /// Now and then moves all but the last of the ledger, up to the number it gives back, into the past.
    fn age(&self, number: u32) -> anyhow::Result<Option<i64>> {
        if number % AGED_EACH != AGED_EACH - 1 {
            return Ok(None);
        }
        let last = self.audited.left.ledger.last().map_or(0, |row| row.number).saturating_sub(MOVEMENTS_IN_DETAIL);
        age_rows(&self.stage.callers.world.state().join("state.db"), last)?;
        Ok(Some(last))
    }

    /// Starts the daemon and waits until it is ready.
    async fn start(&self) -> anyhow::Result<Watch> {
        let world = &self.stage.callers.world;
        let started = Instant::now();
        let mut daemon = Daemon::start(&self.arguments.program, world)?;
        let pid = daemon.pid().context("a process has an id")?;
        let process = ServerProcess::new(pid.as_raw_nonzero().get().cast_unsigned())?;
        // What was counted since the kill came from the life before.
        let _ = self.stage.heartbeats();
        let (samples, port) = (Rc::<RefCell<Vec<Sample>>>::default(), Rc::<Cell<Option<Duration>>>::default());
        let sampling = {
            let (samples, state) = (Rc::clone(&samples), world.state());
            spawn_local(async move {
                loop {
                    sleep(SAMPLE_EVERY).await;
                    // A process that has just died has no figures.
                    if let Ok(sample) = Sample::take(process, &state) {
                        samples.borrow_mut().push(sample);
                    }
                }
            })
        };
        let knocking = {
            let (port, rpc) = (Rc::clone(&port), world.rpc);
            spawn_local(async move {
                while TcpStream::connect(rpc).await.is_err() {
                    sleep(LOOK_EVERY).await;
                }
                port.set(Some(started.elapsed()));
            })
        };
        daemon.ready(world).await?;
        self.stage.end_outage();
        Ok(Watch { daemon, started, samples, port, tasks: vec![sampling, knocking] })
    }

    /// Those who call for one life: bidders, administrators, submitters.
    fn people(&mut self) -> JoinSet<()> {
        let mut people = JoinSet::new();
        let callers = &self.stage.callers;
        for user in 0..BIDDERS {
            people.spawn_local(Rc::clone(callers).bid(user, Dice::new(self.dice.roll())));
        }
        for user in 0..SUBMITTERS {
            let dice = Dice::new(self.dice.roll());
            people.spawn_local(clients::submit(Rc::clone(&self.stage), user, self.arguments.trackers, dice));
        }
        for (number, user) in (BIDDERS..callers.world.users.len()).enumerate() {
            people.spawn_local(Rc::clone(callers).administer(user, number, Dice::new(self.dice.roll())));
        }
        people
    }

    /// Waits for the end of all jobs.
    async fn drain(&self) {
        let end = Instant::now() + DRAIN_LIMIT;
        while self.stage.register.borrow().unsettled() > 0 && Instant::now() < end {
            sleep(SETTLE_EVERY).await;
        }
        self.stage.register.borrow_mut().close();
    }

    fn copy(&self) -> anyhow::Result<PathBuf> {
        let world = &self.stage.callers.world;
        let copy = world.folder.join("left");
        Evidence::copy(&world.state(), &world.budget_file(), &copy)?;
        Ok(copy)
    }

    /// Looks at the copy of what a daemon left that was started then, on another thread.
    fn audit(&mut self, copy: PathBuf) -> JoinHandle<anyhow::Result<Audit>> {
        let Audited { left, mut seen } = std::mem::take(&mut self.audited);
        let mut book = self.stage.callers.book.take();
        let world = std::sync::Arc::clone(&self.stage.callers.world);
        spawn_blocking(move || {
            let evidence = Evidence::read_copy(&copy)?;
            let mut wrong = std::mem::take(&mut book.wrong);
            wrong.extend(money::violations(&evidence, &left, &mut seen).0);
            wrong.extend(promises::violations(&evidence, &seen.ledger, &mut book, &world));
            wrong.extend(image::violations(&evidence, &world.first_accounts()).0);
            let kept_bytes = figures::kept_bytes(&copy)?;
            Ok(Audit { audited: Audited { left: evidence, seen }, kept_bytes, book, wrong })
        })
    }

    /// What came of an audit; `aged` is the number up to which the ledger was made older after the copy.
    fn take_audit(&mut self, audit: Audit, mut life: Life, aged: Option<i64>) {
        let Audit { mut audited, kept_bytes, book, wrong } = audit;
        self.stage.callers.book.replace(book);
        self.wrong.extend(wrong);
        life.kept_bytes = kept_bytes;
        life.movements = audited.left.ledger.last().map_or(0, |row| row.number);
        if let Some(last) = aged {
            forget_age(&mut audited.seen, &mut audited.left, last);
        }
        self.audited = audited;
        match daemon::complaints(&self.stage.callers.world, &mut self.log_lines) {
            Ok(complaints) => self.wrong.extend(complaints),
            Err(error) => self.wrong.push(format!("the daemon's log: {error}")),
        }
        self.wrong.append(&mut self.stage.register.borrow_mut().wrong);
        life.wrong = self.wrong.len();
        life.print();
        self.lives.push(life);
    }

    fn describe(&self, life: &mut Life) {
        let register = self.stage.register.borrow();
        life.at_s = self.began.elapsed().as_secs();
        life.jobs = register.settled();
        life.tasks = register.done;
    }

    fn report(self) -> anyhow::Result<()> {
        let register = self.stage.register.borrow();
        println!(
            "{} jobs ended as they must: {:?}; {} attempts launched, {} tasks done, {} attempts ended by order or from outside; {} polls",
            register.settled(),
            register.ended,
            register.launched,
            register.done,
            register.killed,
            self.stage.polls.get(),
        );
        let left = &self.audited.left;
        println!(
            "{} movements of money, folded up to {}; {} jobs in state.db, {} attempts preempted",
            left.ledger.last().map_or(0, |row| row.number),
            left.folded_through(),
            left.jobs.len(),
            left.preempted,
        );
        let flat = figures::judge(&self.lives, STEADY_AFTER_JOBS);
        println!("{} violations", self.wrong.len());
        for text in self.wrong.iter().take(SHOWN) {
            println!("wrong: {text}");
        }
        ensure!(self.wrong.is_empty(), "{} violations", self.wrong.len());
        flat
    }
}

/// What an audit gives back.
struct Audit {
    audited: Audited,
    kept_bytes: u64,
    book: crate::bidding::book::Book,
    wrong: Vec<String>,
}

// === impl Watch ===

impl Watch {
    /// What was seen of it, before it dies.
    fn fill(&self, life: &mut Life, stage: &Stage) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let mut heartbeats = stage.heartbeats();
        life.up_ms = self.started.elapsed().as_millis();
        // The first half of a life it grows to its size.
        let samples = self.samples.borrow();
        life.mean = Sample::mean(&samples[samples.len() / 2..]);
        life.heartbeats = heartbeats.latencies.count();
        [life.p50_us, life.p99_us] = heartbeats.latencies.quantiles_us([500, 990]);
        life.port_ms = self.port.get().map(|time| time.as_millis());
        life.first_ms = heartbeats.first.map(|first| first.saturating_duration_since(self.started).as_millis());
    }
}
