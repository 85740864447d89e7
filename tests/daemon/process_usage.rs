//! What a process costs the machine, as `/proc` shows it.

use std::time::Duration;

/// Resident memory; 0 when the process is gone.
pub fn resident_bytes(process: u32) -> u64 {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or(0, |line| line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024)
}

/// User and system time so far.
pub fn cpu(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
}

/// Open descriptors.
pub fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}
