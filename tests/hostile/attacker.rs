//! What attackers have in common: connections, and words in them that no stock program says.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use socket2::{Domain, Socket, Type};

use crate::job_client::JobClient;
use crate::staging::JobFiles;
use crate::victims::small_job;

use jobtracker::ipc::client::{ClientLimits, IpcClient, IpcError};
use jobtracker::model::JobId;
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Credentials, HeartbeatRequest, HeartbeatResponse, JobStatus};

/// Longest wait of an attacker for one answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A connection whose answers are not waited for without end.
pub async fn connect(rpc: SocketAddr, protocol: Protocol, user: &str) -> Result<IpcClient, IpcError> {
    let limits = ClientLimits { call_timeout: Some(TIMEOUT), ..ClientLimits::default() };
    IpcClient::open(rpc, protocol, user, limits).await
}

pub async fn beat(client: &mut IpcClient, request: HeartbeatRequest) -> Result<HeartbeatResponse, IpcError> {
    let request = Box::new(request);
    match client.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await? {
        Value::Heartbeat(answer) => Ok(answer),
        other => panic!("{other:?}"),
    }
}

pub async fn ask(client: &mut IpcClient, call: JobSubmissionCall) -> Result<Value, IpcError> {
    client.call(&Call::JobSubmission(call)).await
}

/// Whether it is the one error that a heartbeat may get.
pub fn is_disallowed<T>(answer: &Result<T, IpcError>) -> bool {
    matches!(answer, Err(IpcError::Remote { exception, .. }) if exception.class.ends_with("DisallowedTaskTrackerException"))
}

/// The first words of a connection.
pub fn opening(protocol: Protocol, user: &str) -> Vec<u8> {
    let user = ConnectionUser { effective: user.to_owned(), real: None };
    let header = ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) };
    let mut bytes = Vec::new();
    encode_opening(&mut bytes, &header);
    bytes
}

/// A job whose files lie where its user was sent.
#[derive(Clone, Debug)]
pub struct Staged {
    pub id: JobId,
    pub folder: PathBuf,
}

/// Gets an id and writes the files of a job.
pub async fn stage_job(rpc: SocketAddr, user: &str, files: &JobFiles) -> anyhow::Result<Staged> {
    let mut client = JobClient::connect(rpc, user).await?;
    let id = client.stage(files).await?.id;
    Ok(Staged { id, folder: client.staging_directory().join(id.to_string()) })
}

/// Submits it on a connection of its own.
pub async fn try_submit(rpc: SocketAddr, user: &str, job: &Staged) -> anyhow::Result<JobStatus> {
    submit_from(rpc, user, job.id, &format!("file:{}", job.folder.display()), Credentials::default()).await
}

/// Submits a job from any directory.
pub async fn submit_from(
    rpc: SocketAddr,
    user: &str,
    id: JobId,
    directory: &str,
    credentials: Credentials,
) -> anyhow::Result<JobStatus> {
    let mut client = connect(rpc, Protocol::JobSubmission, user).await?;
    let (job, directory, credentials) = (Some(id), Some(directory.to_owned()), Some(credentials));
    match ask(&mut client, JobSubmissionCall::SubmitJob { job, directory, credentials }).await? {
        Value::JobStatus(Some(status)) => Ok(status),
        other => bail!("submitJob was answered by {other:?}"),
    }
}

/// Submits a job of alice's, and waits until the honest tracker has done it.
pub async fn has_honest_job_done(rpc: SocketAddr, is_signed: bool) -> anyhow::Result<()> {
    let work = async {
        let job = stage_job(rpc, "alice", &small_job(is_signed)).await?;
        try_submit(rpc, "alice", &job).await?;
        let mut client = JobClient::connect(rpc, "alice").await?;
        while !client.has_succeeded(job.id).await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(outcome) => outcome,
        Err(_) => bail!("not done within {TIMEOUT:?}"),
    }
}

/// A connection that says who it is from another address of this machine, and what it says first.
pub fn connect_from(address: [u8; 4], to: SocketAddr, words: &[u8]) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((address, 0)).into())?;
    socket.connect_timeout(&to.into(), Duration::from_secs(5))?;
    let mut stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.write_all(words)?;
    Ok(stream)
}

/// Does something as another user of this machine, whose connections are another peer's; as this one where that may not be.
pub fn as_another_user<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            let nobody = Uid::from_raw(65_534);
            if let Err(error) = set_thread_res_uid(None, nobody, None) {
                eprintln!("hostile: the attacker is the user of the victims: {error}");
            }
            action()
        });
        acting.join().unwrap()
    })
}

/// A port here whose connections come to `to` from another address of this machine.
pub fn relay_from(address: [u8; 4], to: SocketAddr) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(near), Ok(far)) = (stream, connect_from(address, to, &[])) else { return };
            let (mut near_in, mut far_in) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let (mut near_out, mut far_out) = (near, far);
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut near_in, &mut far_out);
                let _ = far_out.shutdown(std::net::Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut far_in, &mut near_out);
                let _ = near_out.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    here
}
