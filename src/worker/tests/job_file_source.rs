//! Files of a job from its folder and from a JobTracker.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::thread::JoinHandle;

use super::*;
use crate::streaming::fixtures;

/// A JobTracker that answers one request with these bytes after the signature, and returns the request's first line.
struct JobTracker {
    port: u16,
    thread: JoinHandle<String>,
}

impl JobTracker {
    fn start(signature: Option<ShuffleSecret>, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let first = lines.next().unwrap();
            let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let hash =
                headers.iter().find_map(|line| line.to_lowercase().strip_prefix("urlhash: ").map(|_| &line[9..]));
            let hash = signature.map(|secret| secret.reply_hash(hash.unwrap())).unwrap_or_default();
            stream.write_all(answer.replace("HASH", &hash).as_bytes()).unwrap();
            first
        });
        Self { port, thread }
    }
}

struct Place {
    scratch: tempfile::TempDir,
    secret: ShuffleSecret,
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir_all(scratch.path().join("alice/.staging/job_7_0001")).unwrap();
        let secret = ShuffleSecret::of_token_file(&fixtures::bytes("plain/jobToken")).unwrap();
        Self { scratch, secret }
    }

    fn file(&self, name: &str) -> FileUri {
        let path = self.scratch.path().join("alice/.staging/job_7_0001").join(name);
        FileUri::parse(path.to_str().unwrap()).unwrap()
    }

    fn source(&self, port: u16) -> JobFileSource {
        let mut cluster = Configuration::new(BTreeMap::new());
        cluster.add_override("mapred.job.tracker=127.0.0.1:1").unwrap();
        cluster.add_override(&format!("mapred.job.tracker.http.address=0.0.0.0:{port}")).unwrap();
        let files = cluster.file_systems("alice");
        JobFileSource::new(files, "job_7_0001".parse().unwrap(), self.secret.clone(), &self.file("job.xml"), &cluster)
    }

    fn read(&self, port: u16, name: &str) -> Result<(String, bool), String> {
        let read = self.source(port).read(&self.file(name), 10, &|_| Ok(()));
        read.map(|(bytes, is_sent)| (String::from_utf8(bytes).unwrap(), is_sent)).map_err(|error| error.to_string())
    }
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nReplyHash: HASH\r\nChanged-Ms: 77\r\nContent-Length: 4\r\n\r\nsent";

#[test]
fn what_lies_there_is_read_and_the_rest_is_sent() {
    let place = Place::new();
    fs::write(place.file("job.xml").shown_path(), "here").unwrap();
    assert_eq!(place.read(1, "job.xml"), Ok(("here".to_owned(), false)));
    let jobtracker = JobTracker::start(Some(place.secret.clone()), ANSWER);
    assert_eq!(place.read(jobtracker.port, "lib/a b.jar"), Ok(("sent".to_owned(), true)));
    let first = jobtracker.thread.join().unwrap();
    assert_eq!(first, "GET /jobfile?job=job_7_0001&name=lib/a%20b.jar HTTP/1.1");
    let jobtracker = JobTracker::start(Some(place.secret.clone()), ANSWER);
    let to = place.scratch.path().join("copy");
    let changed_ms = place.source(jobtracker.port).copy(&place.file("x"), &to, &|_| Ok(()));
    assert_eq!((changed_ms.unwrap(), fs::read_to_string(to).unwrap()), (77, "sent".to_owned()));
}

#[test]
fn neither_links_nor_other_answers_are_taken() {
    let place = Place::new();
    symlink("/etc/passwd", place.file("job.xml").shown_path()).unwrap();
    let refused = place.read(1, "job.xml").unwrap_err();
    assert!(refused.contains("is a symbolic link") && !refused.contains("does not give it"), "{refused}");
    let other = ShuffleSecret::of_token_file(&fixtures::bytes("zlib/jobToken")).unwrap();
    for (signature, answer, reason) in [
        (Some(other), ANSWER, "is not signed with the job's token"),
        (None, "HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n", "HTTP/1.1 403 Forbidden: no"),
        (
            Some(place.secret.clone()),
            "HTTP/1.1 200 OK\r\nReplyHash: HASH\r\nChanged-Ms: 1\r\nContent-Length: 11\r\n\r\n12345678901",
            "longer than 10 bytes",
        ),
        (
            Some(place.secret.clone()),
            "HTTP/1.1 200 OK\r\nReplyHash: HASH\r\nChanged-Ms: 1\r\nContent-Length: 9\r\n\r\n123",
            "end of file before message length reached",
        ),
    ] {
        let jobtracker = JobTracker::start(signature, answer);
        let refused = place.read(jobtracker.port, "gone").unwrap_err();
        assert!(refused.contains(reason), "{refused}");
        jobtracker.thread.join().unwrap();
    }
}

#[test]
fn what_is_not_the_jobs_is_not_asked_for() {
    let place = Place::new();
    let source = place.source(1);
    let other = FileUri::parse(place.scratch.path().join("bob/x").to_str().unwrap()).unwrap();
    assert!(!source.has(&other) && source.has(&place.file("x")));
    let failed = source.copy(&other, &place.scratch.path().join("copy"), &|_| Ok(())).unwrap_err().to_string();
    assert!(failed.contains("/bob") && !failed.contains("JobTracker"), "{failed}");
}
