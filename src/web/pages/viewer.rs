//! The cluster as a request may see it, by who asks, and what all pages show around their content.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, REFERRER_POLICY, RETRY_AFTER, VARY};
use axum::http::{HeaderValue, Response, StatusCode};
use tokio::time::timeout;

use crate::api::{BoughtSlots, Decision, PendingReason, PlaceInLine, PolicyName, ReportedGroup, ReportedJob};
use crate::engine::{Caller, ClusterSnapshot, JobSnapshot, QueueSnapshot};
use crate::market::Bidding;
use crate::model::{Credits, FactNumber, JobId, PerKind, PerPool, Pool};
use crate::views::{LastTick, LookAt, ReasonLog, Samples, Shown, Views};

use super::super::cluster_view::{ClusterView, views_complaint};
use super::super::identify::viewer_of_page;
use super::super::owner::{HEALTHY, Health, MarketPresence, Owner};
use super::super::quotes::{QuoteRow, container_slots};
use super::super::response::OF_ONE_READER;
use super::super::signed_request::HttpRequest;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::super::time_text::format_duration;
use super::super::viewer;
use super::super::viewer::Viewer;
use super::super::worker_health::WorkerHealth;
use super::asked::{Asked, encoded};
use super::error::Refused;
use super::page::{Page, PageFrame};
use super::piece::Piece;

/// The cluster as a request may see it.
pub(super) struct View {
    cluster: ClusterView,
    views: Views,
    samples: Samples,
    generation: String,
    pub(super) health: Health,
    market: MarketPresence,
    /// Whether a JobTracker runs.
    is_live: bool,
    viewer: Viewer,
    /// Slots for containers beside map and reduce slots.
    container_slots: u32,
}

impl View {
    /// The newest view of the cluster, with the jobs as the policy has them.
    pub(super) async fn of<O: Owner>(state: &WebState<O>, request: &HttpRequest) -> Result<Self, Refused> {
        let shown = timeout(ANSWER_TIMEOUT, state.owner.shown(LookAt::Policy)).await.ok().and_then(Result::ok);
        let cluster = ClusterView::found(state, shown.as_ref().map(|shown| shown.overview.clone()));
        let cluster = cluster.map_err(Refused::unavailable)?;
        let Shown { views, samples, generation, .. } = shown.unwrap_or_default();
        let market = state.owner.market_presence();
        let container_slots = container_slots(&cluster.overview, state.container_slot);
        Ok(Self {
            cluster,
            views,
            samples,
            generation: generation.to_string(),
            health: state.owner.health(),
            market,
            is_live: state.owner.is_live(),
            viewer: viewer_of_page(state, request).await,
            container_slots,
        })
    }

    #[cfg(test)]
    pub(super) fn of_snapshot(overview: ClusterSnapshot, is_market_ruling: bool, is_market_public: bool) -> Self {
        let cluster = ClusterView { overview: Arc::new(overview), old: None };
        let market = if is_market_ruling { MarketPresence::Ruling } else { MarketPresence::Absent };
        let health = Health { is_alive: true, is_ready: true, text: HEALTHY.to_owned(), ..Health::default() };
        Self {
            cluster,
            views: Views::default(),
            samples: Samples::default(),
            generation: "12.3".to_owned(),
            health,
            market,
            is_live: true,
            viewer: Viewer::stranger(is_market_public, false),
            container_slots: 0,
        }
    }

    /// The same with what facts have made.
    #[cfg(test)]
    pub(super) fn with_views(self, views: Views) -> Self {
        Self { views, ..self }
    }

    #[cfg(test)]
    pub(super) fn with_samples(self, samples: Samples) -> Self {
        Self { samples, ..self }
    }

    /// The same as another viewer sees it.
    #[cfg(test)]
    pub(super) fn seen_by(self, change: impl FnOnce(Viewer) -> Viewer) -> Self {
        Self { viewer: change(self.viewer), ..self }
    }

    pub(super) fn overview(&self) -> &Arc<ClusterSnapshot> {
        &self.cluster.overview
    }

    /// What facts have made.
    pub(super) fn views(&self) -> &Views {
        &self.views
    }

    /// The newest decisions, the newest first.
    pub(super) fn decisions(&self) -> impl Iterator<Item = Decision> + '_ {
        viewer::decisions(&self.views, &self.viewer)
    }

    /// Those about a job, the newest first.
    pub(super) fn decisions_of(&self, job: JobId) -> impl Iterator<Item = Decision> + '_ {
        viewer::decisions_of(&self.views, &self.viewer, job)
    }

    /// A decision; none that is closed to the viewer.
    pub(super) fn decision(&self, number: FactNumber) -> Option<Decision> {
        viewer::decision(&self.views, &self.viewer, number)
    }

    pub(super) fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Why a job waited, as far as it was sampled.
    pub(super) fn wait_reasons(&self, job: JobId) -> Option<&ReasonLog> {
        self.samples.reasons(job)
    }

    /// Whether the words and places of all that runs are open to the viewer.
    pub(super) fn shows_all_details(&self) -> bool {
        self.viewer.sees_all_parts()
    }

    /// Whether those of a user's applications are.
    pub(super) fn shows_details_of(&self, user: &str) -> bool {
        self.viewer.sees_parts_of(user)
    }

    pub(super) fn signed_in(&self) -> Option<&str> {
        self.viewer.signed_in()
    }

    /// The moment of what is shown, epoch ms.
    pub(super) fn at_ms(&self) -> i64 {
        self.overview().at_ms
    }

    pub(super) fn has_market(&self) -> bool {
        self.market == MarketPresence::Ruling
    }

    /// Whether shares, rates and balances are shown, of all queues or of the viewer's own.
    pub(super) fn shows_money(&self) -> bool {
        self.has_market() && self.viewer.sees_some_money()
    }

    /// Whether those of all queues are.
    pub(super) fn shows_all_money(&self) -> bool {
        self.has_market() && self.viewer.sees_all_money()
    }

    /// Whether those of a queue are.
    pub(super) fn shows_money_of(&self, queue: &str) -> bool {
        self.has_market() && self.viewer.sees_money_of(queue)
    }

    /// Whether reasons of the market are hidden of a queue, also of times when it ruled while another scheduler does.
    pub(super) fn hides_money_of(&self, queue: &str) -> bool {
        !self.viewer.sees_money_of(queue)
    }

    /// Whether costs are shown, of all jobs or of the viewer's own. They stay while another scheduler rules.
    pub(super) fn shows_costs(&self) -> bool {
        self.market != MarketPresence::Absent && self.viewer.sees_some_money()
    }

    /// Whether those of all jobs are, whatever rules.
    pub(super) fn shows_every_cost(&self) -> bool {
        self.viewer.sees_all_money()
    }

    /// Whether those of a user's jobs and applications in a queue are.
    pub(super) fn shows_cost_of(&self, user: &str, queue: &str) -> bool {
        self.market != MarketPresence::Absent && self.viewer.sees_cost_of(user, queue)
    }

    /// What a queue has bought; none where that is private.
    pub(super) fn bought<'a>(&self, group: &'a ReportedGroup) -> Option<&'a BoughtSlots> {
        group.bought.as_ref().filter(|_| self.shows_money_of(&group.name))
    }

    /// A job's places in line: in a market they are the order of the rates.
    pub(super) fn place(&self, job: &ReportedJob) -> PerKind<Option<PlaceInLine>> {
        if self.hides_market_of(job) { PerKind::default() } else { job.place }
    }

    /// Why the policy holds a job back, without what is private of its queue.
    pub(super) fn held_back_by(&self, job: &ReportedJob) -> Vec<PendingReason> {
        let hides_market = self.hides_market_of(job);
        job.held_back_by.iter().filter(|reason| !(hides_market && reason.is_of_market())).cloned().collect()
    }

    fn hides_market_of(&self, job: &ReportedJob) -> bool {
        self.overview().report.policy == PolicyName::Dynamic && !self.shows_money_of(&job.group)
    }

    /// What a rate would buy for a queue at the next tick; none where that is private, before the first tick, and of an unknown
    /// queue.
    pub(super) fn quote(&self, queue: &str, rate: Credits) -> Option<QuoteRow> {
        let (tick, bidding) = self.bidding(queue)?;
        Some(QuoteRow::of(&bidding.quote(rate), tick))
    }

    /// The search for the smallest rate that buys a queue so many slots more than its present bid; none as for a quote.
    pub(super) fn search_more(
        &self,
        queue: &str,
        more: u32,
    ) -> Option<impl FnOnce() -> Option<QuoteRow> + Send + 'static> {
        let (tick, bidding) = self.bidding(queue)?;
        let bid = self.views.market().account(queue)?.bid();
        let slots = |quota: PerPool<u32>| Pool::ALL.into_iter().map(|pool| u64::from(quota[pool])).sum::<u64>();
        Some(move || {
            let enough = slots(bidding.quote(bid).quota).saturating_add(more.into());
            bidding.least_rate(|quota| slots(quota) >= enough).map(|quote| QuoteRow::of(&quote, tick))
        })
    }

    fn bidding(&self, queue: &str) -> Option<(LastTick, Bidding)> {
        let market = self.views.market();
        let tick = market.tick().filter(|_| self.shows_money_of(queue))?;
        Some((tick, market.bidding(&queue.parse().ok()?, self.overview(), self.container_slots)?))
    }

    pub(super) fn cost<'a>(&self, job: &'a JobSnapshot) -> Option<&'a str> {
        job.cost.as_deref().filter(|_| self.shows_cost_of(&job.user, &job.queue))
    }

    /// A queue's share of the market.
    pub(super) fn share<'a>(&self, queue: &'a QueueSnapshot) -> Option<&'a str> {
        queue.share.as_deref().filter(|_| self.shows_money_of(&queue.name))
    }

    /// The shares that are not shown one by one, whose sum may be; none where a signed-in viewer could tell from it what a single
    /// queue has.
    pub(super) fn summed_shares(&self) -> Vec<f64> {
        let is_hidden = |queue: &&QueueSnapshot| self.shows_money() && !self.shows_money_of(&queue.name);
        let shares = self.overview().queues.iter().filter(is_hidden).filter_map(|queue| queue.share.as_deref());
        let shares: Vec<f64> = shares.filter_map(|share| share.parse().ok()).filter(|share| *share > 0.0).collect();
        if shares.len() > 1 { shares } else { Vec::new() }
    }

    pub(super) fn balance(&self, queue: &str) -> Option<Credits> {
        let money = self.overview().money.as_ref().filter(|_| self.shows_money_of(queue))?;
        money.balances.iter().find(|(name, _)| name == queue).map(|(_, balance)| *balance)
    }

    /// Whose part of a report is shown, of all where no user is named; none: no report is.
    pub(super) fn report_of(&self, is_open: bool) -> Option<Option<String>> {
        match self.signed_in() {
            _ if is_open || (self.signed_in().is_some() && self.viewer.sees_all_money()) => Some(None),
            user => user.map(|user| Some(user.to_owned())),
        }
    }

    /// Whether a JobTracker runs, which can be asked.
    pub(super) const fn is_live(&self) -> bool {
        self.is_live
    }

    pub(super) const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// The caller that access lists know the viewer as.
    pub(super) fn caller(&self) -> Caller {
        self.viewer.caller()
    }

    /// What is wrong, the gravest first.
    pub(super) fn complaints(&self) -> Vec<String> {
        let not_ready = !(self.health.is_alive && self.health.is_ready);
        let ready = (not_ready || self.health.text != HEALTHY).then(|| self.health.text.clone());
        let ready =
            ready.filter(|text| !text.is_empty() && self.health.complaints().all(|complaint| complaint != text));
        let workers = WorkerHealth::complaint_of(self.overview());
        let old = self.old_text().or_else(|| views_complaint(&self.health, self.overview()));
        let others = self.health.complaints().map(str::to_owned);
        old.into_iter().chain(ready).chain(workers).chain(others).collect()
    }

    fn old_text(&self) -> Option<String> {
        let (age_s, why) = self.cluster.old.as_ref()?;
        Some(format!("what is shown is {} old: {why}", format_duration(age_s.saturating_mul(1_000))))
    }

    /// The answer to a request for a page of it, with the age of what it shows.
    pub(super) fn answer(&self, page: &Page, asked: &Asked) -> Response<Body> {
        let mut answer = self.cluster.aged(page.answer(self.frame(), asked));
        let headers = answer.headers_mut();
        // Who looks decides what is shown.
        headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding, Cookie"));
        if self.signed_in().is_some() {
            headers.insert(CACHE_CONTROL, OF_ONE_READER);
        }
        if self.signed_in().is_some() || page.has_sent_form() {
            // What is sent by POST says where it is from: the form that ends a session, too.
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        }
        answer
    }

    /// The answer that says why there is no such page.
    pub(super) fn refuse(&self, refused: &Refused, asked: &Asked) -> Response<Body> {
        let mut answer = match asked.is_csv {
            true => refused.line(),
            false => self.answer(&refused.page(), &asked.as_whole()),
        };
        if refused.status == StatusCode::TOO_MANY_REQUESTS {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }

    fn frame(&self) -> PageFrame {
        let overview = self.overview();
        let complaints = self.complaints();
        let is_well = complaints.is_empty();
        PageFrame {
            entries: entries(self.has_market(), self.is_live, overview.report.policy),
            is_well,
            health: match complaints.len() {
                0 => "well".to_owned(),
                1 => "1 complaint".to_owned(),
                count => format!("{count} complaints"),
            },
            generation: self.generation.clone(),
            as_of: vec![Piece::moment(overview.at_ms)],
            stale: self.old_text(),
            notices: Vec::new(),
            signed_in: self.signed_in().map(|user| (user.to_owned(), format!("/users/{}", encoded(user)))),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The pages of the navigation.
fn entries(has_market: bool, is_live: bool, policy: PolicyName) -> Vec<(&'static str, &'static str)> {
    let mut entries = vec![("/", "Overview"), ("/jobs", "Jobs"), ("/queues", "Queues")];
    if has_market {
        entries.push(("/market", "Market"));
    }
    if policy == PolicyName::Constraint {
        entries.push(("/deadlines", "Deadlines"));
    }
    entries.extend([("/workers", "Workers"), ("/slots", "Slots"), ("/policy", "Policy")]);
    if is_live {
        entries.push(("/what-if", "What if"));
    }
    entries.extend([
        ("/decisions", "Decisions"),
        ("/users", "Users"),
        ("/reports/users", "Reports"),
        ("/health", "Health"),
    ]);
    entries
}
