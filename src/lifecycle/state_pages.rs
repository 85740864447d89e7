//! The pages and the API over a state database or a backup of it, where no JobTracker runs.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::api::PolicyName;
use crate::config::settings::{CAPACITY_CLASS, CONSTRAINT_CLASS, DYNAMIC_CLASS, FAIR_CLASS, FIFO_CLASS};
use crate::config::{host_name, keys};
use crate::model::{Capability, SESSION_KEY_BYTES, SessionKey};
use crate::server::FileOwner;
use crate::store::{LoadedState, StateFile, StoreError};
use crate::views::StoredScheduler;
use crate::web::{
    EventStreams, JobForms, Listeners, ServedNames, ServedPorts, Sessions, StockSettings, WebLimits, WebState,
};

use super::signals::worker_stop_signal;

/// Jobs that are over which pages list; the others are read by their ids.
const FINISHED_JOBS: usize = 100_000;
/// A slot's worth of a container unless the configuration says otherwise.
const CONTAINER_SLOT: Capability = Capability::new(1_024, 1);

#[derive(Clone, Debug)]
pub(crate) struct StatePages {
    pub(crate) file: PathBuf,
    pub(crate) http: SocketAddr,
    /// Whether everybody who reaches the address sees money, and jobs whatever their access lists say.
    pub(crate) shows_all: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StatePagesError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("cannot listen on {address}: {source}; expected an address of this machine whose port is free")]
    Address { address: SocketAddr, source: std::io::Error },
    #[error("cannot start the web server: {0}")]
    System(std::io::Error),
}

impl StatePages {
    /// Serves until SIGTERM, SIGINT or SIGHUP; `started` is called with the address and the moment that is shown, epoch ms.
    pub(crate) fn serve(&self, started: impl FnOnce(SocketAddr, i64)) -> Result<(), StatePagesError> {
        let (opened, loaded) = StateFile::open(&self.file, FINISHED_JOBS)?;
        let scheduler = scheduler_of(&loaded);
        let limits = (FINISHED_JOBS, self.shows_all);
        let owner = FileOwner::new(&self.file, (opened, &loaded), limits, &scheduler, CONTAINER_SLOT);
        drop(loaded);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(StatePagesError::System)?.block_on(async {
            let refused = |source| StatePagesError::Address { address: self.http, source };
            let listener = tokio::net::TcpListener::bind(self.http).await.map_err(refused)?;
            let bound = listener.local_addr().map_err(refused)?;
            // From here on a signal ends it in order: what it has copied is removed.
            let mut stop = std::pin::pin!(worker_stop_signal());
            std::future::poll_fn(|context| {
                let _ = stop.as_mut().poll(context);
                std::task::Poll::Ready(())
            })
            .await;
            started(bound, owner.at_ms());
            crate::web::serve(Listeners::from(listener), self.web_state(owner, bound), stop).await;
            Ok(())
        })
    }

    fn web_state(&self, owner: FileOwner, bound: SocketAddr) -> WebState<FileOwner> {
        WebState {
            owner,
            names: ServedNames::new(Some([host_name()]), keys::WEB_HOSTS.name),
            host: host_name(),
            shows_money: self.shows_all,
            job_forms: JobForms::Off,
            stock: StockSettings { are_acls_on: !self.shows_all, ..StockSettings::default() },
            job_page_prefix: format!("http://{bound}/jobs/"),
            container_slot: CONTAINER_SLOT,
            streams: EventStreams::default(),
            // There is no list of keys, without which none is any good.
            sessions: Sessions::new(SessionKey::new([0; SESSION_KEY_BYTES]), 0),
            plays: None,
            ports: ServedPorts { rpc: None, http: Some(bound) },
            limits: WebLimits::default(),
        }
    }
}

/// The scheduler that ruled: the last that is recorded, else the one that money was charged under.
fn scheduler_of(loaded: &LoadedState) -> StoredScheduler {
    let choice = loaded.choice.as_ref();
    let class = match choice {
        Some(choice) => choice.class.as_str(),
        None if loaded.market.is_empty() => FIFO_CLASS,
        None => DYNAMIC_CLASS,
    };
    let (policy, name) = match class {
        CAPACITY_CLASS => (PolicyName::Capacity, "Capacity"),
        FAIR_CLASS => (PolicyName::Fair, "Fair"),
        CONSTRAINT_CLASS => (PolicyName::Constraint, "Constraint"),
        DYNAMIC_CLASS => (PolicyName::Dynamic, "Dynamic Priority"),
        FIFO_CLASS => (PolicyName::Fifo, "FIFO"),
        other => (PolicyName::Fifo, other),
    };
    StoredScheduler { policy, name: name.to_owned(), since_ms: choice.map_or(0, |choice| choice.since_ms) }
}
