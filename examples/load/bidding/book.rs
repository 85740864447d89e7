//! What the clients of a bidding load asked for and what they were told, so that a restart can be held to it.
//!
//! Each sum and each rate carries the number of its request in its last nine decimals, so that a row of the ledger names the
//! request it came from.

use std::collections::BTreeMap;

use jobtracker::model::JobId;

use super::world::World;

/// Requests up to which their numbers fit the last nine decimals of a credit.
const NUMBERS: i128 = 1_000_000_000;

/// A change that was asked for. Sums are units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `setSpending`
    Bid(i128),
    /// `addBudget`
    Money(i128),
    /// `addQueue`
    Open,
    /// `removeQueue`
    Close,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 200.
    Done,
    /// Another answer: nothing may have changed but the signer's stamp.
    Refused,
    /// The daemon died before its answer came. It may be done, but then wholly.
    Lost,
    /// The answer was lost, and state.db shows that it was done.
    LostButDone,
    /// The answer was lost, and state.db shows no trace.
    LostAndGone,
}

/// A signed request for a change.
#[derive(Clone, Debug)]
pub struct Request {
    /// The queue it is about.
    pub queue: String,
    /// The change.
    pub change: Change,
    /// Who signed.
    pub user: usize,
    /// The signed query.
    pub query: String,
    /// Its signature.
    pub authorization: String,
    /// The timestamp under the signature.
    pub timestamp_ms: i64,
    /// When it was sent, epoch ms.
    pub sent_ms: i64,
    /// When its answer came, epoch ms.
    pub answered_ms: Option<i64>,
    /// What came of it.
    pub outcome: Outcome,
}

/// A job that was submitted.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The job.
    pub job: JobId,
    /// Who submitted.
    pub user: usize,
    /// The timestamp under the signature.
    pub timestamp_ms: i64,
    /// It was accepted; else its answer was lost.
    pub is_accepted: bool,
}

/// All that was asked.
#[derive(Debug, Default)]
pub struct Book {
    /// Changes, in the order they were sent. The number of one is its place here, counted from 1.
    pub requests: Vec<Request>,
    /// Jobs.
    pub submissions: Vec<Submission>,
    /// Requests that change nothing and were answered.
    pub reads: u64,
    /// What no daemon may do.
    pub wrong: Vec<String>,
}

// === impl Change ===

impl Change {
    /// A sum that names the request: of `rough` only whole thousandths of a credit stay.
    pub fn numbered(rough: i128, number: usize) -> i128 {
        rough - rough % NUMBERS + number as i128
    }

    /// The number in a sum; 0 of one that came from the budget file.
    pub fn number_in(units: i128) -> usize {
        usize::try_from(units % NUMBERS).unwrap_or(0)
    }
}

// === impl Outcome ===

impl Outcome {
    /// The change has been made for certain.
    pub fn is_done(self) -> bool {
        matches!(self, Outcome::Done | Outcome::LostButDone)
    }

    /// The signer's stamp has been moved for certain.
    pub fn is_stamped(self) -> bool {
        matches!(self, Outcome::Done | Outcome::Refused | Outcome::LostButDone)
    }
}

// === impl Book ===

impl Book {
    /// The request of that number.
    pub fn request(&self, number: usize) -> Option<&Request> {
        self.requests.get(number.checked_sub(1)?)
    }

    /// The bid of each queue, as all who were answered must find it; with every answer known, by now. Only one user
    /// at a time changes whether a queue is there and what it bids.
    pub fn standing(&self, world: &World) -> BTreeMap<String, i128> {
        let first = world.first_accounts().into_iter();
        let mut bids: BTreeMap<String, i128> = first.map(|(queue, (_, rate))| (queue, rate)).collect();
        for request in self.requests.iter().filter(|request| request.outcome.is_done()) {
            match request.change {
                Change::Bid(rate) => {
                    bids.insert(request.queue.clone(), rate);
                }
                Change::Open => {
                    bids.insert(request.queue.clone(), 0);
                }
                Change::Close => {
                    bids.remove(&request.queue);
                }
                Change::Money(_) => {}
            }
        }
        bids
    }

    /// The last request of each user that moved his stamp.
    pub fn last_stamped(&self) -> BTreeMap<usize, &Request> {
        let stamped = self.requests.iter().filter(|request| request.outcome.is_stamped());
        stamped.map(|request| (request.user, request)).collect()
    }

    /// The last job of each user that was accepted.
    pub fn last_accepted(&self) -> BTreeMap<usize, &Submission> {
        let accepted = self.submissions.iter().filter(|submission| submission.is_accepted);
        accepted.map(|submission| (submission.user, submission)).collect()
    }
}
