//! The operator's side of a stop: requests it, and waits for the end of the process.

use std::io;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::control::{ControlError, ControlRequest, StopAnswer, read_answer, send_request};

/// From the closing of its descriptors to the end of a process, at most.
const LAST_MOMENT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Requests that the daemon on that state folder stop, and waits until its process has ended.
pub(crate) fn request_stop(state_dir: &Path) -> Result<StopAnswer, ControlError> {
    let mut answers = send_request(state_dir, &ControlRequest::Stop)?;
    let answer = read_answer(&mut answers)?;
    if let StopAnswer::Stopping { process, .. } = answer {
        let process = Pid::from_raw(process.cast_signed());
        // A daemon of another process namespace has no such number here.
        let process = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
        // The end of the process closes its end, however it ends.
        let _ = io::copy(&mut answers, &mut io::sink());
        if let Some(process) = process {
            // It closes descriptors a moment before its parent sees the end.
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LAST_MOMENT));
        }
    }
    Ok(answer)
}
