//! Readers of the live stream: each frame is encoded once for all who see the same, and shared by those that want it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::http::{Peer, RequestPlace, RequestWait};

use super::super::applications::QueryParameters;
use super::super::viewer::Viewer;

/// Most readers, and most of one address.
const MOST_READERS: usize = 1_000;
const MOST_OF_PEER: usize = MOST_READERS / 4;
/// Frames that may wait for a reader; beyond them it is behind.
const MOST_WAITING: usize = 64;
/// Frames that are kept for readers that come back.
const MOST_KEPT: usize = 2_000;
/// Looks after which a reader that is behind is left.
const MOST_BEHIND: u32 = 20;
/// Looks between two comments, which keep proxies from closing a quiet stream.
const QUIET: u64 = 15;

/// What a reader wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Cluster,
    Jobs,
    Market,
    Decisions,
}

/// A frame as all readers get it, or all of a class: those who see the same.
#[derive(Clone, Debug)]
struct StreamEvent {
    id: u64,
    class: Option<Arc<Viewer>>,
    topic: Topic,
    /// Of which job or application.
    of: Option<String>,
    bytes: Bytes,
}

#[derive(Debug)]
struct StreamReader {
    sender: mpsc::Sender<Bytes>,
    peer: Option<Peer>,
    viewer: Viewer,
    /// The session that says who reads.
    session: Option<String>,
    wanted: StreamQuery,
    /// Looks since which it takes too little.
    behind: u32,
}

#[derive(Clone, Debug)]
pub(super) struct StreamQuery {
    topics: Vec<Topic>,
    /// Of jobs, applications and decisions about them this one alone.
    job: Option<String>,
}

/// All readers, and what was sent last.
#[derive(Debug, Default)]
struct Hub {
    readers: Vec<StreamReader>,
    is_looking: bool,
    is_closed: bool,
    looks: u64,
    last_id: u64,
    kept: VecDeque<StreamEvent>,
    /// The classes that frames are made for, each with the last id before its first one.
    classes: BTreeMap<Viewer, u64>,
}

/// The streams of a web server. Cheap to clone.
#[derive(Clone, Default)]
pub struct EventStreams(Arc<Mutex<Hub>>);

/// Something that has changed: the name of its event, what it is about, and what it is now.
#[derive(Clone, Debug)]
pub(super) struct StreamNews {
    pub(super) name: &'static str,
    /// Which readers it is for; none: all.
    pub(super) class: Option<Arc<Viewer>>,
    pub(super) topic: Topic,
    /// Of which job or application.
    pub(super) of: Option<String>,
    pub(super) data: Value,
}

/// What a reader gets: it ends with the stream, and gives way to others that need its connection.
struct EventBody {
    first: VecDeque<Bytes>,
    rest: mpsc::Receiver<Bytes>,
    place: Option<(RequestWait, oneshot::Receiver<()>)>,
}

impl Topic {
    const ALL: [(&'static str, Self); 4] =
        [("cluster", Self::Cluster), ("jobs", Self::Jobs), ("market", Self::Market), ("decisions", Self::Decisions)];
}

impl StreamQuery {
    pub(super) fn read(parameters: &mut QueryParameters) -> Self {
        let topic = |text: &str| Topic::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, topic)| topic);
        let mut topics = parameters.list("topics", "cluster, jobs, market or decisions, with commas", topic);
        let job = parameters.take("job");
        if topics.is_empty() {
            topics = Topic::ALL.map(|(_, topic)| topic).to_vec();
        }
        Self { topics, job }
    }

    fn is_for(&self, event: &StreamEvent) -> bool {
        let is_of_jobs = matches!(event.topic, Topic::Jobs | Topic::Decisions);
        let is_its_own = self.job.is_none() || !is_of_jobs || event.of == self.job;
        self.topics.contains(&event.topic) && is_its_own
    }
}

/// A frame. JSON has no line breaks, so that no text of a client begins a line.
fn frame(name: &str, run: i64, id: u64, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\nid: {run}-{id}\ndata: {data}\n\n"))
}

impl StreamEvent {
    fn is_of(&self, viewer: &Viewer) -> bool {
        self.class.as_deref().is_none_or(|class| class == viewer)
    }
}

impl Hub {
    fn publish(&mut self, run: i64, news: Vec<StreamNews>) {
        for StreamNews { name, class, topic, of, data } in news {
            self.last_id += 1;
            let event =
                StreamEvent { id: self.last_id, class, topic, of, bytes: frame(name, run, self.last_id, &data) };
            self.send(&event);
            self.kept.push_back(event);
        }
        while self.kept.len() > MOST_KEPT {
            self.kept.pop_front();
        }
        self.keep_alive(run);
    }

    fn send(&mut self, event: &StreamEvent) {
        for reader in self
            .readers
            .iter_mut()
            .filter(|reader| reader.behind == 0 && event.is_of(&reader.viewer) && reader.wanted.is_for(event))
        {
            // One frame is kept free, for the one that says so.
            let has_room = reader.sender.capacity() > 1 && reader.sender.try_send(event.bytes.clone()).is_ok();
            reader.behind = u32::from(!has_room);
        }
    }

    /// Lets those go that have left or take nothing; the others hear that they are behind, or that the stream lives.
    fn keep_alive(&mut self, run: i64) {
        self.looks += 1;
        let (is_quiet, id) = (self.looks.is_multiple_of(QUIET), self.last_id);
        self.readers.retain_mut(|reader| {
            if reader.sender.is_closed() || reader.behind > MOST_BEHIND {
                return false;
            }
            if reader.behind > 0 {
                reader.behind += 1;
                if reader.sender.capacity() == MOST_WAITING {
                    let reset = frame("reset", run, id, &json!({ "topic": "all" }));
                    reader.behind = u32::from(reader.sender.try_send(reset).is_err());
                }
            } else if is_quiet {
                // One that is full is not quiet.
                let _ = reader.sender.try_send(Bytes::from_static(b":\n\n"));
            }
            true
        });
    }

    /// What a reader has missed since the event with this id; none: it is not known any more.
    fn missed(&self, run: i64, last: Option<&str>, viewer: &Viewer, wanted: &StreamQuery) -> Option<Vec<Bytes>> {
        let (of_run, id) = last?.split_once('-')?;
        let id: u64 = id.parse().ok().filter(|_| of_run.parse() == Ok(run))?;
        let oldest = self.kept.front().map_or(self.last_id + 1, |event| event.id);
        // Before its class had a reader, no frames were made for it.
        let is_of_class = self.classes.get(viewer).is_some_and(|before| id >= *before);
        let is_kept = is_of_class && id + 1 >= oldest && id <= self.last_id;
        let missed = self.kept.iter().filter(|event| event.id > id && event.is_of(viewer) && wanted.is_for(event));
        is_kept.then(|| missed.map(|event| event.bytes.clone()).collect())
    }
}

impl EventStreams {
    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open_count(&self) -> usize {
        self.hub().readers.len()
    }

    /// Ends all streams, and lets none begin.
    pub(crate) fn close(&self) {
        let mut hub = self.hub();
        hub.is_closed = true;
        let bye = frame("bye", 0, hub.last_id, &json!({}));
        for reader in hub.readers.drain(..) {
            // Who takes nothing notices the end.
            let _ = reader.sender.try_send(bye.clone());
        }
    }

    /// A stream for a reader, and whether it is the first, so that what changes is to be looked at from now on; none where all places are taken. `hello`: what it
    /// gets first, `last`: the id of the last event that it has.
    pub(super) fn enter(
        &self,
        (run, hello): (i64, &Value),
        last: Option<&str>,
        (viewer, session): (Viewer, Option<String>),
        wanted: StreamQuery,
        (peer, place): (Option<Peer>, Option<&RequestPlace>),
    ) -> Option<(Body, bool)> {
        let (sender, rest) = mpsc::channel(MOST_WAITING);
        let mut hub = self.hub();
        let of_peer = hub.readers.iter().filter(|reader| peer.is_some() && reader.peer == peer).count();
        if hub.is_closed || hub.readers.len() >= MOST_READERS || of_peer >= MOST_OF_PEER {
            return None;
        }
        let mut first = VecDeque::from([Bytes::from_static(b"retry: 2000\n\n")]);
        first.push_back(frame("hello", run, hub.last_id, hello));
        match (last, hub.missed(run, last, &viewer, &wanted)) {
            (_, Some(missed)) => first.extend(missed),
            (Some(_), None) => first.push_back(frame("reset", run, hub.last_id, &json!({ "topic": "all" }))),
            (None, None) => {}
        }
        let before = hub.last_id;
        hub.classes.entry(viewer.clone()).or_insert(before);
        hub.readers.push(StreamReader { sender, peer, viewer, session, wanted, behind: 0 });
        let is_first = !std::mem::replace(&mut hub.is_looking, true);
        Some((Body::new(EventBody { first, rest, place: place.map(RequestPlace::begin_wait) }), is_first))
    }

    /// Who reads, each class once.
    pub(super) fn classes(&self) -> Vec<Viewer> {
        self.hub().classes.keys().cloned().collect()
    }

    /// The sessions that read, each once, with the readers that they show.
    pub(super) fn sessions(&self) -> BTreeMap<String, Viewer> {
        let hub = self.hub();
        let with_session = |reader: &StreamReader| Some((reader.session.clone()?, reader.viewer.clone()));
        hub.readers.iter().filter_map(with_session).collect()
    }

    /// Ends the streams of a session: what is shown to its user is shown to these readers no more.
    pub(crate) fn end_session(&self, session: &str) {
        let mut hub = self.hub();
        let bye = frame("bye", 0, hub.last_id, &json!({}));
        hub.readers.retain(|reader| {
            let is_of_other = reader.session.as_deref() != Some(session);
            if !is_of_other {
                // Who takes nothing notices the end.
                let _ = reader.sender.try_send(bye.clone());
            }
            is_of_other
        });
    }

    /// Sends what has changed; whether anybody still reads: if not, looking ends.
    pub(super) fn publish(&self, run: i64, news: Vec<StreamNews>) -> bool {
        let mut hub = self.hub();
        hub.publish(run, news);
        let reading: BTreeSet<Viewer> = hub.readers.iter().map(|reader| reader.viewer.clone()).collect();
        hub.classes.retain(|class, _| reading.contains(class));
        hub.is_looking = !hub.readers.is_empty();
        hub.is_looking
    }
}

impl fmt::Debug for EventStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventStreams({})", self.hub().readers.len())
    }
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Some((_, cut)) = &mut self.place
            && let Poll::Ready(Ok(())) = Pin::new(cut).poll(context)
        {
            return Poll::Ready(None);
        }
        self.rest.poll_recv(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
