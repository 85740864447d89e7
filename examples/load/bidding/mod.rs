//! A bidding load on a daemon that is killed again and again; after each death its books are audited.
//!
//! `load bidding` starts the daemon itself, with the Dynamic Priority Scheduler, in an empty folder. Bidders, administrators,
//! submitters and trackers call it over real sockets until it gets SIGKILL; then a copy of what it left is held against the
//! laws of money (`money`), the budget file's grammar (`image`) and every answer that was given (`promises`), and the next
//! daemon on the same folder against what the one before it left (`after`).

pub mod after;
mod amount;
pub mod book;
pub mod daemon;
pub mod evidence;
pub mod http;
pub mod image;
pub mod load;
mod moment;
pub mod money;
pub mod promises;
mod report;
pub mod world;

use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use tokio::time::sleep;

use crate::arguments::Bidding;
use crate::dice::Dice;
use crate::wayward_tracker::WaywardTracker;
use book::Outcome;
use daemon::Daemon;
use evidence::Evidence;
use load::Callers;
use moment::{Aim, Assassin};
use money::Seen;
use report::{Life, Report};
use world::World;

/// Of so many lives before one the older half of the ledger is made older than its detail is kept.
const AGED_EACH: u32 = 15;
const AGED_FIRST: u32 = 3;
const AGED_MS: i64 = 40 * 86_400_000;
const LOOK_EVERY: Duration = Duration::from_millis(2);

struct Run {
    program: String,
    callers: Rc<Callers>,
    fleet: Vec<WaywardTracker>,
    dice: Dice,
    seen: Seen,
    left: Evidence,
    /// Lines of the daemons' log that have been looked at.
    log_lines: usize,
    /// Requests and submissions that have been counted.
    counted: (usize, usize),
}

/// Runs it; an error when anything was wrong.
pub async fn run(arguments: &Bidding) -> anyhow::Result<()> {
    let world = World::create(&arguments.folder, arguments.seed, &[])?;
    let mut run = Run {
        program: arguments.program.clone(),
        callers: Rc::new(Callers::new(world, 1)),
        fleet: load::fleet(),
        dice: Dice::named(arguments.seed, "bidding"),
        seen: Seen::default(),
        left: Evidence::default(),
        log_lines: 0,
        counted: (0, 0),
    };
    let mut report = Report::begin(arguments.seed);
    for number in 0..arguments.kills {
        if number % AGED_EACH == AGED_FIRST {
            run.age()?;
        }
        let life = run.live_and_die(Aim::of(number)).await.with_context(|| format!("kill {}", number + 1))?;
        report.add(life);
    }
    report.add(run.live_and_stop().await.context("the clean stop")?);
    report.end(&run.callers.book.borrow(), &run.left)
}

// === impl Run ===

impl Run {
    /// One start, some load unless the kill is aimed at the start, the kill and the audit.
    async fn live_and_die(&mut self, aim: Aim) -> anyhow::Result<Life> {
        let mut life = Life::new(aim.name());
        let callers = Rc::clone(&self.callers);
        callers.is_killed.store(false, Ordering::SeqCst);
        let mut daemon = Daemon::start(&self.program, &callers.world)?;
        let pid = daemon.pid().context("a process has an id")?;
        let dice = Dice::new(self.dice.roll());
        let is_killed = callers.is_killed.clone();
        let started_ms = daemon.started_ms;
        let hire = || Assassin::hire(pid, aim, dice, &callers.world, started_ms, is_killed);
        let assassin = if aim == Aim::Start {
            hire()?
        } else {
            life.ready = Some(daemon.ready(&callers.world).await?);
            let (wrong, signatures) = after::violations(&callers, &self.left, started_ms).await?;
            life.wrong.extend(wrong);
            life.used_signatures = signatures;
            let assassin = hire()?;
            load::until_killed(&callers, &mut self.fleet, Dice::new(self.dice.roll())).await?;
            assassin
        };
        while !assassin.is_done() {
            sleep(LOOK_EVERY).await;
        }
        life.hit = Some(assassin.hit()?);
        daemon.ended().await?;
        self.audit(&mut life)?;
        Ok(life)
    }

    /// The last start, which is ended as an administrator does.
    async fn live_and_stop(&mut self) -> anyhow::Result<Life> {
        let mut life = Life::new("stopped");
        let mut daemon = Daemon::start(&self.program, &self.callers.world)?;
        life.ready = Some(daemon.ready(&self.callers.world).await?);
        let (wrong, signatures) = after::violations(&self.callers, &self.left, daemon.started_ms).await?;
        life.wrong.extend(wrong);
        life.used_signatures = signatures;
        let status = daemon.stop().await?;
        ensure!(status.success(), "the daemon ended with {status}");
        self.audit(&mut life)?;
        if life.behind != Some(0) {
            life.wrong.push(format!("after a clean stop the budget file is {:?} ticks old", life.behind));
        }
        Ok(life)
    }

    /// Looks at what a daemon left that was started then.
    fn audit(&mut self, life: &mut Life) -> anyhow::Result<()> {
        let world = &self.callers.world;
        let evidence = Evidence::secure(&world.state(), &world.budget_file(), &world.folder.join("left"))?;
        let mut book = self.callers.book.borrow_mut();
        life.wrong.append(&mut book.wrong);
        let (wrong, charges) = money::violations(&evidence, &self.left, &mut self.seen);
        life.wrong.extend(wrong);
        life.charges = charges;
        life.wrong.extend(promises::violations(&evidence, &self.seen.ledger, &mut book, world));
        life.wrong.extend(daemon::complaints(world, &mut self.log_lines)?);
        let (wrong, behind) = image::violations(&evidence, &world.first_accounts());
        life.wrong.extend(wrong);
        life.behind = behind;
        life.ticks = evidence.ticks.len().saturating_sub(self.left.ticks.len());
        for request in &book.requests[self.counted.0..] {
            match request.outcome {
                Outcome::Done => life.done += 1,
                Outcome::Refused => life.refused += 1,
                Outcome::LostButDone => life.lost_but_done += 1,
                Outcome::Lost | Outcome::LostAndGone => life.lost_and_gone += 1,
            }
        }
        life.jobs = book.submissions[self.counted.1..].iter().filter(|job| job.is_accepted).count();
        self.counted = (book.requests.len(), book.submissions.len());
        self.left = evidence;
        Ok(())
    }

    /// Moves the older half of the ledger into the past, so that the next daemon folds it.
    fn age(&mut self) -> anyhow::Result<()> {
        let path = self.callers.world.state().join("state.db");
        let last = self.left.ledger.last().map_or(0, |row| row.number) / 2;
        age_rows(&path, last)?;
        forget_age(&mut self.seen, &mut self.left, last);
        Ok(())
    }
}

/// Moves the ledger of a dead daemon, up to a number, so far into the past that the next one folds it.
pub fn age_rows(path: &Path, last: i64) -> anyhow::Result<()> {
    let database = Connection::open(path)?;
    database.execute("UPDATE ledger SET wall_ms = wall_ms - ?1 WHERE number <= ?2 AND day IS NULL", [AGED_MS, last])?;
    database.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Has what was seen before go by that.
pub fn forget_age(seen: &mut Seen, left: &mut Evidence, last: i64) {
    for (_, row) in seen.ledger.range_mut(..=last) {
        row.wall_ms -= AGED_MS;
    }
    for row in left.ledger.iter_mut().filter(|row| row.number <= last) {
        row.wall_ms -= AGED_MS;
    }
}
