//! A job's cost as the `job` commands show it.

use serde_json::{Value, json};

use crate::cli::time_text::format_time;
use crate::client::job::watch::JobCost;

/// The cost for people; `None` without a market.
pub(super) fn render_cost(cost: &JobCost) -> Option<String> {
    match cost {
        JobCost::None => None,
        JobCost::UpToLastTick(cost) => Some(cost.clone()),
        JobCost::Unknown { since_ms, reason } => Some(format!("unknown since {}: {reason}", format_time(*since_ms))),
    }
}

/// The same on a line of its own.
pub(super) fn render_cost_line(cost: &JobCost) -> Option<String> {
    let is_known = matches!(cost, JobCost::UpToLastTick(_));
    render_cost(cost).map(|text| if is_known { text + " up to the last tick" } else { text })
}

/// The members `cost`, null if there is none or it is unknown, and `cost_error`.
pub(super) fn add_cost(object: &mut Value, cost: &JobCost) {
    let (value, error) = match cost {
        JobCost::None => (Value::Null, Value::Null),
        JobCost::UpToLastTick(cost) => (json!(cost), Value::Null),
        JobCost::Unknown { .. } => (Value::Null, json!(render_cost(cost))),
    };
    (object["cost"], object["cost_error"]) = (value, error);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_cannot_be_read_is_never_an_old_one() {
        let unknown = JobCost::Unknown { since_ms: 1_700_000_000_000, reason: "access denied".to_owned() };
        let known = JobCost::UpToLastTick("1.5".to_owned());
        let lines = [&unknown, &known, &JobCost::None].map(render_cost_line);
        let expected =
            [Some("unknown since 2023-11-14T22:13:20Z: access denied"), Some("1.5 up to the last tick"), None];
        assert_eq!(lines.each_ref().map(Option::as_deref), expected);
        let mut object = json!({});
        add_cost(&mut object, &unknown);
        assert!(object["cost"].is_null() && object["cost_error"].is_string(), "{object}");
        add_cost(&mut object, &known);
        assert_eq!(object, json!({ "cost": "1.5", "cost_error": null }));
    }
}
