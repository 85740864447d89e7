//! What groups want: what they hold, and what of all that they ask for could run on the nodes that are there, were these
//! empty. Work that no node could run is no want.

use rustc_hash::FxHashMap;

use crate::model::{Capability, Kind, Now, PerKind, PerPool, TrackerId};

use super::app::App;
use super::change::Change;
use super::group::Group;
use super::task_nodes::TaskNeeds;
use super::{AppId, GroupId, Scheduler};

/// Time between two looks at which apps no node could run.
const FITS_INTERVAL_MS: u64 = 1_000;

/// Why no node that is there could run what an app waits for, were it empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Its tasks run only on nodes that run more than Hadoop Streaming, and no such node has slots.
    NeedsStock,
    /// No node has so much room for a map, bytes.
    Room(u64),
    SlotsPerTask(Kind, u32),
    Avoided,
    NoContainerNodes,
    /// No node that takes containers is as large.
    NoNodeFits(Capability),
    /// Its gates, its blacklist or relax-locality exclude all nodes that are as large.
    Gates(Capability),
}

#[derive(Debug)]
pub(crate) struct Wants<'a> {
    scheduler: &'a Scheduler,
    /// Slots of tasks that need nothing in particular.
    usable: PerKind<u64>,
    /// Of groups with apps that cannot use all of them.
    confined: FxHashMap<GroupId, PerKind<Vec<Confined>>>,
}

/// An app that cannot use all slots, or whose tasks need several each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Confined {
    usable: u64,
    /// Slots that it holds or asks for now.
    now: AppSlots,
    /// The same once all of its tasks may run.
    later: AppSlots,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct AppSlots {
    slots: u64,
    /// As its group counts it: held slots, and tasks that wait.
    counted: u64,
}

impl Scheduler {
    pub(crate) fn set_task_needs(&mut self, id: AppId, needs: TaskNeeds) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| app.needs != needs) else { return };
        app.needs = needs;
        self.list_if_choosy(id);
    }

    /// Says whether a node runs only Hadoop Streaming; at first it runs any task.
    pub(crate) fn set_streaming_only(&mut self, node: TrackerId, is_streaming_only: bool) {
        self.task_nodes.change(node, |node| node.is_streaming_only = is_streaming_only);
    }

    /// Sets the room on the disks of a node, bytes; none: it reports none, and has room for anything.
    pub(crate) fn set_disk_room(&mut self, node: TrackerId, bytes: Option<u64>) {
        self.task_nodes.change(node, |node| node.room_bytes = bytes);
    }

    pub(super) fn list_if_choosy(&mut self, id: AppId) {
        if let Some(app) = self.apps.get(&id) {
            self.choosy.set(id, app);
        }
    }

    /// Works out what has changed since the last call, so that [`Self::wants`] takes no longer than there are groups and
    /// apps that cannot use all nodes.
    pub(crate) fn refresh_wants(&mut self) {
        self.refresh_container_wants();
    }

    pub(crate) fn wants(&self) -> Wants<'_> {
        let usable = self.usable_by_all();
        let mut confined: FxHashMap<GroupId, PerKind<Vec<Confined>>> = FxHashMap::default();
        for app in self.confined_apps() {
            for kind in Kind::ALL {
                let of_app = self.confined(app, kind);
                let is_counted = |asked: AppSlots| asked.slots == asked.counted;
                let is_plain = of_app.usable >= usable[kind] && is_counted(of_app.now) && is_counted(of_app.later);
                if !is_plain && of_app.now.counted.max(of_app.later.counted) > 0 {
                    // A group and the groups above it, each by its own id.
                    for group in self.groups.path(app.home) {
                        confined.entry(group).or_default()[kind].push(of_app);
                    }
                }
            }
        }
        Wants { scheduler: self, usable, confined }
    }

    /// Why no node that is there could run anything that an app waits for, were it empty. None where some node could, and
    /// where the app waits for nothing, or no node is there at all.
    pub(crate) fn misfit(&self, id: AppId) -> Option<Misfit> {
        let app = self.apps.get(&id).filter(|_| self.totals.nodes > 0)?;
        let of_tasks = || {
            let waits = |kind: &Kind| asked(app, *kind) > 0 && self.totals.slots[*kind] > 0;
            let mut kinds = Kind::ALL.into_iter().filter(waits).peekable();
            kinds.peek()?;
            let misfits: Option<Vec<Misfit>> = kinds.map(|kind| self.task_misfit(app, kind)).collect();
            misfits?.into_iter().next()
        };
        self.container_misfit(id).or_else(of_tasks)
    }

    /// Works out which apps no node could run, at most once a second: limits on begun work do not count them. O(apps that
    /// may not run everywhere, and those that ask for containers).
    pub(super) fn refresh_fits_when_due(&mut self, now: Now) {
        let is_asked_for = self.policy.leaves_out_stuck_apps();
        // After another policy ruled that asked, none is stuck for one that does not.
        if now.mono_ms < self.fits_due_mono_ms || !is_asked_for && self.choosy.stuck().is_empty() {
            return;
        }
        self.fits_due_mono_ms = now.mono_ms.saturating_add(FITS_INTERVAL_MS);
        let mut apps = self.choosy.all();
        apps.extend(self.containers.asking().map(|(_, id)| *id));
        for id in apps {
            let is_stuck = is_asked_for && !self.holds_anything(id) && self.misfit(id).is_some();
            let Some(app) = self.apps.get_mut(&id).filter(|app| app.is_stuck != is_stuck) else { continue };
            app.is_stuck = is_stuck;
            self.choosy.set_stuck(id, is_stuck);
            self.notify(&Change::Fit(id));
        }
    }

    pub(crate) fn holds_anything(&self, id: AppId) -> bool {
        self.apps.get(&id).is_some_and(|app| app.running != PerPool::default())
    }

    /// Apps of a group that wait for something, so many at most. O(apps): for questions of people.
    pub(crate) fn waiting_apps(&self, group: GroupId, most: usize) -> Vec<AppId> {
        let waits = |app: &App| {
            Kind::ALL.iter().any(|kind| asked(app, *kind) > 0)
                || app.containers.as_ref().is_some_and(|demand| demand.has_rows())
        };
        let of_group = self.apps.iter().filter(|(_, app)| app.spec.group == group && waits(app));
        let mut waiting: Vec<AppId> = of_group.map(|(id, _)| *id).collect();
        waiting.sort_unstable();
        waiting.truncate(most);
        waiting
    }

    fn task_misfit(&self, app: &App, kind: Kind) -> Option<Misfit> {
        let (needs, slots) = (&app.needs, app.slots_per_task(kind));
        let usable = |needs: &TaskNeeds, slots| self.task_nodes.usable(needs, kind, slots) > 0;
        if usable(needs, slots) {
            return None;
        }
        let unavoided = TaskNeeds { avoided: Vec::new(), ..needs.clone() };
        let roomless = TaskNeeds { room_per_map_bytes: 0, ..unavoided.clone() };
        Some(if !usable(&roomless, 1) {
            Misfit::NeedsStock
        } else if !usable(&roomless, slots) {
            Misfit::SlotsPerTask(kind, slots)
        } else if !usable(&unavoided, slots) {
            Misfit::Room(needs.room_per_map_bytes)
        } else {
            Misfit::Avoided
        })
    }

    fn usable_by_all(&self) -> PerKind<u64> {
        let usable = |kind| self.task_nodes.usable(&TaskNeeds::default(), kind, 1);
        PerKind::new(usable(Kind::Map), usable(Kind::Reduce))
    }

    /// Apps that some node could not run. Those whose maps find room on every node are not looked at.
    fn confined_apps(&self) -> impl Iterator<Item = &App> {
        let least = self.task_nodes.least_room_bytes().unwrap_or(u64::MAX);
        self.choosy.confined(least).filter_map(|id| self.apps.get(id))
    }

    fn confined(&self, app: &App, kind: Kind) -> Confined {
        let slots = app.slots_per_task(kind);
        let held = u64::from(app.held[kind]);
        let of = |tasks: u64| AppSlots {
            slots: held.saturating_add(tasks.saturating_mul(slots.into())),
            counted: held.saturating_add(tasks),
        };
        let usable = self.task_nodes.usable(&app.needs, kind, slots);
        let now = of(asked(app, kind));
        // Reduces wait for maps: where these could run nowhere, they never begin.
        let is_blocked = kind == Kind::Reduce
            && app.wanted_later(Kind::Map) > 0
            && self.task_nodes.usable(&app.needs, Kind::Map, app.slots_per_task(Kind::Map)) == 0;
        let all = of(app.wanted_later(kind).into());
        let later = if is_blocked { AppSlots { slots: now.slots, ..all } } else { all };
        Confined { usable, now, later }
    }
}

/// Tasks of an app that could run now, given a slot: those that wait, or its setup that does, for which it asks a map slot.
fn asked(app: &App, kind: Kind) -> u64 {
    let setup = u32::from(kind == Kind::Map && app.is_preparing());
    app.waiting(kind.into()) + u64::from(setup)
}

impl Wants<'_> {
    /// Slots that a group holds or could use of each pool now.
    pub(crate) fn of(&self, group: GroupId) -> PerPool<u32> {
        let now = |kind| {
            let of_setups = |group: &Group| if kind == Kind::Map { u64::from(group.preparing) } else { 0 };
            self.of_kind(group, kind, |group| group.waiting[kind].saturating_add(of_setups(group)), |app| app.now)
        };
        PerPool::new(now(Kind::Map), now(Kind::Reduce), self.scheduler.container_want(group))
    }

    /// Slots that a group holds or could use once its jobs are set up and their reduces may begin.
    pub(crate) fn later(&self, group: GroupId) -> PerKind<u32> {
        let later = |kind| self.of_kind(group, kind, |group| group.pending[kind], |app| app.later);
        PerKind::new(later(Kind::Map), later(Kind::Reduce))
    }

    fn of_kind(
        &self,
        id: GroupId,
        kind: Kind,
        tasks: impl Fn(&Group) -> u64,
        asked: impl Fn(&Confined) -> AppSlots,
    ) -> u32 {
        let Some(group) = self.scheduler.groups.get(id) else { return 0 };
        let all = u64::from(group.held[kind]).saturating_add(tasks(group));
        let confined = self.confined.get(&id).map_or(&[][..], |confined| &confined[kind][..]);
        let by_others = all.saturating_sub(confined.iter().map(|app| asked(app).counted).sum());
        let want = by_others.saturating_add(in_common(confined, |app| asked(app).slots));
        // Without any slots there is nothing that it could not use.
        let usable = if self.usable[kind] == 0 { u64::MAX } else { self.usable[kind] };
        u32::try_from(want.min(usable)).unwrap_or(u32::MAX).max(group.held[kind])
    }
}

/// Slots that apps can use together which cannot use all of them: no more than the widest choice among them, since what
/// one can use another may be able to use too.
fn in_common(apps: &[Confined], asked: impl Fn(&Confined) -> u64) -> u64 {
    let mut apps = apps.to_vec();
    apps.sort_unstable();
    apps.iter().fold(0, |sum: u64, app| sum.max(sum.saturating_add(asked(app)).min(app.usable)))
}
