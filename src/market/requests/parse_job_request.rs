//! Signed requests about one job or attempt: kills, priority, deadline, and tickets for logs.
//!
//! The market verifies who asks; whether the signer may is decided by the job's own lists, as for a call by RPC.

use crate::model::{AttemptId, JobId};

use super::job_request::{DeadlineWords, JobRequest, JobRequestKind};
use super::operation_kind::OperationKind;
use super::query::{ParsedQuery, QueryError, decode, set_once};

/// Characters of a refused text that an error repeats.
const SHOWN_CHARACTERS: usize = 64;

impl ParsedQuery {
    /// The job that it is about; `None` for an operation on something else, or a text that is no id.
    pub(crate) fn job_asked_about(&self) -> Option<JobId> {
        match self.kind {
            OperationKind::OfJob(kind) if kind.is_of_attempt() => self.attempt().ok().map(|attempt| attempt.task.job),
            OperationKind::OfJob(_) => self.job().ok(),
            _ => None,
        }
    }

    /// Parses the parameters of an operation on a job.
    ///
    /// # Errors
    /// [`QueryError`]: no id, a parameter is missing or repeated.
    pub(super) fn job_request(&self, kind: JobRequestKind) -> Result<JobRequest, QueryError> {
        Ok(match kind {
            JobRequestKind::Kill => JobRequest::Kill(self.job()?),
            JobRequestKind::KillTask => JobRequest::KillTask { attempt: self.attempt()?, should_fail: false },
            JobRequestKind::FailTask => JobRequest::KillTask { attempt: self.attempt()?, should_fail: true },
            JobRequestKind::SetPriority => {
                let job = self.job()?;
                let [priority] = self.texts(["priority"])?;
                let operation = self.kind.parameter();
                let missing = QueryError::MissingParameter { operation, parameter: "priority" };
                JobRequest::SetPriority { job, priority: priority.ok_or(missing)? }
            }
            JobRequestKind::SetDeadline => JobRequest::SetDeadline { job: self.job()?, words: self.deadline()? },
            JobRequestKind::Hold => JobRequest::Hold { job: self.job()?, is_on: true },
            JobRequestKind::Release => JobRequest::Hold { job: self.job()?, is_on: false },
            JobRequestKind::LogTicket => JobRequest::LogTicket(self.attempt()?),
        })
    }

    fn deadline(&self) -> Result<DeadlineWords, QueryError> {
        let names = ["deadline", "clear", "mapTime", "reduceTime", "filterRatio"];
        let [due, clear, map_time, reduce_time, filter_ratio] = self.texts(names)?;
        let due = due.unwrap_or_default();
        if clear.is_some() != due.is_empty() {
            let parameter = "deadline=DURATION|TIME, or else clear";
            return Err(QueryError::MissingParameter { operation: self.kind.parameter(), parameter });
        }
        let [map_time, reduce_time, filter_ratio] =
            [map_time, reduce_time, filter_ratio].map(Option::unwrap_or_default);
        Ok(DeadlineWords { due, map_time, reduce_time, filter_ratio })
    }

    fn attempt(&self) -> Result<AttemptId, QueryError> {
        let refused = || QueryError::AttemptId {
            parameter: self.kind.parameter(),
            value: self.value.chars().take(SHOWN_CHARACTERS).collect(),
        };
        self.value.parse().map_err(|_| refused())
    }

    /// The decoded values of further parameters, each given at most once.
    fn texts<const N: usize>(&self, names: [&'static str; N]) -> Result<[Option<String>; N], QueryError> {
        let mut values = [const { None }; N];
        for pair in self.raw.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            if let Some((slot, name)) = values.iter_mut().zip(names).find(|(_, known)| *known == name) {
                set_once(slot, name, value)?;
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Operation;

    const JOB: &str = "job_202611211027_0016";
    const ATTEMPT: &str = "attempt_202611211027_0016_m_000000_0";

    fn operation(query: &str) -> Result<Operation, QueryError> {
        ParsedQuery::parse(query)?.operation()
    }

    #[test]
    fn each_operation_on_a_job_is_read() {
        let (job, attempt) = (JOB.parse().unwrap(), ATTEMPT.parse().unwrap());
        assert_eq!(
            operation(&format!("killJob={JOB}&user=u&timestamp=1")),
            Ok(Operation::OfJob(JobRequest::Kill(job)))
        );
        let killed = |should_fail| Ok(Operation::OfJob(JobRequest::KillTask { attempt, should_fail }));
        assert_eq!(operation(&format!("killTask={ATTEMPT}")), killed(false));
        assert_eq!(operation(&format!("failTask={ATTEMPT}")), killed(true));
        let raised = Operation::OfJob(JobRequest::SetPriority { job, priority: "HIGH".to_owned() });
        assert_eq!(operation(&format!("setJobPriority={JOB}&priority=HIGH")), Ok(raised));
        let words = DeadlineWords { due: "20m".into(), map_time: "40s".into(), ..DeadlineWords::default() };
        let set = Operation::OfJob(JobRequest::SetDeadline { job, words });
        assert_eq!(operation(&format!("setJobDeadline={JOB}&deadline=20m&mapTime=40s")), Ok(set));
        for (name, is_on) in [("holdJob", true), ("releaseJob", false)] {
            let held = Operation::OfJob(JobRequest::Hold { job, is_on });
            assert_eq!(operation(&format!("{name}={JOB}")), Ok(held));
        }
        let cleared = Operation::OfJob(JobRequest::SetDeadline { job, words: DeadlineWords::default() });
        assert_eq!(operation(&format!("setJobDeadline={JOB}&clear")), Ok(cleared));
    }

    #[test]
    fn what_is_missing_repeated_or_no_id_is_named() {
        for (query, text) in [
            ("killJob=job_1".to_owned(), r#"killJob: "job_1" is not the id of a job"#),
            (format!("killTask={JOB}"), r#"killTask: "job_202611211027_0016" is not the id of an attempt"#),
            (format!("setJobPriority={JOB}"), "setJobPriority needs a parameter priority"),
            (format!("setJobPriority={JOB}&priority=A&priority=B"), "the parameter priority is given more than once"),
            (format!("setJobDeadline={JOB}"), "setJobDeadline needs a parameter deadline=DURATION|TIME, or else clear"),
            (
                format!("setJobDeadline={JOB}&deadline=20m&clear"),
                "setJobDeadline needs a parameter deadline=DURATION|TIME, or else clear",
            ),
            (
                format!("killJob={JOB}&killTask={ATTEMPT}"),
                "killJob and killTask are two operations; a request carries one",
            ),
        ] {
            assert_eq!(operation(&query).unwrap_err().to_string(), text, "{query}");
        }
    }

    #[test]
    fn the_job_of_a_request_is_found_before_it_is_handled() {
        let asked = |query: String| ParsedQuery::parse(&query).unwrap().job_asked_about();
        assert_eq!(asked(format!("killJob={JOB}")), JOB.parse().ok());
        assert_eq!(asked(format!("failTask={ATTEMPT}")), JOB.parse().ok());
        assert_eq!(asked("killJob=x".to_owned()), None);
        assert_eq!(asked(format!("unbid={JOB}")), None, "the queue of its user decides");
    }
}
