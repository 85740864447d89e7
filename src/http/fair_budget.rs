//! One sum of what callers hold at a time: bytes that are read or not sent yet, or places. Where it is used up, the address that holds the
//! most gives way, there the user who holds the most, and of that one what was begun first: never the newest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::peer::Peer;

/// What all callers hold of something.
#[derive(Debug)]
pub(crate) struct FairBudget {
    holders: Mutex<BudgetHolders>,
    all: u64,
    of_user: u64,
}

#[derive(Debug, Default)]
struct BudgetHolders {
    held: BTreeMap<u64, BudgetHolder>,
    last: u64,
}

#[derive(Debug)]
struct BudgetHolder {
    peer: Peer,
    user: Arc<str>,
    amount: u64,
    /// Taken when it has to give way.
    cut: Option<oneshot::Sender<()>>,
    /// It gives way to no other.
    is_kept: bool,
}

/// What one request, upload or connection holds; given back when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<FairBudget>,
    id: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBudget {
    /// The user would hold too much.
    #[error("at most {0} of one user at a time")]
    OfUser(u64),
    /// All would hold too much, and none else can give way.
    #[error("at most {0} of all at a time")]
    OfAll(u64),
    #[error("others needed the room, and of those that held the most this came first")]
    GaveWay,
}

impl FairBudget {
    /// `all` for all, of it `of_user` for one user.
    pub(crate) fn new(all: u64, of_user: u64) -> Arc<Self> {
        Arc::new(Self { holders: Mutex::default(), all, of_user })
    }

    /// A holder of nothing yet; the second is done when it has to give way.
    pub(crate) fn begin(self: &Arc<Self>, peer: Peer, user: &str) -> (Held, oneshot::Receiver<()>) {
        let (cut, is_cut) = oneshot::channel();
        let mut holders = self.holders();
        holders.last += 1;
        let id = holders.last;
        holders.held.insert(id, BudgetHolder { peer, user: user.into(), amount: 0, cut: Some(cut), is_kept: false });
        drop(holders);
        (Held { budget: self.clone(), id }, is_cut)
    }

    fn holders(&self) -> MutexGuard<'_, BudgetHolders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetHolders {
    fn sum(&self, is_counted: impl Fn(&BudgetHolder) -> bool) -> u64 {
        self.held.values().filter(|holder| is_counted(holder)).map(|holder| holder.amount).sum()
    }

    /// Cuts the holder that gives way to `newest`; false: there is none.
    fn cut_greediest(&mut self, newest: u64) -> bool {
        let mut of_peers = BTreeMap::<Peer, u64>::new();
        let mut of_users = BTreeMap::<(Peer, Arc<str>), u64>::new();
        for holder in self.held.values() {
            *of_peers.entry(holder.peer).or_default() += holder.amount;
            *of_users.entry((holder.peer, holder.user.clone())).or_default() += holder.amount;
        }
        let greed = |holder: &BudgetHolder| {
            let of_user = of_users.get(&(holder.peer, holder.user.clone()));
            (of_peers.get(&holder.peer).copied(), of_user.copied())
        };
        let others = self.held.iter_mut().filter(|(id, holder)| **id != newest && holder.amount > 0 && !holder.is_kept);
        // Of equal ones the first.
        let victim = others.rev().max_by_key(|(_, holder)| greed(holder));
        victim.is_some_and(|(_, holder)| {
            holder.amount = 0;
            // One that has gone gives its own back.
            let _ = holder.cut.take().map(|cut| cut.send(()));
            true
        })
    }
}

impl Held {
    pub(crate) fn grow(&self, more: u64) -> Result<(), OverBudget> {
        let FairBudget { all, of_user, .. } = *self.budget;
        let mut holders = self.budget.holders();
        let own = holders.held.get(&self.id).filter(|own| own.cut.is_some()).ok_or(OverBudget::GaveWay)?;
        let (user, peer) = (own.user.clone(), own.peer);
        if holders.sum(|holder| holder.user == user && holder.peer == peer).saturating_add(more) > of_user {
            return Err(OverBudget::OfUser(of_user));
        }
        while holders.sum(|_| true).saturating_add(more) > all {
            if !holders.cut_greediest(self.id) {
                return Err(OverBudget::OfAll(all));
            }
        }
        if let Some(own) = holders.held.get_mut(&self.id) {
            own.amount = own.amount.saturating_add(more);
        }
        Ok(())
    }

    /// Holds what it holds until it is dropped: it gives way to no other any more.
    pub(crate) fn keep(&self) {
        if let Some(own) = self.budget.holders().held.get_mut(&self.id) {
            own.is_kept = true;
        }
    }

    /// Gives all back, and may hold something again.
    pub(crate) fn clear(&self) {
        if let Some(own) = self.budget.holders().held.get_mut(&self.id) {
            own.amount = 0;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.holders().held.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::from(IpAddr::from([10, 0, 0, last]))
    }

    #[test]
    fn the_greediest_address_gives_way_and_there_the_greediest_user() {
        let budget = FairBudget::new(10, 6);
        let begin = |last: u8, user: &str, amount: u64| {
            let (held, is_cut) = budget.begin(peer(last), user);
            held.grow(amount).unwrap();
            (held, is_cut)
        };
        let mut small = begin(1, "alice", 3);
        let mut first = begin(2, "bob", 2);
        let mut greedy = [begin(2, "carol", 1), begin(2, "carol", 3)];
        let mut new = begin(3, "dave", 4);
        let is_cut = |held: &mut (Held, oneshot::Receiver<()>)| held.1.try_recv().is_ok();
        assert!(is_cut(&mut greedy[0]) && is_cut(&mut greedy[1]), "until there is room");
        assert!(!is_cut(&mut small) && !is_cut(&mut first) && !is_cut(&mut new));
        assert_eq!(greedy[0].0.grow(1), Err(OverBudget::GaveWay));
        assert_eq!(new.0.grow(3), Err(OverBudget::OfUser(6)));
        small.0.clear();
        assert_eq!(new.0.grow(2), Ok(()));
    }

    #[test]
    fn what_is_held_alone_is_refused_and_what_is_dropped_is_given_back() {
        let budget = FairBudget::new(10, 20);
        let (held, _cut) = budget.begin(peer(1), "alice");
        assert_eq!((held.grow(11), held.grow(10)), (Err(OverBudget::OfAll(10)), Ok(())));
        drop(held);
        let (held, _cut) = budget.begin(peer(1), "alice");
        assert_eq!(held.grow(10), Ok(()));
    }
}
