//! The scheduler's state as a policy may read it.

use rustc_hash::FxHashMap;

use crate::model::TrackerId;

use super::app::App;
use super::group::{Group, Groups};
use super::node::{Node, Totals};
use super::{AppId, GroupId};

/// Groups, apps, nodes and sums, without the right to change them.
pub(super) struct View<'a> {
    pub(super) groups: &'a Groups,
    pub(super) totals: &'a Totals,
    pub(super) apps: &'a FxHashMap<AppId, App>,
    pub(super) nodes: &'a FxHashMap<TrackerId, Node>,
}

impl View<'_> {
    pub(super) fn app(&self, id: AppId) -> Option<&App> {
        self.apps.get(&id)
    }

    pub(super) fn node(&self, id: TrackerId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub(super) fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(id)
    }
}
