//! Plays a script to a JobTracker.

use std::collections::BTreeSet;

use jobtracker::model::{Identifier, JobId};
use jobtracker::wire::{Action, HeartbeatRequest, HeartbeatResponse};

use super::fleet::{ScriptedTracker, fleet};
use super::grants;
use super::script::{PRIORITIES, PlannedJob, Script, Step};

/// A JobTracker under a scheduler, which knows the jobs of the script by the ids of [`job_id`].
pub trait JobTracker {
    /// Gets a new scheduler, at time 0.
    async fn begin(&mut self, script: &Script) -> anyhow::Result<()>;
    /// Lets its time pass until `now_ms`.
    async fn advance(&mut self, now_ms: u64) -> anyhow::Result<()>;
    /// Whether it accepts a job.
    async fn submit(&mut self, job: usize, plan: &PlannedJob) -> anyhow::Result<bool>;
    /// A heartbeat of a tracker.
    async fn beat(&mut self, tracker: usize, request: HeartbeatRequest) -> anyhow::Result<HeartbeatResponse>;
    /// A client kills a job.
    async fn kill_job(&mut self, job: usize) -> anyhow::Result<()>;
    /// A client sets a priority.
    async fn set_priority(&mut self, job: usize, priority: &str) -> anyhow::Result<()>;
}

/// Why a script was not played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// It answered otherwise than expected.
    #[error("call {call} ({what}): expected {expected}, found {found}")]
    Differs {
        /// The number of the call that has an answer.
        call: usize,
        /// The step.
        what: String,
        /// The recorded answer.
        expected: String,
        /// The answer.
        found: String,
    },
    /// A call failed.
    #[error(transparent)]
    Broken(#[from] anyhow::Error),
}

/// A script being played.
struct Play<'a, J> {
    script: &'a Script,
    jobtracker: &'a mut J,
    /// What it must answer; none: whatever it does.
    expected: Option<&'a [String]>,
    fleet: Vec<ScriptedTracker>,
    now_ms: u64,
    launched: usize,
    accepted: BTreeSet<usize>,
    /// Jobs of which anything was granted: one that was not ends without a cleanup under ours.
    granted: BTreeSet<JobId>,
    answers: Vec<String>,
}

/// Calls of all trackers within which jobs end after they were killed.
const LAST_ROUNDS: u64 = 12;

/// The id under which a job of the script is known; numbers of ids begin with 1.
pub fn job_id(job: usize) -> JobId {
    JobId::new(Identifier::from_number(0), job as i32 + 1)
}

/// Plays the script and ends all its jobs; the answers.
pub async fn play<J: JobTracker>(
    script: &Script,
    jobtracker: &mut J,
    expected: Option<&[String]>,
) -> Result<Vec<String>, PlayError> {
    jobtracker.begin(script).await?;
    let mut play = Play {
        script,
        jobtracker,
        expected,
        fleet: fleet(script),
        now_ms: 0,
        launched: 0,
        accepted: BTreeSet::new(),
        granted: BTreeSet::new(),
        answers: Vec::new(),
    };
    for tracker in 0..play.fleet.len() {
        play.take(Step::Beat { tracker, roll: 0 }).await?;
    }
    for step in &script.steps {
        play.take(*step).await?;
    }
    let answers = std::mem::take(&mut play.answers);
    play.end_jobs().await?;
    Ok(answers)
}

// === impl Play ===

impl<J: JobTracker> Play<'_, J> {
    async fn take(&mut self, step: Step) -> Result<(), PlayError> {
        match step {
            Step::Pass { ms } => {
                self.now_ms += ms;
                self.jobtracker.advance(self.now_ms).await?;
            }
            Step::Submit { job } => {
                let is_accepted = self.jobtracker.submit(job, &self.script.jobs[job]).await?;
                if is_accepted {
                    self.accepted.insert(job);
                }
                self.note(step, grants::of_submission(is_accepted))?;
            }
            Step::Beat { tracker, roll } => {
                let answer = self.beat(tracker, roll).await?;
                self.note(step, answer)?;
            }
            Step::KillJob { job } if self.granted.contains(&job_id(job)) => self.jobtracker.kill_job(job).await?,
            Step::SetPriority { job, priority } if self.accepted.contains(&job) => {
                self.jobtracker.set_priority(job, PRIORITIES[priority]).await?;
            }
            Step::KillJob { .. } | Step::SetPriority { .. } => {}
        }
        Ok(())
    }

    async fn beat(&mut self, tracker: usize, roll: u64) -> anyhow::Result<String> {
        let request = self.fleet[tracker].heartbeat(self.script, roll);
        let answer = self.jobtracker.beat(tracker, request).await?;
        let text = grants::of_answer(&answer, |id| self.fleet[tracker].runs(id));
        self.fleet[tracker].obey(&answer, self.now_ms, self.launched);
        self.launched += grants::launches(&answer);
        for action in &answer.actions {
            if let Action::LaunchTask(task) = action {
                self.granted.insert(task.status.attempt.task.job);
            }
        }
        Ok(text)
    }

    fn note(&mut self, step: Step, found: String) -> Result<(), PlayError> {
        let call = self.answers.len();
        if let Some(expected) = self.expected {
            let expected = expected.get(call).map_or("nothing more", String::as_str);
            if expected != found {
                let (what, expected) = (step.to_string(), expected.to_owned());
                return Err(PlayError::Differs { call, what, expected, found });
            }
        }
        self.answers.push(found);
        Ok(())
    }

    /// Kills what is left, so that the next script finds the JobTracker empty.
    async fn end_jobs(&mut self) -> anyhow::Result<()> {
        for job in self.accepted.clone() {
            self.jobtracker.kill_job(job).await?;
        }
        for roll in 0..LAST_ROUNDS {
            for tracker in 0..self.fleet.len() {
                self.beat(tracker, roll).await?;
            }
        }
        Ok(())
    }
}
