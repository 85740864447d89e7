//! What stands in the files of the event log.

use std::fs;
use std::path::Path;

use super::*;

const NAME: &str = "hadoop-mapred-fairscheduler-master.log";
/// Noon of 2026-01-01, UTC.
const NOON_MS: i64 = 1_767_268_800_000;
const DAY_MS: i64 = 86_400_000;

fn event_log() -> EventLog {
    EventLog::new("mapred", "master", Clock::start())
}

fn lines(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The lines of a file, without their times.
fn events(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

#[test]
fn row_33_the_file_exists_after_start_and_stop() {
    let folder = tempfile::tempdir().unwrap();
    let directory: Arc<Path> = folder.path().join("logs/fairscheduler").into();
    let clock = Clock::start();
    let mut log = EventLog::new("mapred", "master", clock);
    assert!(!directory.exists());
    log.append(directory.clone(), clock.now().wall_ms, lines(&["INITIALIZED"]));
    drop(log);
    assert_eq!(events(&directory.join(NAME)), ["INITIALIZED", "SHUTDOWN"]);
}

#[test]
fn a_line_begins_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = event_log();
    log.append(folder.path().into(), NOON_MS + 7, lines(&["INFO\ta", "SHUTDOWN"]));
    drop(log);
    let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
    let day = jiff::Timestamp::from_millisecond(NOON_MS).unwrap().to_zoned(jiff::tz::TimeZone::system());
    let time = day.strftime("%Y-%m-%d %H:%M:%S,007").to_string();
    assert_eq!(text, format!("{time}\tINFO\ta\n{time}\tSHUTDOWN\n"));
}

#[test]
fn a_scheduler_that_stopped_before_the_daemon_stops_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = event_log();
    log.append(folder.path().into(), NOON_MS, lines(&["INITIALIZED", "SHUTDOWN"]));
    drop(log);
    assert_eq!(events(&folder.path().join(NAME)), ["INITIALIZED", "SHUTDOWN"]);
}

#[test]
fn the_lines_of_each_day_get_a_file_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let mut file = DailyFile::new(folder.path(), NAME);
    file.append(NOON_MS, &lines(&["one"])).unwrap();
    // The file system says when it was written: today, which is later.
    drop(file);
    let today = Clock::start().now().wall_ms;
    let mut file = DailyFile::new(folder.path(), NAME);
    file.append(today, &lines(&["two"])).unwrap();
    assert_eq!(events(&path), ["one", "two"]);
    file.append(today + DAY_MS, &lines(&["three"])).unwrap();
    assert_eq!(events(&path), ["three"]);
    let date = jiff::Timestamp::from_millisecond(today).unwrap().to_zoned(jiff::tz::TimeZone::system()).date();
    assert_eq!(events(&folder.path().join(format!("{NAME}.{date}"))), ["one", "two"]);
}

#[test]
fn what_exceeds_the_memory_for_waiting_lines_is_dropped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = event_log();
    // As if so much waited.
    log.waiting_bytes.store(MAX_WAITING_BYTES, Ordering::Relaxed);
    log.append(folder.path().into(), NOON_MS, lines(&["one", "two"]));
    log.waiting_bytes.store(0, Ordering::Relaxed);
    log.append(folder.path().into(), NOON_MS, lines(&["SHUTDOWN"]));
    drop(log);
    let missing = "INFO\t2 events before this one are missing: the disk was too slow";
    assert_eq!(events(&folder.path().join(NAME)), [missing, "SHUTDOWN"]);
}

#[test]
fn a_directory_that_cannot_be_made_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("fairscheduler");
    fs::write(&directory, "in the way").unwrap();
    let mut file = DailyFile::new(&directory, NAME);
    let refused = file.append(NOON_MS, &lines(&["one"])).unwrap_err().to_string();
    let path = directory.join(NAME);
    assert!(refused.starts_with(&format!("cannot make the folder of {}: ", path.display())), "{refused}");
    fs::remove_file(&directory).unwrap();
    file.append(NOON_MS, &lines(&["two"])).unwrap();
    assert_eq!(events(&path), ["two"]);
}
