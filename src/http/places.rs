//! The open connections of each peer, and which of them are closed when places run out.
//!
//! A connection is busy from the head of a request until its answer is written, and idle otherwise: fresh, between two requests, or with
//! half a request. One that is busy may wait: for its client's body, or for news that there is none of yet. A peer has at most its share
//! of places. Beyond it the peer's own oldest idle connection is closed, else its oldest wait is cut short: it is answered at once and
//! closed then. Where all of them are busy the new one is queued: accepted and not read. When all places are taken, the peer with the most
//! connections gives one up. When none can give way, a few more are accepted for the paths that are kept free.
//!
//! Invariant: a connection that is busy and does not wait is never closed for another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::peer::Peer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Queued,
    /// Since this point in the order of events.
    Idle(u64),
    Busy,
    /// Busy, since this point in the order of events, with what is not there yet.
    Waiting(u64),
}

#[derive(Debug)]
struct Open {
    peer: Peer,
    activity: Activity,
    begin: Option<oneshot::Sender<()>>,
    /// Asks it to close; taken when asked. From then on it holds no place.
    close: Option<oneshot::Sender<()>>,
    cut: Option<oneshot::Sender<()>>,
    /// For the paths that are kept free alone, beyond the places.
    is_kept: bool,
}

#[derive(Debug, Default)]
struct PlaceTable {
    open: BTreeMap<u64, Open>,
    events: u64,
}

#[derive(Debug)]
pub(super) struct ConnectionPlaces {
    table: Mutex<PlaceTable>,
    places: usize,
    /// Most places of a peer; as many more connections of it may be queued.
    share: usize,
    /// Connections beyond all places, for the paths that are kept free.
    kept: usize,
    /// A connection was closed or became idle.
    changed: Notify,
}

#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    id: u64,
}

/// A place, and what its connection waits for.
#[derive(Debug)]
pub(super) struct ClaimedPlace {
    pub(super) place: ConnectionPlace,
    pub(super) peer: Peer,
    pub(super) begin: oneshot::Receiver<()>,
    /// Done when it is to close.
    pub(super) close: oneshot::Receiver<()>,
    /// Whether it is for the paths that are kept free alone.
    pub(super) is_kept: bool,
}

impl ConnectionPlaces {
    /// So many places, at least one; a peer has at most `share` of them, at least one; and so many for the paths that are kept free.
    pub(super) fn new(places: usize, share: usize, kept: usize) -> Arc<Self> {
        let places = places.max(1);
        let share = share.clamp(1, places);
        Arc::new(Self { table: Mutex::default(), places, share, kept, changed: Notify::new() })
    }

    fn table(&self) -> MutexGuard<'_, PlaceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until one more connection can be accepted: a place is free, or a connection can be closed for it.
    pub(super) async fn wait_for_room(&self) {
        loop {
            let changed = self.changed.notified();
            if self.table().has_room(self.places) || self.table().kept() < self.kept {
                return;
            }
            changed.await;
        }
    }

    /// A place for a new connection, perhaps in its peer's queue; `None` when that is full.
    pub(super) fn enter(self: &Arc<Self>, peer: Peer) -> Option<ClaimedPlace> {
        let mut table = self.table();
        let is_kept = !table.has_room(self.places);
        let has_place = is_kept || table.served(peer) < self.share || table.close_oldest_of(peer);
        if !has_place && table.queued(peer) >= self.share {
            return None;
        }
        let (begin, begun) = oneshot::channel();
        let (close, closed) = oneshot::channel();
        table.events += 1;
        let id = table.events;
        let (begin, close) = (Some(begin), Some(close));
        let mut open = Open { peer, activity: Activity::Queued, begin, close, cut: None, is_kept };
        if has_place {
            open.begin(id);
        }
        if !is_kept && table.taken() >= self.places {
            table.close_of_greediest();
        }
        table.open.insert(id, open);
        let place = ConnectionPlace { places: self.clone(), id };
        Some(ClaimedPlace { place, peer, begin: begun, close: closed, is_kept })
    }
}

impl PlaceTable {
    fn taken(&self) -> usize {
        self.open.values().filter(|open| open.holds_place()).count()
    }

    fn has_room(&self, places: usize) -> bool {
        // Those that were asked to close still have their descriptors.
        let may_grow = self.open.len() - self.kept() < places.saturating_mul(2);
        may_grow && (self.taken() < places || self.open.values().any(Open::can_close))
    }

    fn kept(&self) -> usize {
        self.open.values().filter(|open| open.is_kept).count()
    }

    fn of_peer(&self, peer: Peer) -> impl Iterator<Item = &Open> {
        self.open.values().filter(move |open| open.peer == peer && open.holds_place())
    }

    fn served(&self, peer: Peer) -> usize {
        self.of_peer(peer).filter(|open| open.activity != Activity::Queued).count()
    }

    fn queued(&self, peer: Peer) -> usize {
        self.of_peer(peer).filter(|open| open.activity == Activity::Queued).count()
    }

    /// Closes the peer's oldest idle connection, or cuts its oldest wait short; `false` when none is idle or waits.
    fn close_oldest_of(&mut self, peer: Peer) -> bool {
        let of_peer = self.open.values_mut().filter(|open| open.peer == peer && open.holds_place());
        let oldest = of_peer.filter_map(|open| open.gives_way_since().map(|since| (since, open)));
        let oldest = oldest.min_by_key(|(since, _)| *since);
        oldest.is_some_and(|(_, open)| open.ask_to_close())
    }

    /// Closes a connection of the peer that has the most: the oldest idle one, the oldest that waits, else the one queued last.
    fn close_of_greediest(&mut self) {
        let mut counts = BTreeMap::<Peer, (usize, bool)>::new();
        for open in self.open.values().filter(|open| open.holds_place()) {
            let (count, can_close) = counts.entry(open.peer).or_default();
            *count += 1;
            *can_close |= open.can_close();
        }
        let greediest =
            counts.into_iter().filter(|(_, (_, can_close))| *can_close).max_by_key(|(_, (count, _))| *count);
        let Some((peer, _)) = greediest else { return };
        if !self.close_oldest_of(peer) {
            let queued = self.open.values_mut().rfind(|open| open.peer == peer && open.can_close());
            queued.map(Open::ask_to_close);
        }
    }

    /// Lets a queued connection of the peer begin if the peer has a place for it.
    fn begin_queued(&mut self, peer: Peer, share: usize) {
        if self.queued(peer) == 0 || (self.served(peer) >= share && !self.close_oldest_of(peer)) {
            return;
        }
        self.events += 1;
        let since = self.events;
        let is_first = |open: &&mut Open| open.peer == peer && open.activity == Activity::Queued && open.holds_place();
        if let Some(first) = self.open.values_mut().find(is_first) {
            first.begin(since);
        }
    }
}

impl Open {
    fn holds_place(&self) -> bool {
        self.close.is_some() && !self.is_kept
    }

    fn can_close(&self) -> bool {
        self.holds_place() && self.activity != Activity::Busy
    }

    /// In which order those of a peer give way: idle ones before those that wait, the oldest first.
    fn gives_way_since(&self) -> Option<(bool, u64)> {
        match self.activity {
            Activity::Idle(since) => Some((false, since)),
            Activity::Waiting(since) => Some((true, since)),
            Activity::Queued | Activity::Busy => None,
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.activity, Activity::Busy | Activity::Waiting(_))
    }

    fn begin(&mut self, since: u64) {
        self.activity = Activity::Idle(since);
        // One that has gone does not wait.
        let _ = self.begin.take().map(|begin| begin.send(()));
    }

    fn ask_to_close(&mut self) -> bool {
        let close = self.close.take();
        let is_asked = close.is_some();
        // One that has gone is closed.
        let _ = close.map(|close| close.send(()));
        let _ = self.cut.take().map(|cut| cut.send(()));
        is_asked
    }
}

impl ConnectionPlace {
    /// Connections that hold places, and the most that may.
    pub(super) fn connections(&self) -> (u64, u64) {
        (self.places.table().taken() as u64, self.places.places as u64)
    }

    /// Whether a request is in hand or its answer is not written yet.
    pub(super) fn is_busy(&self) -> bool {
        self.places.table().open.get(&self.id).is_some_and(Open::is_busy)
    }

    /// The head of a request has arrived, or what it waited for.
    pub(super) fn set_busy(&self) {
        if let Some(open) = self.places.table().open.get_mut(&self.id) {
            open.activity = Activity::Busy;
            open.cut = None;
        }
    }

    /// The request waits; done when others need the place.
    pub(super) fn set_waiting(&self) -> oneshot::Receiver<()> {
        let (cut, is_cut) = oneshot::channel();
        let mut table = self.places.table();
        table.events += 1;
        let since = table.events;
        match table.open.get_mut(&self.id) {
            Some(open) if open.close.is_some() => {
                open.activity = Activity::Waiting(since);
                open.cut = Some(cut);
            }
            // It was asked to close already.
            _ => drop(cut.send(())),
        }
        let peer = table.open.get(&self.id).map(|open| open.peer);
        peer.into_iter().for_each(|peer| table.begin_queued(peer, self.places.share));
        drop(table);
        self.places.changed.notify_one();
        is_cut
    }

    /// The answer is written.
    pub(super) fn set_idle(&self) {
        let mut table = self.places.table();
        table.events += 1;
        let since = table.events;
        let Some(open) = table.open.get_mut(&self.id) else { return };
        open.activity = Activity::Idle(since);
        let peer = open.peer;
        table.begin_queued(peer, self.places.share);
        drop(table);
        self.places.changed.notify_one();
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut table = self.places.table();
        let Some(gone) = table.open.remove(&self.id) else { return };
        table.begin_queued(gone.peer, self.places.share);
        drop(table);
        self.places.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::from(IpAddr::from([10, 0, 0, last]))
    }

    fn is_done(receiver: &mut oneshot::Receiver<()>) -> bool {
        receiver.try_recv().is_ok()
    }

    fn enter(places: &Arc<ConnectionPlaces>, last: u8) -> ClaimedPlace {
        places.enter(peer(last)).unwrap()
    }

    #[test]
    fn a_peer_beyond_its_share_loses_its_oldest_idle_connection() {
        let places = ConnectionPlaces::new(100, 2, 0);
        let mut other = enter(&places, 9);
        let (mut first, mut second) = (enter(&places, 1), enter(&places, 1));
        // An answer later it is the newer one.
        first.place.set_busy();
        first.place.set_idle();
        let mut third = enter(&places, 1);
        assert!(is_done(&mut second.close) && is_done(&mut third.begin));
        assert!(!is_done(&mut first.close) && !is_done(&mut other.close));
    }

    #[test]
    fn where_all_are_busy_the_next_waits_for_its_turn() {
        let places = ConnectionPlaces::new(100, 2, 0);
        let mut busy = [enter(&places, 1), enter(&places, 1)];
        busy.iter().for_each(|entry| entry.place.set_busy());
        let (mut third, mut fourth) = (enter(&places, 1), enter(&places, 1));
        assert!(!is_done(&mut third.begin) && places.enter(peer(1)).is_none());
        assert!(is_done(&mut enter(&places, 2).begin));
        // One that has its answer gives way, and one that ends.
        busy[0].place.set_idle();
        assert!(is_done(&mut busy[0].close) && is_done(&mut third.begin) && !is_done(&mut fourth.begin));
        third.place.set_busy();
        drop(busy);
        assert!(is_done(&mut fourth.begin));
    }

    #[test]
    fn when_places_run_out_the_greediest_gives_way() {
        let places = ConnectionPlaces::new(4, 4, 0);
        let mut few = enter(&places, 1);
        let mut many = [enter(&places, 2), enter(&places, 2), enter(&places, 2)];
        many[0].place.set_busy();
        let mut new = enter(&places, 3);
        assert!(is_done(&mut new.begin) && is_done(&mut many[1].close));
        assert!(!is_done(&mut few.close) && !is_done(&mut many[0].close) && !is_done(&mut many[2].close));
    }

    #[test]
    fn where_places_run_out_the_oldest_wait_is_answered_at_once() {
        let places = ConnectionPlaces::new(100, 2, 0);
        let [mut first, mut second] = [enter(&places, 1), enter(&places, 1)];
        let mut cuts: Vec<_> = [&second, &first]
            .map(|entry| {
                entry.place.set_busy();
                entry.place.set_waiting()
            })
            .into();
        let mut third = enter(&places, 1);
        assert!(is_done(&mut third.begin), "it begins before the other has gone");
        assert!(is_done(&mut cuts[0]) && is_done(&mut second.close) && second.place.is_busy());
        assert!(!is_done(&mut cuts[1]) && !is_done(&mut first.close));
        first.place.set_busy();
        third.place.set_busy();
        assert!(!is_done(&mut enter(&places, 1).begin), "what does not wait is never cut");
        assert!(is_done(&mut second.place.set_waiting()), "one that is to close waits no more");
    }

    #[test]
    fn users_of_this_machine_have_shares_of_their_own() {
        let peer = |uid| Peer { address: Ipv4Addr::LOCALHOST.into(), uid };
        let places = ConnectionPlaces::new(100, 1, 0);
        let busy = places.enter(peer(Some(1))).unwrap();
        busy.place.set_busy();
        let mut queued = places.enter(peer(Some(1))).unwrap();
        let mut other = places.enter(peer(Some(2))).unwrap();
        assert!(!is_done(&mut queued.begin) && is_done(&mut other.begin));
    }

    #[tokio::test]
    async fn a_few_connections_are_kept_for_health() {
        let places = ConnectionPlaces::new(1, 1, 4);
        let busy = enter(&places, 1);
        busy.place.set_busy();
        let mut kept: Vec<_> = (0..4).map(|_| enter(&places, 2)).collect();
        assert!(!busy.is_kept && kept.iter_mut().all(|entry| entry.is_kept && is_done(&mut entry.begin)));
        let mut next = Box::pin(places.wait_for_room());
        assert!(futures_now(next.as_mut()).is_none());
        kept.pop();
        next.await;
        drop(busy);
        assert!(!enter(&places, 2).is_kept);
    }

    fn futures_now<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn nothing_is_accepted_while_all_are_busy() {
        let places = ConnectionPlaces::new(2, 2, 0);
        let busy = [enter(&places, 1), enter(&places, 2)];
        places.wait_for_room().await;
        busy.iter().for_each(|entry| entry.place.set_busy());
        let wait = tokio::spawn({
            let places = places.clone();
            async move { places.wait_for_room().await }
        });
        tokio::task::yield_now().await;
        assert!(!wait.is_finished());
        busy[0].place.set_idle();
        wait.await.unwrap();
    }
}
