//! The database as a back-end: a session that is opened when it is needed, on the publisher's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::config::settings::PostgresSettings;
use crate::market::{BudgetLine, TopUp, TopUpAnswer};
use crate::model::hex;
use crate::store::budget_file::{BudgetBackEnd, BudgetBackEndError, CallWatch, Interrupter};
use crate::store::fact_sender::MetaWriter;
use crate::store::ledger_reader::LedgerReader;
use crate::store::loaded_state::LoadedState;
use crate::store::schema::{COPY_UNPUBLISHED, STATE_NAME};
use crate::store::state_store::Store;

use super::connection::{
    PostgresSession, client_config, connect, is_locked, lock, now, password, place_of, servers_of,
};
use super::error::PostgresError;
use super::layout::{Former, check_layout};
use super::ledger_rows::ends;
use super::publish::{Filling, Publisher, load};
use super::shown::shown;
use super::tls::Tls;
use super::top_ups;

/// How long a call may take, s.
const CALL_TIMEOUT_S: u64 = 60;
/// How long the first call waits for the lock: the session of a process that was killed ends within this.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// Time between two comparisons of the movements that are shown with the ledger: each reads all of both.
const COMPARISON_PAUSE: Duration = Duration::from_secs(3_600);

/// Publishes to a PostgreSQL database as its only writer.
#[derive(Debug)]
pub struct PostgresBackEnd {
    settings: PostgresSettings,
    place: String,
    servers: String,
    patience: Duration,
    /// Names the state database.
    state: String,
    ledger: Option<LedgerReader>,
    /// Until the first publication: forgets then that the state was restored from a copy.
    restored: Option<MetaWriter>,
    /// What was published last.
    published: Option<(Vec<BudgetLine>, u64)>,
    /// The movements of a restored ledger take the place of others, from the first on.
    is_filled_again: bool,
    compared_at: Option<Instant>,
    calls: CallWatch,
    /// Made by the first call: on the thread that calls.
    runtime: Option<Runtime>,
    session: Option<PostgresSession>,
    interrupt: Arc<Notify>,
}

impl PostgresBackEnd {
    /// The back-end of a state database that has this name, without the movements of its ledger.
    ///
    /// # Errors
    /// A URL with a part that is not known, or a system that refuses a runtime.
    pub fn new(settings: PostgresSettings, state: &str) -> Result<Self, BudgetBackEndError> {
        let failed = |error: PostgresError| error.of("reach", "the database");
        let config = client_config(&settings).map_err(failed)?;
        Ok(Self {
            settings,
            place: place_of(&config),
            servers: servers_of(&config),
            patience: LOCK_PATIENCE,
            state: state.to_owned(),
            ledger: None,
            restored: None,
            published: None,
            is_filled_again: false,
            compared_at: None,
            calls: CallWatch::default(),
            runtime: None,
            session: None,
            interrupt: Arc::default(),
        })
    }

    /// The same with another time for which a start waits for the lock.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The back-end of this state database, which is given a name if it has none.
    ///
    /// # Errors
    /// As [`Self::new`]; or the name cannot be recorded.
    pub fn of_state(
        settings: PostgresSettings,
        store: &Store,
        loaded: &LoadedState,
    ) -> Result<Self, BudgetBackEndError> {
        let name = match &loaded.name {
            Some(name) => name.clone(),
            None => named(store).map_err(|reason| PostgresError::Unnamed(reason).of("reach", "the database"))?,
        };
        let mut back_end = Self::new(settings, &name)?;
        back_end.ledger = Some(store.ledger());
        back_end.restored = loaded.is_copy_unpublished.then(|| store.meta_writer());
        Ok(back_end)
    }

    /// What can be wrong with the settings before anything is reached: the URL, the password file, the certificates.
    pub fn check_settings(settings: &PostgresSettings) -> Vec<BudgetBackEndError> {
        let checks = [
            client_config(settings).map(drop),
            password(settings).map(drop),
            Tls::new(settings.ssl_mode, settings.root_certificates.as_deref()).map(drop),
        ];
        checks.into_iter().filter_map(Result::err).map(|error| error.of("reach", "the database")).collect()
    }

    /// Looks at the database as a start would, without its lock: the accounts that it has. With the name of the state
    /// database, empty where it has none yet, also at whose tables they are.
    ///
    /// # Errors
    /// It cannot be reached or read, or is another state database's.
    pub fn look(settings: PostgresSettings, state: Option<&str>) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let mut back_end = Self::new(settings, state.unwrap_or_default())?;
        let place = back_end.place.clone();
        let read = back_end.call(async |session, publisher| {
            let lines = load(&session.client, &place, Former::Kept).await?;
            if state.is_some() {
                shown(&session.client, publisher.state).await?;
            }
            Ok(lines)
        });
        read.map_err(|error| error.of("read", &place))
    }

    /// Does some work in a session, which ends if the work fails.
    fn call<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PostgresSession, &Publisher<'_>) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        let Self { settings, servers, state, ledger, restored, runtime, session, interrupt, .. } = self;
        let runtime = match runtime {
            Some(runtime) => runtime,
            None => {
                let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.insert(made.map_err(PostgresError::Runtime)?)
            }
        };
        let publisher = Publisher { state, ledger: ledger.as_ref(), is_restored: restored.is_some() };
        let limit = Duration::from_secs(CALL_TIMEOUT_S);
        runtime.block_on(async {
            let work = async {
                let open = match session {
                    Some(open) if !open.client.is_closed() => open,
                    _ => session.insert(connect(settings).await?),
                };
                work(open, &publisher).await
            };
            let silent = || {
                let awaited = "the results of statements";
                Err(PostgresError::Silent { servers: servers.clone(), awaited, limit_s: CALL_TIMEOUT_S })
            };
            let done = tokio::select! {
                biased;
                () = interrupt.notified() => Err(PostgresError::Stopped),
                done = tokio::time::timeout(limit, work) => done.unwrap_or_else(|_| silent()),
            };
            if done.is_err()
                && let Some(broken) = session.take()
            {
                broken.close().await;
            }
            done
        })
    }

    /// As [`Self::call`], as the only writer.
    fn call_locked<T>(
        &mut self,
        patience: Duration,
        work: impl AsyncFnOnce(&mut PostgresSession, &Publisher<'_>) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        self.call(async |session, publisher| {
            if !is_locked(&session.client).await? {
                lock(&session.client, patience).await?;
                session.written = None;
            }
            work(session, publisher).await
        })
    }

    fn publish_movements(&mut self) -> Result<(), PostgresError> {
        let Some(before) = self.ledger.as_ref().map(ends).transpose()? else { return Ok(()) };
        loop {
            let filling = self.next_filling();
            let is_last = self.call_locked(Duration::ZERO, async |session, publisher| {
                publisher.publish_movements(session, before, filling).await
            })?;
            match filling {
                Filling::FromTheFirst => self.is_filled_again = true,
                Filling::Compared => self.compared_at = Some(now()),
                Filling::Next => {}
            }
            self.calls.note_answer();
            if is_last {
                return Ok(());
            }
        }
    }

    fn next_filling(&self) -> Filling {
        let is_compared = || self.compared_at.is_some_and(|at| now().saturating_duration_since(at) < COMPARISON_PAUSE);
        // A restored ledger has other entries under the numbers that are shown.
        match self.restored.is_some() && !self.is_filled_again {
            true => Filling::FromTheFirst,
            false if is_compared() => Filling::Next,
            false => Filling::Compared,
        }
    }
}

fn named(store: &Store) -> Result<String, String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    let name = hex(&bytes);
    store.meta_writer().persist(STATE_NAME, &name, || false).map_err(|error| error.to_string())?;
    Ok(name)
}

impl BudgetBackEnd for PostgresBackEnd {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let (place, patience) = (self.place.clone(), self.patience);
        let loaded = self.call_locked(patience, async |session, publisher| {
            let lines = load(&session.client, &place, Former::Changed).await?;
            publisher.claim(&mut session.client).await?;
            Ok(lines)
        });
        loaded.map_err(|error| error.of("load", &place))
    }

    /// Refuses a start beside another JobTracker; whatever else is wrong with the database, money does not wait for it.
    fn resume(&mut self) -> Result<(), BudgetBackEndError> {
        let patience = self.patience;
        let opened = self.call(async |session, publisher| {
            lock(&session.client, patience).await?;
            check_layout(&session.client, Former::Changed).await?;
            shown(&session.client, publisher.state).await.map(drop)
        });
        match opened.map_err(|error| (matches!(error, PostgresError::Locked { .. }), error.of("reach", &self.place))) {
            Err((true, error)) => Err(error),
            Err((false, error)) => {
                tracing::warn!("{error}; the ledger holds, and the image follows once this is mended");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetBackEndError> {
        self.published = None;
        let published = self.publish_movements().and_then(|()| {
            self.call_locked(Duration::ZERO, async |session, publisher| {
                publisher.publish_accounts(session, accounts, tick).await
            })
        });
        published.map_err(|error| error.of("publish", &self.place))?;
        if let Some(meta) = self.restored.take()
            && let Err(error) = meta.persist(COPY_UNPUBLISHED, "", || false)
        {
            tracing::warn!("the next start compares {} with the restored ledger once more: {error}", self.place);
        }
        self.published = Some((accounts.to_vec(), tick));
        Ok(())
    }

    /// Publishes once more what was published last, where the tables do not say that they show it: others changed them,
    /// or an older backup came back.
    fn find_top_ups(&mut self) -> Result<Option<Vec<TopUp>>, BudgetBackEndError> {
        let is_as_written = self.call_locked(Duration::ZERO, async |session, publisher| {
            Ok(session.written == Some(shown(&session.client, publisher.state).await?))
        });
        if !is_as_written.map_err(|error| error.of("read the top-ups of", &self.place))?
            && let Some((accounts, tick)) = self.published.take()
        {
            let published = self.publish(&accounts, tick);
            self.published = Some((accounts, tick));
            published?;
        }
        let found = self.call_locked(Duration::ZERO, async |session, publisher| {
            top_ups::find(&mut session.client, publisher.state).await
        });
        found.map(Some).map_err(|error| error.of("read the top-ups of", &self.place))
    }

    fn answer_top_ups(&mut self, answers: &[TopUpAnswer]) -> Result<(), BudgetBackEndError> {
        let answered = self.call_locked(Duration::ZERO, async |session, publisher| {
            top_ups::answer(&mut session.client, publisher.state, answers).await
        });
        answered.map_err(|error| error.of("answer the top-ups of", &self.place))
    }

    fn watch_calls(&mut self, calls: CallWatch) {
        self.calls = calls;
    }

    fn interrupter(&self) -> Option<Interrupter> {
        let interrupt = Arc::clone(&self.interrupt);
        Some(Box::new(move || interrupt.notify_one()))
    }
}

impl Drop for PostgresBackEnd {
    /// The next process need not wait for the lock.
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(session) = self.session.take() {
            runtime.block_on(session.close());
        }
        // It may still ask for the address of a server.
        runtime.shutdown_background();
    }
}
