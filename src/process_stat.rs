//! A process as the kernel shows it in one line, `/proc/PID/stat` (proc(5)).

use std::fs;

/// A process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its parent's number.
    pub(crate) parent: i32,
    /// Processor time since its start, user and system.
    pub(crate) cpu_ms: u64,
    /// The same of its children that ended and were reaped.
    pub(crate) children_cpu_ms: u64,
    pub(crate) virtual_bytes: u64,
    pub(crate) resident_bytes: u64,
}

impl ProcessStat {
    /// Of a process; `None` once it is reaped.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::read(&format!("/proc/{pid}/stat"))
    }

    /// Of this process; `None` where the system has no `/proc`.
    pub(crate) fn of_this_process() -> Option<Self> {
        Self::read("/proc/self/stat")
    }

    fn read(path: &str) -> Option<Self> {
        let page_bytes = rustix::param::page_size() as u64;
        Self::parse(&fs::read_to_string(path).ok()?, rustix::param::clock_ticks_per_second(), page_bytes)
    }

    fn parse(stat: &str, ticks_per_second: u64, page_bytes: u64) -> Option<Self> {
        // The second field is the program's name in brackets, and may hold anything, brackets and blanks too.
        let (_, from_third) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = from_third.split_ascii_whitespace().collect();
        // Numbered as in proc(5).
        let field = |number: usize| -> Option<u64> { fields.get(number - 3)?.parse().ok() };
        let cpu_ms = |ticks: u64| ticks.checked_mul(1000)?.checked_div(ticks_per_second);
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            cpu_ms: cpu_ms(field(14)?.checked_add(field(15)?)?)?,
            children_cpu_ms: cpu_ms(field(16)?.checked_add(field(17)?)?)?,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)?.checked_mul(page_bytes)?,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadStat {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// `R`: it runs or could; `S`: it sleeps; as in proc(5).
    pub(crate) state: char,
    /// Processor time since its start, user and system.
    pub(crate) cpu_ms: u64,
}

impl ThreadStat {
    /// All of them, by number; none where the system has no `/proc`.
    pub(crate) fn all() -> Vec<Self> {
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        let folders = fs::read_dir("/proc/self/task").into_iter().flatten();
        let stats = folders.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok());
        let mut threads: Vec<Self> = stats.filter_map(|stat| Self::parse(&stat, ticks_per_second)).collect();
        threads.sort_by_key(|thread| thread.id);
        threads
    }

    /// The one that asks; `None` where the system has no `/proc`.
    pub(crate) fn of_this_thread() -> Option<Self> {
        let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
        Self::parse(&stat, rustix::param::clock_ticks_per_second())
    }

    fn parse(stat: &str, ticks_per_second: u64) -> Option<Self> {
        let (begin, from_third) = stat.rsplit_once(')')?;
        let (id, name) = begin.split_once(" (")?;
        let fields: Vec<&str> = from_third.split_ascii_whitespace().collect();
        let field = |number: usize| -> Option<u64> { fields.get(number - 3)?.parse().ok() };
        let ticks = field(14)?.checked_add(field(15)?)?;
        Some(Self {
            id: id.parse().ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            cpu_ms: ticks.checked_mul(1000)?.checked_div(ticks_per_second)?,
        })
    }
}

/// Whether this process ignores a signal, as `nohup` has it ignore SIGHUP; `false` where the system has no `/proc`.
pub(crate) fn ignores_signal(number: i32) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, number))
}

/// Reads `SigIgn` of proc(5), a mask of signals from 1 on.
fn is_ignored(status: &str, number: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(number - 1).ok().and_then(|shift| 1_u64.checked_shl(shift));
    bit.is_some_and(|bit| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_whatever_its_name() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194560 900 0 3 0 250 51 4 1 20 0 9 0 1234";
        let thread = ThreadStat { id: 42, name: "a) b (c".into(), state: 'S', cpu_ms: 3_010 };
        assert_eq!(ThreadStat::parse(stat, 100), Some(thread));
        assert!(ThreadStat::all().iter().any(|thread| thread.id == std::process::id() as i32));
    }

    #[test]
    fn fields_are_counted_behind_the_name() {
        let stat =
            "42 (a) b (c) S 7 42 42 0 -1 4194560 900 0 3 0 250 51 4 1 20 0 9 0 1234 1000000 300 18446744073709551615";
        let expected = ProcessStat {
            parent: 7,
            cpu_ms: 3010,
            children_cpu_ms: 50,
            virtual_bytes: 1_000_000,
            resident_bytes: 300 * 4096,
        };
        assert_eq!(ProcessStat::parse(stat, 100, 4096), Some(expected));
    }

    #[test]
    fn anything_else_is_no_process() {
        for stat in ["", "42", "42 (a)", "42 (a) S 1 2 3", "1 (a) S 1 1 1 0 -1 1 1 1 1 1 x 1 0 0 20 0 9 0 1 1 3"] {
            assert_eq!(ProcessStat::parse(stat, 100, 4096), None, "{stat:?}");
        }
    }

    #[test]
    fn this_process_has_a_parent_and_memory() {
        let own = ProcessStat::of_this_process().unwrap();
        assert_eq!(Some(own.parent), rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get()));
        assert!(own.resident_bytes > 1 << 20 && own.virtual_bytes >= own.resident_bytes, "{own:?}");
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        assert_eq!(ProcessStat::of(pid).map(|stat| stat.parent), Some(own.parent));
    }

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert_eq!([1, 2, 13, 0, 70].map(|number| is_ignored(status, number)), [true, false, true, false, false]);
        assert!(!is_ignored("", 1));
    }
}
