//! Decisions as they are shown: with what pays for slots, or without where that is private.

use crate::api::{self, Claimant};
use crate::engine::{Change, Decided, Decision, Preempted, Victim};
use crate::model::{FactNumber, JobId};
use crate::wire::worker_name;

use super::read_model::Views;

/// What of a change everybody may see.
const PUBLIC_FIELDS: [&str; 16] = [
    "application",
    "attempt",
    "container",
    "excluded",
    "from",
    "included",
    "job",
    "on",
    "owner",
    "pool",
    "priority",
    "queue",
    "queues",
    "real-user",
    "to",
    "worker",
];

impl Views {
    /// The newest decisions, the newest first; rates and amounts of the queues alone whose money is shown.
    pub(crate) fn decision_rows(&self, sees_money_of: impl Fn(&str) -> bool) -> impl Iterator<Item = api::Decision> {
        self.decisions().rev().map(move |(number, decision)| decision_row(*number, decision, &sees_money_of))
    }

    pub(crate) fn decision_rows_of(
        &self,
        job: JobId,
        sees_money_of: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = api::Decision> {
        let about_it = self.decisions().rev().filter(move |(_, decision)| decision.job() == Some(job));
        about_it.map(move |(number, decision)| decision_row(*number, decision, &sees_money_of))
    }

    pub(crate) fn decision_row(
        &self,
        number: FactNumber,
        sees_money_of: impl Fn(&str) -> bool,
    ) -> Option<api::Decision> {
        self.decision(number).map(|decision| decision_row(number, decision, sees_money_of))
    }
}

/// A decision without what is private of queues whose money is not shown.
fn decision_row(number: FactNumber, decision: &Decision, sees_money_of: impl Fn(&str) -> bool) -> api::Decision {
    let row = api::Decision {
        number: number.0,
        at_ms: decision.at_ms,
        kind: decision.kind(),
        job: decision.job(),
        ..api::Decision::default()
    };
    match &decision.what {
        Decided::Preempted(preempted) => preemption_row(row, preempted, sees_money_of),
        Decided::Policy { from, to, by } => api::Decision {
            user: Some(by.to_string()),
            text: format!("{to} rules instead of {from}, as {by} wanted."),
            ..row
        },
        Decided::Changed(change) => change_row(row, change, sees_money_of),
    }
}

fn preemption_row(row: api::Decision, preempted: &Preempted, sees_money_of: impl Fn(&str) -> bool) -> api::Decision {
    let Preempted { victim, queue, worker, slots, rate, age_ms, lost_ms, claimants } = preempted;
    let what = match victim {
        Victim::Attempt(attempt) => attempt.to_string(),
        Victim::Container(container) => container.to_string(),
    };
    // Without a market who lacks slots is no secret.
    let shown: Vec<&Claimant> =
        claimants.iter().filter(|claimant| rate.is_none() || sees_money_of(&claimant.queue)).collect();
    let to = match (shown.is_empty(), shown.len() < claimants.len()) {
        (true, _) => "a queue that lacked slots due to it".to_owned(),
        (false, true) => format!("{}; and others", named(&shown)),
        (false, false) => named(&shown),
    };
    let rate = rate.filter(|_| sees_money_of(queue));
    let paid = rate.map_or_else(String::new, |rate| format!(" Its own queue paid {rate}."));
    api::Decision {
        attempt: match victim {
            Victim::Attempt(attempt) => Some(*attempt),
            Victim::Container(_) => None,
        },
        container: match victim {
            Victim::Container(container) => Some(*container),
            Victim::Attempt(_) => None,
        },
        application: match victim {
            Victim::Container(container) => Some(container.application),
            Victim::Attempt(_) => None,
        },
        queue: Some(queue.to_string()),
        worker: Some(worker_name(worker).to_owned()),
        text: format!("{what} of {queue} gave way after {} s to {to}.{paid}", age_ms / 1_000),
        numbers: Some(api::PreemptionNumbers {
            slots: *slots,
            age_ms: *age_ms,
            lost_ms: *lost_ms,
            rate,
            short: Some(shown.iter().copied().cloned().collect()).filter(|shown: &Vec<_>| !shown.is_empty()),
        }),
        ..row
    }
}

/// Those that lacked slots, in words.
fn named(claimants: &[&Claimant]) -> String {
    let named = claimants.iter().map(|Claimant { queue, missing, rate }| {
        let paid = rate.map_or_else(String::new, |rate| format!(" and paid {rate} for a slot"));
        format!("{queue}, which lacked {missing}{paid}")
    });
    named.collect::<Vec<_>>().join("; ")
}

fn change_row(row: api::Decision, change: &Change, sees_money_of: impl Fn(&str) -> bool) -> api::Decision {
    let queues = ["queue", "from", "to"].iter().filter_map(|name| change.field(name));
    let sees_money = queues.chain([change.user.as_str()]).any(&sees_money_of);
    let shown = change.fields.iter().filter(|(name, _)| sees_money || PUBLIC_FIELDS.contains(&name.as_str()));
    let fields: String = shown.map(|(name, value)| format!(", {name} {value}")).collect();
    let text = |name| change.field(name).map(str::to_owned);
    api::Decision {
        attempt: text("attempt").and_then(|id| id.parse().ok()),
        application: text("application").and_then(|id| id.parse().ok()),
        container: text("container").and_then(|id| id.parse().ok()),
        queue: text("queue").or_else(|| text("from")),
        user: Some(change.user.clone()),
        worker: text("worker"),
        text: format!("{}: {}{fields}.", change.user, change.verb.replace('-', " ")),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Credits;

    fn preempted(rate: Option<Credits>) -> Decision {
        let claimant = Claimant {
            queue: "alice".to_owned(),
            missing: 3,
            rate: rate.map(|rate| Credits::from_units(3 * rate.units())),
        };
        let preempted = Preempted {
            victim: Victim::Attempt("attempt_1_0001_m_000002_0".parse().unwrap()),
            queue: "bob".into(),
            worker: "w1".into(),
            slots: 1,
            rate,
            age_ms: 12_400,
            lost_ms: 12_400,
            claimants: Preempted::most_lacking(vec![claimant]),
        };
        Decision { at_ms: 9, what: Decided::Preempted(preempted) }
    }

    #[test]
    fn a_preemption_names_both_sides_and_their_rates_only_to_those_who_see_money() {
        let rate: Credits = "2.2".parse().unwrap();
        let open = decision_row(FactNumber(7), &preempted(Some(rate)), |_| true);
        assert_eq!(
            open.text,
            "attempt_1_0001_m_000002_0 of bob gave way after 12 s to alice, which lacked 3 and paid 6.6 for a slot. Its own \
             queue paid 2.2."
        );
        let private = decision_row(FactNumber(7), &preempted(Some(rate)), |_| false);
        assert_eq!(
            private.text,
            "attempt_1_0001_m_000002_0 of bob gave way after 12 s to a queue that lacked slots due to it."
        );
        let text = serde_json::to_string(&private).unwrap();
        assert!(!text.contains("2.2") && !text.contains("6.6") && !text.contains("alice"), "{text}");
    }

    #[test]
    fn a_queues_user_sees_its_own_side() {
        let rate: Credits = "2.2".parse().unwrap();
        let row = |own: &str| decision_row(FactNumber(7), &preempted(Some(rate)), |queue| queue == own).text;
        let begin = "attempt_1_0001_m_000002_0 of bob gave way after 12 s to ";
        assert_eq!(row("bob"), format!("{begin}a queue that lacked slots due to it. Its own queue paid 2.2."));
        assert_eq!(row("alice"), format!("{begin}alice, which lacked 3 and paid 6.6 for a slot."));
    }

    #[test]
    fn without_a_market_pools_are_named() {
        let row = decision_row(FactNumber(7), &preempted(None), |_| false);
        assert_eq!(row.text, "attempt_1_0001_m_000002_0 of bob gave way after 12 s to alice, which lacked 3.");
    }

    #[test]
    fn amounts_and_notes_of_changes_are_shown_with_money_alone() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let fields = vec![field("queue", "bob"), field("amount", "0.7319"), field("note", "for 0.7319 slots")];
        let change = Change { verb: "add-budget".to_owned(), user: "root".to_owned(), fields };
        let decision = Decision { at_ms: 9, what: Decided::Changed(change) };
        let row = |sees_money| decision_row(FactNumber(7), &decision, |_: &str| sees_money);
        assert_eq!(
            (row(true).kind, &*row(true).text),
            ("money", "root: add budget, queue bob, amount 0.7319, note for 0.7319 slots.")
        );
        assert_eq!(row(false).text, "root: add budget, queue bob.");
    }
}
