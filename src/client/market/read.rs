//! What calls of job clients read, signed: with the rights that the signature proves, where RPC knows a name only; read-only sessions; attempts of jobs, and when jobs ended.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;

use crate::api::{JobTasks, JobTimesList};
use crate::client::signed_query::{SignedQuery, escaped};
use crate::ipc::IpcError;
use crate::model::{JobId, hex};
use crate::wire::protocol::{Call, CallOutcome, Value, decode_response, encode_call};

use super::{Carried, MarketClient, MarketClientError, Signer};

const READ: &str = "/scheduler/read";
/// Bytes before the call in its frame.
const LENGTH_BYTES: usize = 4;

#[derive(Debug, thiserror::Error)]
pub(in crate::client) enum SignedReadError {
    /// The request failed.
    #[error(transparent)]
    Market(#[from] MarketClientError),
    /// The call was answered by an exception, or by what it is not.
    #[error(transparent)]
    Call(#[from] IpcError),
}

impl MarketClient {
    /// What a call that reads something of a job returns.
    /// Errors: [`SignedReadError`]; [`MarketClientError::Refused`] where no market is, and of other servers.
    pub(in crate::client) async fn read(&self, call: &Call, signer: &Signer) -> Result<Value, SignedReadError> {
        let mut frame = Vec::new();
        encode_call(&mut frame, 0, call);
        let query = format!("read={}", hex(frame.get(LENGTH_BYTES..).unwrap_or_default()));
        let text = self.send_signed(READ, &query, signer).await?;
        let bytes = STANDARD.decode(text.trim()).map_err(|error| self.unreachable(error))?;
        match decode_response(call.method().returns, &bytes).map_err(IpcError::from)? {
            None => Err(self.unreachable("the answer is cut off").into()),
            Some((response, _)) => match response.outcome {
                CallOutcome::Value(value) => Ok(value),
                CallOutcome::Error(exception) => Err(IpcError::Remote { exception, fatal: false }.into()),
                CallOutcome::Fatal(exception) => Err(IpcError::Remote { exception, fatal: true }.into()),
            },
        }
    }
}

const SESSION: &str = "/session";
/// Where the session of a program begins.
const FIRST_PAGE: &str = "/";

impl MarketClient {
    /// A link that signs a browser in and leads it to a page, a path. It works once, for as long as a signature is good.
    /// Errors: [`MarketClientError`]; [`MarketClientError::Refused`] by a server without a market, which has nothing to hide.
    pub(crate) async fn session_link(&self, page: &str, signer: &Signer) -> Result<String, MarketClientError> {
        let signed = SignedQuery::new(&asked(page), &signer.user, self.time_ms().await?, &signer.key)?;
        Ok(format!("http://{}{}", self.server(), signed.link(SESSION)))
    }

    /// A session, for the header `Authorization: Bearer`. Errors: as [`Self::session_link`], and [`MarketClientError::Denied`].
    pub(crate) async fn session(&self, signer: &Signer) -> Result<String, MarketClientError> {
        let answer = self.answer_signed((SESSION, Carried::InLink), &asked(FIRST_PAGE), signer).await?;
        if answer.status != StatusCode::SEE_OTHER {
            let body = self.body_or_error(answer)?;
            return Err(
                self.unreachable(format!("expected a session, got {:?}", body.lines().next().unwrap_or_default()))
            );
        }
        let session = answer.cookie.as_deref().and_then(|cookie| cookie.split_once('='));
        session.map(|(_, session)| session.to_owned()).ok_or_else(|| self.unreachable("its answer has no session"))
    }
}

fn asked(page: &str) -> String {
    format!("session={}", escaped(page))
}

const TASKS: &str = "/scheduler/tasks";
const JOB_TIMES: &str = "/scheduler/jobs";

impl MarketClient {
    /// A job with its attempts, or with those that have not ended, as `user` may see them, asked for in portions. Only a ruling
    /// market needs a signature.
    pub(crate) async fn tasks(
        &self,
        job: JobId,
        is_running_only: bool,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<JobTasks, MarketClientError> {
        let running = if is_running_only { "&running" } else { "" };
        let query = format!("tasks={job}{running}&user.name={}", escaped(user));
        let mut tasks = self.json_signed_if_market::<JobTasks>(TASKS, &query, signer).await?;
        while let Some(next) = tasks.next {
            let mut portion =
                self.json_signed_if_market::<JobTasks>(TASKS, &format!("{query}&from={next}"), signer).await?;
            tasks.attempts.append(&mut portion.attempts);
            // A server that does not go forward is asked no more.
            tasks.next = portion.next.filter(|further| *further > next);
        }
        Ok(tasks)
    }

    /// When the newest jobs were submitted and ended; a signer sees the costs of own jobs.
    pub(crate) async fn job_times(&self, signer: Option<&Signer>) -> Result<JobTimesList, MarketClientError> {
        self.json_signed_if_market(JOB_TIMES, "jobs", signer).await
    }
}
