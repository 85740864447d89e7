//! The owner of the small cluster: what the API never asks answers that it is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::api::applications::ContainerState;
use crate::api::{
    CounterSpread, JobCounter, JobEvent, MovementReason, PriceHistory, PricePoint, Report, ReportRow, ReportSubject,
    SpendingHistory, Statement, StatementRow, SwitchPlan, WorkRow,
};
use crate::engine::{Caller, ClusterSnapshot, Container, Explained, Refusal};
use crate::market::{Acl, HistoryPage, ReportRequest, StatementPage};
use crate::model::{ApplicationId, AttemptId, AttemptState, FactNumber, JobId, Kind, PerKind, QueueName};
use crate::store::{FactBatch, LoadedState};
use crate::views::{Generation, JobView, LastExplanation, LookAt, QueueSample, ReadModel, Sample, Samples, Shown};
use crate::web::applications::ApplicationOwner;
use crate::web::owner::{Health, LedgerUnreadable, MarketPresence, Owner, OwnerGone};
use crate::web::{JobPartsOwner, PlanQuestion, PlanRefusal, StockOwner, StockRead};

use super::plan::plan;
use super::said::{explanation, ticks};
use super::stage::{Handle, START_MS, accepted, attempt_ended, container, credits, launched};

impl ApplicationOwner for Handle {}

impl JobPartsOwner for Handle {
    async fn job_counters(&self, _job: JobId) -> Result<Option<Vec<JobCounter>>, LedgerUnreadable> {
        let counter = |id: &str, value, tasks| JobCounter {
            group: "Map-Reduce Framework".to_owned(),
            group_id: "org.apache.hadoop.mapred.Task$Counter".to_owned(),
            id: id.to_owned(),
            name: id.to_lowercase(),
            value,
            tasks,
        };
        let tasks = CounterSpread::of(vec![3, 1, 8]);
        Ok(Some(vec![counter("MAP_INPUT_RECORDS", 12, tasks), counter("SPILLED_RECORDS", 7, None)]))
    }

    async fn job_events(&self, job: JobId, first: usize, most: usize) -> Result<Vec<JobEvent>, LedgerUnreadable> {
        let event = |number| JobEvent {
            number,
            attempt: job.task(Kind::Map, number).attempt(0),
            task: "map",
            status: "SUCCEEDED",
            tracker: "http://h:50060".to_owned(),
            run_time_ms: 30,
        };
        Ok((0..5).map(event).skip(first).take(most).collect())
    }
}

impl StockOwner for Handle {
    async fn stock_conf(&self, _job: JobId, _viewer: Option<Caller>) -> StockRead<Vec<(String, String)>> {
        let value = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Ok(Ok(Some(vec![value("mapred.job.name", "count words"), value("my.secret", "<redacted>")])))
    }
}

/// A generation that is kept.
fn earlier() -> Generation {
    Generation::parse("7.6").unwrap()
}

impl Owner for Handle {
    async fn shown(&self, _at: LookAt) -> Result<Shown, OwnerGone> {
        let views = self.0.views();
        let sample = |number: i64| Sample {
            time_ms: START_MS + number * 10_000,
            slots: PerKind::new(4, 2),
            used: PerKind::new(1, 0),
            queues: vec![QueueSample { queue: "alice".into(), used: 1, waiting: 6 }],
            ..Sample::default()
        };
        let samples = Samples::of((0..7).map(sample).collect(), ticks());
        Ok(Shown { views, overview: Arc::new(self.0.overview()), samples, ..Shown::default() })
    }

    fn shown_at(&self, generation: Generation) -> Option<Shown> {
        (generation == earlier()).then(|| Shown { views: self.0.views(), generation, ..Shown::default() })
    }

    async fn last_explanation(&self, job: JobId) -> Result<Option<LastExplanation>, OwnerGone> {
        Ok(match job.number {
            1 => Some(LastExplanation::of(None)),
            2 => Some(LastExplanation::of(Some(Explained::from(explanation(job))))),
            _ => None,
        })
    }

    async fn ended_job(&self, job: JobId) -> Result<Option<Arc<JobView>>, OwnerGone> {
        // As it was before its end: one of its maps was done.
        let mut model = ReadModel::load(&LoadedState::default(), 9);
        let number = job.number;
        let facts =
            vec![accepted(number, "gone"), launched(number, 0), attempt_ended(number, 0, AttemptState::Succeeded, "")];
        model.apply(&FactBatch { first: FactNumber(1), facts }).unwrap();
        Ok(model.views().job(job).cloned())
    }

    async fn complete_containers(
        &self,
        _application: ApplicationId,
        after: u64,
        _failed_only: bool,
        most: usize,
    ) -> Result<Vec<Container>, LedgerUnreadable> {
        let complete = |item| container(item, ContainerState::Complete);
        Ok([1, 2, 4].into_iter().map(complete).filter(|found| found.id.number > after).take(most).collect())
    }

    fn market_presence(&self) -> MarketPresence {
        self.1
    }

    async fn price_history(&self, _page: HistoryPage) -> Result<PriceHistory, LedgerUnreadable> {
        Ok(PriceHistory { step_ms: 7, points: vec![PricePoint::of(3, START_MS + 30, credits("4.6"))] })
    }

    async fn spending_history(
        &self,
        queue: QueueName,
        _page: HistoryPage,
    ) -> Result<Option<SpendingHistory>, LedgerUnreadable> {
        Ok(Some(SpendingHistory { queue, step_ms: 7, points: Vec::new() }))
    }

    async fn statement(&self, queue: QueueName, page: StatementPage) -> Result<Option<Statement>, LedgerUnreadable> {
        let row = |number| StatementRow {
            number,
            time_ms: START_MS,
            day: None,
            movements: 1,
            tick: 1,
            reason: MovementReason::TopUp,
            rate: None,
            interval_ms: None,
            map_slot_ms: None,
            reduce_slot_ms: None,
            container_slot_ms: None,
            map_slots: None,
            reduce_slots: None,
            container_slots: None,
            other_queue: None,
            by: None,
            note: None,
            amount: credits("88.7319"),
            balance: Some(credits("7319.625")),
        };
        let rows = (1..=5).filter(|number| page.before.is_none_or(|before| *number < before)).map(row).collect();
        let is_known = queue.as_str() == "alice";
        let balance = credits("7319.625");
        Ok(is_known.then_some(Statement { queue, balance, rows, has_earlier: false }))
    }

    async fn report(&self, request: ReportRequest) -> Result<Report, LedgerUnreadable> {
        let row = |name: &str| ReportRow {
            month: None,
            subject: ReportSubject::Job(name.to_owned()),
            work: Some(WorkRow { user: "alice".to_owned(), queue: "alice".to_owned(), ..WorkRow::default() }),
            jobs: 1,
            map_slot_seconds: 2,
            reduce_slot_seconds: 3,
            container_slot_seconds: 0,
            waited_s: 1,
            failed: 0,
            charged: credits("88.7319"),
        };
        Ok(Report {
            report: request.kind.name().to_owned(),
            since_ms: request.since_ms,
            until_ms: request.until_ms,
            rows: vec![row("job_202611211200_0001"), row(ReportSubject::OTHER)],
            complete_since_ms: None,
            daily_until_ms: None,
            next: request.after.is_none().then_some(1),
        })
    }

    fn health(&self) -> Health {
        let at_ms = self.0.now_ms.load(Ordering::SeqCst);
        Health { is_alive: true, is_ready: true, text: "ok".to_owned(), at_ms, ..Health::default() }
    }

    async fn acl(&self) -> Arc<Acl> {
        self.0.acl()
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        Err(OwnerGone)
    }

    async fn check_view_logs(&self, _attempt: AttemptId, user: Arc<str>) -> Result<Result<(), Refusal>, OwnerGone> {
        // The list of every job names bob, and carol is in no list.
        Ok(if &*user == "bob" { Ok(()) } else { Err(Refusal::AccessDenied(format!("{user} may not"))) })
    }

    async fn plan_switch(&self, question: PlanQuestion) -> Result<SwitchPlan, PlanRefusal> {
        match (question.to.as_str(), question.sees_money) {
            ("dynamic", false) => Err(PlanRefusal::Private),
            ("fair", _) => Ok(plan(question.move_to)),
            ("capacity", _) => Err(PlanRefusal::Files("capacity-scheduler.xml:7: 130 is above 100".to_owned())),
            ("fifo", _) => Err(PlanRefusal::Busy),
            (other, _) => Err(PlanRefusal::UnknownScheduler(format!("{other:?} is not a scheduler: expected fifo"))),
        }
    }
}
