//! `/jobfile`: a file of a job's staging folder over HTTP, for workers that may not read it there. Requests are signed with the
//! job's token, as those for map output are ([`super::shuffle::signature`]).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::model::JobId;

/// The path on the JobTracker's web port.
pub(crate) const PATH: &str = "/jobfile";
/// Header of a request: its signature.
pub(crate) const URL_HASH: &str = "UrlHash";
/// Header of an answer: the signature of the request's.
pub(crate) const REPLY_HASH: &str = "ReplyHash";
/// Header of an answer: when the file was changed last, ms since 1970.
pub(crate) const CHANGED_MS: &str = "Changed-Ms";

/// Characters that stand for themselves in a name.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'/');

/// Path and query of a request for the file `name`, a path below the job's staging folder.
pub(crate) fn path_and_query(job: JobId, name: &str) -> String {
    format!("{PATH}?job={job}&name={}", utf8_percent_encode(name, ESCAPED))
}

/// The job and the file that a query names; `None` if one of them is missing, stands twice or is no id or text.
pub(crate) fn parse_query(query: &str) -> Option<(JobId, String)> {
    let (mut job, mut name) = (None, None);
    for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let place = match key {
            "job" => &mut job,
            "name" => &mut name,
            _ => continue,
        };
        let value = percent_decode_str(value).decode_utf8().ok()?.into_owned();
        if place.replace(value).is_some() {
            return None;
        }
    }
    Some((job?.parse().ok()?, name?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back() {
        let job: JobId = "job_202611211200_0001".parse().unwrap();
        for name in ["job.xml", "lib/a b&c=d%.jar", "ä"] {
            let asked = path_and_query(job, name);
            let query = asked.strip_prefix("/jobfile?").unwrap();
            assert!(query.is_ascii() && !query.contains(' '), "{query}");
            assert_eq!(parse_query(query), Some((job, name.to_owned())));
        }
        for query in ["", "job=x&name=a", "job=job_1_0001", "job=job_1_0001&name=a&name=b", "job=job_1_0001&name=%ff"] {
            assert_eq!(parse_query(query), None, "{query}");
        }
    }
}
