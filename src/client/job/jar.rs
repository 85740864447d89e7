//! `job.jar`: the shipped files, and for stock TaskTrackers the classes of Hadoop Streaming.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::fs::{CheckedFile, Expected, open_behind_links};

use super::streaming::ShippedFile;

/// Manifest for a jar without one; Java's tools require it.
const MANIFEST: &[u8] = b"Manifest-Version: 1.0\r\n\r\n";
const MANIFEST_NAME: &str = "META-INF/MANIFEST.MF";
/// Size from which on an entry needs the zip64 format, bytes.
const LONG_BYTES: u64 = 1 << 31;

/// Why the jar cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum JarError {
    /// A shipped file cannot be read, or the jar not written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The failed operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Two files have the same name.
    #[error("--file {}: another shipped file has the name {name}, too", path.display())]
    SameName {
        /// The second one.
        path: PathBuf,
        /// Their name in the jar.
        name: String,
    },
    /// The name after `#` leads out of the working directory.
    #[error("--file {}#{name}: expected a name within the working directory after #", path.display())]
    BadName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The name is not UTF-8.
    #[error("--file {0:?}: its name is not UTF-8")]
    NotUtf8(PathBuf),
    /// The jar of Hadoop Streaming is invalid, or the new one cannot be written.
    #[error("{}: {source}", path.display())]
    Zip {
        /// Its path.
        path: PathBuf,
        /// The error.
        source: ZipError,
    },
}

fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> JarError + 'a {
    move |source| JarError::Io { action, path: path.to_owned(), source }
}

fn zip_error(path: &Path) -> impl Fn(ZipError) -> JarError + '_ {
    move |source| JarError::Zip { path: path.to_owned(), source }
}

/// Name of a shipped file in the jar (1.2.1 `JarBuilder`): classes and jars where Java looks for them, others at the root.
fn name_in_jar(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = match path.extension().and_then(|ending| ending.to_str()) {
        Some("class") => "classes/",
        Some("jar" | "zip") => "lib/",
        _ => "",
    };
    Some(format!("{folder}{name}"))
}

/// The files that a path ships and their names in the jar; the content of a directory goes to the root, or below its name.
fn shipped(file: &ShippedFile) -> Result<Vec<(PathBuf, String)>, JarError> {
    let path = file.path.as_path();
    if let Some(name) = &file.name
        && !name.split('/').all(|part| !matches!(part, "" | "." | ".."))
    {
        return Err(JarError::BadName { path: path.to_owned(), name: name.clone() });
    }
    let not_utf8 = |path: &Path| JarError::NotUtf8(path.to_owned());
    if !std::fs::metadata(path).map_err(io_error("read", path))?.is_dir() {
        // `dir/..` has no name of its own.
        let named = if path.file_name().is_some() {
            path.to_owned()
        } else {
            path.canonicalize().map_err(io_error("read", path))?
        };
        let name = file.name.clone().or_else(|| name_in_jar(&named)).ok_or_else(|| not_utf8(path))?;
        return Ok(vec![(path.to_owned(), name)]);
    }
    let mut files = Vec::new();
    let below = file.name.as_ref().map_or_else(String::new, |name| format!("{name}/"));
    let mut folders = vec![(path.to_owned(), below)];
    while let Some((folder, prefix)) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(io_error("read", &folder))?;
        for entry in entries {
            let path = entry.map_err(io_error("read", &folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| not_utf8(&path))?;
            let name = format!("{prefix}{name}");
            if std::fs::metadata(&path).map_err(io_error("read", &path))?.is_dir() {
                folders.push((path, name + "/"));
            } else {
                files.push((path, name));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Opens a file of the user, which may be behind links.
fn open(path: &Path) -> Result<CheckedFile, JarError> {
    let opened = open_behind_links(path, &Expected::file_of_any_owner());
    opened.map_err(|error| io_error("read", path)(error.into()))
}

/// Creates the jar with mode 0644: shipped files first, then the other files of the streaming jar.
pub(crate) fn write_jar(jar: &Path, files: &[ShippedFile], streaming_jar: Option<&Path>) -> Result<(), JarError> {
    let options = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(jar);
    let file = options.map_err(io_error("write", jar))?;
    file.set_permissions(std::fs::Permissions::from_mode(0o644)).map_err(io_error("write", jar))?;
    let mut writer = ZipWriter::new(file);
    let mut names = BTreeSet::new();
    for file in files {
        for (path, name) in shipped(file)? {
            if !names.insert(name.clone()) {
                return Err(JarError::SameName { path, name });
            }
            let CheckedFile { file: mut content, metadata, .. } = open(&path)?;
            writer
                .start_file(name, options_of(metadata.len(), metadata.permissions().mode()))
                .map_err(zip_error(jar))?;
            io::copy(&mut content, &mut writer).map_err(io_error("copy", &path))?;
        }
    }
    if let Some(streaming_jar) = streaming_jar {
        let mut archive = ZipArchive::new(open(streaming_jar)?.file).map_err(zip_error(streaming_jar))?;
        for at in 0..archive.len() {
            let entry = archive.by_index_raw(at).map_err(zip_error(streaming_jar))?;
            let name = entry.name().map_err(zip_error(streaming_jar))?.into_owned();
            if names.insert(name) {
                writer.raw_copy_file(entry).map_err(zip_error(jar))?;
            }
        }
    }
    if !names.contains(MANIFEST_NAME) {
        writer.start_file(MANIFEST_NAME, options_of(MANIFEST.len() as u64, 0o644)).map_err(zip_error(jar))?;
        writer.write_all(MANIFEST).map_err(io_error("write", jar))?;
    }
    writer.finish().map_err(zip_error(jar))?;
    Ok(())
}

fn options_of(length_bytes: u64, mode: u32) -> SimpleFileOptions {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    options.unix_permissions(mode & 0o777).large_file(length_bytes >= LONG_BYTES)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    fn content(jar: &Path) -> Vec<(String, String)> {
        let mut archive = ZipArchive::new(File::open(jar).unwrap()).unwrap();
        let mut files = Vec::new();
        for at in 0..archive.len() {
            let mut entry = archive.by_index(at).unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.push((entry.name().unwrap().into_owned(), text));
        }
        files
    }

    #[test]
    fn shipped_files_lie_where_tasks_look_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["map.py", "A.class", "b.jar", "words/list.txt", "words/more/deep.txt"] {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), name).unwrap();
        }
        let streaming = path("streaming.jar");
        let plain = |names: &[&str]| names.iter().map(|name| ShippedFile::new(path(name))).collect::<Vec<_>>();
        write_jar(&streaming, &plain(&["words"]), None).unwrap();
        let jar = path("job.jar");
        std::fs::write(path("list.txt"), "mine").unwrap();
        write_jar(&jar, &plain(&["map.py", "A.class", "b.jar", "list.txt"]), Some(&streaming)).unwrap();
        let found = content(&jar);
        let found: Vec<_> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let manifest = ("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n");
        let own = [("map.py", "map.py"), ("classes/A.class", "A.class"), ("lib/b.jar", "b.jar"), ("list.txt", "mine")];
        assert_eq!(found[..4], own);
        assert_eq!(found[4..], [("more/deep.txt", "words/more/deep.txt"), manifest]);
        assert_eq!(std::fs::metadata(&jar).unwrap().permissions().mode() & 0o777, 0o644);
        let named =
            |name: &str, given: &str| ShippedFile { name: Some(given.to_owned()), ..ShippedFile::new(path(name)) };
        let jar = path("named.jar");
        write_jar(&jar, &[named("b.jar", "c.jar"), named("words", "d/e")], None).unwrap();
        let names: Vec<_> = content(&jar).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[..3], ["c.jar", "d/e/list.txt", "d/e/more/deep.txt"]);
        for bad in ["../x", "/x", "a//b", "."] {
            let refused = write_jar(&path("bad.jar"), &[named("b.jar", bad)], None).unwrap_err().to_string();
            assert!(refused.contains("expected a name within the working directory"), "{refused}");
            std::fs::remove_file(path("bad.jar")).unwrap();
        }
    }

    #[test]
    fn files_that_cannot_be_shipped_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        for name in ["a", "sub/a", "no.jar"] {
            std::fs::write(path(name), name).unwrap();
        }
        let refused = |at: &str, names: &[&str], streaming: Option<&Path>| {
            let files: Vec<_> = names.iter().map(|name| ShippedFile::new(path(name))).collect();
            write_jar(&path(at), &files, streaming).unwrap_err().to_string().replace(&*path("").to_string_lossy(), "/")
        };
        assert_eq!(refused("1", &["a", "sub/a"], None), "--file /sub/a: another shipped file has the name a, too");
        assert!(refused("2", &["none"], None).starts_with("cannot read /none: "));
        assert!(refused("3", &[], Some(&path("no.jar"))).starts_with("/no.jar: "));
        assert!(refused("a", &[], None).starts_with("cannot write /a: "));
    }
}
