//! [`Store`]: opens the state database, runs its writer thread, closes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::watch;

use super::backup::{Copied, backup};
use super::durable::Durable;
use super::error::StoreError;
use super::fault_point::FaultPoint;
use super::figures::{Counts, Figures};
use super::finished_jobs::FinishedJobReader;
use super::folder::Folder;
use super::housekeeping::Housekeeping;
use super::note::NoteSink;
use super::opened::{self, Opened};
use super::options::StoreOptions;
use super::queue::{Message, Queue};
use super::schema;
use super::sink::{Backlog, FactSink};
use super::statement::LedgerReader;
use super::writer::Writer;

/// The state database. Dropping it closes it, but then nobody hears what went wrong: prefer [`Store::close`].
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    sender: mpsc::Sender<Message>,
    sink: FactSink,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

// === impl Store ===

impl Store {
    /// Takes the folder for this process, brings the database to the present schema, reads what a start needs and
    /// starts the writer thread.
    ///
    /// # Errors
    /// A folder or file that cannot be made or locked, a second daemon, a newer schema, a broken database.
    pub fn open(options: StoreOptions) -> Result<(Self, Opened), StoreError> {
        let folder = Folder::hold(&options.dir)?;
        let path = folder.database()?;
        let database = schema::open_for_writing(&path)?;
        let opened = opened::load(&database, &path, &options)?;
        FaultPoint::StateLoaded.pass();
        let (sender, inbox) = mpsc::channel();
        let (durable, watcher) = watch::channel(Durable { number: opened.last_fact, ..Durable::default() });
        let backlog = Arc::new(Backlog::new(options.backlog_limit_facts));
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            database,
            inbox,
            durable,
            backlog: Arc::clone(&backlog),
            counts: Arc::clone(&counts),
            housekeeping: Housekeeping::new(options.ledger_detail_days, options.retention),
            options,
            folder,
            queue: Queue::after(opened.last_fact),
        };
        let thread = thread::Builder::new().name("store".to_owned()).spawn(|| writer.run());
        let sink = FactSink::to_writer(sender.clone(), watcher, backlog);
        let store = Self { path, sender, sink, counts, thread: Some(thread.map_err(StoreError::Thread)?) };
        Ok((store, opened))
    }

    /// Where facts are handed in.
    pub fn sink(&self) -> FactSink {
        self.sink.clone()
    }

    /// How far the store has come.
    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.sink.durable()
    }

    /// The folder of the database, a refuge for what may not be written elsewhere.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Where notes are handed in.
    pub(super) fn notes(&self) -> NoteSink {
        NoteSink::new(self.sender.clone(), self.sink())
    }

    /// Reads the ledger, on whatever thread.
    pub fn ledger(&self) -> LedgerReader {
        LedgerReader::new(&self.path)
    }

    /// Reads finished jobs, on whatever thread.
    pub fn finished_jobs(&self) -> FinishedJobReader {
        FinishedJobReader::new(&self.path)
    }

    /// What the writer has done so far.
    pub fn figures(&self) -> Figures {
        self.counts.read()
    }

    /// Writes a consistent copy of all that is durable now to a file that must not exist yet, while the store goes
    /// on. Blocks for as long as the copying takes.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn backup(&self, target: &Path) -> Result<Copied, StoreError> {
        backup(&self.path, target)
    }

    /// Writes what waits, moves the write-ahead log into the database and gives up the folder. Sinks that are left
    /// over report [`Pressure::Closed`](super::Pressure::Closed).
    ///
    /// # Errors
    /// Facts that cannot be written; only the caller can still say so.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.shut()
    }

    fn shut(&mut self) -> Result<(), StoreError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // A thread that is gone has closed its end.
        let _ = self.sender.send(Message::Close);
        thread.join().unwrap_or_else(|_| {
            Err(StoreError::Unwritten {
                facts: self.sink.waiting_facts(),
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
