//! Output files of text, and their commit: attempts write under `_temporary`; a commit renames (1.2.1 `FileOutputCommitter`). Also sets up
//! and cleans up jobs whose tasks only Java can run.

use std::io;
use std::io::{BufWriter, Write};

use crate::config::keys::Key;
use crate::config::{Configuration, keys};
use crate::fs::checksummed::checksummed_name;
use crate::fs::{EntryKind, FileSystem, FileSystems, FileUri, FileUriError, FileWriter, FsError, ListBound};
use crate::model::AttemptId;

use super::codec::{Codec, Encoder};
use super::failure::TaskFailure;

const TEMPORARY: &str = "_temporary";
/// The committer of the interface `mapred`, also when none is named.
pub(super) const COMMITTER: &str = "org.apache.hadoop.mapred.FileOutputCommitter";
/// Output formats of the interface `mapreduce` with such a committer; without a name it is the first.
const NEW_OUTPUT_FORMATS: [&str; 3] = [
    "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
    "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat",
    "org.apache.hadoop.mapreduce.lib.output.SequenceFileAsBinaryOutputFormat",
];
/// An empty file that a successful job leaves.
const SUCCESS: &str = "_SUCCESS";
/// As Hadoop makes folders, before a umask.
const FOLDER_MODE: u32 = 0o755;

#[derive(Clone, Debug)]
pub(crate) struct OutputCommitter {
    files: FileSystem,
    folder: FileUri,
}

impl From<FsError> for TaskFailure {
    fn from(error: FsError) -> Self {
        TaskFailure::unusable("the job's output", &error)
    }
}

impl From<FileUriError> for TaskFailure {
    fn from(error: FileUriError) -> Self {
        TaskFailure::Unusable { what: "the job's output".to_owned(), reason: error.to_string() }
    }
}

impl OutputCommitter {
    pub(crate) fn new(files: &FileSystems, folder: FileUri) -> Self {
        Self { files: files.of(&folder), folder }
    }

    /// The committer of a job, which may run Java code, if it commits as this one does: then its setup and cleanup need no Java. `None`:
    /// the job has no output folder and needs no commit. Errors: [`TaskFailure::Unusable`]: it has another committer, or may have.
    pub(crate) fn of_job(configuration: &Configuration, files: &FileSystems) -> Result<Option<Self>, TaskFailure> {
        let unusable = |key: &Key, reason: String| TaskFailure::Unusable {
            what: format!("a built-in tasktracker cannot set up or clean up this job: {}", key.name),
            reason,
        };
        let text = |key: &Key| configuration.text(key).map_err(|error| unusable(key, error.to_string()));
        let is_new = |key: &Key| configuration.flag(key).map_err(|error| unusable(key, error.to_string()));
        let (key, known) = if is_new(&keys::MAPPER_NEW_API)? || is_new(&keys::REDUCER_NEW_API)? {
            (&keys::NEW_OUTPUT_FORMAT_CLASS, &NEW_OUTPUT_FORMATS[..])
        } else {
            (&keys::OUTPUT_COMMITTER_CLASS, &[COMMITTER][..])
        };
        if let Some(class) = text(key)?.filter(|class| !known.contains(&class.as_str())) {
            return Err(unusable(key, format!("{class:?} is Java code: a stock TaskTracker runs it")));
        }
        let folder = text(&keys::OUTPUT_DIR)?;
        let folder = folder.map(|folder| configuration.resolve(&folder)).transpose()?;
        Ok(folder.map(|folder| Self::new(files, folder)))
    }

    fn temporary(&self) -> Result<FileUri, TaskFailure> {
        Ok(self.folder.join(TEMPORARY)?)
    }

    /// The folder that an attempt writes to; a commit moves its content.
    pub(crate) fn attempt_folder(&self, attempt: AttemptId) -> Result<FileUri, TaskFailure> {
        Ok(self.temporary()?.join(&format!("_{attempt}"))?)
    }

    pub(crate) fn set_up_job(&self) -> Result<(), TaskFailure> {
        Ok(self.files.make_dir_all(&self.temporary()?, FOLDER_MODE)?)
    }

    /// Runs the job's cleanup; `marked`: write `_SUCCESS`.
    pub(crate) fn clean_up_job(&self, marked: bool) -> Result<(), TaskFailure> {
        self.files.remove_dir_all(&self.temporary()?)?;
        if marked && self.files.kind_of(&self.folder)?.is_some() {
            let mark = self.folder.join(SUCCESS)?;
            // It exists when an earlier attempt did this and its report was lost.
            if self.files.kind_of(&mark)?.is_none() {
                self.files.create(&mark)?.finish().map_err(FsError::of_writing(&mark))?;
            }
        }
        Ok(())
    }

    pub(crate) fn set_up_attempt(&self, attempt: AttemptId) -> Result<FileUri, TaskFailure> {
        let folder = self.attempt_folder(attempt)?;
        self.files.make_dir_all(&folder, FOLDER_MODE)?;
        Ok(folder)
    }

    pub(crate) fn needs_commit(&self, attempt: AttemptId) -> Result<bool, TaskFailure> {
        Ok(self.files.kind_of(&self.attempt_folder(attempt)?)?.is_some())
    }

    /// Moves everything that an attempt wrote to the output folder; existing folders are merged, files replaced.
    pub(crate) fn commit(&self, attempt: AttemptId) -> Result<(), TaskFailure> {
        let from = self.attempt_folder(attempt)?;
        if self.files.kind_of(&from)?.is_some() {
            self.move_content(&from, &self.folder)?;
            self.files.remove_dir_all(&from)?;
        }
        Ok(())
    }

    fn move_content(&self, from: &FileUri, to: &FileUri) -> Result<(), TaskFailure> {
        let names = self.files.names_in(from, ListBound::OF_USER)?;
        for name in &names {
            let name = name.to_string_lossy();
            // Checksums go with their file.
            if checksummed_name(&name).is_some_and(|of| names.iter().any(|name| name == of)) {
                continue;
            }
            let (source, target) = (from.join(&name)?, to.join(&name)?);
            let kinds = (self.files.kind_of(&source)?, self.files.kind_of(&target)?);
            match kinds {
                (Some(EntryKind::Folder), Some(EntryKind::Folder)) => self.move_content(&source, &target)?,
                // The system refuses to rename a file onto a folder, and the error says so.
                _ => self.files.rename(&source, &target)?,
            }
        }
        Ok(())
    }

    /// Removes what an attempt wrote. Errors: those of the file system; Hadoop passes over them.
    pub(crate) fn abort(&self, attempt: AttemptId) -> Result<(), TaskFailure> {
        self.files.remove_dir_all(&self.attempt_folder(attempt)?)?;
        Ok(())
    }
}

/// Gathered before it goes to codec and file, bytes.
const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct TextOutput {
    out: BufWriter<Encoder<FileWriter>>,
    separator: Vec<u8>,
}

impl TextOutput {
    /// Writes to a file that is there now, also if nothing is ever written.
    pub(crate) fn new(file: FileWriter, codec: Option<Codec>, separator: &[u8]) -> Self {
        let encoder = Encoder::new(codec, file);
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, encoder), separator: separator.to_owned() }
    }

    #[inline]
    pub(crate) fn write(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.out.write_all(key)?;
        self.out.write_all(&self.separator)?;
        self.out.write_all(value)?;
        self.out.write_all(b"\n")
    }

    /// Flushes; returns the bytes written, checksums included, as Hadoop counts them.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let encoder = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use crate::fs::{FileSystems, FileUri};

    use super::*;

    #[test]
    fn output_appears_when_it_is_committed() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let committer = OutputCommitter::new(
            &FileSystems::with_defaults("alice"),
            FileUri::parse(&out.display().to_string()).unwrap(),
        );
        let attempt = |number| format!("attempt_202611211027_0016_r_000001_{number}").parse::<AttemptId>().unwrap();
        committer.set_up_job().unwrap();
        assert!(!committer.needs_commit(attempt(0)).unwrap());
        for number in 0..2 {
            let folder = committer.set_up_attempt(attempt(number)).unwrap();
            assert_eq!(
                folder.shown_path(),
                out.join(format!("_temporary/_attempt_202611211027_0016_r_000001_{number}"))
            );
            fs::create_dir(folder.shown_path().join("side")).unwrap();
            fs::write(folder.shown_path().join("part-00001"), number.to_string()).unwrap();
            fs::write(folder.shown_path().join(".part-00001.crc"), number.to_string()).unwrap();
            fs::write(folder.shown_path().join(format!("side/{number}")), "").unwrap();
        }
        fs::create_dir(out.join("side")).unwrap();
        fs::write(out.join("part-00001"), "of an attempt that was lost while it committed").unwrap();
        assert!(committer.needs_commit(attempt(1)).unwrap());
        committer.commit(attempt(1)).unwrap();
        committer.abort(attempt(0)).unwrap();
        committer.abort(attempt(0)).unwrap();
        committer.commit(attempt(0)).unwrap();
        assert_eq!(fs::read(out.join("part-00001")).unwrap(), b"1");
        assert_eq!(fs::read(out.join(".part-00001.crc")).unwrap(), b"1");
        assert!(out.join("side/1").exists() && !out.join("side/0").exists());
        for _ in 0..2 {
            committer.clean_up_job(true).unwrap();
        }
        let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 5, "{names:?}");
        assert_eq!(fs::read(out.join("_SUCCESS")).unwrap(), b"");
    }

    #[test]
    fn java_jobs_too_are_set_up_unless_they_commit_by_themselves() {
        let of_job = |values: &[&str]| {
            let mut configuration = Configuration::new(BTreeMap::new());
            values.iter().for_each(|value| configuration.add_override(value).unwrap());
            let committer = OutputCommitter::of_job(&configuration, &FileSystems::with_defaults("alice"));
            committer.map(|found| found.map(|found| found.folder.to_string())).map_err(|failure| failure.to_string())
        };
        let out = "file:/out".to_owned();
        let (java, folder) = ("mapred.mapper.class=a.B", "mapred.output.dir=/out");
        assert_eq!(of_job(&[java, folder]), Ok(Some(out.clone())));
        assert_eq!(
            of_job(&[java, "mapred.output.committer.class=org.apache.hadoop.mapred.FileOutputCommitter"]),
            Ok(None)
        );
        let refused = of_job(&["mapred.output.committer.class=a.Committer", folder]).unwrap_err();
        assert!(refused.contains("mapred.output.committer.class") && refused.contains("a.Committer"), "{refused}");
        let new = "mapred.mapper.new-api=true";
        assert_eq!(of_job(&[new, folder]), Ok(Some(out)));
        assert!(of_job(&[new, folder, "mapreduce.outputformat.class=a.Format"]).is_err());
        assert!(of_job(&["mapred.output.dir=s3://a/out"]).is_err());
    }

    #[test]
    fn a_failed_job_leaves_no_mark() {
        let scratch = tempfile::tempdir().unwrap();
        let committer = OutputCommitter::new(
            &FileSystems::with_defaults("alice"),
            FileUri::parse(&scratch.path().display().to_string()).unwrap(),
        );
        committer.set_up_job().unwrap();
        committer.clean_up_job(false).unwrap();
        committer.clean_up_job(false).unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn records_become_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-00000");
        let uri = FileUri::parse(path.to_str().unwrap()).unwrap();
        let create = || FileSystems::with_defaults("alice").of(&uri).create(&uri).unwrap();
        let mut output = TextOutput::new(create(), None, b"=");
        output.write(b"a", b"1").unwrap();
        output.write(b"", b"").unwrap();
        assert_eq!(output.finish().unwrap(), 6 + 12);
        assert_eq!(fs::read(&path).unwrap(), b"a=1\n=\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let empty = TextOutput::new(create(), Some(Codec::Gzip), b"=").finish().unwrap();
        assert!(empty > 8 + 4);
    }
}
