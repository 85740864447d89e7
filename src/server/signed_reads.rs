//! Calls of job clients over HTTP, by signers: handed to the dispatcher as if they came by RPC.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;

use crate::ipc::Service as _;
use crate::web::{ReadRefusal, SignedRead};
use crate::wire::protocol::{Call, JobSubmissionCall, Protocol, decode_call};

use super::owner_requests::{OwnerThread, RequestSender};

const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Concurrent reads, each of which may keep an answer.
static READS: Semaphore = Semaphore::const_new(4);

/// Makes a call, unless too many wait; the answer comes on the stream.
fn make_call(
    OwnerThread { dispatcher, .. }: OwnerThread,
    call: Call,
    user: Arc<str>,
    has_admin_role: bool,
) -> impl Future<Output = Option<io::Result<TcpStream>>> {
    let has_room = dispatcher.has_room();
    async move {
        let calls = has_room.then(|| dispatcher.local_calls())?;
        let made = calls.call(&dispatcher, call, user, has_admin_role).await;
        Some(made.and_then(tokio::net::TcpStream::into_std))
    }
}

/// The answer to a call that the owner's thread makes.
pub(super) async fn answer_read(requests: &RequestSender, read: SignedRead) -> Result<Vec<u8>, ReadRefusal> {
    let SignedRead { frame, user, has_admin_role } = read;
    let call = read_in(&frame)?;
    let unavailable = |error: &dyn std::fmt::Display| ReadRefusal::Unavailable(error.to_string());
    let _permit = READS.acquire().await.map_err(|error| unavailable(&error))?;
    let made = requests.ask(move |thread| make_call(thread, call, user, has_admin_role)).await?;
    let stream = made.and_then(tokio::net::TcpStream::from_std);
    let mut answer = Vec::new();
    let mut stream = stream.map_err(|error| unavailable(&error))?.take(MAX_ANSWER_BYTES + 1);
    stream.read_to_end(&mut answer).await.map_err(|error| unavailable(&error))?;
    match answer.len() as u64 {
        0 => Err(unavailable(&"the JobTracker did not answer")),
        bytes if bytes > MAX_ANSWER_BYTES => Err(ReadRefusal::TooLong(MAX_ANSWER_BYTES)),
        _ => Ok(answer),
    }
}

/// The call in a frame, if it only reads something of one job.
fn read_in(frame: &[u8]) -> Result<Call, ReadRefusal> {
    use JobSubmissionCall as Ask;
    let refused = |text: String| ReadRefusal::NotARead(format!("read: {text}"));
    let call = decode_call(Protocol::JobSubmission, frame).map_err(|error| refused(error.to_string()))?.call;
    let is_read = matches!(
        call,
        Call::JobSubmission(
            Ask::GetJobProfile { .. }
                | Ask::GetJobStatus { .. }
                | Ask::GetJobCounters { .. }
                | Ask::GetMapTaskReports { .. }
                | Ask::GetReduceTaskReports { .. }
                | Ask::GetCleanupTaskReports { .. }
                | Ask::GetSetupTaskReports { .. }
                | Ask::GetTaskCompletionEvents { .. }
                | Ask::GetTaskDiagnostics { .. }
        )
    );
    match is_read {
        true => Ok(call),
        false => Err(refused(format!("{} is not a call that reads something of a job", call.method().name))),
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::protocol::encode_call;

    use super::*;

    #[test]
    fn a_call_that_changes_something_is_no_read() {
        let framed = |call| {
            let mut frame = Vec::new();
            encode_call(&mut frame, 0, &Call::JobSubmission(call));
            read_in(&frame[4..]).map_err(|refusal| refusal.to_string())
        };
        assert!(framed(JobSubmissionCall::GetJobCounters { job: None }).is_ok());
        for call in [JobSubmissionCall::KillJob { job: None }, JobSubmissionCall::GetNewJobId] {
            assert!(framed(call).unwrap_err().contains("is not a call that reads something of a job"));
        }
        assert!(read_in(b"").is_err());
    }
}
