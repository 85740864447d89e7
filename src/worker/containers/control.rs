//! What is wanted of a container that runs: its end. The thread that runs it waits for the descriptor of this too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::api::ContainerKill;
use crate::model::ContainerExit;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillWish {
    /// The status that it ends with, unless its process has ended by itself.
    pub exit: ContainerExit,
    pub diagnostics: String,
    /// Time between TERM and KILL; zero: KILL at once.
    pub grace: Duration,
}

/// The wish for a container's end, if there is one.
#[derive(Debug)]
pub struct ContainerControl {
    wish: Mutex<Option<KillWish>>,
    /// Readable from the moment of a wish until it is looked at.
    alarm: OwnedFd,
}

impl From<ContainerKill> for KillWish {
    fn from(kill: ContainerKill) -> Self {
        let ContainerKill { id: _, exit, diagnostics, grace_ms } = kill;
        Self { exit, diagnostics, grace: Duration::from_millis(grace_ms) }
    }
}

impl ContainerControl {
    /// Without a wish.
    pub fn new() -> std::io::Result<Self> {
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { wish: Mutex::default(), alarm })
    }

    /// Wishes its end. The first reason stays; a later wish can only shorten the time that is left.
    pub fn kill(&self, new: KillWish) {
        let mut wish = self.wish.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *wish {
            None => *wish = Some(new),
            Some(old) if new.grace < old.grace => old.grace = new.grace,
            Some(_) => return,
        }
        // The counter is far from its limit.
        let _ = rustix::io::write(&self.alarm, &1_u64.to_ne_bytes());
    }

    pub(crate) fn wish(&self) -> Option<KillWish> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The wish after the descriptor became readable, which it is no longer afterwards.
    pub(crate) fn answer_alarm(&self) -> Option<KillWish> {
        // Nothing is there to read where another thread was first.
        let _ = rustix::io::read(&self.alarm, &mut [0_u8; 8]);
        self.wish()
    }
}

impl AsFd for ContainerControl {
    /// Readable once there is a wish that was not looked at.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays_and_time_only_gets_shorter() {
        let control = ContainerControl::new().unwrap();
        assert_eq!(control.wish(), None);
        let wish =
            |exit, seconds| KillWish { exit, diagnostics: format!("{exit:?}"), grace: Duration::from_secs(seconds) };
        control.kill(wish(ContainerExit::KILLED_BY_OWNER, 5));
        assert_eq!(control.answer_alarm(), Some(wish(ContainerExit::KILLED_BY_OWNER, 5)));
        control.kill(wish(ContainerExit::PREEMPTED, 9));
        assert!(rustix::io::read(&control.alarm, &mut [0_u8; 8]).is_err(), "nothing has changed");
        control.kill(KillWish { grace: Duration::ZERO, ..wish(ContainerExit::PREEMPTED, 0) });
        let both = KillWish { grace: Duration::ZERO, ..wish(ContainerExit::KILLED_BY_OWNER, 5) };
        assert_eq!(control.answer_alarm(), Some(both));
    }
}
