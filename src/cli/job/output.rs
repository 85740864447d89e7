//! `jobtracker job output`: prints the output of a job.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use crate::cli::market_text::{Form, json};
use crate::client::job::JobId;
use crate::client::job::view::JobState;
use crate::fs::{Expected, FileUri, open_behind_links};

use super::connection::ConnectionArguments;
use super::error::JobCommandError;
use super::submission_record::SubmissionRecord;
use super::tasks::read_tasks;

/// Options of `job output`.
#[derive(Clone, Debug, clap::Args)]
pub struct OutputArguments {
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
    let line = connection.jobtracker()?.job(*job).await?;
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
    let uri = FileUri::parse(&folder).map_err(|error| bad(&error))?;
    let parts =
        part_files(uri.as_path()).map_err(|error| bad(&format!("cannot read {}: {error}", uri.as_path().display())))?;
    if connection.form() == Form::Json {
        let files: Vec<_> =
            parts.iter().map(|(path, bytes)| serde_json::json!({ "file": path, "bytes": bytes })).collect();
        return Ok(json(&serde_json::json!({ "job": job, "state": state, "output": uri.to_string(), "files": files })));
    }
    let mut stdout = io::stdout().lock();
    for (path, _) in &parts {
        match copy(path, &mut stdout) {
            // As by `head`.
            Err(Failure::Write(error)) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(Failure::Write(error)) => return Err(error.into()),
            Err(Failure::Read(error)) => return Err(bad(&format!("cannot read {}: {error}", path.display()))),
            Ok(()) => {}
        }
    }
    Ok(String::new())
}

/// The part files of a folder with their lengths, bytes, by name: the order of the reduces.
fn part_files(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && entry.file_name().to_string_lossy().starts_with("part-") {
            parts.push((entry.path(), about.len()));
        }
    }
    parts.sort();
    Ok(parts)
}

/// What failed of a copy.
#[derive(Debug)]
enum Failure {
    Read(io::Error),
    Write(io::Error),
}

/// Copies a part, decompressed by the end of its name.
fn copy(path: &Path, to: &mut impl Write) -> Result<(), Failure> {
    let opened = open_behind_links(path, &Expected::file_of_any_owner());
    let file = opened.map_err(|error| Failure::Read(error.into()))?.file;
    let mut from: Box<dyn Read> = match path.extension().and_then(|end| end.to_str()) {
        Some("gz") => Box::new(MultiGzDecoder::new(file)),
        Some("deflate") => Box::new(ZlibDecoder::new(file)),
        _ => Box::new(file),
    };
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return to.flush().map_err(Failure::Write),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Read(error)),
        };
        to.write_all(buffer.get(..read).unwrap_or_default()).map_err(Failure::Write)?;
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

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
        for (path, _) in part_files(folder.path()).unwrap() {
            copy(&path, &mut printed).unwrap();
        }
        assert_eq!(String::from_utf8(printed).unwrap(), "one\ntwo\nthree\n");
        std::fs::write(path("part-00003.gz"), "no gzip").unwrap();
        assert!(matches!(copy(&path("part-00003.gz"), &mut Vec::new()), Err(Failure::Read(_))));
    }
}
