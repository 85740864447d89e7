//! The parts left out of a run: whole actors, kinds of faults, stretches of time. Shrinking leaves out more.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Something that a run can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Faults,
    /// All requests of users to the market.
    Bidders,
    /// Lost answers; the heartbeat is repeated.
    LostAnswers,
    /// Trackers that are silent, some beyond their expiry.
    Silence,
    Restarts,
    SlowHeartbeats,
    /// Trackers that report themselves unhealthy, run out of disk or refuse work.
    IllTrackers,
    /// A store that stalls, so that answers are delayed.
    StoreStalls,
    FailingAttempts,
    HangingAttempts,
    /// Reduces that cannot fetch the output of maps.
    FailedFetches,
    Bursts,
    /// Submissions that are slow between their phases or given up.
    SlowSubmissions,
    Kills,
    /// Requests that should not be granted.
    HostileBids,
    Replays,
    /// Bids right before and right after a tick.
    TimedBids,
    Orders,
    Administrator,
    QueueChanges,
    Treasurer,
    /// Safe mode, excluded hosts.
    Interventions,
    ClockSteps,
    LateTimers,
    /// Crashes and stops of the JobTracker itself.
    Crashes,
    Switches,
    Applications,
    /// Beats that are lost, doubled, late or missing, and nodes without room on their disks.
    WorkerFaults,
    FailingContainers,
    /// Calls and beats that must be refused.
    HostileCalls,
    RepeatedCalls,
    /// Programs that fall silent, and others that take over.
    VanishingPrograms,
    Players,
    Tracker(usize),
    User(usize),
    /// One of `STRETCHES` parts of the time, in which no actor acts.
    Stretch(u64),
}

/// Into how many stretches the time of a run is divided.
pub(crate) const STRETCHES: u64 = 16;

const NAMED: [(Part, &str); 33] = [
    (Part::Faults, "faults"),
    (Part::Bidders, "bidders"),
    (Part::LostAnswers, "lost-answers"),
    (Part::Silence, "silence"),
    (Part::Restarts, "restarts"),
    (Part::SlowHeartbeats, "slow-heartbeats"),
    (Part::IllTrackers, "ill-trackers"),
    (Part::StoreStalls, "store-stalls"),
    (Part::FailingAttempts, "failing-attempts"),
    (Part::HangingAttempts, "hanging-attempts"),
    (Part::FailedFetches, "failed-fetches"),
    (Part::Bursts, "bursts"),
    (Part::SlowSubmissions, "slow-submissions"),
    (Part::Kills, "kills"),
    (Part::HostileBids, "hostile-bids"),
    (Part::Replays, "replays"),
    (Part::TimedBids, "timed-bids"),
    (Part::Orders, "orders"),
    (Part::Administrator, "administrator"),
    (Part::QueueChanges, "queue-changes"),
    (Part::Treasurer, "treasurer"),
    (Part::Interventions, "interventions"),
    (Part::ClockSteps, "clock-steps"),
    (Part::LateTimers, "late-timers"),
    (Part::Crashes, "crashes"),
    (Part::Switches, "switches"),
    (Part::Applications, "applications"),
    (Part::WorkerFaults, "worker-faults"),
    (Part::FailingContainers, "failing-containers"),
    (Part::HostileCalls, "hostile-calls"),
    (Part::RepeatedCalls, "repeated-calls"),
    (Part::VanishingPrograms, "vanishing-programs"),
    (Part::Players, "players"),
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is nothing that can be left out; expected tracker-N, user-N, stretch-N or one of {known}", known = known())]
pub struct PartError(String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    pub without: BTreeSet<Part>,
    /// From this time on no actor acts, ms since the start.
    pub until_ms: Option<u64>,
}

fn known() -> String {
    NAMED.map(|(_, name)| name).join(", ")
}

impl Part {
    /// Every kind of thing that may be left out, but for single actors and stretches.
    pub fn kinds() -> impl Iterator<Item = Part> {
        NAMED.into_iter().map(|(part, _)| part)
    }

    /// The kind that this one belongs to.
    fn whole(self) -> Option<Part> {
        match self {
            Part::LostAnswers
            | Part::Silence
            | Part::Restarts
            | Part::SlowHeartbeats
            | Part::IllTrackers
            | Part::StoreStalls => Some(Part::Faults),
            Part::HostileBids | Part::Replays | Part::TimedBids | Part::Orders => Some(Part::Bidders),
            Part::QueueChanges => Some(Part::Administrator),
            Part::FailingContainers | Part::HostileCalls | Part::RepeatedCalls | Part::VanishingPrograms => {
                Some(Part::Applications)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Tracker(place) => write!(formatter, "tracker-{place}"),
            Part::User(place) => write!(formatter, "user-{place}"),
            Part::Stretch(place) => write!(formatter, "stretch-{place}"),
            other => {
                let name = NAMED.iter().find(|(part, _)| part == other).map_or("", |(_, name)| name);
                formatter.write_str(name)
            }
        }
    }
}

impl FromStr for Part {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let refuse = || PartError(text.chars().take(64).collect());
        if let Some((part, _)) = NAMED.iter().find(|(_, name)| *name == text) {
            return Ok(*part);
        }
        let (kind, place) = text.split_once('-').ok_or_else(refuse)?;
        match kind {
            "tracker" => place.parse().map(Part::Tracker).map_err(|_| refuse()),
            "user" => place.parse().map(Part::User).map_err(|_| refuse()),
            "stretch" => place.parse().map(Part::Stretch).map_err(|_| refuse()),
            _ => Err(refuse()),
        }
    }
}

impl Cuts {
    pub fn has(&self, part: Part) -> bool {
        !self.without.contains(&part) && part.whole().is_none_or(|whole| !self.without.contains(&whole))
    }
}

/// As the options of `jobtracker simulate` write it; nothing where nothing is left out.
impl fmt::Display for Cuts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.without.is_empty() {
            let names: Vec<String> = self.without.iter().map(Part::to_string).collect();
            write!(formatter, " --without {}", names.join(","))?;
        }
        match self.until_ms {
            Some(until_ms) => write!(formatter, " --until {until_ms}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_read_as_it_is_written() {
        let single = [Part::Tracker(3), Part::User(0), Part::Stretch(15)];
        for part in Part::kinds().chain(single) {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        for bad in ["", "tracker", "tracker-", "user-x", "gifts"] {
            assert!(bad.parse::<Part>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_kind_goes_with_the_whole_it_belongs_to() {
        let cuts = Cuts { without: [Part::Faults, Part::User(1)].into(), until_ms: Some(70) };
        assert!(!cuts.has(Part::Silence) && !cuts.has(Part::User(1)));
        assert!(cuts.has(Part::HostileBids) && cuts.has(Part::User(0)));
        assert_eq!(cuts.to_string(), " --without faults,user-1 --until 70");
        assert_eq!(Cuts::default().to_string(), "");
    }
}
