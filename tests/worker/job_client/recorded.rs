//! A submission to a server that knows only what a stock JobTracker once said, and compares each frame with the stock client's.

use std::collections::BTreeMap;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::daemon::in_process::read_bytes;

use jobtracker::client::job::JobTrackerClient;
use jobtracker::client::job::configuration::JobConfiguration;
use jobtracker::client::job::streaming::{Reducer, StreamingJob};
use jobtracker::client::job::submit::PreparedJob;
use jobtracker::config::{HostPort, xml};
use jobtracker::fs::{FileSystems, FileUri};
use jobtracker::wire::frame::{Frame, split_frame};
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, Value, decode_call, encode_call, encode_response};

/// The submission in the order of the stock client.
const CALLS: [&str; 6] =
    ["getProtocolVersion", "getStagingAreaDir", "getNewJobId", "getQueueAdmins", "submitJob", "getJobProfile"];

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn rpc(name: &str) -> Vec<u8> {
    fixture(&format!("hadoop1/rpc/{name}.bin"))
}

/// A whole frame with its length, another id in it.
fn with_id(mut frame: Vec<u8>, id: &[u8]) -> Vec<u8> {
    frame[4..8].copy_from_slice(id);
    frame
}

async fn frame(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32().await.unwrap();
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(read_bytes(stream, length as usize).await);
    frame
}

/// A recorded request, with what this server gave and what is asked for here in the place of the recorded names.
fn expected(name: &str, change: impl FnOnce(&mut JobSubmissionCall)) -> Vec<u8> {
    let recorded = rpc(name);
    let Ok(Some((Frame::Bytes(bytes), _))) = split_frame(&recorded, recorded.len()) else { panic!("no frame") };
    let mut decoded = decode_call(Protocol::JobSubmission, bytes).unwrap();
    let mut again = Vec::new();
    encode_call(&mut again, decoded.id, &decoded.call);
    assert_eq!(again, recorded, "the recorded frame is understood to the byte");
    let Call::JobSubmission(call) = &mut decoded.call else { panic!("{decoded:?}") };
    change(call);
    let mut expected = Vec::new();
    encode_call(&mut expected, 0, &decoded.call);
    expected
}

fn given_id() -> jobtracker::model::JobId {
    "job_202611210913_0001".parse().unwrap()
}

/// The next connection, which is opened as the recorded one.
async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let opening = rpc("connection.JobSubmissionProtocol");
    assert_eq!(read_bytes(&mut stream, opening.len()).await, opening);
    stream
}

/// Plays the JobTracker for one submission; returns job.xml as it stood when the job was handed over.
///
/// With `cuts_off` it takes the job in and ends the connection without an answer, as a JobTracker that is killed there; then it is there again.
async fn serve(listener: TcpListener, area: String, cuts_off: bool) -> (Vec<u8>, Vec<String>) {
    let mut stream = accept(&listener).await;
    let mut is_to_cut = cuts_off;
    let directory = format!("{area}/{}", given_id());
    let mut job_xml = Vec::new();
    for method in CALLS {
        let mut found = frame(&mut stream).await;
        if is_to_cut && method == "submitJob" {
            is_to_cut = false;
            drop(stream);
            stream = accept(&listener).await;
            let handshake = frame(&mut stream).await;
            let mut response = rpc("JobSubmissionProtocol.getProtocolVersion.response");
            response[..4].copy_from_slice(&handshake[4..8]);
            stream.write_all(&response).await.unwrap();
            found = frame(&mut stream).await;
        }
        let id = &found[4..8];
        let request = match method {
            "submitJob" => expected("JobSubmissionProtocol.submitJob.request", |call| {
                let JobSubmissionCall::SubmitJob { directory: theirs, job, .. } = call else { panic!("{call:?}") };
                *theirs = Some(directory.clone());
                *job = Some(given_id());
            }),
            "getQueueAdmins" => expected("JobSubmissionProtocol.getQueueAdmins.any.request", |call| {
                let JobSubmissionCall::GetQueueAdmins { queue } = call else { panic!("{call:?}") };
                *queue = Some("default".to_owned());
            }),
            "getJobProfile" => expected("JobSubmissionProtocol.getJobProfile.request", |call| {
                let JobSubmissionCall::GetJobProfile { job } = call else { panic!("{call:?}") };
                *job = Some(given_id());
            }),
            method => rpc(&format!("JobSubmissionProtocol.{method}.request")),
        };
        assert_eq!(found, with_id(request, id), "{method}");
        let mut response = match method {
            "getStagingAreaDir" => {
                let mut encoded = Vec::new();
                encode_response(&mut encoded, 0, &Value::String(Some(area.clone())));
                encoded
            }
            "getNewJobId" => {
                let mut encoded = Vec::new();
                encode_response(&mut encoded, 0, &Value::JobId(given_id()));
                encoded
            }
            "getQueueAdmins" => rpc("JobSubmissionProtocol.getQueueAdmins.any.response"),
            method => rpc(&format!("JobSubmissionProtocol.{method}.response")),
        };
        response[..4].copy_from_slice(id);
        if method == "submitJob" {
            let folder = FileUri::parse(&directory).unwrap();
            job_xml = std::fs::read(folder.shown_path().join("job.xml")).unwrap();
        }
        stream.write_all(&response).await.unwrap();
    }
    let folder = FileUri::parse(&directory).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(folder.shown_path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    (job_xml, names)
}

fn properties(bytes: &[u8]) -> BTreeMap<String, String> {
    let document = xml::parse(bytes).unwrap();
    document.properties.into_iter().map(|property| (property.name, property.value.unwrap_or_default())).collect()
}

/// A conf folder with what the recorded job.xml says of its cluster.
fn recorded_cluster(folder: &Path, recorded: &[u8]) {
    let text = String::from_utf8_lossy(recorded);
    let of_site: String =
        text.lines().filter(|line| line.contains("<!--Loaded from mapred-site.xml-->")).collect::<Vec<_>>().join("\n");
    std::fs::write(folder.join("mapred-site.xml"), format!("<configuration>{of_site}</configuration>")).unwrap();
}

/// Submits the recorded plain job to such a server; job.xml, the names of the files left, and the recorded job.xml.
fn submit_recorded(cuts_off: bool) -> (Vec<u8>, Vec<String>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("conf")).unwrap();
    std::fs::create_dir_all(path("in")).unwrap();
    for (name, bytes) in [("a.txt", 52), ("b.txt", 27), ("c.txt", 8)] {
        std::fs::write(path("in").join(name), vec![b'x'; bytes]).unwrap();
    }
    let recorded = fixture("worker/jobxml/plain.job.xml");
    recorded_cluster(&path("conf"), &recorded);
    let uri = |name: &str| FileUri::parse(&path(name).display().to_string()).unwrap();
    // The recorded client was told so, which the number of its splits replaced; the slow start is -D's too.
    let overrides = ["mapred.map.tasks=1".to_owned(), "mapred.reduce.slowstart.completed.maps=0.0".to_owned()];
    let configuration = JobConfiguration::load(Some(&path("conf")), &overrides, "h1").unwrap();
    let job = StreamingJob {
        name: Some("tiny".into()),
        queue: None,
        inputs: vec![uri("in")],
        output: uri("out"),
        mapper: "python3 m.py".into(),
        combiner: None,
        reducer: Reducer::Command("python3 r.py".into()),
        reduces: Some(2),
        files: Vec::new(),
        input_format: None,
        archives: Vec::new(),
        partitioner: None,
        environment: vec![("DUMPDIR".into(), "/data/lab/dump".into()), ("GREETING".into(), "hello".into())],
        streaming_jar: None,
    };
    let prepared = PreparedJob::new(job, &configuration, &FileSystems::with_defaults("h1"), &uri("wd")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (job_xml, names) = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = HostPort::parse(&listener.local_addr().unwrap().to_string()).unwrap();
        let server = tokio::spawn(serve(listener, uri("staging/h1/.staging").to_string(), cuts_off));
        let mut jobtracker = JobTrackerClient::new(address, "h1");
        let submitted = prepared.submit(&mut jobtracker, None).await.unwrap();
        assert_eq!((submitted.job, submitted.maps, submitted.files), (given_id(), 3, 3));
        server.await.unwrap()
    });
    (job_xml, names, recorded)
}

#[test]
fn a_job_whose_answer_is_lost_is_handed_over_again() {
    let (_, names, _) = submit_recorded(true);
    assert_eq!(names, ["job.jar", "job.split", "job.splitmetainfo", "job.xml"], "its files are still there");
}

#[test]
fn a_submission_is_the_stock_clients_to_the_byte() {
    let (job_xml, names, recorded) = submit_recorded(false);
    assert_eq!(names, ["job.jar", "job.split", "job.splitmetainfo", "job.xml"]);

    let (ours, theirs) = (properties(&job_xml), properties(&recorded));
    let keys = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&theirs), "the same keys");
    let places = ["mapred.input.dir", "mapred.jar", "mapred.output.dir", "mapred.working.dir", "mapreduce.job.dir"];
    let differing = ours.iter().filter(|(name, value)| theirs[*name] != **value).map(|(name, _)| name.as_str());
    let differing: Vec<_> = differing.filter(|name| *name != "mapreduce.job.submithost").collect();
    assert_eq!(differing, places, "the same values, but for where things are");
}
