//! What must hold of containers, compared with a recount.

use crate::model::Violations;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Compares what applications hold and what the index of nodes says with a recount: slow, for builds with debug
    /// assertions.
    pub(in crate::scheduler) fn check_containers(&self, violations: &mut Violations) {
        for (id, app) in &self.apps {
            let running = app.containers.as_ref().map_or(0, |demand| demand.total_running());
            violations.check(running == u64::from(app.running.container), || {
                format!("{id} holds {} containers, by its types {running}", app.running.container)
            });
        }
        for (id, node) in &self.nodes {
            let bag = node.bag.as_ref().filter(|bag| bag.takes_containers);
            let free = bag.map(|bag| bag.free(node.tasks(), self.containers.slot));
            let indexed = self.containers.nodes.free_on(*id);
            violations.check(free == indexed, || format!("{id} has {free:?} free, by the index {indexed:?}"));
            let reserved = node.bag.as_ref().and_then(|bag| bag.reserved);
            let is_mutual = reserved.is_none_or(|(app, request)| {
                let table = self.demand(app).and_then(|demand| demand.types.get(&request));
                table.is_some_and(|table| table.reserved_on == Some(*id))
            });
            violations.check(is_mutual, || format!("{id} is reserved for {reserved:?}, which does not know it"));
        }
    }
}
