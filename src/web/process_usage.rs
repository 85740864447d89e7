//! Processor time and memory of the daemon's process.

use std::fs;
use std::time::Duration;

/// Processor time and memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessUsage {
    /// Processor time used since the start, user and system.
    pub(super) cpu: Duration,
    /// Bytes in memory.
    pub(super) resident_bytes: u64,
}

// === impl ProcessUsage ===

impl ProcessUsage {
    /// The usage now; none where the system has no `/proc`.
    pub(super) fn read() -> Option<ProcessUsage> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let page_bytes = u64::try_from(rustix::param::page_size()).ok()?;
        ProcessUsage::parse(&stat, rustix::param::clock_ticks_per_second(), page_bytes)
    }

    /// Reads the line of `/proc/PID/stat`, whose fields proc(5) lists.
    fn parse(stat: &str, ticks_per_second: u64, page_bytes: u64) -> Option<ProcessUsage> {
        // The second field is the program's name in brackets and may hold anything, brackets and blanks too.
        let (_, from_third) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = from_third.split_whitespace().collect();
        let field = |number: usize| -> Option<u64> { fields.get(number - 3)?.parse().ok() };
        let ticks = field(14)?.checked_add(field(15)?)?;
        let cpu_ms = ticks.checked_mul(1000)?.checked_div(ticks_per_second)?;
        Some(ProcessUsage { cpu: Duration::from_millis(cpu_ms), resident_bytes: field(24)?.checked_mul(page_bytes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_behind_the_name() {
        let stat =
            "42 (a) b (c) S 1 42 42 0 -1 4194560 900 0 3 0 250 51 0 0 20 0 9 0 1234 1000000 300 18446744073709551615";
        let usage = ProcessUsage::parse(stat, 100, 4096).unwrap();
        assert_eq!(usage, ProcessUsage { cpu: Duration::from_millis(3010), resident_bytes: 300 * 4096 });
    }

    #[test]
    fn anything_else_is_no_usage() {
        for stat in ["", "42", "42 (a)", "42 (a) S 1 2 3", "1 (a) S 1 1 1 0 -1 1 1 1 1 1 x 1 0 0 20 0 9 0 1 1 3"] {
            assert_eq!(ProcessUsage::parse(stat, 100, 4096), None, "{stat:?}");
        }
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(ProcessUsage::read().is_some_and(|usage| usage.resident_bytes > 0));
    }
}
