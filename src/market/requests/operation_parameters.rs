//! Parameters of the operations that move money, ask something of a job or an attempt, or upload a file of a job.

use crate::market::money::{AllowanceTerms, MOST_NOTE_CHARACTERS};
use crate::model::{AttemptId, Credits, JobId, QueueName, excerpt};

use super::job_request::{DeadlineFields, JobRequest, JobRequestKind};
use super::job_upload::{JobUpload, is_plain_path, parse_digest};
use super::operation_kind::OperationKind;
use super::query::{Operation, ParsedQuery, QueryError, decode, number, parameters, set_once};

/// Longest period of an allowance, s: a hundred years.
const MOST_EVERY_S: u32 = 3_153_600_000;

const NONE: &str = "none";

impl ParsedQuery {
    /// The decoded value of a parameter that only some operations have.
    pub(super) fn own_parameter(&self, wanted: &'static str) -> Result<Option<String>, QueryError> {
        parameters(&self.raw, [wanted]).map(|[found]| found)
    }

    /// The `note` of a movement; empty if there is none.
    pub(crate) fn note(&self) -> Result<String, QueryError> {
        let note = self.own_parameter("note")?.unwrap_or_default();
        if let Some(character) = note.chars().find(|character| character.is_control()) {
            return Err(QueryError::NoteCharacter(character));
        }
        match note.chars().count() {
            characters if characters > MOST_NOTE_CHARACTERS => Err(QueryError::NoteTooLong(characters)),
            _ => Ok(note),
        }
    }

    pub(super) fn transfer(&self) -> Result<Operation, QueryError> {
        let amount = self.positive_amount()?;
        let queue = |parameter| {
            let name = self.own_parameter(parameter)?.ok_or_else(|| self.missing(parameter))?;
            Ok::<_, QueryError>(QueueName::new(&name)?)
        };
        let (from, to) = (queue("from")?, queue("to")?);
        if from == to {
            return Err(QueryError::SameQueue(from));
        }
        Ok(Operation::Transfer { from, to, amount, note: self.note()? })
    }

    pub(super) fn allowance(&self) -> Result<Operation, QueryError> {
        let queue = self.queue_name()?;
        if self.value == NONE {
            return Ok(Operation::Allowance { queue, terms: None });
        }
        let credits = self.positive_amount()?;
        let every: Option<u64> = number("every", self.own_parameter("every")?)?;
        let every_s = every.ok_or_else(|| self.missing("every"))?;
        if !(1..=u64::from(MOST_EVERY_S)).contains(&every_s) {
            return Err(QueryError::OutOfRange { parameter: "every", least: 1, most: MOST_EVERY_S });
        }
        let cap = self.own_parameter("cap")?.map(|cap| {
            let cap = Credits::parse_exact(&cap).map_err(|error| QueryError::Amount { parameter: "cap", error })?;
            let is_negative = cap < Credits::ZERO;
            if is_negative { Err(QueryError::NegativeRate { parameter: "cap", rate: cap }) } else { Ok(cap) }
        });
        Ok(Operation::Allowance { queue, terms: Some(AllowanceTerms { credits, every_s, cap: cap.transpose()? }) })
    }

    fn positive_amount(&self) -> Result<Credits, QueryError> {
        let amount = self.amount()?;
        let parameter = self.kind.parameter();
        if amount > Credits::ZERO { Ok(amount) } else { Err(QueryError::NotPositive { parameter, amount }) }
    }

    fn missing(&self, parameter: &'static str) -> QueryError {
        QueryError::MissingParameter { operation: self.kind.parameter(), parameter }
    }

    /// The parameters that the audit log shows beside the operation's own value and its queue.
    pub(crate) fn audited_parameters(&self) -> Vec<(&'static str, String)> {
        let wanted: &[&'static str] = match self.kind {
            OperationKind::AddBudget => &["note"],
            OperationKind::Transfer => &["from", "to", "note"],
            OperationKind::Allowance => &["every", "cap"],
            _ => &[],
        };
        let shown = |name: &&'static str| {
            let value = self.own_parameter(name).ok().flatten().filter(|value| !value.is_empty())?;
            Some((*name, value.chars().take(MOST_NOTE_CHARACTERS).collect()))
        };
        wanted.iter().filter_map(shown).collect()
    }

    /// The job that it is about; `None` for an operation on something else, or a text that is no id.
    pub(crate) fn job_asked_about(&self) -> Option<JobId> {
        match self.kind {
            OperationKind::OfJob(kind) if kind.is_of_attempt() => self.attempt().ok().map(|attempt| attempt.task.job),
            OperationKind::OfJob(_) => self.job().ok(),
            _ => None,
        }
    }

    /// Parses the parameters of an operation on a job.
    pub(super) fn job_request(&self, kind: JobRequestKind) -> Result<JobRequest, QueryError> {
        Ok(match kind {
            JobRequestKind::Kill => JobRequest::Kill(self.job()?),
            JobRequestKind::KillTask => JobRequest::KillTask { attempt: self.attempt()?, should_fail: false },
            JobRequestKind::FailTask => JobRequest::KillTask { attempt: self.attempt()?, should_fail: true },
            JobRequestKind::SetPriority => {
                let job = self.job()?;
                let [priority] = parameters(&self.raw, ["priority"])?;
                let operation = self.kind.parameter();
                let missing = QueryError::MissingParameter { operation, parameter: "priority" };
                JobRequest::SetPriority { job, priority: priority.ok_or(missing)? }
            }
            JobRequestKind::SetDeadline => JobRequest::SetDeadline { job: self.job()?, fields: self.deadline()? },
            JobRequestKind::Hold => JobRequest::Hold { job: self.job()?, is_on: true },
            JobRequestKind::Release => JobRequest::Hold { job: self.job()?, is_on: false },
            JobRequestKind::LogTicket => JobRequest::LogTicket(self.attempt()?),
        })
    }

    fn deadline(&self) -> Result<DeadlineFields, QueryError> {
        let names = ["deadline", "clear", "mapTime", "reduceTime", "filterRatio"];
        let [due, clear, map_time, reduce_time, filter_ratio] = parameters(&self.raw, names)?;
        let due = due.unwrap_or_default();
        if clear.is_some() != due.is_empty() {
            let parameter = "deadline=DURATION|TIME, or else clear";
            return Err(QueryError::MissingParameter { operation: self.kind.parameter(), parameter });
        }
        let [map_time, reduce_time, filter_ratio] =
            [map_time, reduce_time, filter_ratio].map(Option::unwrap_or_default);
        Ok(DeadlineFields { due, map_time, reduce_time, filter_ratio })
    }

    fn attempt(&self) -> Result<AttemptId, QueryError> {
        let refused = || QueryError::AttemptId { parameter: self.kind.parameter(), value: excerpt(&self.value) };
        self.value.parse().map_err(|_| refused())
    }

    /// The file that an upload is for.
    pub(super) fn upload(&self) -> Result<JobUpload, QueryError> {
        let (mut job, mut name) = (None, None);
        for (parameter, value) in self.raw.split('&').filter_map(|pair| pair.split_once('=')) {
            match decode(parameter)?.as_ref() {
                "job" => set_once(&mut job, "job", value)?,
                "name" => set_once(&mut name, "name", value)?,
                _ => {}
            }
        }
        let missing = |parameter| QueryError::MissingParameter { operation: "upload", parameter };
        let (job, name) = (job.ok_or(missing("job"))?, name.ok_or(missing("name"))?);
        let job = job.parse().map_err(|_| QueryError::JobId { parameter: "job", value: excerpt(&job) })?;
        if !is_plain_path(&name) {
            return Err(QueryError::FileName(excerpt(&name)));
        }
        Ok(JobUpload { job, name, sha256: parse_digest(&self.value).ok_or(QueryError::Digest)? })
    }

    pub(super) fn queue_name(&self) -> Result<QueueName, QueryError> {
        let name = self.target().ok_or(QueryError::MissingQueue(self.kind.parameter()))?;
        Ok(QueueName::new(name)?)
    }

    pub(super) fn amount(&self) -> Result<Credits, QueryError> {
        Credits::parse_exact(&self.value)
            .map_err(|error| QueryError::Amount { parameter: self.kind.parameter(), error })
    }

    pub(crate) fn job(&self) -> Result<JobId, QueryError> {
        let refused = || QueryError::JobId { parameter: self.kind.parameter(), value: excerpt(&self.value) };
        self.value.parse().map_err(|_| refused())
    }

    /// The name of the queue it acts on, not yet checked; `None` where it is not given or there is none.
    pub(crate) fn target(&self) -> Option<&str> {
        match self.kind {
            OperationKind::SetSpending
            | OperationKind::AddBudget
            | OperationKind::Allowance
            | OperationKind::Quote
            | OperationKind::QueueHistory
            | OperationKind::Bid
            | OperationKind::Unbid
            | OperationKind::Explain
            | OperationKind::OrderQuote
            | OperationKind::Tasks => self.queue.as_deref(),
            OperationKind::Info | OperationKind::Statement | OperationKind::QueueStatus if self.value.is_empty() => {
                None
            }
            OperationKind::Info
            | OperationKind::Statement
            | OperationKind::QueueStatus
            | OperationKind::AddQueue
            | OperationKind::RemoveQueue => Some(&self.value),
            OperationKind::Nothing
            | OperationKind::Price
            | OperationKind::Time
            | OperationKind::Infos
            | OperationKind::PriceHistory
            | OperationKind::OfJob(_)
            | OperationKind::Drain
            | OperationKind::Resume
            | OperationKind::PauseQueue
            | OperationKind::ResumeQueue
            | OperationKind::Read
            | OperationKind::JobTimes
            | OperationKind::Transfer
            | OperationKind::Report
            | OperationKind::Session
            | OperationKind::Upload => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::market::Operation;

    use super::*;

    fn operation(query: &str) -> Result<Operation, String> {
        let parsed = ParsedQuery::parse(query).map_err(|error| error.to_string())?;
        parsed.operation().map_err(|error| error.to_string())
    }

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn credits(text: &str) -> Credits {
        text.parse().unwrap()
    }

    #[test]
    fn notes_are_one_short_line() {
        let add = |note: &str| operation(&format!("addBudget=5&queue=q&note={note}"));
        let noted =
            |note: &str| Operation::AddBudget { queue: queue("q"), amount: credits("5"), note: note.to_owned() };
        assert_eq!(add("grant+7%2C%20for%20%C3%BC"), Ok(noted("grant 7, for ü")));
        assert_eq!(operation("addBudget=5&queue=q"), Ok(noted("")));
        assert_eq!(add(&"x".repeat(256)), Ok(noted(&"x".repeat(256))));
        assert_eq!(add(&"%C3%BC".repeat(257)), Err("note: 257 characters, expected at most 256".to_owned()));
        let broken = Err(r"note: '\n' is a control character, expected one line of plain text".to_owned());
        assert_eq!(add("a%0Akill+job"), broken);
        assert_eq!(add("a&note=b"), Err("the parameter note is given more than once".to_owned()));
    }

    #[test]
    fn transfers_name_two_queues_and_an_amount() {
        let expected =
            Operation::Transfer { from: queue("a"), to: queue("b"), amount: credits("2.5"), note: "lent".to_owned() };
        assert_eq!(operation("transfer=2.5&from=a&to=b&note=lent"), Ok(expected));
        for (query, text) in [
            ("transfer=0&from=a&to=b", "transfer: 0.0 is not above 0"),
            ("transfer=-1&from=a&to=b", "transfer: -1.0 is not above 0"),
            ("transfer=1&from=a&to=a", "from and to are both a, expected two queues"),
            ("transfer=1&from=a", "transfer needs a parameter to"),
            ("transfer=1&to=a", "transfer needs a parameter from"),
        ] {
            assert_eq!(operation(query), Err(text.to_owned()), "{query}");
        }
    }

    #[test]
    fn allowances_have_an_amount_and_a_period() {
        let of = |cap: Option<&str>| Operation::Allowance {
            queue: queue("q"),
            terms: Some(AllowanceTerms { credits: credits("5"), every_s: 86_400, cap: cap.map(credits) }),
        };
        assert_eq!(operation("allowance=5&queue=q&every=86400"), Ok(of(None)));
        assert_eq!(operation("allowance=5&queue=q&every=86400&cap=20"), Ok(of(Some("20"))));
        assert_eq!(operation("allowance=none&queue=q"), Ok(Operation::Allowance { queue: queue("q"), terms: None }));
        for (query, text) in [
            ("allowance=0&queue=q&every=1", "allowance: 0.0 is not above 0"),
            ("allowance=-5&queue=q&every=1", "allowance: -5.0 is not above 0"),
            ("allowance=5&queue=q", "allowance needs a parameter every"),
            ("allowance=5&queue=q&every=0", "every: expected a whole number from 1 to 3153600000"),
            ("allowance=5&queue=q&every=-1", "every: \"-1\" is not a whole number"),
            ("allowance=5&queue=q&every=0.5", "every: \"0.5\" is not a whole number"),
            ("allowance=5&queue=q&every=1&cap=-1", "cap: -1.0 is negative"),
            ("allowance=none", "allowance needs a parameter queue"),
        ] {
            assert_eq!(operation(query), Err(text.to_owned()), "{query}");
        }
        assert!(operation("allowance=0.0000000000001&queue=q&every=1").unwrap_err().starts_with("allowance: "));
    }

    const JOB: &str = "job_202611211027_0016";
    const ATTEMPT: &str = "attempt_202611211027_0016_m_000000_0";

    fn job_operation(query: &str) -> Result<Operation, QueryError> {
        ParsedQuery::parse(query)?.operation()
    }

    #[test]
    fn each_operation_on_a_job_is_read() {
        let (job, attempt) = (JOB.parse().unwrap(), ATTEMPT.parse().unwrap());
        assert_eq!(
            job_operation(&format!("killJob={JOB}&user=u&timestamp=1")),
            Ok(Operation::OfJob(JobRequest::Kill(job)))
        );
        let killed = |should_fail| Ok(Operation::OfJob(JobRequest::KillTask { attempt, should_fail }));
        assert_eq!(job_operation(&format!("killTask={ATTEMPT}")), killed(false));
        assert_eq!(job_operation(&format!("failTask={ATTEMPT}")), killed(true));
        let raised = Operation::OfJob(JobRequest::SetPriority { job, priority: "HIGH".to_owned() });
        assert_eq!(job_operation(&format!("setJobPriority={JOB}&priority=HIGH")), Ok(raised));
        let fields = DeadlineFields { due: "20m".into(), map_time: "40s".into(), ..DeadlineFields::default() };
        let set = Operation::OfJob(JobRequest::SetDeadline { job, fields });
        assert_eq!(job_operation(&format!("setJobDeadline={JOB}&deadline=20m&mapTime=40s")), Ok(set));
        for (name, is_on) in [("holdJob", true), ("releaseJob", false)] {
            let held = Operation::OfJob(JobRequest::Hold { job, is_on });
            assert_eq!(job_operation(&format!("{name}={JOB}")), Ok(held));
        }
        let cleared = Operation::OfJob(JobRequest::SetDeadline { job, fields: DeadlineFields::default() });
        assert_eq!(job_operation(&format!("setJobDeadline={JOB}&clear")), Ok(cleared));
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
            assert_eq!(job_operation(&query).unwrap_err().to_string(), text, "{query}");
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
