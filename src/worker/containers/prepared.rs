//! What stands ready before the command of a container starts: its files, its environment, its program, and where its output goes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use crate::fs::FolderHandle;
use crate::model::{LaunchContext, LocalResource, OutputPlace};
use crate::supervisor::command::{CommandSpec, WORK_FOLDER_VARIABLE, open_null};

use super::fault::{LaunchFault, ResourceFault};
use super::item_value::put_in;
use super::order::ContainerOrder;
use super::resource_cache::{ResourceCache, StopCheck};
use super::resources::{Destination, line_of};

/// Of the folders of a container, for its user alone.
const FOLDER_MODE: u32 = 0o700;
/// Of the file with a secret.
const SECRET_MODE: u32 = 0o600;
/// Of a file for output, before the umask.
const OUTPUT_MODE: u32 = 0o666;
/// Where programs are looked up without `PATH`, as by execvp(3).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Where an output of a container goes.
#[derive(Debug)]
pub(crate) enum OutputTarget {
    Log,
    /// Into an open file, or nowhere.
    File(OwnedFd),
}

/// A container that can start.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) spec: CommandSpec,
    pub(crate) stdout: OutputTarget,
    /// Where its standard error output goes.
    pub(crate) stderr: OutputTarget,
}

/// Brings and checks all that a container needs.
pub(crate) fn prepare(order: &ContainerOrder, should_stop: &StopCheck<'_>) -> Result<Prepared, LaunchFault> {
    let mut context = order.launch.context.clone();
    if let Some(value) = value_of_item(order, should_stop)? {
        put_in(&mut context, &value);
    }
    let own_folder = FolderHandle::open(&order.folder)?;
    own_folder.make_folder(OsStr::new("tmp"), FOLDER_MODE)?;
    let work_folder = match &context.working_directory {
        Some(path) => existing_folder(path)?,
        None => own_folder.make_folder(OsStr::new("work"), FOLDER_MODE)?.path().to_owned(),
    };
    if let Some(secret) = &order.launch.secret {
        own_folder.write_unsynced(OsStr::new("secret"), secret.as_bytes(), SECRET_MODE)?;
    }
    let cache = order.shared_files.as_ref().map(ResourceCache::open).transpose()?;
    let destination = Destination {
        work_folder: FolderHandle::open(&work_folder)?,
        is_own: context.working_directory.is_none(),
        own_folder: &own_folder,
        unique: order.launch.id.to_string(),
        cache: cache.as_ref(),
    };
    // Lines are read where they are: in a working directory that stays, their file would stay too.
    let is_read_only =
        |name: &String| context.working_directory.is_some() && context.values_from.as_ref() == Some(name);
    for (name, resource) in context.local_resources.iter().filter(|(name, _)| !is_read_only(name)) {
        destination.bring(name, resource, should_stop).map_err(|source| resource_fault(name, source))?;
    }
    let environment = build(order, &context, &work_folder.display().to_string());
    let program = find_program(&context, &environment, &work_folder)?;
    let (stdout, stderr) = open_outputs(&context, &work_folder)?;
    let arguments = context.command.get(1..).unwrap_or_default().to_vec();
    let spec = CommandSpec { program, arguments, folder: work_folder, environment, group: order.group.clone() };
    Ok(Prepared { spec, stdout, stderr })
}

fn resource_fault(name: &str, source: ResourceFault) -> LaunchFault {
    match source {
        ResourceFault::Stopped => LaunchFault::Stopped,
        source => LaunchFault::Resource { name: name.to_owned(), source },
    }
}

/// The text that stands for the container's item, if it has one.
fn value_of_item(order: &ContainerOrder, should_stop: &dyn Fn() -> bool) -> Result<Option<String>, LaunchFault> {
    let context = &order.launch.context;
    let Some(item) = order.launch.item else { return Ok(None) };
    let Some(name) = &context.values_from else { return Ok(Some(item.number.to_string())) };
    let without = |reason: String| LaunchFault::Item { item: item.number, reason };
    let values: &LocalResource = context
        .local_resources
        .get(name)
        .ok_or_else(|| without(format!("values-from names {name:?}, which is no local resource")))?;
    let line = line_of(values, item.number, should_stop).map_err(|source| resource_fault(name, source))?;
    line.map(Some).map_err(|reason| without(format!("in {name:?} {reason}")))
}

fn existing_folder(path: &str) -> Result<PathBuf, LaunchFault> {
    let fault = |reason: String| LaunchFault::WorkingDirectory { path: path.to_owned(), reason };
    if !Path::new(path).is_absolute() {
        return Err(fault("is no absolute path".to_owned()));
    }
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(fault("does not exist".to_owned())),
        Err(error) => Err(fault(format!("cannot be used: {error}"))),
        Ok(about) if !about.is_dir() => Err(fault("is no folder".to_owned())),
        Ok(_) => Ok(PathBuf::from(path)),
    }
}

/// The program of a command: one with `/` from the working directory, another by the container's `PATH`.
fn find_program(
    context: &LaunchContext,
    environment: &[(String, String)],
    work_folder: &Path,
) -> Result<PathBuf, LaunchFault> {
    let name = context.command.first().map(String::as_str).unwrap_or_default();
    let fault = |reason: String| LaunchFault::Program { program: name.to_owned(), reason };
    if name.is_empty() {
        return Err(fault("it has no name".to_owned()));
    }
    if name.contains('/') {
        let program = work_folder.join(name);
        return match std::fs::metadata(&program) {
            Err(error) => Err(fault(error.to_string())),
            Ok(about) if !about.is_file() => Err(fault("it is no file".to_owned())),
            Ok(_) => Ok(program),
        };
    }
    let path = environment.iter().find(|(variable, _)| variable == "PATH");
    let path = path.map_or(DEFAULT_PATH, |(_, path)| path.as_str());
    let candidates = path.split(':').map(|folder| work_folder.join(folder).join(name));
    let mut may_run = candidates.filter(|program| {
        std::fs::metadata(program).is_ok_and(|about| about.is_file())
            && rustix::fs::access(program, Access::EXEC_OK).is_ok()
    });
    may_run.next().ok_or_else(|| fault(format!("no folder of its PATH has it ({path})")))
}

/// Opens what the outputs go to. Both may name one file, which then has both as they come.
fn open_outputs(context: &LaunchContext, work_folder: &Path) -> Result<(OutputTarget, OutputTarget), LaunchFault> {
    let open = |stream: &'static str, place: &OutputPlace| match place {
        OutputPlace::Log => Ok(OutputTarget::Log),
        OutputPlace::Nowhere => open_null().map(OutputTarget::File).map_err(LaunchFault::System),
        OutputPlace::File(path) => open_output(&work_folder.join(path))
            .map(OutputTarget::File)
            .map_err(|source| LaunchFault::Output { stream, path: path.clone(), source }),
    };
    let stdout = open("stdout", &context.stdout)?;
    let stderr = match (&stdout, &context.stdout, &context.stderr) {
        (OutputTarget::File(file), OutputPlace::File(one), OutputPlace::File(other)) if one == other => {
            OutputTarget::File(file.try_clone().map_err(LaunchFault::System)?)
        }
        _ => open("stderr", &context.stderr)?,
    };
    Ok((stdout, stderr))
}

/// Opens a file for output, empty. A pipe that has no reader is an error, not something to wait for.
fn open_output(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(OUTPUT_MODE))?;
    rustix::io::ioctl_fionbio(&file, false)?;
    Ok(file)
}

/// Variables that a container has of the worker, beside `LC_…`.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LANGUAGE", "TZ", "HOME"];

/// Whether a container has a variable of the worker.
fn is_passed_on(name: &str) -> bool {
    PASSED_ON.contains(&name) || name.starts_with("LC_")
}

/// The environment of a container with this context, its item put in, in this working directory; sorted by name. What the context says
/// counts before what is the worker's, and after what only the worker knows.
pub(crate) fn build(order: &ContainerOrder, context: &LaunchContext, work_folder: &str) -> Vec<(String, String)> {
    let launch = &order.launch;
    let of_worker = order.environment.iter().filter(|(name, _)| is_passed_on(name));
    let mut all: BTreeMap<String, String> = of_worker.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.insert("OMP_NUM_THREADS".to_owned(), launch.capability.vcores.to_string());
    all.extend(context.environment.iter().map(|(name, value)| (name.clone(), value.clone())));
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    set("PWD", work_folder.to_owned());
    set("TMPDIR", order.temporary_folder().display().to_string());
    set("USER", launch.user.clone());
    set("LOGNAME", launch.user.clone());
    set(WORK_FOLDER_VARIABLE, order.folder.display().to_string());
    set("JOBTRACKER_APPLICATION_ID", launch.id.application.to_string());
    set("JOBTRACKER_CONTAINER_ID", launch.id.to_string());
    set("JOBTRACKER_ATTEMPT", launch.id.attempt.to_string());
    set("JOBTRACKER_NODE_ID", order.node_id.clone());
    set("JOBTRACKER_MEMORY_MB", launch.capability.memory_mb.to_string());
    set("JOBTRACKER_VCORES", launch.capability.vcores.to_string());
    set("JOBTRACKER_SERVER", launch.server.clone());
    if let Some(item) = launch.item {
        set("JOBTRACKER_ITEM", item.number.to_string());
        set("JOBTRACKER_ITEM_ATTEMPT", item.attempt.to_string());
    }
    if launch.secret.is_some() {
        set("JOBTRACKER_SECRET_FILE", order.secret_file().display().to_string());
    }
    all.into_iter().collect()
}
