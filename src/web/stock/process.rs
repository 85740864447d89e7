//! This process: its threads with `/stacks`, the memory that it uses and may use, and the end of its own log with `/logs/`. Where a Java program says its heap, ours says its resident memory.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::log::end_of_log;
use crate::process_stat::{ProcessStat, ThreadStat};

use super::super::identify::stranger;
use super::super::owner::{MarketPresence, Owner};
use super::super::response::{TEXT, fresh, text};
use super::super::state::WebState;
use super::access::{check_administrators, check_instrumentation};
use super::request::{PageAnswer, PageRequest};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessMemory {
    /// Resident.
    pub(super) used_bytes: u64,
    /// The limit of its control groups, else the machine's memory.
    pub(super) all_bytes: u64,
}

impl ProcessMemory {
    pub(super) fn now() -> Self {
        let used_bytes = ProcessStat::of_this_process().map_or(0, |stat| stat.resident_bytes);
        let limits = [group_limit(), machine_bytes()];
        ProcessMemory { used_bytes, all_bytes: limits.into_iter().flatten().min().unwrap_or(used_bytes) }
    }
}

pub(super) struct OwnProcess {
    pub(super) memory: ProcessMemory,
    pub(super) threads: u64,
    pub(super) running_threads: u64,
}

impl OwnProcess {
    pub(super) fn now() -> Self {
        let threads = ThreadStat::all();
        OwnProcess {
            memory: ProcessMemory::now(),
            threads: threads.len() as u64,
            running_threads: threads.iter().filter(|thread| thread.state == 'R').count() as u64,
        }
    }
}

/// The least limit of the control groups that this process is in.
fn group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = Path::new("/sys/fs/cgroup").join(own.trim_start_matches('/'));
    let limits = own.ancestors().take_while(|group| group.starts_with("/sys/fs/cgroup"));
    limits.filter_map(|group| fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()).min()
}

fn machine_bytes() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

pub(super) async fn stacks<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    check_instrumentation(&state, asked.user()).await?;
    let threads = ThreadStat::all();
    // The head of 1.2.1; a native program has no stacks that could be shown without being stopped.
    let mut body = format!("Process Thread Dump: \n{} active threads\n", threads.len());
    for ThreadStat { id, name, state, cpu_ms } in threads {
        body.push_str(&format!("Thread {id} ({name}):\n  State: {}\n  CPU time: {cpu_ms} ms\n", state_word(state)));
    }
    Ok(fresh(StatusCode::OK, TEXT, body))
}

/// In the words of a thread dump.
fn state_word(state: char) -> &'static str {
    match state {
        'R' => "RUNNABLE",
        'D' => "BLOCKED",
        _ => "WAITING",
    }
}

/// As much of the log as is shown, bytes.
const SHOWN_BYTES: u64 = 1 << 20;
/// Said where there is no file.
const NO_FILE: &str =
    "the log of this daemon is no file that it may read; where systemd runs it, use `journalctl -u jobtracker`";

/// Said where the log may name amounts and rates that are private.
const PRIVATE: &str = "the log names what is private in this market; read it on this machine, or set jobtracker.market.visibility = public";

pub(super) async fn logs<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    check_administrators(&state, asked.user()).await?;
    if state.owner.market_presence() != MarketPresence::Absent && !stranger(&state).sees_all_money() {
        return Err(text(StatusCode::FORBIDDEN, PRIVATE).into());
    }
    let end = tokio::task::spawn_blocking(|| end_of_log(SHOWN_BYTES)).await.ok().flatten();
    Ok(match end {
        Some(end) => fresh(StatusCode::OK, TEXT, end),
        None => text(StatusCode::NOT_FOUND, NO_FILE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_less_than_it_may() {
        let memory = ProcessMemory::now();
        assert!(memory.used_bytes > 0 && memory.used_bytes < memory.all_bytes, "{memory:?}");
    }
}
