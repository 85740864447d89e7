//! [`Store`]: opens the state database, runs its writer thread, closes it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use tokio::sync::watch;

use crate::model::SessionKey;

use super::backup::{BackupSummary, backup};
use super::database::open_migrating;
use super::durable::{Durable, StoreStats, WriterCounts};
use super::error::StoreError;
use super::fact_feed::{FactFeed, FactFollower};
use super::fact_sender::{Backlog, FactSender, MetaWriter, StoreMeter, ToWriter};
use super::fault_point::FaultPoint;
use super::finished_jobs::FinishedJobReader;
use super::folder::StateFolder;
use super::housekeeping::Housekeeping;
use super::ledger_reader::LedgerReader;
use super::loaded_state::{self, LoadedState, StateReader};
use super::options::StoreOptions;
use super::queue::{Message, WriterQueue};
use super::schema::BUDGETS_KEPT_IN;
use super::session_key;
use super::stored_applications::StoredApplicationReader;
use super::writer::FactWriter;

/// The state database. Dropping it closes it and only logs errors: prefer [`Store::close`].
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    sender: mpsc::Sender<Message>,
    facts: FactSender,
    counts: Arc<WriterCounts>,
    follower: Option<FactFollower>,
    reader: StateReader,
    session_key: SessionKey,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Store {
    /// Locks the folder for this process, creates or opens the database, loads the state and starts the writer thread.
    ///
    /// # Errors
    /// A folder or file that cannot be created or locked, a second daemon, a schema that this program cannot open, a damaged database.
    pub fn open(options: StoreOptions) -> Result<(Self, LoadedState), StoreError> {
        let folder = StateFolder::lock(&options.dir)?;
        let path = folder.database()?;
        let (database, migration) = open_migrating(&path)?;
        let session_key = session_key::find_or_draw(&database, &path)?;
        let loaded = loaded_state::load(&database, &options).map_err(|error| error.of(&path))?;
        let held_migration = match migration {
            Some(migration) if !options.holds_migration => {
                migration.commit(&database)?;
                None
            }
            held => held,
        };
        FaultPoint::StateLoaded.pass();
        let (sender, inbox) = mpsc::channel();
        let (durable, watcher) = watch::channel(Durable { number: loaded.last_fact, ..Durable::default() });
        let backlog = Arc::new(Backlog::default());
        let limit_facts = options.backlog_limit_facts;
        let counts = Arc::new(WriterCounts::default());
        let (feed, follower) = FactFeed::new();
        let reader = StateReader::new(&path, &options);
        let writer = FactWriter {
            database,
            inbox,
            durable,
            backlog: Arc::clone(&backlog),
            counts: Arc::clone(&counts),
            feed,
            housekeeping: Housekeeping::new(options.ledger_detail_days, options.retention),
            options,
            folder,
            queue: WriterQueue::after(loaded.last_fact),
            held_migration,
        };
        let thread = thread::Builder::new().name("store".to_owned()).spawn(|| writer.run());
        let facts = FactSender::new(Arc::new(ToWriter { sender: sender.clone(), backlog }), watcher, limit_facts);
        let thread = Some(thread.map_err(StoreError::Thread)?);
        Ok((Self { path, sender, facts, counts, follower: Some(follower), reader, session_key, thread }, loaded))
    }

    /// Commits the migration that [`StoreOptions::holds_migration`] holds, if there is one; facts wait for it.
    /// An error: the database is as it was, and this store writes nothing.
    pub(crate) fn commit_migration(&self) -> Result<(), StoreError> {
        let ended = |_| StoreError::Unwritten {
            facts: self.facts.waiting_facts(),
            text: "the writer thread has ended".to_owned(),
        };
        let (done, committed) = mpsc::channel();
        // A thread that is gone drops the sender too.
        let _ = self.sender.send(Message::CommitMigration { done });
        committed.recv().unwrap_or_else(|error| Err(ended(error)))
    }

    pub fn fact_sender(&self) -> FactSender {
        self.facts.clone()
    }

    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.facts.durable()
    }

    /// The folder of the database, for files that cannot be written elsewhere.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    pub(super) fn meta_writer(&self) -> MetaWriter {
        MetaWriter::new(self.sender.clone(), self.fact_sender())
    }

    /// Remembers that a back-end other than the budget file has the image: a later start from the file says so.
    ///
    /// # Errors
    /// The store cannot write.
    pub fn note_budgets_in(&self, place: &str) -> Result<(), String> {
        self.meta_writer().persist(BUDGETS_KEPT_IN, place, || false).map_err(|error| error.to_string())
    }

    pub fn ledger(&self) -> LedgerReader {
        LedgerReader::new(&self.path)
    }

    pub fn finished_jobs(&self) -> FinishedJobReader {
        FinishedJobReader::new(&self.path)
    }

    pub(crate) fn stored_applications(&self) -> StoredApplicationReader {
        StoredApplicationReader::new(&self.path)
    }

    /// Follows what becomes durable from now on; none: it is followed already.
    pub fn follow(&mut self) -> Option<FactFollower> {
        self.follower.take().inspect(FactFollower::begin)
    }

    pub(crate) fn session_key(&self) -> SessionKey {
        self.session_key
    }

    pub fn state_reader(&self) -> StateReader {
        self.reader.clone()
    }

    pub fn stats(&self) -> StoreStats {
        self.counts.read()
    }

    /// The same and what waits, for other threads.
    pub fn meter(&self) -> StoreMeter {
        StoreMeter::new(Arc::clone(&self.counts), self.fact_sender())
    }

    /// Writes a consistent copy of all that is durable now to a file that must not exist yet; the store keeps writing
    /// meanwhile. Blocks for as long as the copying takes.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn backup(&self, target: &Path) -> Result<BackupSummary, StoreError> {
        backup(&self.path, target)
    }

    /// Writes what waits, checkpoints the write-ahead log and unlocks the folder. Remaining senders report
    /// [`Pressure::Closed`](super::Pressure::Closed).
    ///
    /// # Errors
    /// Facts that cannot be written.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.shut()
    }

    fn shut(&mut self) -> Result<(), StoreError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // A thread that is gone has closed its end.
        let _ = self.sender.send(Message::Close);
        thread.join().unwrap_or_else(|_| {
            Err(StoreError::Unwritten {
                facts: self.facts.waiting_facts(),
                text: "the writer thread has panicked".to_owned(),
            })
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.shut() {
            tracing::error!("{error}");
        }
    }
}
