//! A file for the lines of one day; what was written on an earlier one is renamed to its date (log4j 1.2
//! `DailyRollingFileAppender`).

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Why lines were not written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub(super) struct DailyFileError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

pub(super) struct DailyFile {
    directory: PathBuf,
    path: PathBuf,
    /// The file, and the day that its lines are of; none until the first line.
    open: Option<(File, Date)>,
}

impl DailyFile {
    /// A file that is opened by its first line.
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), path: directory.join(name), open: None }
    }

    /// Whether it lies in this directory.
    pub(super) fn is_in(&self, directory: &Path) -> bool {
        self.directory == directory
    }

    /// Appends lines of one moment, each after its time.
    pub(super) fn append(&mut self, wall_ms: i64, lines: &[String]) -> Result<(), DailyFileError> {
        let moment = local_time(wall_ms);
        let today = moment.date();
        let (mut file, day) = match self.open.take() {
            Some(open) => open,
            None => self.open_file(today)?,
        };
        if day < today {
            drop(file);
            let mut dated = self.path.clone().into_os_string();
            dated.push(format!(".{}", day.strftime("%Y-%m-%d")));
            std::fs::rename(&self.path, &dated).map_err(|source| self.error("rename", source))?;
            (file, _) = self.open_file(today)?;
        }
        let time = moment.strftime("%Y-%m-%d %H:%M:%S,%3f").to_string();
        let mut text = String::with_capacity(lines.iter().map(|line| time.len() + line.len() + 2).sum());
        for line in lines {
            // A text takes any line.
            let _: Result<(), _> = writeln!(text, "{time}\t{line}");
        }
        file.write_all(text.as_bytes()).map_err(|source| self.error("write", source))?;
        self.open = Some((file, day.max(today)));
        Ok(())
    }

    /// The file with the day of its last line; today where it has none.
    fn open_file(&self, today: Date) -> Result<(File, Date), DailyFileError> {
        std::fs::create_dir_all(&self.directory).map_err(|source| self.error("make the folder of", source))?;
        let open = OpenOptions::new().append(true).create(true).open(&self.path);
        let file = open.map_err(|source| self.error("open", source))?;
        let metadata = file.metadata().map_err(|source| self.error("look at", source))?;
        let modified = metadata.modified().ok().and_then(|modified| Timestamp::try_from(modified).ok());
        let day = modified.filter(|_| metadata.len() > 0).map(|at| at.to_zoned(TimeZone::system()).date());
        Ok((file, day.unwrap_or(today)))
    }

    fn error(&self, action: &'static str, source: io::Error) -> DailyFileError {
        DailyFileError { action, path: self.path.clone(), source }
    }
}

/// The start of 1970 for a time that no calendar has.
fn local_time(wall_ms: i64) -> Zoned {
    Timestamp::from_millisecond(wall_ms).unwrap_or_default().to_zoned(TimeZone::system())
}
