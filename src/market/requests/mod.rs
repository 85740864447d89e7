//! Requests about money: ACL, signatures, queries and their answers, authorization of submissions. Builds on `money`.

mod acl;
pub mod answer;
mod error;
mod handle_request;
mod job_upload;
mod json_queries;
mod query;
pub mod signature;
mod submission;
mod upload_query;

pub use acl::{Acl, AclEntry, AclError, AclProblem, Key, Role};
pub use answer::{Answer, QueueInfo};
pub use error::{Denial, ErrorClass, JobDenied, MarketError, OrderError};
pub use handle_request::{HandledRequest, ServletRequest};
pub use job_upload::JobUpload;
pub use json_queries::{HistoryPage, ParseQuery, Spans, StatementPage};
pub use query::{Operation, OperationKind, ParsedQuery, QueryError};
pub use signature::{JobSignature, SignatureError, VerifiedUser, job_signature};
