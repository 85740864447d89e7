//! Recorded requests get the answers that the stock tracker gave.

use super::super::super::fixtures;
use super::*;

/// The recorded jobs, as if their maps had run here.
struct Recorded(tempfile::TempDir);

const JOBS: [(&str, i32); 3] = [("plain", 16), ("zlib", 17), ("keyfields", 18)];

impl Recorded {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        for (job, number) in JOBS {
            for map in 0..2 {
                let folder = scratch.path().join(format!("attempt_202611211027_{number:04}_m_{map:06}_0"));
                std::fs::create_dir(&folder).unwrap();
                for name in [OUTPUT_FILE, INDEX_FILE] {
                    let recorded = fixtures::path(&format!("{job}/map{map}.{name}"));
                    if recorded.exists() {
                        std::fs::copy(recorded, folder.join(name)).unwrap();
                    }
                }
            }
        }
        Self(scratch)
    }
}

impl ServedOutputs for Recorded {
    fn secret(&self, job: JobId) -> Option<ShuffleSecret> {
        let (name, _) = JOBS.into_iter().find(|(_, number)| *number == job.number)?;
        ShuffleSecret::of_token_file(&fixtures::bytes(&format!("{name}/jobToken")))
    }

    fn output_folder(&self, attempt: AttemptId) -> Option<OutputFolder> {
        let path = self.0.path().join(attempt.to_string());
        path.exists().then(|| OutputFolder {
            root: self.0.path().to_owned(),
            path,
            owner: rustix::process::geteuid().as_raw(),
        })
    }
}

/// Answers the raw bytes of a request.
fn answered(request: &[u8], outputs: &Recorded) -> ServletAnswer {
    let text = String::from_utf8(request.to_vec()).unwrap();
    let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let request = MapOutputRequest {
        path_and_query: text.split(' ').nth(1).unwrap().to_owned(),
        url_hash: header("UrlHash:").map(str::to_owned),
        local_port: header("Host:").unwrap().rsplit_once(':').unwrap().1.parse().unwrap(),
    };
    answer(&request, outputs)
}

#[test]
fn recorded_requests_are_answered_with_the_recorded_headers_and_bytes() {
    let outputs = Recorded::new();
    for (job, _) in JOBS {
        for map in 0..2 {
            for reduce in 0..2 {
                let name = format!("{job}/map{map}.reduce{reduce}");
                if !fixtures::path(&format!("{name}.request.bin")).exists() {
                    continue;
                }
                let answer = answered(&fixtures::bytes(&format!("{name}.request.bin")), &outputs);
                let response = fixtures::bytes(&format!("{name}.response.bin"));
                let head = String::from_utf8_lossy(&response).into_owned();
                assert_eq!(answer.status, 200);
                for (header, value) in &answer.headers {
                    assert!(head.contains(&format!("{header}: {value}\r\n")), "{name} {header}: {value}\n{head}");
                }
                assert_eq!(answer.headers.len(), 5);
                let body = answer.body.unwrap();
                let bytes = body.open().unwrap().read_limited(u64::MAX).unwrap();
                let segment = &bytes[body.start_bytes as usize..][..body.length_bytes as usize];
                assert!(memchr::memmem::find(&response, segment).is_some(), "{name}");
            }
        }
    }
}

#[test]
fn recorded_mistakes_are_refused_with_the_recorded_status() {
    let outputs = Recorded::new();
    let stock = ["no-hash", "bad-hash", "no-map-param", "no-job-param", "unknown-job", "unknown-map"];
    for name in stock {
        let answer = answered(&fixtures::bytes(&format!("errors/{name}.request.bin")), &outputs);
        let response = fixtures::bytes(&format!("errors/{name}.response.bin"));
        let head = String::from_utf8_lossy(&response).into_owned();
        assert!(head.starts_with(&format!("HTTP/1.1 {} ", answer.status)), "{name}: {} {head}", answer.status);
        assert_eq!(head.contains("ReplyHash"), answer.headers.iter().any(|(name, _)| *name == "ReplyHash"), "{name}");
        assert_eq!((answer.body, answer.lost), (None, None));
    }
    // A stock tracker gives the map up.
    let answer = answered(&fixtures::bytes("errors/reduce-out-of-range.request.bin"), &outputs);
    assert_eq!((answer.status, answer.lost), (400, None));
}

#[test]
fn an_output_that_cannot_be_read_is_lost() {
    let outputs = Recorded::new();
    let folder = outputs.0.path().join("attempt_202611211027_0016_m_000000_0");
    std::fs::write(folder.join(INDEX_FILE), "damaged").unwrap();
    let answer = answered(&fixtures::bytes("plain/map0.reduce0.request.bin"), &outputs);
    assert_eq!(answer.status, 410);
    assert_eq!(answer.lost, Some("attempt_202611211027_0016_m_000000_0".parse().unwrap()));
    assert!(
        answer.reason.starts_with("getMapOutput(attempt_202611211027_0016_m_000000_0,0) failed :"),
        "{}",
        answer.reason
    );
}

#[test]
fn nothing_but_files_of_ours_is_served() {
    let outputs = Recorded::new();
    let folder = outputs.0.path().join("attempt_202611211027_0016_m_000000_0");
    let (index, output) = (folder.join(INDEX_FILE), folder.join(OUTPUT_FILE));
    let ask = || answered(&fixtures::bytes("plain/map0.reduce0.request.bin"), &outputs);
    let open = |answer: ServletAnswer| answer.body.unwrap().open().map(drop);
    assert!(open(ask()).is_ok());
    let secret = outputs.0.path().join("secret");
    std::fs::rename(&output, &secret).unwrap();
    std::os::unix::fs::symlink(&secret, &output).unwrap();
    assert!(open(ask()).is_err());
    std::fs::remove_file(&output).unwrap();
    std::fs::hard_link(&secret, &output).unwrap();
    assert!(open(ask()).is_err());
    // To open it would wait for its other end.
    std::fs::remove_file(&index).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &index, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let answer = ask();
    assert_eq!(answer.status, 410);
    assert!(answer.reason.contains("regular file"), "{}", answer.reason);
    // The whole folder elsewhere.
    let moved = outputs.0.path().with_extension("moved");
    std::fs::rename(&folder, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &folder).unwrap();
    assert_eq!(ask().status, 410);
    std::fs::remove_dir_all(moved).unwrap();
}
