//! Requests about applications: who asks, whether they may, what the state answers.

use std::sync::Arc;

use crate::api::applications::{AllocateCall, ApplicationReport, Submission};
use crate::engine::core::{
    ApplicationAnswer, ApplicationCaller, ApplicationFilter, ApplicationQuestion, ApplicationRequest, ApplicationWait,
    ContainerSignal, Engine, Grouping, Reply, SignedTime, StoreView, Wait,
};
use crate::engine::state::{
    Application, ApplicationRefusal, BodyFault, CachedReport, CallResult, Caller, Container, ContainerFilter,
    NewApplication, Refusal, RowPage, STEP_BYTES,
};
use crate::market::{Consumer, KeyId, Signature};
use crate::model::{ApplicationId, ApplicationSecret, ContainerId, LOG_TICKET_MS, LogKey, Now};

/// How long a report of one version is good for others who ask, ms: all that waited for it ask within that time.
const REPORT_AGE_MS: u64 = 100;

type Answered = Result<ApplicationAnswer, ApplicationRefusal>;

impl Engine {
    pub(super) fn on_application_request(&mut self, request: ApplicationRequest, now: Now) -> (Reply, Wait) {
        let answered = match request {
            ApplicationRequest::Secret(id) => {
                let secret = self.applications.get(id).map(|application| application.submitted.secret);
                Ok(ApplicationAnswer::Secret(secret))
            }
            _ if !self.applications.settings.is_enabled => {
                Err(ApplicationRefusal::Unavailable("containers are switched off".to_owned()))
            }
            ApplicationRequest::Waited { wait, is_over } => self.answer_wait(wait, is_over, now),
            ApplicationRequest::StoredLogs { container, secret } => self.log_place_of(&container, secret, now),
            ApplicationRequest::Asked { caller, question } => {
                self.use_stamp(&caller, now).and_then(|()| self.answer_question(&caller, *question, now))
            }
        };
        let wait = match &answered {
            Ok(ApplicationAnswer::Waits(_) | ApplicationAnswer::Secret(_)) => Wait::Nothing,
            // Reads show what is durable, and a refusal may have used a stamp.
            _ => Wait::All,
        };
        (Reply::Application(answered.map(Box::new)), wait)
    }

    fn use_stamp(&mut self, caller: &ApplicationCaller, now: Now) -> Result<(), ApplicationRefusal> {
        match caller {
            ApplicationCaller::User { signed: None, .. } => Ok(()),
            ApplicationCaller::User { caller, signed: Some(signed), .. } => {
                let SignedTime { key_id, timestamp_ms, text } = *signed;
                let (consumer, user) = (Consumer::Application, &*caller.user);
                self.applications.use_signature(&Signature { consumer, user, key_id, timestamp_ms, text }, now)
            }
            ApplicationCaller::Application { application, timestamp_ms, text } => {
                let (consumer, user, key_id) = (Consumer::Secret, &*application.to_string(), KeyId(0));
                let (timestamp_ms, text) = (*timestamp_ms, *text);
                self.applications.use_signature(&Signature { consumer, user, key_id, timestamp_ms, text }, now)
            }
        }
    }

    fn answer_question(&mut self, asker: &ApplicationCaller, question: ApplicationQuestion, now: Now) -> Answered {
        if let Some(application) = question.application()
            && self.applications.get(application).is_none()
        {
            return Ok(self.not_in_memory(application, self.sees_all(asker), now));
        }
        match question {
            ApplicationQuestion::NewId => {
                let application = self.applications.new_id(&user_of(asker)?.user, now)?;
                let settings = &self.applications.settings;
                let (maximum, minimum) = (settings.maximum, settings.minimum);
                Ok(ApplicationAnswer::NewId { application, maximum, minimum })
            }
            ApplicationQuestion::Submit { submission, digest, secret } => {
                self.submit_application(user_of(asker)?, *submission, digest, secret, now)
            }
            ApplicationQuestion::Register { application, call } => {
                self.may_use(asker, application)?;
                self.check_memory_of_call(application, call.bytes())?;
                Ok(ApplicationAnswer::Registered(Box::new(self.applications.register(application, call, now)?)))
            }
            ApplicationQuestion::Allocate { application, call, digest } => {
                self.may_use(asker, application)?;
                self.answer_call(application, *call, digest, now)
            }
            ApplicationQuestion::Unregister { application, call } => {
                self.may_use(asker, application)?;
                self.applications.unregister(application, call, now).map(ApplicationAnswer::Unregistered)
            }
            ApplicationQuestion::List(filter) => self.list_applications(asker, &filter, now),
            ApplicationQuestion::Show { application, known_version } => {
                self.may_use(asker, application)?;
                match known_version {
                    Some(known_version) => {
                        self.answer_wait(ApplicationWait::Show { application, known_version }, false, now)
                    }
                    None => self.show_application(application, RowPage::FIRST, now),
                }
            }
            ApplicationQuestion::ShowRows { application, rows } => {
                self.may_use(asker, application)?;
                self.show_application(application, rows, now)
            }
            ApplicationQuestion::State(application) => {
                self.may_use(asker, application)?;
                let (state, is_ending) = self.applications.state_of(application)?;
                Ok(ApplicationAnswer::State { state, is_ending })
            }
            ApplicationQuestion::Kill(application) => {
                self.may_use(asker, application)?;
                let (state, is_ending) = self.applications.kill_application(application, &name_of(asker), now)?;
                Ok(ApplicationAnswer::State { state, is_ending })
            }
            ApplicationQuestion::Containers { application, filter } => {
                self.may_use(asker, application)?;
                self.list_containers(application, &filter)
            }
            ApplicationQuestion::Container(id) => {
                self.may_use(asker, id.application)?;
                let container = self.applications.container(id).ok_or(ApplicationRefusal::NoSuchContainer(id))?;
                Ok(ApplicationAnswer::Container(Box::new(self.applications.container_report(container))))
            }
            ApplicationQuestion::Signal { container, signal } => self.signal_container(asker, container, signal, now),
            ApplicationQuestion::Logs(container) => {
                self.may_use(asker, container.application)?;
                self.log_place(container, now)
            }
            ApplicationQuestion::Nodes => {
                user_of(asker)?;
                Ok(ApplicationAnswer::Nodes(self.node_reports(now)))
            }
            ApplicationQuestion::Node(id) => {
                user_of(asker)?;
                let node = self.node_reports(now).into_iter().find(|node| node.id == id);
                node.map(|node| ApplicationAnswer::Node(Box::new(node))).ok_or(ApplicationRefusal::NoSuchNode(id))
            }
            ApplicationQuestion::Info => Ok(ApplicationAnswer::Info(Box::new(self.cluster_info(now)))),
        }
    }

    fn signal_container(
        &mut self,
        asker: &ApplicationCaller,
        container: ContainerId,
        signal: ContainerSignal,
        now: Now,
    ) -> Answered {
        let owner = &self.may_use(asker, container.application)?.submitted.user;
        let user = name_of(asker);
        let is_other = matches!(asker, ApplicationCaller::User { caller, .. } if caller.user != *owner);
        let administrator = Some(user.as_ref()).filter(|_| is_other);
        let is_sudden = signal == ContainerSignal::Forceful;
        let was_complete = self.applications.signal(container, is_sudden, administrator, now)?;
        Ok(ApplicationAnswer::Signalled { was_complete })
    }

    /// The application, if the caller may see and change it: its owner, itself, and administrators.
    fn may_use(&self, asker: &ApplicationCaller, id: ApplicationId) -> Result<&Application, ApplicationRefusal> {
        let application = self.applications.get(id).ok_or(ApplicationRefusal::NoSuchApplication(id))?;
        let may = match asker {
            ApplicationCaller::Application { application, .. } => *application == id,
            ApplicationCaller::User { caller, .. } => caller.user == application.submitted.user || self.sees_all(asker),
        };
        if may { Ok(application) } else { Err(ApplicationRefusal::Forbidden(format!("{id} belongs to another user"))) }
    }

    fn submit_application(
        &mut self,
        caller: &Caller,
        submission: Submission,
        digest: [u8; 32],
        secret: ApplicationSecret,
        now: Now,
    ) -> Answered {
        let id = submission.application_id;
        let is_there = self.applications.submitted_before(id, &caller.user, &digest)?.is_some();
        if !is_there {
            self.check_safe_mode().map_err(|refusal| ApplicationRefusal::Unavailable(refusal.to_string()))?;
            let queue = self.queue_of_application(caller, submission.queue.as_deref())?;
            self.check_live_bytes(&id.to_string(), &caller.user, submission.bytes())
                .map_err(ApplicationRefusal::TooMany)?;
            let (user, order) = (&caller.user, self.submissions.next_order());
            self.applications.submit(NewApplication { submission, user, queue, digest, secret, order }, now)?;
        }
        let application = self.applications.get(id).ok_or(ApplicationRefusal::NoSuchApplication(id))?;
        let (state, secret) = (application.standing.state, application.submitted.secret);
        Ok(ApplicationAnswer::Submitted { application: id, state, secret })
    }

    /// The queue of an application: the one that it names, else that of its owner under a market, else `default`.
    fn queue_of_application(&self, caller: &Caller, named: Option<&str>) -> Result<Arc<str>, ApplicationRefusal> {
        let own = match self.config.policy.grouping() {
            Grouping::Accounts | Grouping::Pools(_) => &*caller.user,
            Grouping::Queues => "default",
        };
        let name = named.unwrap_or(own);
        let wrong = |detail: String| {
            ApplicationRefusal::InvalidRequest(vec![BodyFault { pointer: "#/queue".to_owned(), detail }])
        };
        match self.config.policy.grouping() {
            // As for jobs: whose it is is checked before whether it is there, so names of other queues do not leak, and
            // administrators have no other rights here.
            Grouping::Accounts if *name != *caller.user => {
                let user = &caller.user;
                return Err(ApplicationRefusal::Forbidden(format!(
                    "queue {name:?} is not the queue of user {user}, whose applications run in queue \"{user}\" alone"
                )));
            }
            Grouping::Accounts if self.market().is_none_or(|market| market.account(name).is_none()) => {
                return Err(wrong(format!("there is no queue {name:?}")));
            }
            Grouping::Accounts | Grouping::Pools(_) => {}
            Grouping::Queues => {
                self.check_queue(name, caller).map_err(|refusal| match refusal {
                    Refusal::AccessDenied(text) => ApplicationRefusal::Forbidden(text),
                    other => wrong(other.to_string()),
                })?;
            }
        }
        Ok(Arc::from(name))
    }

    fn answer_call(&mut self, application: ApplicationId, call: AllocateCall, digest: [u8; 32], now: Now) -> Answered {
        // Who gives back, or launches what is stored, needs no room for that.
        let live = self.applications.get(application).map_or(0, |calling| calling.counts.live.len());
        if !call.only_gives_back(live) && self.applications.is_new_call(application, &call, &digest) {
            self.check_memory_of_call(application, call.bytes())?;
        }
        let (attempt, response_id, wait_ms) = (call.attempt, call.response_id, call.wait_ms);
        match self.applications.allocate(application, call, digest, now)? {
            CallResult::Answer(answer) => Ok(ApplicationAnswer::Allocated(answer)),
            CallResult::TakenIn => {
                let wait = ApplicationWait::Allocate { application, attempt, response_id };
                self.answer_wait(wait, wait_ms == 0, now)
            }
        }
    }

    /// Refuses what a call brings where its user, or all users, have no memory left for it.
    fn check_memory_of_call(&self, id: ApplicationId, bytes: u64) -> Result<(), ApplicationRefusal> {
        let Some(calling) = self.applications.get(id).filter(|_| bytes > 0) else { return Ok(()) };
        let what = format!("this call of {id}");
        self.check_live_bytes(&what, &calling.submitted.user, bytes).map_err(ApplicationRefusal::TooMany)
    }

    fn answer_wait(&mut self, wait: ApplicationWait, is_over: bool, now: Now) -> Answered {
        match wait {
            ApplicationWait::Allocate { application, attempt, response_id } => {
                self.grant_containers(now);
                let headroom = self.headroom_of(application);
                let result =
                    self.applications.answer_call(application, attempt, response_id, is_over, headroom, now)?;
                Ok(match result {
                    CallResult::Answer(answer) => ApplicationAnswer::Allocated(answer),
                    CallResult::TakenIn => ApplicationAnswer::Waits(wait),
                })
            }
            ApplicationWait::Show { application, known_version } => {
                let is_same = self.applications.version(application) == known_version;
                if is_same && !is_over && self.applications.get(application).is_some() {
                    return Ok(ApplicationAnswer::Waits(wait));
                }
                self.show_application(application, RowPage::FIRST, now)
            }
        }
    }

    fn show_application(&mut self, id: ApplicationId, rows: RowPage, now: Now) -> Answered {
        let version = self.applications.version(id);
        let is_fresh = |last: &CachedReport| {
            let age_ms = now.mono_ms.saturating_sub(last.at_mono_ms);
            last.report.id == id && last.report.version == version && last.rows == rows && age_ms <= REPORT_AGE_MS
        };
        if let Some(last) = self.applications.last_report.as_ref().filter(|last| is_fresh(last)) {
            return Ok(ApplicationAnswer::Application(last.report.clone()));
        }
        // Whether the caller may see it was asked while it was in memory.
        let Some(application) = self.applications.get(id) else { return Ok(self.not_in_memory(id, true, now)) };
        let mut report = self.report_application(application, rows, now);
        if !report.why.is_empty() {
            report.held_by_others = self.applications.unlaunched_of_others(Some(id), now);
        }
        let report = Arc::new(report);
        self.applications.last_report = Some(CachedReport { report: report.clone(), rows, at_mono_ms: now.mono_ms });
        Ok(ApplicationAnswer::Application(report))
    }

    fn report_application(&self, application: &Application, rows: RowPage, now: Now) -> ApplicationReport {
        let why = self.why_containers_wait(application);
        let app = self.applications.app(application.id());
        let paused = || self.why_queue_is_paused(&application.submitted.queue);
        let cannot_run =
            app.filter(|_| !application.is_over()).and_then(|app| paused().or_else(|| self.cannot_run(app)));
        let report = self.applications.report(application, self.cost_of_application(application), why, rows, now);
        ApplicationReport { cannot_run, ..report }
    }

    fn list_applications(&self, asker: &ApplicationCaller, filter: &ApplicationFilter, now: Now) -> Answered {
        let caller = user_of(asker)?;
        let sees_all = self.sees_all(asker);
        let matching = |application: &&Application| {
            (sees_all || application.submitted.user == caller.user)
                && (filter.states.is_empty() || filter.states.contains(&application.standing.state))
                && filter.user.as_deref().is_none_or(|user| *user == *application.submitted.user)
                && filter.queue.as_deref().is_none_or(|queue| *queue == *application.submitted.queue)
                && filter.after.is_none_or(|after| application.id() < after)
        };
        let mut found = self.applications.iter().rev().filter(matching);
        let rows = RowPage { after: 0, most: filter.rows };
        let (mut applications, mut bytes) = (Vec::new(), 0);
        while bytes < STEP_BYTES
            && applications.len() < filter.limit
            && let Some(application) = found.next()
        {
            let report = self.report_application(application, rows, now);
            bytes += report.approximate_bytes();
            applications.push(report);
        }
        let next = found.next().and(applications.last()).map(|last: &ApplicationReport| last.id);
        let store = self.store_view(sees_all, now);
        Ok(ApplicationAnswer::Applications { applications, next, store })
    }

    /// Whether the caller sees the applications of every user.
    fn sees_all(&self, asker: &ApplicationCaller) -> bool {
        match asker {
            ApplicationCaller::User { caller, is_administrator, .. } => {
                *is_administrator || self.is_administrator(caller)
            }
            ApplicationCaller::Application { .. } => false,
        }
    }

    fn store_view(&self, sees_all: bool, now: Now) -> StoreView {
        StoreView { sees_all, terms: self.applications.stored_terms(), now }
    }

    fn not_in_memory(&self, application: ApplicationId, sees_all: bool, now: Now) -> ApplicationAnswer {
        ApplicationAnswer::NotInMemory(application, self.store_view(sees_all, now))
    }

    fn list_containers(&self, application: ApplicationId, filter: &ContainerFilter) -> Answered {
        let (containers, next) = self.applications.containers(application, filter)?;
        let known = self.applications.get(application);
        let stored_through = known.map_or(0, |known| known.counts.stored_through);
        Ok(ApplicationAnswer::Containers { containers, next, stored_through })
    }

    /// Where the logs of a container are: its worker serves them, also of those that ended, while it is there.
    fn log_place(&self, id: ContainerId, now: Now) -> Answered {
        let container = self.applications.container(id).ok_or(ApplicationRefusal::NoSuchContainer(id))?;
        let application =
            self.applications.get(id.application).ok_or(ApplicationRefusal::NoSuchApplication(id.application))?;
        self.log_place_of(container, application.submitted.secret, now)
    }

    fn log_place_of(&self, container: &Container, secret: ApplicationSecret, now: Now) -> Answered {
        let (id, node) = (container.id, container.node.id.to_string());
        if self.trackers.id_of(&container.node.tracker).is_none() {
            return Err(ApplicationRefusal::LogsLost { container: id, node });
        }
        let expires_ms = now.wall_ms.saturating_add(LOG_TICKET_MS);
        let ticket = LogKey::of_token(secret.as_bytes()).container_ticket(id, expires_ms);
        Ok(ApplicationAnswer::Logs { node_http_address: node, expires_ms, ticket })
    }
}

/// The user that asks; applications may not ask this.
fn user_of(asker: &ApplicationCaller) -> Result<&Caller, ApplicationRefusal> {
    match asker {
        ApplicationCaller::User { caller, .. } => Ok(caller),
        ApplicationCaller::Application { application, .. } => Err(ApplicationRefusal::Forbidden(format!(
            "the secret of {application} is good for its own addresses alone"
        ))),
    }
}

fn name_of(asker: &ApplicationCaller) -> Arc<str> {
    match asker {
        ApplicationCaller::User { caller, .. } => Arc::clone(&caller.user),
        ApplicationCaller::Application { application, .. } => application.to_string().into(),
    }
}
