//! The working directory of a command: the content of the job's jar and its cache files, as links (1.2.1
//! `TaskRunner.setupWorkDir`, `TrackerDistributedCacheManager`).

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{Timespec, poll};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::config::keys::Key;
use crate::config::{ConfigError, Configuration, keys};
use crate::fs::{EntryKind, EntryStatus, Expected, FileSystems, FileUri, FsError, ListBound, OpenFile};

use super::failure::TaskFailure;
use super::private_files::{FOLDER_MODE, create_file, make_folder, set_mode};

/// Unpacks the archive `$1` in the folder `$2`: for our own user only, also where that is root.
const UNPACK_TAR: &str = "umask 077 && exec tar --no-same-owner --no-same-permissions -xf \"$1\" -C \"$2\"";

/// Interval between two checks of a program that unpacks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Of its standard error, bytes.
const MAX_STDERR_BYTES: u64 = 4096;
const SECOND_MS: i64 = 1000;
/// Folders below one another that are copied.
const MOST_LEVELS: usize = 64;
/// Copied at once, bytes.
const PIECE_BYTES: usize = 1 << 20;

/// A file or archive of the distributed cache, as the job names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheEntry {
    pub(crate) file: FileUri,
    /// Its name in the working directory, if it gets one.
    pub(crate) link: Option<String>,
    /// When it was changed last, ms since 1970: it must not have changed since. Java before 10 knows times of local files in whole seconds.
    pub(crate) changed_ms: i64,
    pub(crate) is_archive: bool,
}

/// The cache files and archives of a job. Errors: [`TaskFailure::Unusable`] for a value that cannot be read.
pub(crate) fn cache_entries(configuration: &Configuration) -> Result<Vec<CacheEntry>, TaskFailure> {
    let mut entries = Vec::new();
    for (files, times, is_archive) in [
        (&keys::CACHE_FILES, &keys::CACHE_FILES_TIMESTAMPS, false),
        (&keys::CACHE_ARCHIVES, &keys::CACHE_ARCHIVES_TIMESTAMPS, true),
    ] {
        let unusable = |reason: String| TaskFailure::Unusable { what: files.name.to_owned(), reason };
        let list = |key: &Key| configuration.list(key).map_err(|error: ConfigError| unusable(error.to_string()));
        let times = list(times)?;
        for (at, uri) in list(files)?.into_iter().enumerate() {
            let (path, link) = match uri.split_once('#') {
                Some((path, link)) => (path, Some(link.to_owned())),
                None => (uri.as_str(), None),
            };
            let file = configuration.resolve(path).map_err(|error| unusable(error.to_string()))?;
            let changed_ms = times.get(at).and_then(|time| time.parse().ok());
            let changed_ms = changed_ms.ok_or_else(|| unusable(format!("no time of change for {uri}")))?;
            entries.push(CacheEntry { file, link, changed_ms, is_archive });
        }
    }
    Ok(entries)
}

/// Called between pieces of long work; fails when the attempt must stop.
pub(crate) type StopCheck<'a> = dyn Fn(WorkStep) -> Result<(), TaskFailure> + 'a;

/// What long work did since the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkStep {
    Advanced,
    Waiting,
}

/// Opens a file that a job names. It may be behind links, but must be a regular file.
fn open_input(files: &FileSystems, file: &FileUri) -> Result<OpenFile, TaskFailure> {
    files.of(file).open(file, &Expected::file_of_any_owner()).map_err(unusable_input)
}

pub(crate) fn unusable_input(error: FsError) -> TaskFailure {
    TaskFailure::unusable("a file that the job names", &error)
}

/// Copies a file that a job names, as [`open_input`] finds it, or a folder with all that is in it; returns when it was changed last, ms
/// since 1970.
pub(crate) fn copy_input(
    files: &FileSystems,
    file: &FileUri,
    to: &Path,
    check_stop: &StopCheck<'_>,
) -> Result<i64, TaskFailure> {
    if let Ok(Some(EntryStatus { kind: EntryKind::Folder, .. })) = files.of(file).status(file) {
        copy_folder(files, file, to, MOST_LEVELS, check_stop)?;
        return Ok(files.of(file).modified_ms(file).map_err(unusable_input)?.unwrap_or_default());
    }
    let found = open_input(files, file)?;
    let changed_ms = found.changed_ms().map_err(unusable_input)?;
    copy(found, to, check_stop)?;
    Ok(changed_ms)
}

fn copy_folder(
    files: &FileSystems,
    folder: &FileUri,
    to: &Path,
    levels: usize,
    check_stop: &StopCheck<'_>,
) -> Result<(), TaskFailure> {
    let unusable = |reason: &str| TaskFailure::Unusable { what: folder.to_string(), reason: reason.to_owned() };
    let levels = levels.checked_sub(1).ok_or_else(|| unusable("has too many folders in one another"))?;
    make_folder(to).map_err(TaskFailure::file("make", to))?;
    for entry in files.of(folder).entries(folder, ListBound::OF_USER).map_err(unusable_input)? {
        let name = entry.name.to_str().ok_or_else(|| unusable("has a name that is not UTF-8"))?;
        let (inner, local) = (folder.join(name).map_err(|error| unusable(&error.to_string()))?, to.join(name));
        if entry.status.kind == EntryKind::Folder {
            copy_folder(files, &inner, &local, levels, check_stop)?;
        } else {
            copy(open_input(files, &inner)?, &local, check_stop)?;
            fs::set_permissions(&local, Permissions::from_mode(FOLDER_MODE))
                .map_err(TaskFailure::file("write", &local))?;
        }
    }
    Ok(())
}

/// Brings a file that a job names to a path of ours; returns when it was changed last, ms since 1970.
pub(crate) type CopyFile<'a> = dyn Fn(&FileUri, &Path) -> Result<i64, TaskFailure> + 'a;

/// Copies a cache entry into its own `folder`; returns the file, or the folder of the unpacked archive.
/// Errors: also when it has changed since the job was submitted.
pub(crate) fn localize(
    entry: &CacheEntry,
    folder: &Path,
    copy_file: &CopyFile<'_>,
    check_stop: &StopCheck<'_>,
) -> Result<PathBuf, TaskFailure> {
    let name = entry.file.name().unwrap_or_default();
    let local = folder.join(name);
    let copy = |to: &Path| {
        make_folder(folder).map_err(TaskFailure::file("make", folder))?;
        let changed_ms = copy_file(&entry.file, to)?;
        let is_in_seconds = entry.file.local_path().is_some() && entry.changed_ms % SECOND_MS == 0;
        let expected_ms = if is_in_seconds { changed_ms - changed_ms % SECOND_MS } else { changed_ms };
        if expected_ms != entry.changed_ms {
            let reason = format!("has changed: its time is {changed_ms}, the job expects {}", entry.changed_ms);
            return Err(TaskFailure::Unusable { what: entry.file.to_string(), reason });
        }
        fs::set_permissions(to, Permissions::from_mode(FOLDER_MODE)).map_err(TaskFailure::file("write", to))
    };
    if !entry.is_archive {
        copy(&local)?;
        return Ok(local);
    }
    // A folder named like the archive, with the archive itself in it.
    make_folder(&local).map_err(TaskFailure::file("make", &local))?;
    let archive = local.join(name);
    copy(&archive)?;
    let lower = name.to_lowercase();
    if lower.ends_with(".jar") || lower.ends_with(".zip") {
        unpack_jar(&archive, &local, check_stop)?;
    } else if [".tar", ".tgz", ".tar.gz"].iter().any(|end| lower.ends_with(end)) {
        unpack_tar(&archive, &local, check_stop)?;
    }
    Ok(local)
}

/// Copies a file. An error names the file at fault.
pub(crate) fn copy(mut source: OpenFile, to: &Path, check_stop: &StopCheck<'_>) -> Result<(), TaskFailure> {
    let mut written = create_file(to).map_err(TaskFailure::file("write", to))?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        check_stop(WorkStep::Advanced)?;
        let bytes = match source.read(&mut piece) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(TaskFailure::file("read", source.path()))?,
        };
        written.write_all(&piece[..bytes]).map_err(TaskFailure::file("write", to))?;
    }
}

/// Unpacks a jar; everything in it may be read and executed by its owner. Entries outside the folder are rejected.
pub(crate) fn unpack_jar(jar: &Path, folder: &Path, check_stop: &StopCheck<'_>) -> Result<(), TaskFailure> {
    let broken = |reason: String| TaskFailure::Unusable { what: jar.display().to_string(), reason };
    let file = File::open(jar).map_err(TaskFailure::file("read", jar))?;
    let unreadable = |error: ZipError| TaskFailure::unusable(&jar.display().to_string(), &error);
    let mut archive = ZipArchive::new(file).map_err(unreadable)?;
    for at in 0..archive.len() {
        check_stop(WorkStep::Advanced)?;
        let mut entry = archive.by_index(at).map_err(unreadable)?;
        let inside = entry.enclosed_name().ok_or_else(|| broken(format!("{:?} leads out of it", entry.name())))?;
        let path = folder.join(inside);
        let unpacked = if entry.is_dir() { make_folder(&path) } else { unpack_file(&mut entry, &path) };
        unpacked.map_err(TaskFailure::file("write", &path))?;
    }
    Ok(())
}

fn unpack_file(entry: &mut impl Read, path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        make_folder(above)?;
    }
    let mut file = create_file(path)?;
    io::copy(entry, &mut file)?;
    set_mode(&file, FOLDER_MODE)
}

fn unpack_tar(archive: &Path, folder: &Path, check_stop: &StopCheck<'_>) -> Result<(), TaskFailure> {
    let mut tar = Command::new("sh");
    tar.args(["-c", UNPACK_TAR, "sh"]).arg(archive).arg(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let unstartable = |error| TaskFailure::unstartable(&format!("cannot unpack {}", archive.display()), &error);
    let mut tar = tar.stderr(Stdio::piped()).spawn().map_err(unstartable)?;
    let stderr = tar.stderr.take();
    std::thread::scope(|scope| {
        let words = scope.spawn(|| stderr.map(read_stderr).unwrap_or_default());
        let status = loop {
            match tar.try_wait().map_err(TaskFailure::file("unpack", archive))? {
                Some(status) => break status,
                None => check_stop(WorkStep::Waiting).inspect_err(|_| {
                    let _ = tar.kill().and_then(|()| tar.wait());
                })?,
            }
            let _ = poll(&mut [], Timespec::try_from(POLL_INTERVAL).ok().as_ref());
        };
        if status.success() {
            return Ok(());
        }
        let reason = words.join().unwrap_or_default();
        Err(TaskFailure::Unusable { what: archive.display().to_string(), reason })
    })
}

/// The first lines of a program's standard error; the rest is dropped.
fn read_stderr(mut stderr: impl Read) -> String {
    let mut words = Vec::new();
    let _ = stderr.by_ref().take(MAX_STDERR_BYTES).read_to_end(&mut words);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&words).trim().to_owned()
}

/// Makes a new working directory: a link for each thing at the root of the unpacked jar, one for each of `links` (name and
/// target), and a real folder `temporary` for temporary files.
pub(crate) fn prepare_working_folder(
    folder: &Path,
    jar_content: Option<&Path>,
    links: &[(String, PathBuf)],
    temporary: &str,
) -> Result<(), TaskFailure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(TaskFailure::file("empty", folder)(error)),
        _ => {}
    }
    make_folder(folder).map_err(TaskFailure::file("make", folder))?;
    if let Some(content) = jar_content {
        let entries = fs::read_dir(content).map_err(TaskFailure::file("list", content))?;
        for entry in entries {
            let entry = entry.map_err(TaskFailure::file("list", content))?;
            let link = folder.join(entry.file_name());
            symlink(entry.path(), &link).map_err(TaskFailure::file("link", &link))?;
        }
    }
    for (name, target) in links {
        let link = folder.join(name);
        if !link.starts_with(folder) || name.split('/').any(|part| part == "..") {
            return Err(TaskFailure::Unusable { what: name.clone(), reason: "is no name of a link".to_owned() });
        }
        let made = link.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| symlink(target, &link));
        match made {
            // A shipped file has that name already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(TaskFailure::file("link", &link))?,
        }
    }
    let temporary = folder.join(temporary);
    // It may be a shared folder, such as /tmp.
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(&temporary)
        .map_err(TaskFailure::file("make", &temporary))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use std::time::UNIX_EPOCH;

    use super::*;

    fn localize_here(entry: &CacheEntry, folder: &Path, check_stop: &StopCheck<'_>) -> Result<PathBuf, TaskFailure> {
        localize(
            entry,
            folder,
            &|file, to| copy_input(&FileSystems::with_defaults("alice"), file, to, check_stop),
            check_stop,
        )
    }

    fn jar(path: &Path, entries: &[(&str, &str)]) {
        let mut writer = ZipWriter::new(File::create(path).unwrap());
        for (name, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
    }

    #[test]
    fn a_command_finds_shipped_and_cached_files() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        jar(&at("job.jar"), &[("mapper.py", "print()"), ("META-INF/MANIFEST.MF", "x"), ("lib/a.zip", "y")]);
        unpack_jar(&at("job.jar"), &at("jars"), &|_| Ok(())).unwrap();
        fs::write(at("side.txt"), "side").unwrap();
        jar(&at("words.zip"), &[("inside/w.txt", "words")]);
        fs::create_dir(at("t")).unwrap();
        fs::write(at("t/in-tar"), "tar").unwrap();
        let tar = Command::new("tar").args(["-czf", "b.tgz", "-C", "t", "in-tar"]).current_dir(scratch.path()).status();
        assert!(tar.unwrap().success());
        let changed_ms = |name: &str| {
            let changed = fs::metadata(at(name)).unwrap().modified().unwrap();
            changed.duration_since(UNIX_EPOCH).unwrap().as_millis()
        };
        let mut configuration = Configuration::new(BTreeMap::new());
        let here = scratch.path().display();
        for (name, value) in [
            ("mapred.cache.files", format!("file:{here}/side.txt#lnk")),
            ("mapred.cache.files.timestamps", changed_ms("side.txt").to_string()),
            ("mapred.cache.archives", format!("{here}/words.zip#w,{here}/b.tgz#b")),
            ("mapred.cache.archives.timestamps", format!("{},{}", changed_ms("words.zip"), changed_ms("b.tgz"))),
        ] {
            configuration.add_override(&format!("{name}={value}")).unwrap();
        }
        let entries = cache_entries(&configuration).unwrap();
        let links: Vec<(String, PathBuf)> = entries
            .iter()
            .enumerate()
            .map(|(n, entry)| {
                (entry.link.clone().unwrap(), localize_here(entry, &at(&format!("cache/{n}")), &|_| Ok(())).unwrap())
            })
            .collect();
        for _ in 0..2 {
            prepare_working_folder(&at("work"), Some(&at("jars")), &links, "./tmp").unwrap();
        }
        let read = |name: &str| fs::read_to_string(at("work").join(name)).unwrap();
        assert_eq!(
            read("mapper.py") + &read("lnk") + &read("w/inside/w.txt") + &read("b/in-tar"),
            "print()sidewordstar"
        );
        assert_eq!(read("lib/a.zip"), "y");
        assert!(at("work/tmp").is_dir() && at("work/w/words.zip").exists());
        let mode = fs::metadata(at("work/mapper.py")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let late = CacheEntry { changed_ms: 1000, ..entries[0].clone() };
        assert!(localize_here(&late, &at("late"), &|_| Ok(())).unwrap_err().to_string().contains("has changed"));
        let in_seconds = CacheEntry { changed_ms: whole_seconds_ms(&entries[0]), ..entries[0].clone() };
        localize_here(&in_seconds, &at("seconds"), &|_| Ok(())).unwrap();
    }

    /// The time of an entry in whole seconds, as Java 8 knows it.
    fn whole_seconds_ms(entry: &CacheEntry) -> i64 {
        entry.changed_ms - entry.changed_ms % 1000
    }

    #[test]
    fn a_folder_comes_with_all_that_is_in_it() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir_all(scratch.path().join("lib/more")).unwrap();
        fs::write(scratch.path().join("lib/a.txt"), "a").unwrap();
        fs::write(scratch.path().join("lib/more/b.txt"), "b").unwrap();
        let file = FileUri::parse(&scratch.path().join("lib").display().to_string()).unwrap();
        let changed_ms = FileSystems::with_defaults("alice").of(&file).modified_ms(&file).unwrap().unwrap();
        let entry = CacheEntry { file, link: Some("d".to_owned()), changed_ms, is_archive: false };
        let local = localize_here(&entry, &scratch.path().join("cache"), &|_| Ok(())).unwrap();
        let read = |name: &str| fs::read_to_string(local.join(name)).unwrap();
        assert_eq!(read("a.txt") + &read("more/b.txt"), "ab");
    }

    #[test]
    fn nothing_leads_out() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("bad.jar");
        jar(&path, &[("../evil", "x")]);
        assert!(unpack_jar(&path, &scratch.path().join("in"), &|_| Ok(())).is_err());
        let links = [("../evil".to_owned(), PathBuf::from("/"))];
        assert!(prepare_working_folder(&scratch.path().join("work"), None, &links, "tmp").is_err());
        assert!(!scratch.path().join("evil").exists());
        fs::write(&path, "no jar").unwrap();
        assert!(unpack_jar(&path, &scratch.path().join("in"), &|_| Ok(())).is_err());
    }

    #[test]
    fn a_pipe_is_refused_at_once_and_what_is_no_archive_with_words() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let entry = |name: &str| {
            let file = FileUri::parse(&at(name).display().to_string()).unwrap();
            let changed = fs::metadata(at(name)).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
            CacheEntry { file, link: None, changed_ms: changed.as_millis() as i64, is_archive: name.ends_with("tar") }
        };
        let refused = localize_here(&entry("pipe"), &at("cache"), &|_| Ok(())).unwrap_err().to_string();
        assert!(refused.contains("pipe") && refused.contains("a regular file"), "{refused}");
        fs::write(at("a.tar"), "no archive").unwrap();
        let ends = |step| if step == WorkStep::Advanced { Ok(()) } else { Err(TaskFailure::Killed) };
        assert!(matches!(
            localize_here(&entry("a.tar"), &at("cache"), &ends),
            Err(TaskFailure::Killed | TaskFailure::Unusable { .. })
        ));
        let broken = localize_here(&entry("a.tar"), &at("again"), &|_| Ok(())).unwrap_err().to_string();
        assert!(broken.contains("tar"), "{broken}");
    }
}
