//! The process of one container, which takes its user's ids before it does anything else, then runs it as a worker would.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::Channel;
use crate::supervisor::Supervision;
use crate::supervisor::process::THIS_PROGRAM;

use super::super::job_user::{Identity, SharedChannel, sleep_between_reports};
use super::control::ContainerControl;
use super::control_groups::ProcessLooks;
use super::fault::LaunchFault;
use super::order::ContainerOrder;
use super::run::{ContainerRun, end_without_start};
use super::user_container::{FromContainer, ToContainer};

/// Between two signs of life.
const REPORT_INTERVAL: Duration = Duration::from_secs(15);

/// Runs the container that the worker sends. Errors reach the worker as the container's end, or as that of the channel.
pub(crate) fn run_container_process() -> ExitCode {
    let Ok(channel) = Channel::of_stdin() else { return ExitCode::FAILURE };
    let channel = Arc::new(SharedChannel::new(channel));
    let end = match run(&channel) {
        Ok(end) => end,
        Err(error) => FromContainer::Ended(end_without_start(&LaunchFault::System(error), None)),
    };
    if channel.send(&end).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(channel: &Arc<SharedChannel>) -> io::Result<FromContainer> {
    let identity: Identity = channel.channel.receive(None)?;
    // Before anything else.
    identity.take().map_err(io::Error::other)?;
    let order: ContainerOrder = channel.channel.receive(None)?;
    let logs = channel.channel.receive_descriptors(2)?;
    let [stdout, stderr] = <[_; 2]>::try_from(logs).map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    let control = Arc::new(ContainerControl::new()?);
    let (listener, wished) = (channel.clone(), control.clone());
    std::thread::Builder::new().name("worker".to_owned()).spawn(move || obey(&listener, &wished))?;
    let speaker = channel.clone();
    std::thread::Builder::new().name("alive".to_owned()).spawn(move || report_at_intervals(&speaker))?;
    let on_started = |pid, started_ms| {
        // When the worker is gone, the thread that listens to it ends this process.
        let _ = channel.send(&FromContainer::Started { pid, started_ms });
    };
    let container = ContainerRun {
        order: &order,
        control: &control,
        supervision: Supervision::Own(Path::new(THIS_PROGRAM)),
        looks: &ProcessLooks::default(),
        on_started: &on_started,
    };
    Ok(FromContainer::Ended(container.run([File::from(stdout), File::from(stderr)])))
}

/// Reports that this process is there, until the worker is not.
fn report_at_intervals(channel: &SharedChannel) {
    while channel.send(&FromContainer::Alive).is_ok() {
        sleep_between_reports(REPORT_INTERVAL);
    }
}

/// Does what the worker asks for. When it is gone, so is the reason for this process.
fn obey(channel: &SharedChannel, control: &ContainerControl) {
    loop {
        match channel.channel.receive(None) {
            Ok(ToContainer::Kill(kill)) => control.kill(kill.into()),
            Err(_) => std::process::exit(1),
        }
    }
}
