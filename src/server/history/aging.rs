//! Removes old history files from the done folder, day by day (1.2.1 `JobHistory.HistoryCleaner`).

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::fs::FileUri;

use super::files::{HistoryFileError, HistoryFiles};
use super::names::VERSION_FOLDER;

/// Removes what is older than `max_age_ms`: whole days before the one in which that time falls, and of that day the files that were
/// written before it. Returns how many folders and files were removed. Blocking.
/// What cannot be removed does not keep the rest.
pub(super) fn remove_old(
    files: HistoryFiles,
    done: &FileUri,
    now_ms: i64,
    max_age_ms: i64,
) -> Result<u64, HistoryFileError> {
    let cutoff_ms = now_ms.saturating_sub(max_age_ms);
    let cutoff = Timestamp::from_millisecond(cutoff_ms).unwrap_or(Timestamp::MIN);
    let cutoff_day = cutoff.to_zoned(TimeZone::system()).date();
    let mut aging = Aging { files, cutoff_ms, cutoff_day, removed: 0, first_error: None };
    let version = done.join(VERSION_FOLDER)?;
    for run in aging.below(&version) {
        for year in aging.below(&run) {
            for month in aging.below(&year) {
                for day in aging.below(&month) {
                    aging.look_at_day(&day);
                }
            }
        }
    }
    aging.first_error.map_or(Ok(aging.removed), Err)
}

struct Aging {
    files: HistoryFiles,
    cutoff_ms: i64,
    cutoff_day: Date,
    removed: u64,
    first_error: Option<HistoryFileError>,
}

impl Aging {
    fn below(&mut self, folder: &FileUri) -> Vec<FileUri> {
        let names = self.files.names_in(folder);
        let names = self.noted(names).unwrap_or_default();
        names.iter().filter_map(|name| folder.join(name).ok()).collect()
    }

    fn noted<T>(&mut self, result: Result<T, HistoryFileError>) -> Option<T> {
        result
            .map_err(|error| {
                self.first_error.get_or_insert(error);
            })
            .ok()
    }

    fn look_at_day(&mut self, folder: &FileUri) {
        let Some(day) = day_of(folder) else { return };
        if day < self.cutoff_day {
            return self.remove(folder);
        }
        if day > self.cutoff_day {
            return;
        }
        for numbers in self.below(folder) {
            for file in self.below(&numbers) {
                let modified_ms = self.files.modified_ms(&file);
                if self.noted(modified_ms).flatten().is_some_and(|at_ms| at_ms < self.cutoff_ms) {
                    self.remove(&file);
                }
            }
        }
    }

    fn remove(&mut self, path: &FileUri) {
        let removed = self.files.remove(path);
        if self.noted(removed).is_some() {
            self.removed += 1;
        }
    }
}

/// The day that the last three components of a path name; none of another folder.
fn day_of(folder: &FileUri) -> Option<Date> {
    let mut parts = folder.path().rsplit('/');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    // Any other number of digits is not ours.
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::ToSpan as _;

    use super::*;
    use crate::fs::FileSystems;

    const DAY_MS: i64 = 86_400_000;

    #[test]
    fn days_before_the_limit_go_and_on_that_day_old_files() {
        let scratch = tempfile::tempdir().unwrap();
        let done = FileUri::parse(scratch.path().to_str().unwrap()).unwrap();
        let now = Timestamp::from_millisecond(1_795_252_218_406).unwrap();
        let today = now.to_zoned(TimeZone::system()).date();
        let folder = |days: i64| {
            let day = today.checked_sub(days.days()).unwrap();
            scratch.path().join(format!("version-1/h_1_/{}/000000", day.strftime("%Y/%m/%d")))
        };
        for days in [0, 1, 2, 3, 40] {
            fs::create_dir_all(folder(days)).unwrap();
            fs::write(folder(days).join("job"), "x").unwrap();
        }
        fs::create_dir_all(scratch.path().join("version-1/h_1_/notes/a/b")).unwrap();
        // The files are of now, whatever that is: later than any cutoff in the past.
        let removed = remove_old(
            HistoryFiles::done(FileSystems::with_defaults("alice")),
            &done,
            now.as_millisecond(),
            2 * DAY_MS,
        )
        .unwrap();
        assert_eq!(removed, 2, "the days before the second day");
        assert_eq!([0, 1, 2, 3, 40].map(|days| folder(days).join("job").exists()), [true, true, true, false, false]);
        assert!(scratch.path().join("version-1/h_1_/notes/a/b").exists());
        // A cutoff on the same day that lies after their time.
        let file = fs::File::options().write(true).open(folder(2).join("job")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(
            remove_old(
                HistoryFiles::done(FileSystems::with_defaults("alice")),
                &done,
                now.as_millisecond(),
                2 * DAY_MS
            )
            .unwrap(),
            1
        );
        assert!(folder(2).exists() && !folder(2).join("job").exists());
        assert_eq!(
            remove_old(
                HistoryFiles::done(FileSystems::with_defaults("alice")),
                &done.join("nothing").unwrap(),
                now.as_millisecond(),
                DAY_MS
            )
            .unwrap(),
            0
        );
    }
}
