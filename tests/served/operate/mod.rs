//! Operating the program itself: stop, reload, what its supervisor receives, the unit
//! of systemd, backup and restore, a second daemon, clients that a restart cuts off, starts that are refused.

mod audit;
mod backup;
mod deadline;
mod hold_kills;
mod money;
mod notify;
mod order;
mod pages_of_backup;
mod quarantine;
mod refused;
mod refused_switch;
mod reload;
mod restored;
mod signatures;
mod status_and_stop;
mod stop;
mod switch;
mod unit;
mod users;

use crate::daemon::child::ChildDaemon;
use rustix::process::{Pid, Signal, kill_process};

pub const BUDGETS: &str = "alice 100 1\nbob 7.5 0.25\n";

/// Sends a signal to a daemon.
pub fn send(serving: &ChildDaemon, signal: Signal) {
    let process = Pid::from_raw(serving.process_id().cast_signed()).unwrap();
    kill_process(process, signal).unwrap();
}
