//! Which files of others this process may use beyond what their modes say (capabilities(7)).

const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileRights {
    pub(crate) reads_all: bool,
    /// Writes and removes them.
    pub(crate) writes_all: bool,
}

impl FileRights {
    #[must_use]
    pub(crate) fn of_process() -> Self {
        std::fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(|status| Self::of_status(&status))
            .unwrap_or_default()
    }

    fn of_status(status: &str) -> Option<Self> {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        let effective = u64::from_str_radix(line.trim(), 16).ok()?;
        let has = |number: u32| effective & (1 << number) != 0;
        Some(Self { reads_all: has(DAC_OVERRIDE) || has(DAC_READ_SEARCH), writes_all: has(DAC_OVERRIDE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_decide_not_the_user() {
        let rights = |line: &str| FileRights::of_status(&format!("Name:\tx\n{line}\nUid:\t0\n"));
        let expected = |reads_all, writes_all| Some(FileRights { reads_all, writes_all });
        assert_eq!(rights("CapEff:\t000001ffffffffff"), expected(true, true));
        assert_eq!(rights("CapEff:\t0000000000000000"), expected(false, false));
        assert_eq!(rights("CapEff:\t0000000000000004"), expected(true, false));
        assert_eq!(rights("CapEff:\tx"), None);
        assert_eq!(rights("CapPrm:\t0"), None);
    }
}
