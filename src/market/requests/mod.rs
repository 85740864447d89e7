//! Requests about money: ACL, signatures, queries and their answers, authorization of submissions. Builds on `money`.

mod acl;
mod acl_line;
pub(crate) mod answer;
mod error;
mod handle_request;
mod job_request;
mod job_upload;
mod json_queries;
mod key;
mod move_money;
mod operation_kind;
mod operation_parameters;
mod query;
mod report_query;
mod report_request;
pub mod signature;
mod submission;

pub use acl::{Acl, Role};
pub(crate) use acl::{AclEditError, AclEntry, AclText};
pub(crate) use acl_line::AclError;
pub use answer::Answer;
pub(crate) use answer::QueueInfo;
pub use error::MarketError;
pub(crate) use error::{Denial, ErrorClass, JobDenied, OrderError};
#[cfg(test)]
pub(crate) use handle_request::HandledRequest;
pub use handle_request::ServletRequest;
pub(crate) use job_request::{DeadlineFields, JobAnswer, JobRequest, JobRequestError};
pub(crate) use job_upload::JobUpload;
pub(crate) use json_queries::Spans;
pub use json_queries::{HistoryPage, StatementPage};
pub use key::{Key, RetiringKey};
pub(crate) use key::{KeyFault, MAX_RETIRING_MS};
pub(crate) use move_money::FROM_SQL;
pub use operation_kind::OperationKind;
pub(crate) use query::QueryError;
pub use query::{Operation, ParsedQuery};
pub(crate) use report_request::ReportFilter;
pub use report_request::{ReportKind, ReportRequest};
#[cfg(test)]
pub(crate) use signature::SignatureError;
pub(crate) use signature::job_signature;
pub use signature::{JobSignature, VerifiedUser};
