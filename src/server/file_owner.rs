//! In the place of the owner where no JobTracker runs: it answers from a file alone, and what only an owner could answer it refuses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::api::{
    JobCounter, JobDetail, JobEvent, LiveAttempt, PolicyName, PriceHistory, Report, SpendingHistory, Statement,
};
use crate::clock::wall_ms;
use crate::config::xml;
use crate::engine::{Caller, ClusterSnapshot, Container, JobSnapshot, Refusal};
use crate::market::{HistoryPage, Market, MarketConfig, ReportRequest, StatementPage};
use crate::model::{ApplicationId, Capability, JobId, QueueName};
use crate::store::{FinishedJobReader, LoadedState, StateFile};
use crate::views::{JobView, LookAt, ReadModel, Shown, StoredScheduler, StoredViews};
use crate::web::{
    ApplicationOwner, Health, JobFilter, JobPartsOwner, LedgerUnreadable, MarketPresence, Owner, OwnerGone, StockOwner,
    StockRead,
};

use super::ledger_reads::LedgerReads;
use super::shown_jobs::{MOST_LIVE, counters_of, detail_of, events_of, read_on_pool};
use super::stock_of_web::shown_properties;

/// Longest job.xml that is shown, bytes.
const MOST_CONF_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub(crate) struct FileOwner {
    file: PathBuf,
    views: Arc<StoredViews>,
    ledger: LedgerReads,
    opened: Arc<StateFile>,
    market: MarketPresence,
    /// Whether jobs are shown whatever their access lists say.
    shows_all: bool,
}

impl FileOwner {
    /// Of a file that is open; `scheduler`: the one that ruled.
    pub(crate) fn new(
        file: &Path,
        (opened, loaded): (StateFile, &LoadedState),
        (finished_jobs, shows_all): (usize, bool),
        scheduler: &StoredScheduler,
        container_slot: Capability,
    ) -> Self {
        let model = ReadModel::load(loaded, finished_jobs);
        let has_accounts = model.views().market().accounts().next().is_some();
        let totals = has_accounts.then(|| {
            let mut market = Market::new(MarketConfig::default(), 0);
            loaded.market.iter().for_each(|fact| market.apply(fact));
            market.ledger()
        });
        Self {
            file: file.to_owned(),
            views: Arc::new(StoredViews::new(&model, scheduler, totals)),
            ledger: LedgerReads::new(opened.ledger().with_container_slot(container_slot)),
            opened: Arc::new(opened),
            shows_all,
            market: match (has_accounts, scheduler.policy) {
                (false, _) => MarketPresence::Absent,
                (true, PolicyName::Dynamic) => MarketPresence::Ruling,
                (true, _) => MarketPresence::Idle,
            },
        }
    }

    /// The last moment of which the file knows, epoch ms.
    pub(crate) fn at_ms(&self) -> i64 {
        self.views.shown().overview.at_ms
    }

    /// What a blocking read of jobs finds; a line of the log says why there is nothing.
    async fn read<T: Send + 'static>(
        &self,
        job: JobId,
        read: impl FnOnce(&FinishedJobReader) -> Result<Option<T>, crate::store::StoreError> + Send + 'static,
    ) -> Result<Option<T>, OwnerGone> {
        let reader = self.opened.finished_jobs();
        let read = spawn_blocking(move || read(&reader)).await.map_err(|_| OwnerGone)?;
        read.map_err(|error| {
            tracing::warn!("cannot read {job} for a page: {error}");
            OwnerGone
        })
    }
}

impl ApplicationOwner for FileOwner {}

impl JobPartsOwner for FileOwner {
    async fn job_counters(&self, job: JobId) -> Result<Option<Vec<JobCounter>>, LedgerUnreadable> {
        let reader = self.opened.finished_jobs();
        read_on_pool(move || counters_of(&reader, job)).await
    }

    async fn job_events(&self, job: JobId, first: usize, most: usize) -> Result<Vec<JobEvent>, LedgerUnreadable> {
        let reader = self.opened.finished_jobs();
        read_on_pool(move || events_of(&reader, job, first, most)).await
    }
}

impl StockOwner for FileOwner {
    async fn stock_conf(&self, job: JobId, _viewer: Option<Caller>) -> StockRead<Vec<(String, String)>> {
        let kept = self.read(job, move |reader| reader.job_xml(job, MOST_CONF_BYTES)).await?;
        let shown = kept.and_then(|bytes| xml::parse(&bytes).ok()).map(shown_properties);
        Ok(Ok(shown))
    }
}

impl Owner for FileOwner {
    fn is_live(&self) -> bool {
        false
    }

    fn market_presence(&self) -> MarketPresence {
        self.market
    }

    async fn statement(&self, queue: QueueName, page: StatementPage) -> Result<Option<Statement>, LedgerUnreadable> {
        self.ledger.read(|ledger| &ledger.statements, move |reader| reader.statement(&queue, page)).await
    }

    async fn price_history(&self, page: HistoryPage) -> Result<PriceHistory, LedgerUnreadable> {
        self.ledger.read(|ledger| &ledger.prices, move |reader| reader.price_history(page)).await
    }

    async fn spending_history(
        &self,
        queue: QueueName,
        page: HistoryPage,
    ) -> Result<Option<SpendingHistory>, LedgerUnreadable> {
        self.ledger.read(|ledger| &ledger.statements, move |reader| reader.spending_history(&queue, page)).await
    }

    async fn report(&self, request: ReportRequest) -> Result<Report, LedgerUnreadable> {
        let now_ms = self.at_ms();
        self.ledger.read(|ledger| &ledger.statements, move |reader| reader.report(&request, now_ms)).await
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        Ok(self.views.shown().overview)
    }

    async fn shown(&self, _at: LookAt) -> Result<Shown, OwnerGone> {
        Ok(self.views.shown())
    }

    async fn ended_job(&self, job: JobId) -> Result<Option<Arc<JobView>>, OwnerGone> {
        let stored = self.read(job, move |reader| reader.job(job)).await?;
        Ok(stored.map(|stored| Arc::new(JobView::of_stored(&stored))))
    }

    async fn complete_containers(
        &self,
        application: ApplicationId,
        after: u64,
        failed_only: bool,
        limit: usize,
    ) -> Result<Vec<Container>, LedgerUnreadable> {
        let reader = self.opened.stored_applications();
        read_on_pool(move || reader.containers(application, (after, u64::MAX), failed_only, limit)).await
    }

    async fn job_detail(&self, job: JobId, _viewer: Caller) -> Result<Result<Option<JobDetail>, Refusal>, OwnerGone> {
        if !self.shows_all {
            let why = "access lists may keep it: start jobtracker pages with --show-all, which shows it to everybody";
            return Ok(Err(Refusal::AccessDenied(why.to_owned())));
        }
        let known = self.views.shown().views.job(job).cloned();
        let (known, is_over) = match known.filter(|known| known.finish_ms().is_none()) {
            Some(known) => (Some(known), false),
            None => (self.ended_job(job).await?, true),
        };
        let Some(known) = known else { return Ok(Ok(None)) };
        detail_of(known, is_over).await.map(|detail| Ok(Some(detail)))
    }

    async fn jobs(&self, filter: JobFilter, most: usize) -> Result<(Vec<JobSnapshot>, u64), OwnerGone> {
        let views = self.views.clone();
        spawn_blocking(move || views.jobs(|job| filter.passes(job), most)).await.map_err(|_| OwnerGone)
    }

    async fn live_attempts(&self) -> Result<Vec<LiveAttempt>, OwnerGone> {
        let views = self.views.shown().views;
        spawn_blocking(move || views.live_attempts(MOST_LIVE)).await.map_err(|_| OwnerGone)
    }

    fn health(&self) -> Health {
        Health {
            is_alive: true,
            text: format!("these pages are made of {}: no JobTracker runs here", self.file.display()),
            at_ms: wall_ms(),
            ..Health::default()
        }
    }
}
