//! The database as a back-end: a session that is opened when it is needed, on the publisher's thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::config::settings::PostgresSettings;
use crate::market::{BudgetLine, TopUp, TopUpAnswer};
use crate::model::hex;
use crate::store::budget_file::{BudgetBackEnd, BudgetBackEndError, Interrupter};
use crate::store::loaded_state::LoadedState;
use crate::store::schema::STATE_NAME;
use crate::store::state_store::Store;
use crate::store::statement::LedgerReader;

use super::connection::{Session, client_config, connect, is_locked, lock, password, place_of};
use super::error::PostgresError;
use super::publish::{Publisher, check_layout, load};
use super::tls::Tls;
use super::top_ups;

/// How long a call may take, s.
const CALL_TIMEOUT_S: u64 = 60;
/// How long the first call waits for the lock: the session of a process that was killed ends within this.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// Publishes to a PostgreSQL database as its only writer.
#[derive(Debug)]
pub struct PostgresBackEnd {
    settings: PostgresSettings,
    place: String,
    /// Names the state database.
    state: String,
    ledger: Option<LedgerReader>,
    is_restored: bool,
    has_published: bool,
    /// Made by the first call: on the thread that calls.
    runtime: Option<Runtime>,
    session: Option<Session>,
    interrupt: Arc<Notify>,
}

impl PostgresBackEnd {
    /// The back-end of a state database that has this name, without the movements of its ledger.
    ///
    /// # Errors
    /// A URL with a part that is not known, or a system that refuses a runtime.
    pub fn new(settings: PostgresSettings, state: &str) -> Result<Self, BudgetBackEndError> {
        let failed = |error: PostgresError| error.of("reach", "the database");
        let place = place_of(&client_config(&settings).map_err(failed)?);
        Ok(Self {
            settings,
            place,
            state: state.to_owned(),
            ledger: None,
            is_restored: false,
            has_published: false,
            runtime: None,
            session: None,
            interrupt: Arc::default(),
        })
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
        back_end.is_restored = loaded.is_copy;
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

    /// Looks at the database as a start would, without its lock: the accounts that it has.
    ///
    /// # Errors
    /// It cannot be reached or read.
    pub fn look(settings: PostgresSettings) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let mut back_end = Self::new(settings, "")?;
        let place = back_end.place.clone();
        back_end.call("read", async |session, _| load(&session.client, &place).await)
    }

    /// Does some work in a session, which ends if the work fails.
    fn call<T>(
        &mut self,
        action: &'static str,
        work: impl AsyncFnOnce(&mut Session, &Publisher<'_>) -> Result<T, PostgresError>,
    ) -> Result<T, BudgetBackEndError> {
        let Self { settings, place, state, ledger, is_restored, has_published, runtime, session, interrupt } = self;
        let is_restored = *is_restored && !*has_published;
        let runtime = match runtime {
            Some(runtime) => runtime,
            None => {
                let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.insert(made.map_err(|error| PostgresError::Runtime(error).of(action, place))?)
            }
        };
        let publisher = Publisher { state, ledger: ledger.as_ref(), is_restored };
        let limit = Duration::from_secs(CALL_TIMEOUT_S);
        let done = runtime.block_on(async {
            let work = async {
                let open = match session {
                    Some(open) if !open.client.is_closed() => open,
                    _ => session.insert(connect(settings).await?),
                };
                work(open, &publisher).await
            };
            let done = tokio::select! {
                biased;
                () = interrupt.notified() => Err(PostgresError::Stopped),
                done = tokio::time::timeout(limit, work) => done.unwrap_or(Err(PostgresError::Timeout(CALL_TIMEOUT_S))),
            };
            if done.is_err()
                && let Some(broken) = session.take()
            {
                broken.close().await;
            }
            done
        });
        done.map_err(|error| error.of(action, place))
    }

    /// As [`Self::call`], as the only writer.
    fn call_locked<T>(
        &mut self,
        action: &'static str,
        patience: Duration,
        work: impl AsyncFnOnce(&mut Session, &Publisher<'_>) -> Result<T, PostgresError>,
    ) -> Result<T, BudgetBackEndError> {
        self.call(action, async |session, publisher| {
            if !is_locked(&session.client).await? {
                lock(&session.client, patience).await?;
            }
            work(session, publisher).await
        })
    }
}

/// Gives the state database a name.
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
        let place = self.place.clone();
        self.call_locked("load", LOCK_PATIENCE, async |session, publisher| {
            let lines = load(&session.client, &place).await?;
            publisher.claim(&session.client).await?;
            Ok(lines)
        })
    }

    /// Refuses a start beside another writer; whatever else is wrong with the database, money does not wait for it.
    fn resume(&mut self) -> Result<(), BudgetBackEndError> {
        let mut is_other = false;
        let opened = self.call("reach", async |session, _| {
            let locked = lock(&session.client, LOCK_PATIENCE).await;
            is_other = matches!(locked, Err(PostgresError::Locked { .. }));
            locked?;
            check_layout(&session.client).await
        });
        match opened {
            Err(error) if is_other => Err(error),
            Err(error) => {
                tracing::warn!("{error}; the ledger holds, and the image follows once this is mended");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetBackEndError> {
        self.call_locked("publish", Duration::ZERO, async |session, publisher| {
            publisher.publish(&mut session.client, accounts, tick).await
        })?;
        self.has_published = true;
        Ok(())
    }

    fn find_top_ups(&mut self) -> Result<Option<Vec<TopUp>>, BudgetBackEndError> {
        self.call_locked("read the top-ups of", Duration::ZERO, async |session, _| top_ups::find(&session.client).await)
            .map(Some)
    }

    fn answer_top_ups(&mut self, answers: &[TopUpAnswer]) -> Result<(), BudgetBackEndError> {
        self.call_locked("answer the top-ups of", Duration::ZERO, async |session, _| {
            top_ups::answer(&session.client, answers).await
        })
    }

    fn interrupter(&self) -> Option<Interrupter> {
        let interrupt = Arc::clone(&self.interrupt);
        Some(Box::new(move || interrupt.notify_one()))
    }
}

impl Drop for PostgresBackEnd {
    /// The next process need not wait for the lock.
    fn drop(&mut self) {
        if let (Some(runtime), Some(session)) = (&self.runtime, self.session.take()) {
            runtime.block_on(session.close());
        }
    }
}
