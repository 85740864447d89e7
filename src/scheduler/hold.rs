//! What holds an app back at this moment, as far as the policy decides it.

use crate::model::Kind;

use super::Level;

/// A limit or a wait that holds an app back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It does not begin: as many apps, or tasks of apps, have begun as a limit allows.
    BeginLimit { of: LimitOwner, counts: LimitUnit, limit: u64, used: u64 },
    /// It does not begin before an app of its group or user that was submitted earlier.
    BeginsLater,
    /// Its group, or one around it, holds all slots that it may ever hold.
    GroupMaximum { kind: Kind, group: String, maximum: u32, held: u32 },
    /// Its user holds all slots of the group that one user may hold now.
    UserLimit { kind: Kind, limit: u64, held: u32 },
    /// Nodes keep their free slots for it until they are enough for one of its tasks.
    Reservation { kind: Kind, nodes: u32, slots_per_task: u32 },
    /// Its reduces wait for its last map, or for slots that no other deadline needs.
    AfterMaps { has_maps: bool },
    /// Its deadline allows it so many slots at a time.
    DeadlineLimit { kind: Kind, limit: u32, held: u32 },
    /// Its deadline gives it slots from a later moment on, and none is free for as long as one of its tasks lasts before.
    PlannedStart {
        kind: Kind,
        /// When, epoch ms.
        start_ms: i64,
    },
    /// All slots that are free are promised to apps with deadlines.
    PromisedToDeadlines { kind: Kind },
    /// Its maps wait for slots near their input.
    Locality { farthest: Level, until: LocalityEnd },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitOwner {
    Group(String),
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitUnit {
    Apps,
    Tasks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalityEnd {
    /// At least so long, ms.
    AfterMs(u64),
    /// Until so many more nodes had no near task for it.
    AfterOffers(u64),
}
