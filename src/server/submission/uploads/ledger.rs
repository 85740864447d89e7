//! What is known of the files that clients hand over: how many bytes of which user for which job, and since when nothing more has come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::Instant;

use crate::config::settings::UploadLimits;
use crate::http::Peer;
use crate::model::JobId;
use crate::web::FileRefusal;

/// Time after the last upload in which a job must be submitted.
pub(super) const KEPT_FOR: Duration = Duration::from_mins(10);
/// Jobs with files, and those of one user: bounds for memory and folders.
const JOBS: (usize, usize) = (20_000, 2_000);
const MAX_FILES: usize = 1_000;
const MB: u64 = 1 << 20;

/// The user and the job of files.
pub(super) type Owner = (Arc<str>, JobId);

/// The files of all jobs that were handed over.
#[derive(Debug, Default)]
pub(super) struct UploadLedger {
    jobs: BTreeMap<Owner, UploadsOfJob>,
    users: BTreeMap<Arc<str>, Use>,
    /// Bytes by where they came from, in this run.
    peers: BTreeMap<Peer, u64>,
    all: Use,
}

#[derive(Debug)]
struct UploadsOfJob {
    stored: BTreeMap<String, u64>,
    /// Stored before a restart, and being written.
    other_bytes: u64,
    under_way: usize,
    last: Instant,
    is_submitted: bool,
    /// Where they came from; none: in an earlier run.
    peer: Option<Peer>,
}

/// Sums over jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    bytes: u64,
    jobs: usize,
}

/// Room for an upload under way; given back when dropped.
#[derive(Debug)]
pub(super) struct UploadReservation {
    ledger: Arc<Mutex<UploadLedger>>,
    limits: UploadLimits,
    owner: Owner,
    bytes: u64,
}

/// What is to be decided about the files of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Review {
    pub(super) owner: Owner,
    /// Whether the job was seen as submitted before.
    pub(super) is_submitted: bool,
    /// Whether nothing has come for [`KEPT_FOR`].
    pub(super) is_due: bool,
}

impl UploadLedger {
    /// Takes up files of an earlier run.
    pub(super) fn restore(&mut self, owner: Owner, bytes: u64, last: Instant) {
        self.files_of(&owner, None, last);
        self.add(&owner, bytes);
    }

    pub(super) fn has(&self, owner: &Owner) -> bool {
        self.jobs.contains_key(owner)
    }

    /// All jobs with files and nothing under way.
    pub(super) fn reviews(&self, now: Instant) -> Vec<Review> {
        let idle = self.jobs.iter().filter(|(_, files)| files.under_way == 0);
        let review = |(owner, files): (&Owner, &UploadsOfJob)| Review {
            owner: owner.clone(),
            is_submitted: files.is_submitted,
            is_due: now.saturating_duration_since(files.last) >= KEPT_FOR,
        };
        idle.map(review).collect()
    }

    pub(super) fn set_submitted(&mut self, owner: &Owner) {
        if let Some(files) = self.jobs.get_mut(owner) {
            files.is_submitted = true;
        }
    }

    /// The users whose files of the job are known.
    pub(super) fn owners_of(&self, job: JobId) -> Vec<Owner> {
        self.jobs.keys().filter(|(_, id)| *id == job).cloned().collect()
    }

    /// Forgets the files of a job, unless one more is under way.
    pub(super) fn forget(&mut self, owner: &Owner) -> bool {
        if self.jobs.get(owner).is_none_or(|files| files.under_way > 0) {
            return false;
        }
        let Some(files) = self.jobs.remove(owner) else { return false };
        let bytes = files.other_bytes + files.stored.values().sum::<u64>();
        self.give_back(files.peer, bytes);
        let of_user = self.users.entry(owner.0.clone()).or_default();
        for sum in [of_user, &mut self.all] {
            sum.bytes = sum.bytes.saturating_sub(bytes);
            sum.jobs = sum.jobs.saturating_sub(1);
        }
        if self.users.get(&owner.0).is_some_and(|of_user| of_user.jobs == 0) {
            self.users.remove(&owner.0);
        }
        true
    }

    fn give_back(&mut self, peer: Option<Peer>, bytes: u64) {
        let Some(peer) = peer else { return };
        let left = self.peers.get(&peer).map_or(0, |held| held.saturating_sub(bytes));
        match left {
            0 => drop(self.peers.remove(&peer)),
            left => drop(self.peers.insert(peer, left)),
        }
    }

    fn files_of(&mut self, owner: &Owner, peer: Option<Peer>, now: Instant) -> &mut UploadsOfJob {
        if !self.jobs.contains_key(owner) {
            self.users.entry(owner.0.clone()).or_default().jobs += 1;
            self.all.jobs += 1;
        }
        let files = self.jobs.entry(owner.clone()).or_insert_with(|| UploadsOfJob {
            stored: BTreeMap::new(),
            other_bytes: 0,
            under_way: 0,
            last: now,
            is_submitted: false,
            peer,
        });
        files.last = now;
        files
    }

    fn begin(&mut self, (owner, peer): (&Owner, Peer), name: &str, now: Instant) -> Result<(), FileRefusal> {
        let of_user = self.users.get(&owner.0).copied().unwrap_or_default();
        let busy = |text: String| FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, text);
        if !self.has(owner) && (of_user.jobs >= JOBS.1 || self.all.jobs >= JOBS.0) {
            let (user, all) = (of_user.jobs, self.all.jobs);
            return Err(busy(format!(
                "{all} jobs have files here, {user} of this user: try again when some have ended"
            )));
        }
        let is_new = |files: &UploadsOfJob| {
            !files.stored.contains_key(name) && files.stored.len() + files.under_way >= MAX_FILES
        };
        if self.jobs.get(owner).is_some_and(is_new) {
            let text =
                format!("{} has {MAX_FILES} files, as many as a job may have; expected an archive of them", owner.1);
            return Err(FileRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        self.files_of(owner, Some(peer), now).under_way += 1;
        Ok(())
    }

    fn check(&self, owner: &Owner, more_bytes: u64, limits: &UploadLimits) -> Result<(), FileRefusal> {
        let of_job = self.jobs.get(owner).map_or(0, |files| files.other_bytes + files.stored.values().sum::<u64>());
        let of_user = self.users.get(&owner.0).copied().unwrap_or_default().bytes;
        let peer = self.jobs.get(owner).and_then(|files| files.peer);
        let of_peer = peer.and_then(|peer| self.peers.get(&peer)).copied().unwrap_or(0);
        for (used, limit, whose, key) in [
            (of_job, limits.job_bytes, "one job", "max-mb"),
            (of_user, limits.user_bytes, "all jobs of a user", "max-mb-of-user"),
            // Names are made up; addresses less easily.
            (of_peer, limits.all_bytes / 2, "all users of one address", "max-mb-of-all: half of it"),
            (self.all.bytes, limits.all_bytes, "all jobs", "max-mb-of-all"),
        ] {
            if used.saturating_add(more_bytes) > limit {
                let most_mb = limit / MB;
                return Err(FileRefusal::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format_args!(
                        "the files of {whose} would have {} bytes; expected at most {most_mb} MB (jobtracker.upload.{key})",
                        used.saturating_add(more_bytes)
                    ),
                ));
            }
        }
        Ok(())
    }

    fn add(&mut self, owner: &Owner, bytes: u64) {
        if let Some(files) = self.jobs.get_mut(owner) {
            files.other_bytes += bytes;
            if let Some(peer) = files.peer {
                *self.peers.entry(peer).or_default() += bytes;
            }
        }
        self.users.entry(owner.0.clone()).or_default().bytes += bytes;
        self.all.bytes += bytes;
    }

    /// Ends an upload; `stored`: the name under which its bytes stay, if they do.
    fn end(&mut self, owner: &Owner, bytes: u64, stored: Option<&str>, now: Instant) {
        let mut gone_bytes = bytes;
        let mut peer = None;
        if let Some(files) = self.jobs.get_mut(owner) {
            peer = files.peer;
            files.under_way = files.under_way.saturating_sub(1);
            files.other_bytes = files.other_bytes.saturating_sub(bytes);
            files.last = now;
            if let Some(name) = stored {
                gone_bytes = files.stored.insert(name.to_owned(), bytes).unwrap_or(0);
            }
        }
        self.give_back(peer, gone_bytes);
        let of_user = self.users.entry(owner.0.clone()).or_default();
        for sum in [of_user, &mut self.all] {
            sum.bytes = sum.bytes.saturating_sub(gone_bytes);
        }
    }
}

impl UploadReservation {
    /// Room for an upload of `name`, which is refused at once if its length is known and too much.
    pub(super) fn new(
        ledger: &Arc<Mutex<UploadLedger>>,
        limits: UploadLimits,
        (owner, peer): (Owner, Peer),
        (name, length_bytes): (&str, Option<u64>),
    ) -> Result<Self, FileRefusal> {
        let mut locked = lock(ledger);
        locked.check(&owner, length_bytes.unwrap_or(0), &limits)?;
        locked.begin((&owner, peer), name, Instant::now())?;
        Ok(Self { ledger: ledger.clone(), limits, owner, bytes: 0 })
    }

    /// Room for more bytes.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), FileRefusal> {
        let mut ledger = lock(&self.ledger);
        ledger.check(&self.owner, bytes, &self.limits)?;
        ledger.add(&self.owner, bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Keeps the bytes, under a name of the job, in place of those that the name had.
    pub(super) fn keep(mut self, name: &str) -> u64 {
        let bytes = self.bytes;
        lock(&self.ledger).end(&self.owner, bytes, Some(name), Instant::now());
        // So that the drop has nothing to do.
        self.bytes = u64::MAX;
        bytes
    }
}

impl Drop for UploadReservation {
    fn drop(&mut self) {
        if self.bytes != u64::MAX {
            lock(&self.ledger).end(&self.owner, self.bytes, None, Instant::now());
        }
    }
}

pub(super) fn lock(ledger: &Mutex<UploadLedger>) -> MutexGuard<'_, UploadLedger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: UploadLimits =
        UploadLimits { job_bytes: 10 * MB, user_bytes: 15 * MB, all_bytes: 20 * MB, keep_free_bytes: 0 };

    fn peer(last: u8) -> Peer {
        Peer::from(std::net::IpAddr::from([10, 0, 0, last]))
    }

    fn owner(user: &str, number: u32) -> Owner {
        (Arc::from(user), format!("job_7_{number:04}").parse().unwrap())
    }

    fn store(ledger: &Arc<Mutex<UploadLedger>>, owner: &Owner, name: &str, bytes: u64) -> Result<(), String> {
        let mut reservation =
            UploadReservation::new(ledger, LIMITS, (owner.clone(), peer(owner.1.number as u8)), (name, None))
                .map_err(|refusal| refusal.text)?;
        reservation.grow(bytes).map_err(|refusal| refusal.text)?;
        assert_eq!(reservation.keep(name), bytes);
        Ok(())
    }

    #[test]
    fn job_user_and_all_have_bounds_that_name_their_keys() {
        let ledger = Arc::default();
        let (first, second) = (owner("alice", 1), owner("alice", 2));
        store(&ledger, &first, "a", 9 * MB).unwrap();
        let refused = store(&ledger, &first, "b", 2 * MB).unwrap_err();
        assert!(
            refused.contains("the files of one job") && refused.ends_with("at most 10 MB (jobtracker.upload.max-mb)")
        );
        let refused = store(&ledger, &second, "a", 7 * MB).unwrap_err();
        assert!(refused.ends_with("15 MB (jobtracker.upload.max-mb-of-user)"), "{refused}");
        store(&ledger, &owner("bob", 3), "a", 10 * MB).unwrap();
        let refused = store(&ledger, &second, "a", 2 * MB).unwrap_err();
        assert!(refused.ends_with("20 MB (jobtracker.upload.max-mb-of-all)"), "{refused}");
        let known = UploadReservation::new(&ledger, LIMITS, (first.clone(), peer(1)), ("b", Some(2 * MB))).unwrap_err();
        assert_eq!(known.status, StatusCode::PAYLOAD_TOO_LARGE);
        // What was refused and what is replaced gives its room back.
        store(&ledger, &first, "a", MB).unwrap();
        store(&ledger, &first, "b", 9 * MB).unwrap();
        let forget = |owner: &Owner| lock(&ledger).forget(owner);
        assert!(forget(&first));
        assert!(!forget(&first));
        store(&ledger, &second, "a", 10 * MB).unwrap();
        assert!(forget(&second));
        assert!(forget(&owner("bob", 3)));
        let empty = lock(&ledger);
        assert_eq!((empty.all.bytes, empty.peers.len(), empty.users.len()), (0, 0, 0));
    }

    #[test]
    fn names_of_one_address_share_half_of_all() {
        let ledger = Arc::default();
        let reserve = |user: &str, number, last| {
            let key = (owner(user, number), peer(last));
            let reservation = UploadReservation::new(&ledger, LIMITS, key, ("a", None)).map_err(|refusal| refusal.text);
            reservation.and_then(|mut reservation| {
                reservation.grow(6 * MB).map_err(|refusal| refusal.text)?;
                Ok(reservation.keep("a"))
            })
        };
        reserve("made-up-1", 1, 7).unwrap();
        let refused = reserve("made-up-2", 2, 7).unwrap_err();
        assert!(refused.contains("of all users of one address") && refused.contains("max-mb-of-all"), "{refused}");
        reserve("alice", 3, 8).unwrap();
    }

    #[test]
    fn uploads_under_way_are_counted_and_end_with_their_reservation() {
        let ledger = Arc::default();
        let begin = || UploadReservation::new(&ledger, LIMITS, (owner("alice", 1), peer(1)), ("a", None));
        let held = begin().unwrap();
        assert!(UploadReservation::new(&ledger, LIMITS, (owner("bob", 2), peer(1)), ("a", None)).is_ok());
        assert!(!lock(&ledger).forget(&owner("alice", 1)), "one is under way");
        assert!(lock(&ledger).reviews(Instant::now()).iter().all(|review| &*review.owner.0 == "bob"));
        drop(held);
        assert!(begin().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn files_without_a_job_are_due_after_ten_minutes_from_the_last() {
        let ledger = Arc::default();
        let key = owner("alice", 1);
        let is_due = || lock(&ledger).reviews(Instant::now())[0].is_due;
        store(&ledger, &key, "a", 1).unwrap();
        tokio::time::advance(KEPT_FOR - Duration::from_secs(1)).await;
        assert!(!is_due());
        store(&ledger, &key, "b", 1).unwrap();
        tokio::time::advance(KEPT_FOR - Duration::from_secs(1)).await;
        assert!(!is_due());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(is_due());
    }
}
