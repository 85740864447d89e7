//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::scripted::settings::SchedulerName;

/// Puts a JobTracker of this machine under a load and prints what that cost it
#[derive(Debug, Parser)]
#[command(name = "load")]
pub struct Arguments {
    /// RPC address of the JobTracker; of loopback, since its process must be of this machine
    #[arg(long, default_value = "127.0.0.1:8021")]
    pub jobtracker: SocketAddr,
    /// Its process
    #[arg(long, default_value_t = 0)]
    pub pid: u32,
    /// What to call it in the table
    #[arg(long, default_value = "ours")]
    pub server: String,
    /// The user that submits
    #[arg(long, default_value = "load")]
    pub user: String,
    /// Prints a JSON object for each row
    #[arg(long)]
    pub json: bool,
    /// The load
    #[command(subcommand)]
    pub load: Load,
}

/// The loads.
#[derive(Debug, Subcommand)]
pub enum Load {
    /// Heartbeats of trackers that have nothing and get nothing
    Idle(Idle),
    /// Jobs from submission to their end, every task reported RUNNING once and then SUCCEEDED
    Tasks(Tasks),
    /// Heartbeats of trackers with free slots while jobs run that have nothing to give
    Hold(Hold),
    /// Heartbeats at a fixed rate while tasks finish; latencies count from when a heartbeat was due
    Open(Open),
    /// submitJob of staged jobs
    Submit(Submit),
    /// One large job, from submission to its first launch
    Ready(Ready),
    /// getJobStatus
    Status(Status),
    /// Signed questions of bidders about their own queues, over HTTP
    Info(Info),
    /// What a tracker, an accepted, a waiting and a finished map and a job take of resident memory
    Memory(Memory),
    /// An array of items on faked workers, which end each container at once
    Array(Array),
    /// The same scripted heartbeats and calls to the Java JobTracker and to ours, and where their answers differ
    Differential(Differential),
    /// Random small jobs whose tasks end in every way, each compared with how a model says it must end
    Random(Random),
    /// Bidders, administrators and jobs on a daemon that is killed again and again, and an audit of its books each time
    Bidding(Bidding),
    /// Trackers, jobs, bidders and polling clients on a daemon that is killed at intervals and started again, for hours if wanted
    Soak(Soak),
    /// Makes one table of the rows that --json printed, read from stdin
    Table,
}

/// How trackers call.
#[derive(Clone, Copy, Debug, Args)]
pub struct Calling {
    /// Trackers, 4 map slots and 2 reduce slots each
    #[arg(long, default_value_t = 100)]
    pub trackers: u32,
    /// Heartbeats per second of all of them; 0: each calls as soon as it has its answer
    #[arg(long, default_value_t = 0)]
    pub rate: u32,
}

/// The queues of jobs, `queue-0` and on.
#[derive(Clone, Copy, Debug, Args)]
pub struct QueueSpread {
    /// Queues that jobs go to in turn; 0: all go to the default queue
    #[arg(long, default_value_t = 0)]
    pub queues: u32,
    /// Submit as the account that each queue is under the market, signed by the key `key-of-QUEUE`
    #[arg(long, requires = "queues")]
    pub signed: bool,
}

/// `idle`
#[derive(Clone, Copy, Debug, Args)]
pub struct Idle {
    #[command(flatten)]
    pub calling: Calling,
    /// Measured time
    #[arg(long, default_value_t = 5)]
    pub seconds: u64,
    /// Jobs of one map that are run first, so that the JobTracker remembers them
    #[arg(long, default_value_t = 0)]
    pub finished_jobs: u32,
}

/// `tasks`
#[derive(Clone, Copy, Debug, Args)]
pub struct Tasks {
    #[command(flatten)]
    pub calling: Calling,
    /// Jobs
    #[arg(long, default_value_t = 3)]
    pub jobs: u32,
    /// Maps of each
    #[arg(long, default_value_t = 3000)]
    pub maps: u32,
    /// Reduces of each
    #[arg(long, default_value_t = 30)]
    pub reduces: u32,
    /// How often all of it is done; the last time is shown, the others warm the JobTracker up
    #[arg(long, default_value_t = 1)]
    pub rounds: u32,
    /// Longest time of a round
    #[arg(long, default_value_t = 300)]
    pub seconds: u64,
}

/// `hold`
#[derive(Clone, Debug, Args)]
pub struct Hold {
    #[command(flatten)]
    pub calling: Calling,
    #[command(flatten)]
    pub spread: QueueSpread,
    /// Running jobs: one row for each number, ascending
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1000])]
    pub jobs: Vec<u32>,
    /// Waiting maps of all jobs together: the trackers end one map with each second heartbeat and get another, and no job holds one
    #[arg(long, default_value_t = 0)]
    pub waiting_maps: u32,
    /// Measured time of each
    #[arg(long, default_value_t = 5)]
    pub seconds: u64,
}

/// `open`
#[derive(Clone, Debug, Args)]
pub struct Open {
    /// Trackers, 4 map slots and 2 reduce slots each
    #[arg(long, default_value_t = 500)]
    pub trackers: u32,
    /// Heartbeats per second of all of them
    #[arg(long, default_value_t = 1000)]
    pub rate: u32,
    /// Measured time
    #[arg(long, default_value_t = 15)]
    pub seconds: u64,
    /// Jobs that run, one after the other: with few of them none ends
    #[arg(long, default_value_t = 3)]
    pub jobs: u32,
    /// Folder below which the JobTracker writes the copy of each job's history for its user (`hadoop.job.history.user.location`)
    #[arg(long)]
    pub history_copies: Option<String>,
    /// A process that gets SIGSTOP as long as is measured, such as a NameNode
    #[arg(long)]
    pub stop_pid: Option<u32>,
}

/// `submit`
#[derive(Clone, Copy, Debug, Args)]
pub struct Submit {
    /// Jobs of 10 maps and a reduce
    #[arg(long, default_value_t = 400)]
    pub jobs: u32,
    /// Clients, each with one submission at a time
    #[arg(long, default_value_t = 4)]
    pub clients: u32,
}

/// `ready`
#[derive(Clone, Copy, Debug, Args)]
pub struct Ready {
    /// Maps of the job
    #[arg(long, default_value_t = 100_000)]
    pub maps: u32,
}

/// `status`
#[derive(Clone, Copy, Debug, Args)]
pub struct Status {
    /// Clients, each with one call at a time
    #[arg(long, default_value_t = 10)]
    pub clients: u32,
    /// Measured time
    #[arg(long, default_value_t = 5)]
    pub seconds: u64,
}

/// `info`
#[derive(Clone, Debug, Args)]
pub struct Info {
    /// HTTP address of the JobTracker
    #[arg(long)]
    pub http: SocketAddr,
    /// Its ACL file, with the keys of all who ask
    #[arg(long)]
    pub acl: PathBuf,
    /// Connections that stay open, each with one question at a time
    #[arg(long, default_value_t = 8)]
    pub clients: usize,
    /// Measured time
    #[arg(long, default_value_t = 5)]
    pub seconds: u64,
}

/// `memory`
#[derive(Clone, Copy, Debug, Args)]
pub struct Memory {
    /// Trackers
    #[arg(long, default_value_t = 4000)]
    pub trackers: u32,
    /// Maps, first accepted, then waiting and then finished
    #[arg(long, default_value_t = 50_000)]
    pub maps: u32,
    /// Jobs of 10 maps and a reduce
    #[arg(long, default_value_t = 1000)]
    pub jobs: u32,
}

/// `array`
#[derive(Clone, Debug, Args)]
pub struct Array {
    /// HTTP address of the JobTracker
    #[arg(long)]
    pub http: SocketAddr,
    /// Workers
    #[arg(long, default_value_t = 100)]
    pub workers: u32,
    /// Containers that each has room for; all of them end together
    #[arg(long, default_value_t = 16)]
    pub room: u32,
    /// Items
    #[arg(long, default_value_t = 100_000)]
    pub items: u32,
    /// Items of an application that waits before there are workers, whose memory is measured
    #[arg(long, default_value_t = 1_000_000)]
    pub waiting_items: u32,
    /// Longest time
    #[arg(long, default_value_t = 600)]
    pub seconds: u64,
}

/// `differential`
#[derive(Clone, Debug, Args)]
pub struct Differential {
    /// RPC address of the Java JobTracker
    #[arg(long)]
    pub java: SocketAddr,
    /// RPC address of ours, with `jobtracker.fifo.compatible`
    #[arg(long, required_unless_present = "scheduler")]
    pub ours: Option<SocketAddr>,
    /// Scripts for one scheduler instead, fifo, capacity or fair: the Java JobTracker runs it under SteppedScheduler, ours is the engine
    /// in this process
    #[arg(long, requires = "control")]
    pub scheduler: Option<SchedulerName>,
    /// Where SteppedScheduler takes commands
    #[arg(long, requires = "scheduler")]
    pub control: Option<SocketAddr>,
    /// Writes what the original grants to this file
    #[arg(long, requires = "scheduler")]
    pub record: Option<PathBuf>,
    /// Random scripts
    #[arg(long, default_value_t = 200)]
    pub seeds: u64,
    /// The seed of the first
    #[arg(long, default_value_t = 1)]
    pub first_seed: u64,
    /// Without those that were written by hand
    #[arg(long)]
    pub only_random: bool,
    /// Only the script of that name, such as "seed 7"
    #[arg(long)]
    pub only: Option<String>,
    /// Scripts that may be played to shorten one that made a difference
    #[arg(long, default_value_t = 150)]
    pub tries: u32,
    /// Stops after so many that made a difference
    #[arg(long, default_value_t = 5)]
    pub most: u32,
}

/// `random`
#[derive(Clone, Copy, Debug, Args)]
pub struct Random {
    /// Jobs
    #[arg(long, default_value_t = 1000)]
    pub jobs: u32,
    /// From which everything follows
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Trackers, 8 map slots and 4 reduce slots each
    #[arg(long, default_value_t = 12)]
    pub trackers: u32,
}

/// `bidding`
#[derive(Clone, Debug, Args)]
pub struct Bidding {
    /// The program that is started and killed
    #[arg(long)]
    pub program: String,
    /// An empty folder for all it needs
    #[arg(long)]
    pub folder: PathBuf,
    /// Kills
    #[arg(long, default_value_t = 50)]
    pub kills: u32,
    /// From which all chance follows; the moments of kills and answers do not, so no two runs are alike
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// `soak`
#[derive(Clone, Debug, Args)]
pub struct Soak {
    /// The program that is started and killed
    #[arg(long)]
    pub program: String,
    /// An empty folder for all it needs
    #[arg(long)]
    pub folder: PathBuf,
    /// How long new jobs come in
    #[arg(long, default_value_t = 60)]
    pub minutes: u32,
    /// Trackers, 4 map slots and 2 reduce slots each
    #[arg(long, default_value_t = 50)]
    pub trackers: u32,
    /// In each such stretch one kill comes, at a moment of chance
    #[arg(long, default_value_t = 60)]
    pub kill_every_s: u32,
    /// From which all chance follows; the moments of kills and answers do not, so no two runs are alike
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}
