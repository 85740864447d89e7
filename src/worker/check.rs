//! A look at what a tasktracker with these settings would find on this machine: what would keep it from starting, and what it would
//! run into later. Changes nothing.

use std::net::{TcpListener, ToSocketAddrs};
use std::path::Path;

use crate::config::keys;
use crate::config::keys::Key;
use crate::fs::{FsError, Privacy, check_trusted_folder};

use super::containers::{MachineRoom, WorkerContainerSettings};
use super::error::TaskTrackerError;
use super::settings::TaskTrackerSettings;

/// Errors of a start, all of them, and warnings.
pub(crate) fn check_tracker(settings: &TaskTrackerSettings) -> (Vec<TaskTrackerError>, Vec<String>) {
    let mut errors: Vec<TaskTrackerError> = folder_error(settings).into_iter().collect();
    errors.extend(address_error(settings));
    let lack = settings.containers.as_ref().and_then(WorkerContainerSettings::lack_of_groups);
    errors.extend(lack.map(|why| TaskTrackerError::NoControlGroup(why.to_string())));
    (errors, machine_warnings(settings))
}

/// What a start logs besides.
pub(crate) fn machine_warnings(settings: &TaskTrackerSettings) -> Vec<String> {
    let jobtracker = &settings.jobtracker;
    let unresolved = (jobtracker.host.as_str(), jobtracker.port).to_socket_addrs().err();
    let unresolved = unresolved.map(|error| {
        format!(
            "{} = {jobtracker}: {error}; expected the name of a host that this machine knows",
            keys::RPC_ADDRESS.name
        )
    });
    let machine = MachineRoom::of_process();
    let memory = settings.containers.as_ref().and_then(|containers| containers.memory_warning(machine));
    memory.into_iter().chain(unresolved).collect()
}

/// Why the start cannot use the folders that the settings name: it takes what disks it can, but at least one.
pub(super) fn folder_error(settings: &TaskTrackerSettings) -> Option<TaskTrackerError> {
    let look = |folder: &Path| check_trusted_folder(folder, Privacy::Private).err();
    let mut failures = Vec::new();
    for disk in &settings.local_folders {
        match look(disk) {
            Some(error @ FsError::Untrusted { .. }) => return Some(TaskTrackerError::Untrusted(error)),
            found => failures.push(found),
        }
    }
    let of_disks = failures.into_iter().collect::<Option<Vec<_>>>().and_then(|failures| failures.into_iter().next());
    let of_disks = of_disks.and_then(|source| named(settings, &keys::LOCAL_DIR, source));
    let of_logs = || named(settings, &keys::HADOOP_LOG_DIR, look(settings.log_folder.as_deref()?)?);
    of_disks.or_else(of_logs)
}

fn named(settings: &TaskTrackerSettings, key: &Key, source: FsError) -> Option<TaskTrackerError> {
    let culprit = Box::new(settings.configuration.setting(key).ok().flatten()?.culprit());
    Some(TaskTrackerError::NamedFolder { culprit, user: settings.user.clone(), source })
}

/// Any port: that of a running tasktracker is taken.
fn address_error(settings: &TaskTrackerSettings) -> Option<TaskTrackerError> {
    let address = &settings.http_address;
    let source = TcpListener::bind((address.host.as_str(), 0)).err()?;
    Some(TaskTrackerError::Listen { address: address.to_string(), source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use crate::config::LoadOptions;

    use super::*;

    fn settings(overrides: &[String]) -> Result<TaskTrackerSettings, String> {
        let options = LoadOptions::of_process(None, overrides.to_vec());
        let configuration = LoadOptions { conf_dir: None, ..options }.configuration().unwrap();
        TaskTrackerSettings::read(configuration, false).map_err(|error| error.to_string())
    }

    #[test]
    fn folders_addresses_and_memory_that_a_start_cannot_use_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let found = |overrides: &[String]| {
            let (errors, warnings) = check_tracker(&settings(overrides).unwrap());
            (errors.iter().map(ToString::to_string).collect::<Vec<_>>(), warnings)
        };
        let tmp = format!("hadoop.tmp.dir={}", folder.path().join("tmp").display());
        assert_eq!(found(std::slice::from_ref(&tmp)).0, [""; 0]);
        let (errors, _) = found(&[format!("hadoop.tmp.dir={}", file.display())]);
        assert!(matches!(&errors[..], [error] if error.starts_with("-D: hadoop.tmp.dir = ")), "{errors:?}");
        let (errors, _) = found(&[tmp.clone(), format!("hadoop.log.dir={}/logs", file.display())]);
        assert!(matches!(&errors[..], [error] if error.starts_with("-D: hadoop.log.dir = ")), "{errors:?}");
        let one_of_two = format!("mapred.local.dir={},{}", file.display(), folder.path().join("good").display());
        assert_eq!(found(&[tmp.clone(), one_of_two]).0, [""; 0], "a start leaves a bad disk out");
        let (errors, _) = found(&[tmp.clone(), "mapred.task.tracker.http.address=192.0.2.1:50060".to_owned()]);
        assert!(matches!(&errors[..], [error] if error.contains("192.0.2.1:50060")), "{errors:?}");
        let (_, warnings) = found(&[
            tmp,
            "jobtracker.tasktracker.memory.mb=900000000".to_owned(),
            "mapred.job.tracker=no-such-host.invalid:8021".to_owned(),
        ]);
        let texts = ["jobtracker.tasktracker.memory.mb", "no-such-host.invalid:8021"];
        assert!(texts.iter().zip(&warnings).all(|(text, warning)| warning.contains(text)), "{warnings:?}");
        assert_eq!(warnings.len(), 2);
    }

    #[test]
    fn the_jobtrackers_port_and_what_is_no_host_name_are_refused() {
        let refused = |set: &str| settings(&[set.to_owned()]).unwrap_err();
        let port = refused("mapred.task.tracker.http.address=0.0.0.0:8021");
        assert!(port.contains("another port than that of mapred.job.tracker = 127.0.0.1:8021"), "{port}");
        let name = refused("slave.host.name=http://x");
        assert!(name.contains("slave.host.name = \"http://x\": expected a host name or address"), "{name}");
        assert!(settings(&["mapred.job.tracker=192.0.2.1:50060".to_owned()]).is_ok(), "of another machine");
    }
}
