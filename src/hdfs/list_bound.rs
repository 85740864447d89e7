//! How much of a folder is read before its listing is given up: what lies in one may be anybody's choice, and so may its NameNode.

use std::time::Duration;

use crate::clock::Clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListBound {
    pub(crate) entries: usize,
    pub(crate) name_bytes: usize,
    pub(crate) pages: usize,
    /// From the first question to the last answer.
    pub(crate) time: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeyondListBound {
    #[error("it has more than {0} entries")]
    Entries(usize),
    #[error("the names in it have more than {0} bytes")]
    NameBytes(usize),
    #[error("it comes in more than {0} parts")]
    Pages(usize),
    #[error("it takes longer than {} s", .0.as_secs())]
    Time(Duration),
}

#[derive(Debug)]
pub(crate) struct ListCount {
    left: ListBound,
    bound: ListBound,
    clock: Clock,
    end_ms: u64,
}

impl ListBound {
    /// Of folders that this program fills, read by a daemon.
    pub(crate) const OWN: Self =
        Self { entries: 1_000_000, name_bytes: 128 << 20, pages: 20_000, time: Duration::from_secs(60) };
    /// Of folders that users fill, read in a process of that user.
    pub const OF_USER: Self =
        Self { entries: 4_000_000, name_bytes: 512 << 20, pages: 1_000_000, time: Duration::from_secs(600) };

    pub(crate) fn begin(self) -> ListCount {
        let clock = Clock::start();
        let limit_ms = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        ListCount { left: self, bound: self, clock, end_ms: clock.mono_ms().saturating_add(limit_ms) }
    }
}

impl ListCount {
    pub(crate) fn add_page(&mut self) -> Result<(), BeyondListBound> {
        self.left.pages = self.left.pages.checked_sub(1).ok_or(BeyondListBound::Pages(self.bound.pages))?;
        self.check_time()
    }

    pub(crate) fn add_entry(&mut self, name_bytes: usize) -> Result<(), BeyondListBound> {
        let (left, bound) = (&mut self.left, &self.bound);
        left.entries = left.entries.checked_sub(1).ok_or(BeyondListBound::Entries(bound.entries))?;
        left.name_bytes =
            left.name_bytes.checked_sub(name_bytes).ok_or(BeyondListBound::NameBytes(bound.name_bytes))?;
        if left.entries.is_multiple_of(1024) { self.check_time() } else { Ok(()) }
    }

    fn check_time(&self) -> Result<(), BeyondListBound> {
        if self.clock.mono_ms() > self.end_ms { Err(BeyondListBound::Time(self.bound.time)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_bound_holds_by_itself() {
        let bound = ListBound { entries: 2, name_bytes: 10, pages: 2, time: Duration::from_secs(1) };
        let mut count = bound.begin();
        assert_eq!([count.add_entry(1), count.add_entry(1)], [Ok(()); 2]);
        assert_eq!(count.add_entry(1), Err(BeyondListBound::Entries(2)));
        let mut count = bound.begin();
        assert_eq!(count.add_entry(11), Err(BeyondListBound::NameBytes(10)));
        let mut count = bound.begin();
        assert_eq!([count.add_page(), count.add_page()], [Ok(()); 2]);
        assert_eq!(count.add_page(), Err(BeyondListBound::Pages(2)));
        let mut count = bound.begin();
        tokio::time::advance(Duration::from_millis(1_001)).await;
        assert_eq!(count.add_page(), Err(BeyondListBound::Time(bound.time)));
    }
}
