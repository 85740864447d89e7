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
use super::address::Address;
use super::answer::{Form, Found, respond};
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
    pub(super) async fn serve(&self, address: Address, parts: PathParts, request: Request) -> Response<Body> {
        let (head, _) = request.into_parts();
        let (uri, method) = (&head.uri, &head.method);
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Problem::of_method(method.as_str(), "GET, HEAD".to_owned()).response(uri.path());
        }
        let answered = match address {
            Address::Events => events(&self.web, &head).await,
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

    async fn answer(&self, address: Address, parts: PathParts, head: &Parts) -> Result<Response<Body>, Problem> {
        let (uri, headers) = (&head.uri, &head.headers);
        let mut parameters = QueryParameters::with_repeated(uri, address.repeated());
        let form = Form::read(&mut parameters, headers, address.is_list());
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

async fn find<O: Owner>(address: Address, ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Found, Problem> {
    match address {
        Address::Cluster => cluster::cluster(ask, parameters),
        Address::Health => cluster::health(ask, parameters),
        Address::Jobs => jobs::jobs(ask, parameters),
        Address::Job => jobs::job(ask, parameters).await,
        Address::JobAttempts => job_parts::attempts(ask, parameters).await,
        Address::JobTasks => job_parts::tasks(ask, parameters).await,
        Address::JobGrid => job_parts::grid(ask, parameters).await,
        Address::JobWaits => job_parts::job_waits(ask, parameters).await,
        Address::JobTimeline => timeline::timeline(ask, parameters).await,
        Address::JobExplain => jobs::explain(ask, parameters).await,
        Address::JobCounters => job_parts::counters(ask, parameters).await,
        Address::JobEvents => job_parts::events(ask, parameters).await,
        Address::JobConf => job_parts::conf(ask, parameters).await,
        Address::Applications => applications::applications(ask, parameters),
        Address::Application => applications::application(ask, parameters),
        Address::Containers => applications::containers(ask, parameters).await,
        Address::Items => items::items(ask, parameters),
        Address::ItemGrid => items::grid(ask, parameters).await,
        Address::Workers => workers::workers(ask, parameters),
        Address::Worker => workers::worker(ask, parameters),
        Address::Racks => workers::racks(ask, parameters),
        Address::Slots => slots::slots(ask, parameters).await,
        Address::Queues => queues::queues(ask, parameters),
        Address::Queue => queues::queue(ask, parameters),
        Address::Statement => queues::statement(ask, parameters).await,
        Address::Spending => queues::spending(ask, parameters).await,
        Address::Market => market::market(ask, parameters),
        Address::Prices => market::prices(ask, parameters).await,
        Address::Shares => samples::shares(ask, parameters),
        Address::Quotes => market::quotes(ask, parameters).await,
        Address::Policy => policy::policy(ask, parameters),
        Address::PolicyPlan => policy::plan(ask, parameters).await,
        Address::Deadlines => policy::deadlines(ask, parameters),
        Address::Decisions => decisions::decisions(ask, parameters),
        Address::Decision => decisions::decision(ask, parameters),
        Address::Orders => market::orders(ask, parameters),
        Address::Samples => samples::samples(ask, parameters),
        // Answered before.
        Address::Events => Err(Problem::no_such_address(ask.uri.path())),
        Address::Users => people::users(ask, parameters),
        Address::User => people::user(ask, parameters),
        Address::Report => reports::report(ask, parameters).await,
        Address::History => reports::history(ask, parameters).await,
    }
}
