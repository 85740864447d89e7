//! What a bidding load happens in: a folder, a daemon's conf files, users with keys and queues with budgets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jobtracker::client::market::Signer;
use jobtracker::market::Key;

use super::amount::{UNITS_PER_CREDIT, file_decimal};
use crate::dice::Dice;

/// Users with a queue of their own.
pub const BIDDERS: usize = 20;
/// Those of them who submit jobs.
pub const SUBMITTERS: usize = 8;
/// Queues that come and go; nobody may submit to them.
pub const EXTRA_QUEUES: usize = 6;
/// Seconds between ticks, and between rounds of preemption.
pub const ALLOC_INTERVAL_MS: i64 = 1000;

const ADMINISTRATORS: [&str; 3] = ["root", "treasurer", "clerk"];

/// The folder and the names in it.
#[derive(Debug)]
pub struct World {
    /// Everything lies in it.
    pub folder: PathBuf,
    /// The daemon's RPC address.
    pub rpc: SocketAddr,
    /// The daemon's HTTP address.
    pub http: SocketAddr,
    /// First the bidders, then the administrators.
    pub users: Vec<Signer>,
    /// By how much the clock of each user is ahead, ms. A timestamp that lies after the daemon's next start is refused
    /// then only by those who remember it.
    pub ahead_ms: Vec<i64>,
    /// What the budget file gives each bidder: budget and rate, units.
    pub endowments: Vec<(i128, i128)>,
}

// === impl World ===

impl World {
    /// Writes conf files with these further properties, ACL and budget file into the folder, which must be empty.
    pub fn create(folder: &Path, seed: u64, further: &[(&str, String)]) -> anyhow::Result<Self> {
        let mut dice = Dice::named(seed, "world");
        let bidders = (1..=BIDDERS).map(|number| format!("bidder-{number:02}"));
        let names: Vec<String> = bidders.chain(ADMINISTRATORS.map(str::to_owned)).collect();
        let mut world = Self {
            folder: folder.to_owned(),
            rpc: free_port(&mut dice)?,
            http: free_port(&mut dice)?,
            users: Vec::new(),
            ahead_ms: names.iter().map(|_| i64::from(dice.below(120_000))).collect(),
            endowments: (0..BIDDERS)
                .map(|_| (thousandths(&mut dice, 900_000), thousandths(&mut dice, 3_000)))
                .collect(),
        };
        world.users = names
            .into_iter()
            .map(|user| Signer { key: Key::new(&format!("key-of-{user}-{:x}", dice.roll())), user })
            .collect();
        world.write_conf(further).with_context(|| folder.display().to_string())?;
        Ok(world)
    }

    /// Whether the user is an administrator.
    pub fn is_administrator(user: usize) -> bool {
        user >= BIDDERS
    }

    /// Balance and bid of each queue when the budget file has come in.
    pub fn first_accounts(&self) -> BTreeMap<String, (i128, i128)> {
        self.users.iter().zip(&self.endowments).map(|(signer, sums)| (signer.user.clone(), *sums)).collect()
    }

    /// The folder of conf files.
    pub fn conf(&self) -> PathBuf {
        self.folder.join("conf")
    }

    /// The daemon's state folder.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// The budget file.
    pub fn budget_file(&self) -> PathBuf {
        self.folder.join("hadoop.budget")
    }

    fn write_conf(&self, further: &[(&str, String)]) -> std::io::Result<()> {
        fs::create_dir_all(self.conf())?;
        let of = |name: &str| self.folder.join(name).display().to_string();
        let seconds = (ALLOC_INTERVAL_MS / 1000).to_string();
        let core = [("fs.default.name", "file:///".to_owned()), ("hadoop.tmp.dir", of("tmp"))];
        let mapred = [
            ("mapred.job.tracker", self.rpc.to_string()),
            ("mapred.job.tracker.http.address", self.http.to_string()),
            ("mapred.system.dir", of("system")),
            ("mapreduce.jobtracker.staging.root.dir", of("staging")),
            ("jobtracker.state.dir", of("state")),
            ("mapred.jobtracker.taskScheduler", "org.apache.hadoop.mapred.DynamicPriorityScheduler".to_owned()),
            ("mapred.dynamic-scheduler.alloc-interval", seconds.clone()),
            ("mapred.priority-scheduler.kill-interval", seconds),
            ("mapred.dynamic-scheduler.budget-file", of("hadoop.budget")),
            ("mapred.priority-scheduler.acl-file", of("hadoop.acl")),
        ];
        fs::write(self.conf().join("core-site.xml"), configuration(&core))?;
        fs::write(self.conf().join("mapred-site.xml"), configuration(&[&mapred, further].concat()))?;
        let mut acl = String::new();
        for (number, signer) in self.users.iter().enumerate() {
            let role = if Self::is_administrator(number) { "admin" } else { "user" };
            // Writing to a string cannot fail.
            let _ = writeln!(acl, "{} {role} {}", signer.user, String::from_utf8_lossy(signer.key.as_bytes()));
        }
        fs::write(self.folder.join("hadoop.acl"), acl)?;
        let mut budgets = String::new();
        for (signer, (budget, rate)) in self.users.iter().zip(&self.endowments) {
            let _ = writeln!(budgets, "{} {} {}", signer.user, file_decimal(*budget), file_decimal(*rate));
        }
        fs::write(self.budget_file(), budgets)
    }
}

/// A sum between a thousandth and so many thousandths of a credit, units.
pub fn thousandths(dice: &mut Dice, most: u32) -> i128 {
    i128::from(1 + dice.below(most)) * UNITS_PER_CREDIT / 1000
}

fn configuration(properties: &[(&str, String)]) -> String {
    let mut text = String::from("<configuration>\n");
    for (name, value) in properties {
        let _ = writeln!(text, "<property><name>{name}</name><value>{value}</value></property>");
    }
    text + "</configuration>\n"
}

/// Below the ports that the system hands to outgoing connections: one of these might meet itself.
fn free_port(dice: &mut Dice) -> anyhow::Result<SocketAddr> {
    let mut dice = Dice::new(dice.roll() ^ u64::from(std::process::id()));
    for _ in 0..1000 {
        let port = 10_000 + dice.below(22_000) as u16;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return Ok(listener.local_addr()?);
        }
    }
    bail!("no free port")
}
