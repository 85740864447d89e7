//! The parts left out of a run: whole actors, kinds of faults, stretches of time. Shrinking leaves out more.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Something that a run can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunPart {
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

const NAMED: [(RunPart, &str); 33] = [
    (RunPart::Faults, "faults"),
    (RunPart::Bidders, "bidders"),
    (RunPart::LostAnswers, "lost-answers"),
    (RunPart::Silence, "silence"),
    (RunPart::Restarts, "restarts"),
    (RunPart::SlowHeartbeats, "slow-heartbeats"),
    (RunPart::IllTrackers, "ill-trackers"),
    (RunPart::StoreStalls, "store-stalls"),
    (RunPart::FailingAttempts, "failing-attempts"),
    (RunPart::HangingAttempts, "hanging-attempts"),
    (RunPart::FailedFetches, "failed-fetches"),
    (RunPart::Bursts, "bursts"),
    (RunPart::SlowSubmissions, "slow-submissions"),
    (RunPart::Kills, "kills"),
    (RunPart::HostileBids, "hostile-bids"),
    (RunPart::Replays, "replays"),
    (RunPart::TimedBids, "timed-bids"),
    (RunPart::Orders, "orders"),
    (RunPart::Administrator, "administrator"),
    (RunPart::QueueChanges, "queue-changes"),
    (RunPart::Treasurer, "treasurer"),
    (RunPart::Interventions, "interventions"),
    (RunPart::ClockSteps, "clock-steps"),
    (RunPart::LateTimers, "late-timers"),
    (RunPart::Crashes, "crashes"),
    (RunPart::Switches, "switches"),
    (RunPart::Applications, "applications"),
    (RunPart::WorkerFaults, "worker-faults"),
    (RunPart::FailingContainers, "failing-containers"),
    (RunPart::HostileCalls, "hostile-calls"),
    (RunPart::RepeatedCalls, "repeated-calls"),
    (RunPart::VanishingPrograms, "vanishing-programs"),
    (RunPart::Players, "players"),
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is nothing that can be left out; expected tracker-N, user-N, stretch-N or one of {known}", known = known())]
pub struct PartError(String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    pub without: BTreeSet<RunPart>,
    /// From this time on no actor acts, ms since the start.
    pub until_ms: Option<u64>,
}

fn known() -> String {
    NAMED.map(|(_, name)| name).join(", ")
}

impl RunPart {
    /// Every kind of thing that may be left out, but for single actors and stretches.
    pub fn kinds() -> impl Iterator<Item = RunPart> {
        NAMED.into_iter().map(|(part, _)| part)
    }

    /// The kind that this one belongs to.
    fn whole(self) -> Option<RunPart> {
        match self {
            RunPart::LostAnswers
            | RunPart::Silence
            | RunPart::Restarts
            | RunPart::SlowHeartbeats
            | RunPart::IllTrackers
            | RunPart::StoreStalls => Some(RunPart::Faults),
            RunPart::HostileBids | RunPart::Replays | RunPart::TimedBids | RunPart::Orders => Some(RunPart::Bidders),
            RunPart::QueueChanges => Some(RunPart::Administrator),
            RunPart::FailingContainers
            | RunPart::HostileCalls
            | RunPart::RepeatedCalls
            | RunPart::VanishingPrograms => Some(RunPart::Applications),
            _ => None,
        }
    }
}

impl fmt::Display for RunPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunPart::Tracker(place) => write!(formatter, "tracker-{place}"),
            RunPart::User(place) => write!(formatter, "user-{place}"),
            RunPart::Stretch(place) => write!(formatter, "stretch-{place}"),
            other => {
                let name = NAMED.iter().find(|(part, _)| part == other).map_or("", |(_, name)| name);
                formatter.write_str(name)
            }
        }
    }
}

impl FromStr for RunPart {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let refuse = || PartError(text.chars().take(64).collect());
        if let Some((part, _)) = NAMED.iter().find(|(_, name)| *name == text) {
            return Ok(*part);
        }
        let (kind, place) = text.split_once('-').ok_or_else(refuse)?;
        match kind {
            "tracker" => place.parse().map(RunPart::Tracker).map_err(|_| refuse()),
            "user" => place.parse().map(RunPart::User).map_err(|_| refuse()),
            "stretch" => place.parse().map(RunPart::Stretch).map_err(|_| refuse()),
            _ => Err(refuse()),
        }
    }
}

impl Cuts {
    pub fn has(&self, part: RunPart) -> bool {
        !self.without.contains(&part) && part.whole().is_none_or(|whole| !self.without.contains(&whole))
    }
}

/// As the options of `jobtracker simulate` write it; nothing where nothing is left out.
impl fmt::Display for Cuts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.without.is_empty() {
            let names: Vec<String> = self.without.iter().map(RunPart::to_string).collect();
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
        let single = [RunPart::Tracker(3), RunPart::User(0), RunPart::Stretch(15)];
        for part in RunPart::kinds().chain(single) {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        for bad in ["", "tracker", "tracker-", "user-x", "gifts"] {
            assert!(bad.parse::<RunPart>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_kind_goes_with_the_whole_it_belongs_to() {
        let cuts = Cuts { without: [RunPart::Faults, RunPart::User(1)].into(), until_ms: Some(70) };
        assert!(!cuts.has(RunPart::Silence) && !cuts.has(RunPart::User(1)));
        assert!(cuts.has(RunPart::HostileBids) && cuts.has(RunPart::User(0)));
        assert_eq!(cuts.to_string(), " --without faults,user-1 --until 70");
        assert_eq!(Cuts::default().to_string(), "");
    }
}
