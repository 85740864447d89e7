//! Names of history files and of the folders that they lie in (1.2.1 `JobHistory`).

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::model::JobId;

/// The format of the folders below the done folder.
pub(super) const VERSION_FOLDER: &str = "version-1";

/// The longest job name in a file name, UTF-16 units (1.2.1 `JobHistory.JOB_NAME_TRIM_LENGTH`).
const JOB_NAME_UNITS: usize = 50;
/// The longest file name, bytes. File systems end at 255, and a file that is being written has a longer name.
const FILE_NAME_BYTES: usize = 230;
/// Jobs whose files share a folder: those with the same number but for the last three digits.
const JOBS_IN_A_FOLDER: i32 = 1_000;

/// The name of a job's history file. Its job name is cut where no file system would take the name, unlike in 1.2.1,
/// which writes no file then.
pub(super) fn history_file_name(job: JobId, submit_ms: i64, user: &str, job_name: &str) -> String {
    let or_none = |text: &str| if text.is_empty() { "NA".to_owned() } else { text.to_owned() };
    let (user, mut job_name) = (or_none(user), cut_to_units(&or_none(job_name), JOB_NAME_UNITS));
    loop {
        let name = format!("{job}_{submit_ms}_{}_{}", escape_underscores(&user), escape_underscores(&job_name));
        let encoded = encode_file_name(&name);
        if encoded.len() <= FILE_NAME_BYTES || job_name.pop().is_none() {
            return encoded;
        }
    }
}

/// How links of pages name the history file of a job: its path, or its name alone while it is not written. The name is encoded
/// once more (1.2.1 `JobHistoryServer`).
pub(in crate::server) fn log_file(
    job: JobId,
    submit_ms: i64,
    user: &str,
    job_name: &str,
    path: Option<&str>,
) -> String {
    match path.and_then(|path| path.rsplit_once('/')) {
        Some((folder, name)) => format!("{folder}/{}", url_encoded(name)),
        None => url_encoded(&history_file_name(job, submit_ms, user, job_name)),
    }
}

/// The name of the file beside it with the job's configuration.
pub(super) fn conf_file_name(job: JobId) -> String {
    format!("{job}_conf.xml")
}

/// The folders below the done folder that a job's files lie in, the outermost first. `host`, `start_ms`: of the run of the
/// JobTracker that gave out the id.
///
/// The day is that of the job's end, not of the move as in 1.2.1: a file that is written once more has the same place.
pub(super) fn done_folders(host: &str, start_ms: i64, job: JobId, finish_ms: i64) -> Vec<String> {
    let day = Timestamp::from_millisecond(finish_ms).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system());
    // A host is one component of a path, whatever it contains.
    let host = host.replace('/', "_");
    vec![
        VERSION_FOLDER.to_owned(),
        format!("{host}_{start_ms}_"),
        format!("{:04}", day.year()),
        format!("{:02}", day.month()),
        format!("{:02}", day.day()),
        format!("{:06}", job.number / JOBS_IN_A_FOLDER),
    ]
}

/// Cuts a text as Java does; half of a character outside the basic plane becomes `?`, as Java encodes it.
fn cut_to_units(text: &str, most: usize) -> String {
    let mut cut = String::new();
    let mut units = 0;
    for character in text.chars() {
        match units + character.len_utf16() {
            all if all <= most => {
                cut.push(character);
                units = all;
            }
            _ => {
                if units < most {
                    cut.push('?');
                }
                break;
            }
        }
    }
    cut
}

/// The text of `_` in user and job name.
const UNDERSCORE: &str = "%5F";

/// Replaces each `_`; a text that begins with one keeps all of them, as in 1.2.1 `JobHistory.replaceStringInstances`.
fn escape_underscores(text: &str) -> String {
    if text.starts_with('_') { text.to_owned() } else { text.replace('_', UNDERSCORE) }
}

/// The name as in a URL, with `%5F` left as it is (1.2.1 `JobInfo.encodeJobHistoryFileName`).
fn encode_file_name(name: &str) -> String {
    let parts: Vec<String> = name.split(UNDERSCORE).map(url_encoded).collect();
    parts.join(UNDERSCORE)
}

/// As `java.net.URLEncoder` in UTF-8.
fn url_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(user: &str, job_name: &str) -> String {
        history_file_name("job_202611210909_0001".parse().unwrap(), 1795252218406, user, job_name)
    }

    #[test]
    fn names_are_those_of_hadoop() {
        assert_eq!(name("root", "Sleep job"), "job_202611210909_0001_1795252218406_root_Sleep+job");
        assert_eq!(name("a_b", "x_y_"), "job_202611210909_0001_1795252218406_a%5Fb_x%5Fy%5F");
        assert_eq!(name("", ""), "job_202611210909_0001_1795252218406_NA_NA");
        assert_eq!(name("u", "_x_y"), "job_202611210909_0001_1795252218406_u__x_y");
        assert_eq!(name("u", "50%5F/ü~"), "job_202611210909_0001_1795252218406_u_50%5F%2F%C3%BC%7E");
        assert_eq!(conf_file_name("job_1_0001".parse().unwrap()), "job_1_0001_conf.xml");
    }

    #[test]
    fn job_names_are_cut() {
        assert!(name("u", &"x".repeat(60)).ends_with(&format!("_u_{}", "x".repeat(50))));
        let astral = format!("{}\u{1F600}", "x".repeat(49));
        assert!(name("u", &astral).ends_with("x%3F"));
        let long = name("u", &"字".repeat(60));
        assert!(long.len() <= FILE_NAME_BYTES && long.ends_with("%E5%AD%97"), "{long}");
    }

    #[test]
    fn the_folders_of_a_job_depend_on_what_is_stored_alone() {
        let job = JobId { number: 1_234_567, .."job_202611210909_0001".parse().unwrap() };
        let folders = done_folders("a/b", 17, job, 0);
        let day = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::system());
        let expected =
            format!("version-1|a_b_17_|{}|{}|{}|001234", day.strftime("%Y"), day.strftime("%m"), day.strftime("%d"));
        assert_eq!(folders.join("|"), expected);
    }
}
