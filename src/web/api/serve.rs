//! How a request is answered: method, form, what is shown, parameters, the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CACHE_CONTROL;
use axum::http::request::Parts;
use axum::http::{Method, Response};
use tokio::time::timeout;

use crate::views::{Generation, LookAt, Shown};

use super::super::applications::{PathParts, Problem, ProblemName, QueryParameters};
use super::super::cluster_view::unavailable;
use super::super::identify::viewer_of_program;
use super::super::owner::Owner;
use super::super::response::OF_ONE_READER;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::address::ApiAddress;
use super::answer::{AnswerForm, Content, respond};
use super::ask::{Ask, refused_bearer};
use super::events::events;
use super::{
    applications, cluster, decisions, items, job_parts, jobs, market, people, policy, queues, reports, samples, slots,
    timeline, workers,
};

/// What answers requests.
#[derive(Debug)]
pub(super) struct Api<O> {
    web: Arc<WebState<O>>,
}

impl<O: Owner> Api<O> {
    pub(super) const fn new(web: Arc<WebState<O>>) -> Self {
        Self { web }
    }

    /// Answers a request, or says by a problem why it does not.
    pub(super) async fn serve(&self, address: ApiAddress, parts: PathParts, request: Request) -> Response<Body> {
        let (head, _) = request.into_parts();
        let (uri, method) = (&head.uri, &head.method);
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Problem::of_method(method.as_str(), "GET, HEAD".to_owned()).response(uri.path());
        }
        let answered = match address {
            ApiAddress::Events => events(&self.web, &head).await,
            _ => self.answer(address, parts, &head).await,
        };
        match answered {
            Ok(response) => response,
            Err(problem) => problem.response(uri.path()),
        }
    }

    /// What was shown at the generation that is asked for, else what is shown now.
    fn shown_at(&self, at: Option<Generation>, now: Shown) -> Result<Shown, Problem> {
        let Some(at) = at.filter(|at| *at != now.generation) else { return Ok(now) };
        self.web.owner.shown_at(at).ok_or_else(|| {
            let detail =
                format!("generation {} is shown, and {at} is not among the last that are kept", now.generation);
            Problem::new(ProblemName::StaleGeneration, detail)
        })
    }

    async fn answer(&self, address: ApiAddress, parts: PathParts, head: &Parts) -> Result<Response<Body>, Problem> {
        let (uri, headers) = (&head.uri, &head.headers);
        let mut parameters = QueryParameters::with_repeated(uri, address.repeated());
        let form = AnswerForm::read(&mut parameters, headers, address.is_list());
        let at = parameters.parsed("at", "a generation such as 12.3", Generation::parse);
        form.check(headers, address.is_list())?;
        let (viewer, _) = viewer_of_program(&self.web, headers, head.extensions.get()).await.map_err(refused_bearer)?;
        let shown = timeout(ANSWER_TIMEOUT, self.web.owner.shown(LookAt::OfLate)).await.ok().and_then(Result::ok);
        let shown = shown.ok_or_else(|| Problem::new(ProblemName::Unavailable, unavailable(&self.web)))?;
        let shown = self.shown_at(at, shown)?;
        let ask = Ask { web: &*self.web, uri, parts, viewer, shown };
        let found = find(address, &ask, parameters).await?;
        let mut response = respond(found, form, headers, &ask.shown);
        if ask.viewer.signed_in().is_some() {
            response.headers_mut().insert(CACHE_CONTROL, OF_ONE_READER);
        }
        Ok(response)
    }
}

async fn find<O: Owner>(
    address: ApiAddress,
    ask: &Ask<'_, O>,
    parameters: QueryParameters,
) -> Result<Content, Problem> {
    match address {
        ApiAddress::Cluster => cluster::cluster(ask, parameters),
        ApiAddress::Health => cluster::health(ask, parameters),
        ApiAddress::Jobs => jobs::jobs(ask, parameters),
        ApiAddress::Job => jobs::job(ask, parameters).await,
        ApiAddress::JobAttempts => job_parts::attempts(ask, parameters).await,
        ApiAddress::JobTasks => job_parts::tasks(ask, parameters).await,
        ApiAddress::JobGrid => job_parts::grid(ask, parameters).await,
        ApiAddress::JobWaits => job_parts::job_waits(ask, parameters).await,
        ApiAddress::JobTimeline => timeline::timeline(ask, parameters).await,
        ApiAddress::JobExplain => jobs::explain(ask, parameters).await,
        ApiAddress::JobCounters => job_parts::counters(ask, parameters).await,
        ApiAddress::JobEvents => job_parts::events(ask, parameters).await,
        ApiAddress::JobConf => job_parts::conf(ask, parameters).await,
        ApiAddress::Applications => applications::applications(ask, parameters),
        ApiAddress::Application => applications::application(ask, parameters),
        ApiAddress::Containers => applications::containers(ask, parameters).await,
        ApiAddress::Items => items::items(ask, parameters),
        ApiAddress::ItemGrid => items::grid(ask, parameters).await,
        ApiAddress::Workers => workers::workers(ask, parameters),
        ApiAddress::Worker => workers::worker(ask, parameters),
        ApiAddress::Racks => workers::racks(ask, parameters),
        ApiAddress::Slots => slots::slots(ask, parameters).await,
        ApiAddress::Queues => queues::queues(ask, parameters),
        ApiAddress::Queue => queues::queue(ask, parameters),
        ApiAddress::Statement => queues::statement(ask, parameters).await,
        ApiAddress::Spending => queues::spending(ask, parameters).await,
        ApiAddress::Market => market::market(ask, parameters),
        ApiAddress::Prices => market::prices(ask, parameters).await,
        ApiAddress::Shares => samples::shares(ask, parameters),
        ApiAddress::Quotes => market::quotes(ask, parameters).await,
        ApiAddress::Policy => policy::policy(ask, parameters),
        ApiAddress::PolicyPlan => policy::plan(ask, parameters).await,
        ApiAddress::Deadlines => policy::deadlines(ask, parameters),
        ApiAddress::Decisions => decisions::decisions(ask, parameters),
        ApiAddress::Decision => decisions::decision(ask, parameters),
        ApiAddress::Orders => market::orders(ask, parameters),
        ApiAddress::Samples => samples::samples(ask, parameters),
        // Answered before.
        ApiAddress::Events => Err(Problem::no_such_address(ask.uri.path())),
        ApiAddress::Users => people::users(ask, parameters),
        ApiAddress::User => people::user(ask, parameters),
        ApiAddress::Report => reports::report(ask, parameters).await,
        ApiAddress::History => reports::history(ask, parameters).await,
    }
}
