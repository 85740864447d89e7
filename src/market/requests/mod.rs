//! Requests about money: ACL, signatures, queries and their answers, authorization of submissions. Builds on `money`.

mod acl;
mod acl_edit;
mod acl_line;
pub mod answer;
mod error;
mod handle_request;
mod job_request;
mod job_upload;
mod json_queries;
mod key;
mod money_queries;
mod move_money;
mod operation_kind;
mod parse_job_request;
mod query;
mod report_query;
mod report_request;
mod retiring;
pub mod signature;
mod submission;
mod upload_query;

pub use acl::{Acl, AclEntry, Role};
pub use acl_edit::{AclEditError, AclText};
pub use acl_line::{AclError, AclProblem};
pub use answer::{Answer, QueueInfo};
pub use error::{Denial, ErrorClass, JobDenied, MarketError, OrderError};
pub use handle_request::{HandledRequest, ServletRequest};
pub use job_request::{DeadlineWords, JobAnswer, JobRequest, JobRequestError, JobRequestKind};
pub use job_upload::JobUpload;
pub use json_queries::{HistoryPage, Spans, StatementPage};
pub use key::{Key, KeyFault};
pub use operation_kind::OperationKind;
pub use query::{Operation, ParsedQuery, QueryError};
pub use report_request::{ReportFilter, ReportKind, ReportRequest};
pub use retiring::{MAX_RETIRING_MS, RetiringKey};
pub use signature::{JobSignature, SignatureError, VerifiedUser, job_signature};
