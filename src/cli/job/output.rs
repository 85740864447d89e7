//! `jobtracker job output`: prints the output of a job.

use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use crate::cli::market_text::{OutputForm, json};
use crate::client::job::JobId;
use crate::client::job::view::JobState;
use crate::fs::{EntryKind, Expected, FileSystem, FileUri, FolderEntry, FsError, ListBound};

use super::connection::{ConnectionArguments, JobCommandError, JobTrackerConnection};
use super::submission_record::SubmissionRecord;
use super::tasks::read_tasks;

/// Options of `job output`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OutputArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Print what there is, although the job has not succeeded
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn output(arguments: &OutputArguments) -> Result<String, JobCommandError> {
    let OutputArguments { job, partial, connection } = arguments;
    let line = connection.jobtracker().await?.job(*job).await?;
    let state = line.state.name();
    if line.state != JobState::Succeeded && !partial {
        let text = format!("{job} is {state}: expected a job that has SUCCEEDED, or --partial for what it has written");
        return Err(JobCommandError::Argument(text));
    }
    // A Java JobTracker does not say; a job of this machine has a record.
    let answered = read_tasks(connection, *job, true).await.map(|tasks| tasks.output);
    let recorded = || SubmissionRecord::read(*job).ok().and_then(|record| record.output().ok());
    let folder = match answered {
        Ok(Some(output)) => output,
        Ok(None) => recorded().ok_or_else(|| {
            JobCommandError::Argument(format!("the JobTracker does not know the output directory of {job}"))
        })?,
        Err(error) => recorded().ok_or(error)?,
    };
    let bad = |error: &dyn std::fmt::Display| JobCommandError::Argument(format!("the output of {job}: {error}"));
    let JobTrackerConnection { configuration, jobtracker, .. } = connection.connection(&[]).await?;
    let files = configuration.file_systems(jobtracker.user());
    let uri = configuration.working_dir(jobtracker.user(), Path::new("/")).and_then(|base| base.resolve(&folder));
    let uri = uri.map_err(|error| bad(&error))?;
    let unreadable = |path: &FileUri, error: &dyn std::fmt::Display| {
        bad(&format!("cannot read {}: {error}", path.shown_path().display()))
    };
    let files = files.of(&uri);
    let parts = part_files(&files, &uri).map_err(|error| unreadable(&uri, &io::Error::from(error)))?;
    if connection.form() == OutputForm::Json {
        let files: Vec<_> = parts
            .iter()
            .map(|(path, bytes)| serde_json::json!({ "file": path.shown_path(), "bytes": bytes }))
            .collect();
        return Ok(json(&serde_json::json!({ "job": job, "state": state, "output": uri.to_string(), "files": files })));
    }
    let mut stdout = io::stdout().lock();
    for (path, _) in &parts {
        match copy(&files, path, &mut stdout) {
            // As by `head`.
            Err(CopyFailure::Write(error)) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(CopyFailure::Write(error)) => return Err(error.into()),
            Err(CopyFailure::Read(error)) => return Err(unreadable(path, &error)),
            Ok(()) => {}
        }
    }
    Ok(String::new())
}

/// The part files of a folder with their lengths, bytes, by name: the order of the reduces.
fn part_files(files: &FileSystem, folder: &FileUri) -> Result<Vec<(FileUri, u64)>, FsError> {
    let mut parts = Vec::new();
    for FolderEntry { name, status } in files.entries(folder, ListBound::OF_USER)? {
        let name = name.to_string_lossy();
        if status.kind == EntryKind::File
            && name.starts_with("part-")
            && let Ok(path) = folder.join(&name)
        {
            parts.push((path, status.length_bytes));
        }
    }
    Ok(parts)
}

#[derive(Debug)]
enum CopyFailure {
    Read(io::Error),
    Write(io::Error),
}

/// Copies a part, decompressed by the end of its name.
fn copy(files: &FileSystem, path: &FileUri, to: &mut impl Write) -> Result<(), CopyFailure> {
    let opened = files.open(path, &Expected::file_of_any_owner());
    let file = opened.map_err(|error| CopyFailure::Read(error.into()))?;
    let mut from: Box<dyn Read> = match path.name().and_then(|name| name.rsplit_once('.')).map(|(_, end)| end) {
        Some("gz") => Box::new(MultiGzDecoder::new(file)),
        Some("deflate") => Box::new(ZlibDecoder::new(file)),
        _ => Box::new(file),
    };
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return to.flush().map_err(CopyFailure::Write),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyFailure::Read(error)),
        };
        to.write_all(buffer.get(..read).unwrap_or_default()).map_err(CopyFailure::Write)?;
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::fs::FileSystems;

    #[test]
    fn parts_are_joined_in_order_and_decompressed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(b"two\n").unwrap();
        std::fs::write(path("part-00001.gz"), gz.finish().unwrap()).unwrap();
        std::fs::write(path("part-00000"), "one\n").unwrap();
        std::fs::write(path("part-00002"), "three\n").unwrap();
        for other in [".part-00000.crc", "_SUCCESS"] {
            std::fs::write(path(other), "no").unwrap();
        }
        std::fs::create_dir(path("part-folder")).unwrap();
        let mut printed = Vec::new();
        let uri = FileUri::parse(folder.path().to_str().unwrap()).unwrap();
        let files = FileSystems::with_defaults("alice").of(&uri);
        for (path, _) in part_files(&files, &uri).unwrap() {
            copy(&files, &path, &mut printed).unwrap();
        }
        assert_eq!(String::from_utf8(printed).unwrap(), "one\ntwo\nthree\n");
        std::fs::write(path("part-00003.gz"), "no gzip").unwrap();
        assert!(matches!(
            copy(&files, &uri.join("part-00003.gz").unwrap(), &mut Vec::new()),
            Err(CopyFailure::Read(_))
        ));
    }
}
