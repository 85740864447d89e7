//! Decisions: what gave way to what, and who changed what.

use serde_json::Value;

use crate::api::Decision;
use crate::model::{FactNumber, JobId};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::Owner;
use super::super::viewer;
use super::address::part;
use super::answer::Content;
use super::ask::Ask;
use super::listing::{Listing, RowPlace, SortKey};

struct DecisionsQuery {
    kinds: Vec<String>,
    job: Option<JobId>,
    queue: Option<String>,
    user: Option<String>,
    worker: Option<String>,
}

impl DecisionsQuery {
    fn read(parameters: &mut QueryParameters) -> Self {
        Self {
            kinds: parameters.take_all("kind"),
            job: parameters.parsed("job", "the id of a job", |text| text.parse().ok()),
            queue: parameters.take("queue"),
            user: parameters.take("user"),
            worker: parameters.take("worker"),
        }
    }

    fn has(&self, decision: &Decision) -> bool {
        let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == decision.kind))
            && (self.job.is_none() || self.job == decision.job)
            && is(&self.queue, &decision.queue)
            && is(&self.user, &decision.user)
            && is(&self.worker, &decision.worker)
    }
}

/// Answers `/decisions`: the newest first.
pub(super) fn decisions<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["-number", "number"]);
    let wanted = DecisionsQuery::read(&mut parameters);
    parameters.end()?;
    let rows = viewer::decisions(&ask.shown.views, &ask.viewer).filter(|decision| wanted.has(decision));
    let place = |decision: &Decision| {
        let number = i64::try_from(decision.number).unwrap_or(i64::MAX);
        RowPlace(SortKey::Number(number), String::new())
    };
    Ok(listing.page(rows.map(|decision| (place(&decision), decision)), shown))
}

pub(super) fn decision<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let text = ask.parts.get(part::DECISION);
    let number = text.parse().ok().map(FactNumber);
    let found = number.and_then(|number| viewer::decision(&ask.shown.views, &ask.viewer, number));
    let found = found.ok_or_else(|| {
        let detail = format!("there is no decision {text} among the newest");
        Problem::new(ProblemName::NoSuchDecision, detail).with_try("/api/v1/decisions")
    })?;
    Ok(Content::One(shown(&found)))
}

/// Its moments are those of the decision, not of the reading.
fn shown(decision: &Decision) -> Value {
    serde_json::to_value(decision).unwrap_or_default()
}
