//! Renders market answers as tables for people and as JSON for programs. In JSON, amounts are exact decimal texts and times are epoch ms.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::api::{AllowanceStatus, OrderState, OrderStatus, QueueStatus, largest_units};
use crate::client::market::{MarketAnswer, QueueLine, QuoteLine};
use crate::model::{Credits, PerPool, Pool};

use super::time_text::{format_period, format_time, nearest_second_ms};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputForm {
    Table,
    Json,
}

/// A queue as it is now; as published at the last tick where the server says no more.
#[derive(Debug, Default, Serialize)]
pub(super) struct ShownQueue {
    queue: String,
    budget: String,
    /// The rate that its owner has set for the next tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    bid: Option<String>,
    spending: String,
    /// The same under the name that the server's JSON has for it.
    rate: String,
    share: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<PerPool<u32>>,
    /// Slots that its attempts and containers hold, by pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<PerPool<u32>>,
    /// Slots that they hold.
    used: u64,
    pending: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cannot_run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lasts_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowance: Option<AllowanceStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    orders: Vec<OrderStatus>,
}

impl ShownQueue {
    /// Slots that its containers hold, of those used.
    fn container_slots(&self) -> u32 {
        self.running.map_or(0, |running| running.container)
    }
}

impl From<QueueStatus> for ShownQueue {
    fn from(status: QueueStatus) -> Self {
        Self {
            queue: status.queue.to_string(),
            budget: status.budget.to_string(),
            bid: Some(status.bid.to_string()),
            spending: status.rate.to_string(),
            rate: status.rate.to_string(),
            share: status.share,
            quota: Some(status.quota),
            running: Some(status.running),
            used: Pool::ALL.into_iter().map(|pool| u64::from(status.running[pool])).sum(),
            pending: status.pending,
            cannot_run: status.cannot_run,
            lasts_s: status.lasts_s,
            allowance: status.allowance,
            orders: status.orders,
        }
    }
}

impl From<QueueLine> for ShownQueue {
    fn from(QueueLine { queue, budget, spending, share, used, pending }: QueueLine) -> Self {
        Self { queue, budget, rate: spending.clone(), spending, share, used, pending, ..Self::default() }
    }
}

/// Queues, one a line, and their orders.
pub(super) fn render_queues(rows: &[ShownQueue], form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(&rows);
    }
    let has_containers = rows.iter().any(|row| row.container_slots() > 0);
    let mut more = String::new();
    let cells = rows.iter().map(|row| {
        let ShownQueue {
            queue,
            budget,
            bid,
            spending,
            share,
            used,
            pending,
            lasts_s,
            allowance,
            orders,
            cannot_run,
            ..
        } = row;
        if let Some(why) = cannot_run {
            more.push_str(&format!("{queue} buys nothing: {why}\n"));
        }
        if let Some(allowance) = allowance {
            more.push_str(&format!("allowance of {queue}: {}\n", allowance_text(allowance)));
        }
        for order in orders {
            more.push_str(&format!("order for {}: {}\n", order.job, order_text(order)));
        }
        let bid = bid.clone().unwrap_or_else(|| "-".to_owned());
        [
            vec![queue.clone(), budget.clone(), bid, spending.clone(), share.clone(), used.to_string()],
            vec![row.container_slots().to_string()],
            vec![pending.to_string(), format_duration(*lasts_s)],
        ]
    });
    let groups = [
        (true, &["queue", "budget", "bid", "rate", "share", "used"][..]),
        (has_containers, &["in containers"]),
        (true, &["pending", "lasts"]),
    ];
    let text = lines(&columns_of(groups, &["queue"], cells));
    if more.is_empty() { text } else { format!("{text}\n{more}") }
}

fn allowance_text(allowance: &AllowanceStatus) -> String {
    let AllowanceStatus { credits, every_s, cap, next_s, by } = allowance;
    let cap = cap.map(|cap| format!(" up to a balance of {cap}")).unwrap_or_default();
    let next = format_duration(Some(*next_s));
    format!("{credits} every {}{cap}, next in {next}, set by {by}", format_period(*every_s))
}

pub(super) fn order_text(order: &OrderStatus) -> String {
    let OrderStatus { deadline_ms, max_rate, max_cost, state, sufficient_rate, cost, .. } = order;
    let most = max_cost.map(|cost| format!(", cost at most {cost}")).unwrap_or_default();
    let sufficient =
        sufficient_rate.map(|rate| format!("; a rate of {} would do", rate.rate_text())).unwrap_or_default();
    let beyond = cost.map_or_else(String::new, |cost| match max_cost.filter(|most| cost > *most) {
        Some(_) => format!("; its job would cost {cost}"),
        None => format!("; its job would cost {cost}, more than the queue can pay"),
    });
    let hopeless = match state {
        OrderState::AtRisk if sufficient_rate.is_none() && cost.is_none() => "; no rate would do",
        _ => "",
    };
    let (due, state) = (format_time(nearest_second_ms(*deadline_ms)), state.name());
    format!("done by {due}, rate at most {max_rate}{most}, {state}{sufficient}{beyond}{hopeless}")
}

/// A queue after a change; its bid applies from the next tick on.
pub(super) fn render_queue(queue: &QueueLine, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(queue);
    }
    render_changed(std::slice::from_ref(queue), form)
}

/// Queues after a change of several.
pub(super) fn render_changed(queues: &[QueueLine], form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(&queues);
    }
    let mut table = columns(&["queue", "budget", "bid", "share", "used", "pending"], 1);
    queues.iter().for_each(|queue| {
        table.add_row(cells(queue));
    });
    lines(&table)
}

fn cells(line: &QueueLine) -> [String; 6] {
    let QueueLine { queue, budget, spending, share, used, pending } = line;
    [queue.clone(), budget.clone(), spending.clone(), share.clone(), used.to_string(), pending.to_string()]
}

pub(super) fn render_quote(quote: &QuoteLine, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(quote);
    }
    let QuoteLine { queue, rate, price, share, map_slots, reduce_slots, container_slots, budget, .. } = quote;
    let mut text = format!("at {rate} for a slot, queue {queue} would get from the next tick on:\n");
    let has_containers = *container_slots > 0;
    let lines = [
        Some(("share", format!("{share} (price {price})"))),
        Some(("map slots", map_slots.to_string())),
        Some(("reduce slots", reduce_slots.to_string())),
        has_containers.then(|| ("container slots", container_slots.to_string())),
        Some(("budget then", budget.clone())),
        Some(("lasts, full use", format_duration(quote.full_use_lasts_s))),
        Some(("lasts, present", format_duration(quote.present_use_lasts_s))),
    ];
    for (what, value) in lines.into_iter().flatten() {
        text += &format!("  {what:<16}  {value}\n");
    }
    if let Some(why) = cannot_pay(queue, rate, budget) {
        text += &format!("{why}\n");
    }
    text
}

/// That a budget does not pay one slot at a rate, in credits; none where it does.
pub(super) fn cannot_pay(queue: &str, rate: &str, budget: &str) -> Option<String> {
    let (needed, has) = (Credits::parse_exact(rate).ok()?, Credits::parse_exact(budget).ok()?);
    (needed > has).then(|| {
        format!("queue {queue} cannot pay one slot for one interval at {rate}: it has {budget}, and gets no slots")
    })
}

pub(super) fn render_removed(queue: &str, taken_out: Option<String>, form: OutputForm) -> String {
    match (form, taken_out) {
        (OutputForm::Json, None) => json(&serde_json::json!({ "removed": queue })),
        (OutputForm::Json, Some(taken_out)) => json(&serde_json::json!({ "removed": queue, "taken_out": taken_out })),
        (OutputForm::Table, Some(credits)) => format!("queue {queue} removed; {credits} credits were taken out\n"),
        (OutputForm::Table, None) => format!("queue {queue} removed; its remaining balance is recorded as taken out\n"),
    }
}

pub(super) fn render_price(answer: &MarketAnswer, form: OutputForm) -> String {
    let price = answer.price.as_deref().unwrap_or_default();
    if form == OutputForm::Json { json(&serde_json::json!({ "price": price })) } else { format!("{price}\n") }
}

pub(super) fn render_time(answer: &MarketAnswer, form: OutputForm) -> String {
    let MarketAnswer { start_ms, time_ms, .. } = answer;
    if form == OutputForm::Json {
        return json(&serde_json::json!({ "start_ms": start_ms, "time_ms": time_ms }));
    }
    let mut table = columns(&["what", "ms", "time"], 1);
    for (what, at_ms) in [("start", start_ms), ("time", time_ms)] {
        let at_ms = at_ms.unwrap_or_default();
        table.add_row([what.to_owned(), at_ms.to_string(), format_time(at_ms)]);
    }
    lines(&table)
}

pub(super) fn one_line(name: &str) -> String {
    const LONGEST: usize = 40;
    let mut text: String = name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if text.chars().count() > LONGEST {
        text = text.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    text
}

/// A table with these headers; the columns after the first `left` are aligned right.
pub(super) fn columns(heads: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(heads.iter().map(|head| head.to_uppercase()));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A table of the groups of columns that are to be shown, with the cells of each row by group; the columns named in `left` are aligned
/// left, the others right.
pub(super) fn columns_of<const N: usize>(
    groups: [(bool, &[&str]); N],
    left: &[&str],
    rows: impl IntoIterator<Item = [Vec<String>; N]>,
) -> Table {
    let heads: Vec<&str> =
        groups.iter().filter(|(is_shown, _)| *is_shown).flat_map(|(_, heads)| *heads).copied().collect();
    let mut table = columns(&heads, 0);
    for (column, head) in table.column_iter_mut().zip(&heads) {
        if left.contains(head) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for row in rows {
        let shown = row.into_iter().zip(groups).filter(|(_, (is_shown, _))| *is_shown);
        table.add_row(shown.flat_map(|(cells, _)| cells));
    }
    table
}

pub(super) fn lines(table: &Table) -> String {
    table.trim_fmt() + "\n"
}

/// A value as indented JSON.
pub(super) fn json(value: &impl Serialize) -> String {
    // Texts, numbers and lists always have a JSON form.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A duration in its two largest units; a dash for `None`.
pub(super) fn format_duration(seconds: Option<u64>) -> String {
    let Some(seconds) = seconds else { return "-".to_owned() };
    let units = largest_units(seconds).into_iter().map(|(count, unit)| format!("{count}{unit}"));
    units.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(queue: &str, budget: &str) -> QueueLine {
        QueueLine {
            queue: queue.to_owned(),
            budget: budget.to_owned(),
            spending: "0.5".to_owned(),
            share: "0.333333333".to_owned(),
            used: 12,
            pending: 3,
        }
    }

    fn status() -> QueueStatus {
        let json = r#"{"queue":"alice","budget":"1000000.000000000001","bid":"3.0","rate":"0.5","share":"0.333333333",
            "quota":{"map":12,"reduce":0},"running":{"map":11,"reduce":1},"pending":3,"lasts_s":93784}"#;
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn queues_are_lines_of_a_table() {
        let rows = [status().into(), line("bob@example.org", "2.0").into()];
        insta::assert_snapshot!(render_queues(&rows, OutputForm::Table), @"
        QUEUE                          BUDGET  BID  RATE        SHARE  USED  PENDING  LASTS
        alice            1000000.000000000001  3.0   0.5  0.333333333    12        3  1d 2h
        bob@example.org                   2.0    -   0.5  0.333333333    12        3      -
        ");
        insta::assert_snapshot!(render_queues(&[], OutputForm::Table), @"QUEUE  BUDGET  BID  RATE  SHARE  USED  PENDING  LASTS");
        let containers = QueueStatus { running: PerPool::new(11, 1, 6), ..status() };
        insta::assert_snapshot!(render_queues(&[containers.into(), status().into()], OutputForm::Table), @"
        QUEUE                BUDGET  BID  RATE        SHARE  USED  IN CONTAINERS  PENDING  LASTS
        alice  1000000.000000000001  3.0   0.5  0.333333333    18              6        3  1d 2h
        alice  1000000.000000000001  3.0   0.5  0.333333333    12              0        3  1d 2h
        ");
        insta::assert_snapshot!(render_queue(&line("bob@example.org", "2.0"), OutputForm::Table), @"
        QUEUE            BUDGET  BID        SHARE  USED  PENDING
        bob@example.org     2.0  0.5  0.333333333    12        3
        ");
    }

    #[test]
    fn machines_get_json() {
        insta::assert_snapshot!(render_queues(&[status().into()], OutputForm::Json), @r#"
        [
          {
            "queue": "alice",
            "budget": "1000000.000000000001",
            "bid": "3.0",
            "spending": "0.5",
            "rate": "0.5",
            "share": "0.333333333",
            "quota": {
              "map": 12,
              "reduce": 0,
              "container": 0
            },
            "running": {
              "map": 11,
              "reduce": 1,
              "container": 0
            },
            "used": 12,
            "pending": 3,
            "lasts_s": 93784
          }
        ]
        "#);
        insta::assert_snapshot!(render_queue(&line("alice", "2.0"), OutputForm::Json), @r#"
        {
          "queue": "alice",
          "budget": "2.0",
          "spending": "0.5",
          "share": "0.333333333",
          "used": 12,
          "pending": 3
        }
        "#);
        let taken_out = || Some("12.5".to_owned());
        assert_eq!(
            render_removed("bob", taken_out(), OutputForm::Table),
            "queue bob removed; 12.5 credits were taken out\n"
        );
        insta::assert_snapshot!(render_removed("bob", taken_out(), OutputForm::Json), @r#"
        {
          "removed": "bob",
          "taken_out": "12.5"
        }
        "#);
    }

    #[test]
    fn quotes_are_for_both() {
        let quote = QuoteLine {
            queue: "alice".to_owned(),
            rate: "0.5".to_owned(),
            price: "2.0".to_owned(),
            share: "0.250000000".to_owned(),
            map_slots: 3,
            reduce_slots: 1,
            container_slots: 0,
            budget: "12.5".to_owned(),
            full_use_lasts_s: Some(125),
            present_use_lasts_s: None,
        };
        insta::assert_snapshot!(render_quote(&quote, OutputForm::Table), @"
        at 0.5 for a slot, queue alice would get from the next tick on:
          share             0.250000000 (price 2.0)
          map slots         3
          reduce slots      1
          budget then       12.5
          lasts, full use   2m 5s
          lasts, present    -
        ");
        let containers = QuoteLine { container_slots: 4, ..quote.clone() };
        assert!(render_quote(&containers, OutputForm::Table).contains("\n  container slots   4\n"));
        insta::assert_snapshot!(render_quote(&quote, OutputForm::Json), @r#"
        {
          "queue": "alice",
          "rate": "0.5",
          "price": "2.0",
          "share": "0.250000000",
          "map_slots": 3,
          "reduce_slots": 1,
          "container_slots": 0,
          "budget": "12.5",
          "full_use_lasts_s": 125,
          "present_use_lasts_s": null
        }
        "#);
    }

    #[test]
    fn a_bid_that_buys_no_slot_is_said() {
        assert_eq!(
            cannot_pay("alice", "1000", "98.0").as_deref(),
            Some("queue alice cannot pay one slot for one interval at 1000: it has 98.0, and gets no slots")
        );
        for (rate, budget) in [("98", "98.0"), ("0", "0"), ("1", ""), ("x", "1")] {
            assert_eq!(cannot_pay("alice", rate, budget), None, "{rate} of {budget}");
        }
    }

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(one_line("word\ncount"), "word count");
        assert_eq!(one_line(&"ab".repeat(30)).chars().count(), 40);
    }

    #[test]
    fn spans_have_two_units() {
        let spans = [Some(0), Some(59), Some(60), Some(3_599), Some(3_600), Some(86_399), Some(86_400), None]
            .map(format_duration);
        assert_eq!(spans, ["0s", "59s", "1m 0s", "59m 59s", "1h 0m", "23h 59m", "1d 0h", "-"]);
    }

    #[test]
    fn price_and_time_are_for_both() {
        let answer = MarketAnswer {
            price: Some("12.249998".to_owned()),
            start_ms: Some(1_238_600_160_788),
            time_ms: Some(1_238_605_061_519),
            ..MarketAnswer::default()
        };
        assert_eq!(render_price(&answer, OutputForm::Table), "12.249998\n");
        insta::assert_snapshot!(render_price(&answer, OutputForm::Json), @r#"
        {
          "price": "12.249998"
        }
        "#);
        insta::assert_snapshot!(render_time(&answer, OutputForm::Table), @r"
        WHAT              MS                  TIME
        start  1238600160788  2009-04-01T15:36:00Z
        time   1238605061519  2009-04-01T16:57:41Z
        ");
        insta::assert_snapshot!(render_time(&answer, OutputForm::Json), @r#"
        {
          "start_ms": 1238600160788,
          "time_ms": 1238605061519
        }
        "#);
    }
}
