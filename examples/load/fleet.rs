//! Many trackers that call at once.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::latencies::Latencies;
use crate::station::Station;
use crate::steady_tracker::{Ending, Slots, Told};

/// Slots of an ordinary tracker.
pub const USUAL_SLOTS: Slots = Slots::new(4, 2);

/// Connected trackers.
#[derive(Debug)]
pub struct Fleet {
    stations: Vec<Station>,
}

/// What their heartbeats brought.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Heartbeats answered.
    pub heartbeats: u64,
    /// The sum of what they brought.
    pub told: Told,
    /// How long the answers took.
    pub latencies: Latencies,
}

/// How and how long a fleet calls; seen from outside while it does.
#[derive(Debug)]
pub struct Drive {
    rate: u32,
    end: Instant,
    is_stopped: Cell<bool>,
    totals: RefCell<Totals>,
}

// === impl Fleet ===

impl Fleet {
    /// Connects `count` trackers, numbered from `first` on, and has each call once.
    pub async fn connect(
        jobtracker: SocketAddr,
        first: u32,
        count: u32,
        slots: Slots,
        ending: Ending,
    ) -> anyhow::Result<Self> {
        let mut stations = Vec::new();
        for number in first..first + count {
            let mut station = Station::connect(jobtracker, number, slots, ending).await?;
            station.beat().await?;
            stations.push(station);
        }
        Ok(Self { stations })
    }

    /// Has all trackers call until the drive ends.
    pub async fn drive(&mut self, drive: &Rc<Drive>) -> anyhow::Result<()> {
        let mut running = JoinSet::new();
        let count = self.stations.len();
        let start = Instant::now();
        for (index, mut station) in self.stations.drain(..).enumerate() {
            let drive = Rc::clone(drive);
            running.spawn_local(async move {
                let outcome = drive.run(&mut station, start, index, count).await;
                // One that fails ends the drive for all.
                if outcome.is_err() {
                    drive.stop();
                }
                outcome.map(|()| station)
            });
        }
        while let Some(ended) = running.join_next().await {
            self.stations.push(ended??);
        }
        Ok(())
    }

    /// Has all trackers call for so long; what that brought.
    pub async fn drive_for(&mut self, rate: u32, time: Duration) -> anyhow::Result<Totals> {
        let drive = Drive::new(rate, time);
        self.drive(&drive).await?;
        Ok(drive.totals())
    }
}

// === impl Drive ===

impl Drive {
    /// At `rate` heartbeats a second of all trackers, or with 0 as fast as answers come, for `longest` at most.
    pub fn new(rate: u32, longest: Duration) -> Rc<Self> {
        let end = Instant::now() + longest;
        Rc::new(Self { rate, end, is_stopped: Cell::new(false), totals: RefCell::default() })
    }

    /// Ends it after the heartbeats that are under way.
    pub fn stop(&self) {
        self.is_stopped.set(true);
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.is_stopped.get() || Instant::now() >= self.end
    }

    /// What it has brought so far.
    pub fn told(&self) -> Told {
        self.totals.borrow().told
    }

    /// All it has brought since the last such question.
    pub fn totals(&self) -> Totals {
        self.totals.take()
    }

    async fn run(&self, station: &mut Station, start: Instant, index: usize, count: usize) -> anyhow::Result<()> {
        let period = (self.rate > 0).then(|| Duration::from_secs(1).mul_f64(count as f64 / f64::from(self.rate)));
        let mut due = start + period.map_or(Duration::ZERO, |period| period.mul_f64(index as f64 / count as f64));
        while !self.is_over() {
            let mut late = Duration::ZERO;
            if let Some(period) = period {
                let now = Instant::now();
                if now < due {
                    // Waking up late is the generator's fault and not counted; being kept from calling is.
                    sleep_until(due).await;
                } else {
                    late = now - due;
                }
                due += period;
            }
            let (told, took) = station.beat().await?;
            let mut totals = self.totals.borrow_mut();
            totals.heartbeats += 1;
            totals.told.add(told);
            totals.latencies.add(late + took);
        }
        Ok(())
    }
}

// === impl Told ===

impl Told {
    fn add(&mut self, other: Self) {
        self.launched += other.launched;
        self.housekeeping += other.housekeeping;
        self.ended += other.ended;
    }
}
