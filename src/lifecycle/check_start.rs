//! A look at what a start finds on this machine: everything that would keep the daemon from starting, where the start itself names
//! the first, and what users would miss. Changes nothing.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;

use crate::accounts::{unknown_groups, unknown_users};
use crate::config::error::Origin;
use crate::config::settings::{AdmittedTrackers, ApplicationKeys, BudgetStoreKind, SchedulerKind, reread};
use crate::config::{Configuration, NamedValue, Settings, access_lists, keys};
use crate::fs::{FileUri, FsError, NameNodeAddress, Privacy, TrustedFolder, check_trusted_folder, script_fault};
use crate::server::host_lists;
use crate::store::{BudgetBackEndError, PostgresBackEnd, database_in, read_scheduler_choice};

use super::check_files::{FileFindings, FileWarning, check_hosts, check_market_files, is_empty, names_of};
use super::ports::check_address;
use super::serve_error::ServeError;
use super::web_socket::check_web_socket;

/// Permission bits of a state folder that give others something.
const OTHERS: u32 = 0o077;

/// All that is found.
pub(crate) fn check_start(settings: &Settings) -> FileFindings {
    let mut findings = check_files(settings);
    if database_in(&settings.directories.state).exists() {
        findings.forgive_budget_lines();
    }
    findings.errors.extend(folder_errors(settings));
    findings.warnings.extend(folder_warnings(settings));
    findings.errors.extend(host_lists(&settings.trackers).err().map(ServeError::Hosts));
    findings.errors.extend(missing_budgets(settings));
    if let Some(BudgetStoreKind::Postgres(postgres)) = settings.market.as_ref().map(|market| &market.budget_store) {
        findings.errors.extend(PostgresBackEnd::check_settings(postgres).into_iter().map(ServeError::Budget));
    }
    let addresses = [(&keys::RPC_ADDRESS, &settings.rpc_address), (&keys::HTTP_ADDRESS, &settings.http_address)];
    findings.errors.extend(addresses.into_iter().filter_map(|(key, address)| {
        let source = Box::new(check_address(key.name, address).err()?);
        let origin = culprit(&settings.configuration, key).map_or(Origin::Default, |culprit| culprit.origin);
        Some(ServeError::Placed { origin, source })
    }));
    findings.extend(ruling_scheduler(settings));
    findings
}

/// That another scheduler rules than the configuration names, and what a start finds in its files.
fn ruling_scheduler(settings: &Settings) -> FileFindings {
    let mut findings = FileFindings::default();
    let database = database_in(&settings.directories.state);
    // Without a database that can be read there is no choice that is known here; the start says why.
    let choice = if database.exists() { read_scheduler_choice(&database).ok().flatten() } else { None };
    let configured = settings.scheduler.class_name();
    let choice = choice.filter(|choice| choice.class != configured && choice.outlasts(configured));
    let Some((choice, culprit)) = choice.zip(culprit(&settings.configuration, &keys::TASK_SCHEDULER)) else {
        return findings;
    };
    let by = choice.by.as_deref().unwrap_or("an operator");
    let remark = format!("does not rule: {by} chose {} by `jobtracker scheduler use`", choice.class);
    findings.warnings.push(FileWarning::Value { culprit: Box::new(culprit), remark });
    match reread::queues_and_scheduler(&settings.sources, &choice.class) {
        Ok((_, warnings)) => findings.warnings.extend(warnings.into_iter().map(FileWarning::Configuration)),
        Err(error) => findings.errors.push(error.into()),
    }
    findings
}

/// The same, and what a start would find in a database of budgets or print by its program.
pub(crate) fn check_start_connected(settings: &Settings) -> FileFindings {
    let mut findings = check_start(settings);
    if let Some(market) = settings.market.as_ref().filter(|_| findings.errors.is_empty()) {
        findings.check_store(market, &database_in(&settings.directories.state));
    }
    findings
}

/// What is found in files, of which a start and a reload log the warnings.
pub(crate) fn check_files(settings: &Settings) -> FileFindings {
    let mut findings = match &settings.market {
        Some(market) => check_market_files(&market.acl_file, market.image_file()),
        None => FileFindings::default(),
    };
    if let ApplicationKeys::File(path) = settings.application_keys()
        && settings.market.as_ref().is_none_or(|market| market.acl_file != path)
    {
        findings.check_keys(&path);
    }
    let trackers = &settings.trackers;
    findings.warnings.extend(check_hosts(trackers.hosts_file.as_deref(), trackers.hosts_exclude_file.as_deref()));
    findings.warnings.extend(empty_hosts(settings));
    findings.warnings.extend(script_warning(settings));
    findings.warnings.extend(unknown_names(&settings.configuration));
    findings
}

/// Why the start cannot use its own folders; one error for each value that a person has set.
pub(super) fn folder_errors(settings: &Settings) -> Vec<ServeError> {
    let configuration = &*settings.configuration;
    let mut errors: Vec<(NamedValue, ServeError)> = Vec::new();
    for (culprit, found) in folders(settings) {
        if let Err(error) = found
            && errors.iter().all(|(known, _)| *known != culprit)
        {
            errors.push((culprit.clone(), ServeError::Folder { culprit: Box::new(culprit), source: error }));
        }
    }
    let directories = &settings.directories;
    for (key, uri) in [(&keys::SYSTEM_DIR, &directories.system), (&keys::STAGING_ROOT_DIR, &directories.staging_root)] {
        let Some(namenode) = uri.namenode() else { continue };
        let key = if is_of_default_file_system(configuration, key) { &keys::DEFAULT_FILE_SYSTEM } else { key };
        if let (Some(culprit), Some(source)) = (culprit(configuration, key), unresolved(namenode))
            && errors.iter().all(|(known, _)| *known != culprit)
        {
            let host = namenode.host().to_owned();
            errors.push((culprit.clone(), ServeError::NameNode { culprit: Box::new(culprit), host, source }));
        }
    }
    let mut errors: Vec<ServeError> = errors.into_iter().map(|(_, error)| error).collect();
    if let Some(Err(error)) = settings.web_socket.as_deref().map(check_web_socket) {
        errors.push(ServeError::web_socket(settings, error));
    }
    errors
}

/// The folders of the daemon on this machine, as they are found, each with the value that names it.
fn folders(settings: &Settings) -> Vec<(NamedValue, Result<Option<TrustedFolder>, FsError>)> {
    let directories = &settings.directories;
    let local = |uri: &FileUri| uri.local_path().map(Path::to_owned);
    let named = [
        (&keys::STATE_DIR, Some(directories.state.clone()), Privacy::Private),
        (&keys::SYSTEM_DIR, local(&directories.system), Privacy::Private),
        (&keys::STAGING_ROOT_DIR, local(&directories.staging_root), Privacy::Shared),
    ];
    let found = named.into_iter().filter_map(|(key, folder, privacy)| {
        let (culprit, folder) = (culprit(&settings.configuration, key)?, folder?);
        Some((culprit, check_trusted_folder(&folder, privacy)))
    });
    found.collect()
}

/// What the start itself logs of its folders, and histories that could not be written.
fn folder_warnings(settings: &Settings) -> Vec<FileWarning> {
    let found = folders(settings).into_iter().filter_map(|(_, found)| found.ok().flatten());
    let mut warnings: Vec<FileWarning> = found.flat_map(|found| found.warnings).map(FileWarning::Folder).collect();
    let state = &settings.directories.state;
    // What is no folder is an error.
    let mode = std::fs::metadata(state).ok().filter(std::fs::Metadata::is_dir).map_or(0, |metadata| metadata.mode());
    if mode & OTHERS != 0 {
        let text = format!("{} is open to others (mode {:o}): set mode 700", state.display(), mode & 0o777);
        warnings.push(FileWarning::Folder(text));
    }
    let history =
        [(&keys::HISTORY_LOCATION, &settings.history.folder), (&keys::HISTORY_DONE_LOCATION, &settings.history.done)];
    let unusable = history.into_iter().find_map(|(key, uri)| {
        let error = check_trusted_folder(uri.local_path()?, Privacy::Private).err()?;
        let remark = format!("{error}; no history of a job can be written");
        let of_default = || FileWarning::Folder(remark.clone());
        Some(culprit(&settings.configuration, key).map_or_else(of_default, |culprit| FileWarning::Value {
            culprit: Box::new(culprit),
            remark: remark.clone(),
        }))
    });
    // Below a state folder that is unusable the history is, too.
    warnings.extend(unusable.filter(|_| folder_errors(settings).is_empty()));
    warnings
}

/// A list of hosts that admits none, or, in Hadoop's way, all.
fn empty_hosts(settings: &Settings) -> Option<FileWarning> {
    let path = settings.trackers.hosts_file.as_deref().filter(|path| is_empty(path))?;
    let remark = match settings.trackers.admitted {
        AdmittedTrackers::Listed => "names no host: every worker is refused",
        AdmittedTrackers::All => "names no host: every worker is admitted, as without a file",
    };
    let culprit =
        culprit(&settings.configuration, &keys::HOSTS).filter(|culprit| Path::new(culprit.value.trim()) == path)?;
    Some(FileWarning::Value { culprit: Box::new(culprit), remark: remark.to_owned() })
}

/// Racks that will not be known.
fn script_warning(settings: &Settings) -> Option<FileWarning> {
    let script = settings.trackers.topology_script.as_deref()?;
    let fault = match rustix::fs::access(script, Access::EXEC_OK) {
        Err(error) => format!("{error}: run chmod +x {}", script.display()),
        Ok(()) => script_fault(script, Path::new("/"), None)?.to_string(),
    };
    let culprit = Box::new(culprit(&settings.configuration, &keys::TOPOLOGY_SCRIPT)?);
    Some(FileWarning::Value { culprit, remark: format!("cannot be run, so that no rack is known: {fault}") })
}

/// A market begins with its budget file; afterwards the state database has what is in it.
fn missing_budgets(settings: &Settings) -> Option<ServeError> {
    let market = settings.market.as_ref().filter(|_| matches!(settings.scheduler, SchedulerKind::Dynamic(_)))?;
    let is_first = !database_in(&settings.directories.state).exists();
    let path = market.image_file()?.to_owned();
    (is_first && !path.exists()).then_some(ServeError::Budget(BudgetBackEndError::Missing { path }))
}

/// Names in access lists that this machine does not know, whose callers are refused.
fn unknown_names(configuration: &Configuration) -> Vec<FileWarning> {
    let lists = access_lists::in_force(configuration);
    let all = |names: fn(&access_lists::AccessList) -> &Vec<String>| -> BTreeSet<&str> {
        lists.iter().flat_map(names).map(String::as_str).collect()
    };
    let (users, groups) = (unknown_users(&all(|list| &list.users)), unknown_groups(&all(|list| &list.groups)));
    let mut found = Vec::new();
    for list in &lists {
        for (kind, names, unknown) in [("users", &list.users, &users), ("groups", &list.groups, &groups)] {
            let names = names.iter().filter(|name| unknown.contains(*name)).map(String::as_str);
            let Some(names) = names_of(names) else { continue };
            let culprit = NamedValue { key: list.key.clone(), origin: list.origin.clone(), value: list.value.clone() };
            let remark = format!("names {kind} that this machine does not know: {names}");
            found.push(FileWarning::Value { culprit: Box::new(culprit), remark });
        }
    }
    found
}

/// What a person has to change where the value of a key is wrong.
fn culprit(configuration: &Configuration, key: &keys::Key) -> Option<NamedValue> {
    Some(configuration.setting(key).ok().flatten()?.culprit())
}

/// Whether a path has no file system of its own.
fn is_of_default_file_system(configuration: &Configuration, key: &keys::Key) -> bool {
    configuration.setting(key).ok().flatten().is_some_and(|setting| setting.value.trim().starts_with('/'))
}

fn unresolved(namenode: &NameNodeAddress) -> Option<std::io::Error> {
    use std::net::ToSocketAddrs;
    (namenode.host(), namenode.port()).to_socket_addrs().err()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use crate::config::LoadOptions;
    use crate::config::settings::FAIR_CLASS;
    use crate::engine::SchedulerChoice;
    use crate::store::{Store, StoreOptions};

    use super::*;

    /// Errors and warnings of a start with these values on free ports, FOLDER in place of the folder's path.
    fn found(folder: &Path, overrides: &[String]) -> (Vec<String>, Vec<String>) {
        let ports = ["mapred.job.tracker=127.0.0.1:0", "mapred.job.tracker.http.address=127.0.0.1:0"];
        let overrides = ports.map(str::to_owned).into_iter().chain(overrides.iter().cloned()).collect();
        let options = LoadOptions { overrides, ..LoadOptions::of_process(None, Vec::new()) };
        let (settings, _) = Settings::load(&LoadOptions { conf_dir: None, ..options }).unwrap();
        let findings = check_start(&settings);
        let text = |text: String| text.replace(&folder.display().to_string(), "FOLDER");
        (
            findings.errors.iter().map(|error| text(error.to_string())).collect(),
            findings.warnings.iter().map(|warning| text(warning.to_string())).collect(),
        )
    }

    fn scratch() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        folder
    }

    #[test]
    fn a_scheduler_that_rules_by_choice_is_named_and_its_files_are_looked_at() {
        let folder = scratch();
        let conf = folder.path().join("conf");
        std::fs::create_dir(&conf).unwrap();
        std::fs::write(
            conf.join("fair-scheduler.xml"),
            "<allocations><pool name='p'><minMap>1</minMap></pool></allocations>",
        )
        .unwrap();
        std::fs::write(conf.join("mapred-site.xml"), "<configuration/>").unwrap();
        let state = folder.path().join("state").display().to_string();
        let overrides = [
            format!("hadoop.tmp.dir={}", folder.path().join("tmp").display()),
            format!("jobtracker.state.dir={state}"),
            "mapred.job.tracker=127.0.0.1:0".to_owned(),
            "mapred.job.tracker.http.address=127.0.0.1:0".to_owned(),
        ];
        let options = LoadOptions { overrides: overrides.to_vec(), ..LoadOptions::of_process(Some(conf), Vec::new()) };
        let (settings, _) = Settings::load(&options).unwrap();
        let (store, _) = Store::open(StoreOptions::new(&state)).unwrap();
        store.close().unwrap();
        let database = rusqlite::Connection::open(database_in(Path::new(&state))).unwrap();
        let choice = SchedulerChoice {
            class: FAIR_CLASS.to_owned(),
            since_ms: 1,
            by: Some("root".to_owned()),
            configured: settings.scheduler.class_name().to_owned(),
        };
        let choose = "INSERT OR REPLACE INTO meta (key, value) VALUES ('scheduler_choice', ?1)";
        database.execute(choose, [serde_json::to_string(&choice).unwrap()]).unwrap();
        let said: Vec<String> = ruling_scheduler(&settings).warnings.iter().map(ToString::to_string).collect();
        assert!(
            said[0].ends_with(&format!("does not rule: root chose {FAIR_CLASS} by `jobtracker scheduler use`")),
            "{said:?}"
        );
        assert!(said.iter().any(|text| text.contains("minMap of pool p (did you mean <minMaps>?)")), "{said:?}");
    }

    #[test]
    fn a_list_of_hosts_that_names_none_is_named() {
        let folder = scratch();
        let hosts = folder.path().join("hosts");
        std::fs::write(&hosts, "\n").unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let overrides = [format!("hadoop.tmp.dir={}", path("tmp")), format!("mapred.hosts={}", path("hosts"))];
        let (_, warnings) = found(folder.path(), &overrides);
        let said = "-D: mapred.hosts = \"FOLDER/hosts\" names no host: every worker is admitted, as without a file";
        assert!(warnings.iter().any(|warning| warning == said), "{warnings:?}");
        let (_, warnings) =
            found(folder.path(), &[&overrides[..], &["jobtracker.trackers.admit=listed".to_owned()]].concat());
        let said = "-D: mapred.hosts = \"FOLDER/hosts\" names no host: every worker is refused";
        assert!(warnings.iter().any(|warning| warning == said), "{warnings:?}");
    }

    #[test]
    fn a_folder_that_is_a_file_is_named_with_the_value_that_a_person_has_set() {
        let folder = scratch();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (errors, _) = found(folder.path(), &[format!("hadoop.tmp.dir={}", path("file"))]);
        let [error] = &errors[..] else { panic!("{errors:?}") };
        assert!(
            error.starts_with("-D: hadoop.tmp.dir = \"FOLDER/file\": ") && error.contains("set hadoop.tmp.dir to"),
            "{error}"
        );
        let tmp = format!("hadoop.tmp.dir={}", path("tmp"));
        let (errors, _) = found(folder.path(), &[tmp.clone(), format!("jobtracker.state.dir={}", path("file/x"))]);
        let [error] = &errors[..] else { panic!("{errors:?}") };
        assert!(error.starts_with("-D: jobtracker.state.dir = \"FOLDER/file/x\": "), "{error}");
        let (errors, warnings) =
            found(folder.path(), &[tmp.clone(), format!("hadoop.job.history.location={}", path("file"))]);
        assert_eq!(errors, [""; 0]);
        assert!(
            warnings.iter().any(|text| text.contains("hadoop.job.history.location") && text.contains("no history")),
            "{warnings:?}"
        );
        assert_eq!(found(folder.path(), std::slice::from_ref(&tmp)), (vec![], vec![]));
        assert!(!folder.path().join("tmp").exists(), "a look makes nothing");
    }

    #[test]
    fn a_socket_that_a_start_cannot_open_is_named_before_it() {
        let folder = scratch();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let tmp = format!("hadoop.tmp.dir={}/tmp", folder.path().display());
        let (errors, _) = found(folder.path(), &[tmp, format!("jobtracker.web.socket={}", file.display())]);
        assert_eq!(
            errors,
            [
                "-D: jobtracker.web.socket = \"FOLDER/file\": FOLDER/file is there and is no socket; expected a name that is free"
            ]
        );
    }

    #[test]
    fn hosts_scripts_addresses_and_namenodes_that_a_start_cannot_use_are_named() {
        let folder = scratch();
        let tmp = format!("hadoop.tmp.dir={}/tmp", folder.path().display());
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path.display().to_string()
        };
        let hosts = file("hosts", b"\xff\xfen\x001\x00");
        let script = file("racks.sh", b"#!/bin/sh\n");
        let namenode = "fs.default.name=hdfs://no-such-host.invalid:8020".to_owned();
        let (errors, warnings) = found(
            folder.path(),
            &[tmp.clone(), format!("mapred.hosts={hosts}"), format!("topology.script.file.name={script}"), namenode],
        );
        assert!(errors.iter().any(|text| text.contains("FOLDER/hosts: expected UTF-8 text")), "{errors:?}");
        let of_namenode = "-D: fs.default.name = \"hdfs://no-such-host.invalid:8020\": ";
        assert!(errors.iter().any(|text| text.starts_with(of_namenode)), "{errors:?}");
        assert!(warnings.iter().any(|text| text.contains("run chmod +x FOLDER/racks.sh")), "{warnings:?}");
        // Of a network for documentation.
        let (errors, _) = found(folder.path(), &[tmp, "mapred.job.tracker=192.0.2.1:0".to_owned()]);
        assert!(matches!(&errors[..], [error] if error.contains("mapred.job.tracker = 192.0.2.1:0")), "{errors:?}");
    }

    #[test]
    fn names_in_access_lists_that_this_machine_does_not_know_are_named() {
        let folder = scratch();
        let overrides = [
            format!("hadoop.tmp.dir={}/tmp", folder.path().display()),
            "mapred.acls.enabled=true".to_owned(),
            "mapred.queue.default.acl-submit-job=root,no_such_user root,no_such_group".to_owned(),
        ];
        let (errors, warnings) = found(folder.path(), &overrides);
        assert_eq!(errors, [""; 0]);
        let key = "-D: mapred.queue.default.acl-submit-job = \"root,no_such_user root,no_such_group\"";
        assert_eq!(
            warnings,
            [
                format!("{key} names users that this machine does not know: no_such_user"),
                format!("{key} names groups that this machine does not know: no_such_group"),
            ]
        );
    }
}
