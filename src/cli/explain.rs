//! `jobtracker explain`: why a job has the slots that it has, as lines for people and as JSON for programs.

use std::fmt::Write as _;

use crate::api::{Buyer, Explanation, Holders, PendingReason, Preempted, PreemptedFor};
use crate::client::market::MarketClientError;
use crate::model::{OrderClass, counted};

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::{OutputForm, columns, json, lines, order_text};
use super::pasted::pasted;
use super::time_text::format_time;

/// Options of `explain`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker explain`.
pub(crate) fn explain(arguments: &JobArguments) -> Result<String, MarketCommandError> {
    let JobArguments { job, market } = arguments;
    if job.starts_with("application_") {
        let command = pasted(&format!("jobtracker app status {job}"));
        return Err(MarketCommandError::Configuration(format!("{job} is an application, no job; see `{command}`")));
    }
    Ok(render_explanation(&wait_for(explanation(job, market))?, market.form()))
}

pub(super) async fn explanation(job: &str, market: &MarketArguments) -> Result<Explanation, MarketCommandError> {
    // Without a market, users have no key and need none.
    let signer = market.signer_or_why_not()?;
    let answer = market.client()?.explain(job, signer.as_ref().ok()).await;
    match (answer, signer) {
        (Err(MarketClientError::Denied { .. }), Err(no_signer)) => Err(no_signer.into()),
        (answer, _) => Ok(answer?),
    }
}

/// The whole explanation.
fn render_explanation(explanation: &Explanation, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(explanation);
    }
    let mut text = head(explanation);
    text += "\nwhy it has no more slots:\n";
    // Writing to a string cannot fail.
    for why in &explanation.why {
        let _ = writeln!(text, "  - {why}");
    }
    text += "\nholders of the slots:\n";
    text += &holders(explanation);
    if let Some(buyer) = &explanation.market {
        text += "\n";
        text += &render_buyer(explanation, buyer);
    }
    if let Some(preempted) = &explanation.preemption {
        text += "\n";
        text += &render_preemption(preempted);
    }
    text
}

pub(super) fn render_status(explanation: &Explanation, form: OutputForm) -> String {
    let Explanation { job, name, user, queue, state, tasks, cost, .. } = explanation;
    match form {
        OutputForm::Table => head(explanation),
        OutputForm::Json => json(&serde_json::json!({
            "job": job, "name": name, "user": user, "queue": queue, "state": state, "tasks": tasks, "cost": cost,
        })),
    }
}

fn head(explanation: &Explanation) -> String {
    let Explanation { job, name, user, queue, state, tasks, cost, order, .. } = explanation;
    let mut text = format!("{job} {state}: {name:?} of {user} in queue {queue}\n");
    let kinds = [("maps", &tasks.map), ("reduces", &tasks.reduce)];
    for (what, tasks) in kinds.into_iter().filter(|(_, tasks)| tasks.total > 0 || state == "PREP") {
        let (total, finished, running, pending) = (tasks.total, tasks.finished, tasks.running, tasks.pending);
        let _ = writeln!(text, "  {what:<8} {finished} of {total} done, {running} running, {pending} waiting");
    }
    if let Some(cost) = cost {
        let _ = writeln!(text, "  cost     {cost} up to the last tick");
    }
    if let Some(order) = order {
        let _ = writeln!(text, "  order    {}", order_text(order));
    }
    text
}

fn holders(explanation: &Explanation) -> String {
    let mut table = columns(&["", "map slots", "reduce slots"], 1);
    let slots = &explanation.slots;
    let mut row = |what: &str, of: fn(&Holders) -> u32| {
        table.add_row([format!("  {what}"), of(&slots.map).to_string(), of(&slots.reduce).to_string()]);
    };
    row("this job", |holders| holders.this_job);
    row("other jobs of its queue", |holders| holders.own_queue);
    if explanation.market.is_some() {
        row("other queues, within their quotas", |holders| holders.others_within_quota);
        row("other queues, beyond their quotas", |holders| holders.others_above_quota);
        row("queues that pay nothing", |holders| holders.others_unpaid);
    } else {
        row("other queues", |holders| holders.other_queues);
    }
    row("setups and cleanups", |holders| holders.setup_and_cleanup);
    row("free", |holders| holders.free);
    row("total", |holders| holders.total);
    let mut text = lines(&table);
    for (kind, holders) in [("map", &slots.map), ("reduce", &slots.reduce)] {
        for holds in &holders.by_queue {
            let held = counted(holds.held, &format!("{kind} slot"));
            let _ = writeln!(text, "  queue {}: {held} of the {} it bought", holds.queue, holds.quota);
        }
    }
    text
}

fn render_buyer(explanation: &Explanation, buyer: &Buyer) -> String {
    let queue = &explanation.queue;
    let Buyer { budget, bid, rate, price, share, quota, held, class, queues_before, moving } = buyer;
    let mut text = format!(
        "queue {queue}: budget {}, bids {}, pays {} for a slot (price {}, share {share})\n",
        budget.amount_text(),
        bid.rate_text(),
        rate.rate_text(),
        price.rate_text()
    );
    for (kind, quota, held, class, before) in [
        ("map", quota.map, held.map, class.map, queues_before.map),
        ("reduce", quota.reduce, held.reduce, class.reduce, queues_before.reduce),
    ] {
        let _ = write!(text, "  {kind} slots: {quota} bought, {held} held");
        if let Some(class) = class {
            let what = match class {
                OrderClass::UnderQuota => "below its quota",
                OrderClass::Funded => "at or above its quota",
                OrderClass::Unfunded => "without a paid quota",
            };
            let _ = write!(text, "; served as a queue {what}, after {}", counted(before, "queue"));
        }
        text += "\n";
    }
    let why = &explanation.why;
    let waits = (explanation.tasks.map.pending > 0 || explanation.tasks.reduce.pending > 0)
        && !why.iter().any(PendingReason::is_out_of_the_market);
    let is_unfunded = why.iter().any(|why| matches!(why, PendingReason::NotFunded { .. }));
    let _ = match moving {
        Some(moving) => {
            let (least, quota) = (moving.rate.rate_text(), moving.quota);
            let buys = match moving.rate <= *bid {
                true if is_unfunded => {
                    format!("its budget does not pay its bid of {}; a rate of {least} would buy", bid.rate_text())
                }
                true => format!("its bid of {} buys more than it holds; a rate of {least} would do", bid.rate_text()),
                false => format!("a rate of {least} would buy more than it holds"),
            };
            writeln!(
                text,
                "  {buys}: {} map and {} reduce slots at the next tick (share {}, price {})",
                quota.map,
                quota.reduce,
                moving.share,
                moving.price.rate_text()
            )
        }
        None if waits => writeln!(text, "  no affordable rate would buy more than it holds"),
        None => Ok(()),
    };
    text
}

fn render_preemption(preempted: &Preempted) -> String {
    let Preempted { interval_ms, so_far, at_risk, for_queue, last } = preempted;
    let mut text = format!("preemption: {} of this job preempted so far", counted(*so_far, "attempt"));
    let _ = match at_risk {
        None => writeln!(text, " (one round every {interval_ms} ms)"),
        Some(0) => writeln!(text, "; a round now would preempt none of it"),
        Some(at_risk) => writeln!(text, "; a round now would preempt {at_risk} of it (one every {interval_ms} ms)"),
    };
    if let Some(PreemptedFor { short, victims }) = for_queue {
        let _ = writeln!(
            text,
            "  its queue waits for {} that it has bought: a round now would preempt {victims} of other work (one every {interval_ms} ms)",
            counted(*short, "slot")
        );
    }
    if let Some(last) = last {
        let _ = writeln!(
            text,
            "  last at {}: {}, for {} that had bought {} than {} held",
            format_time(last.at_ms),
            counted(last.attempts, "attempt"),
            counted(last.for_queues, "queue"),
            counted(last.for_slots, "more slot"),
            if last.for_queues == 1 { "it" } else { "they" }
        );
        for (queue, slots) in &last.by_queue {
            let _ = writeln!(text, "    queue {queue}: {slots}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job that waits under the market, as an administrator sees it.
    fn explanation() -> Explanation {
        let text = r#"{
            "job": "job_202611211200_0001", "name": "word count", "user": "bob", "queue": "bob", "state": "RUNNING",
            "tasks": {
                "map": {"total": 9, "finished": 2, "running": 1, "pending": 6},
                "reduce": {"total": 1, "finished": 0, "running": 0, "pending": 1}
            },
            "cost": "12.75",
            "why": [
                {"reason": "quota_full", "kind": "map", "quota": 1, "held": 1},
                {"reason": "earlier_jobs", "kind": "map", "jobs": 2},
                {"reason": "unusable", "kind": "map", "avoided": 2, "no_room": 0, "failed_there": 1, "out_of_service": 4},
                {"reason": "reduces_wait", "maps_done": 2, "maps_needed": 5}
            ],
            "slots": {
                "map": {
                    "total": 12, "this_job": 1, "own_queue": 0, "other_queues": 7, "others_within_quota": 5,
                    "others_above_quota": 1, "others_unpaid": 1, "setup_and_cleanup": 1, "free": 3,
                    "by_queue": [{"queue": "alice", "held": 6, "quota": 5}, {"queue": "carol", "held": 1, "quota": 0}]
                },
                "reduce": {
                    "total": 2, "this_job": 0, "own_queue": 0, "other_queues": 0, "others_within_quota": 0,
                    "others_above_quota": 0, "others_unpaid": 0, "setup_and_cleanup": 0, "free": 2
                }
            },
            "market": {
                "budget": "87.25", "bid": "0.5", "rate": "0.5", "price": "3.0", "share": "0.166666666",
                "quota": {"map": 1, "reduce": 0}, "held": {"map": 1, "reduce": 0},
                "class": {"map": "funded", "reduce": null}, "queues_before": {"map": 1, "reduce": 0},
                "moving": {"rate": "0.75", "price": "3.25", "share": "0.230769230", "quota": {"map": 2, "reduce": 0}}
            },
            "preemption": {
                "interval_ms": 20000, "so_far": 3, "at_risk": 1,
                "last": {"at_ms": 1795000000000, "attempts": 2, "for_slots": 4, "for_queues": 1, "by_queue": [["alice", 4]]}
            }
        }"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn people_get_lines() {
        insta::assert_snapshot!(render_explanation(&explanation(), OutputForm::Table), @r#"
        job_202611211200_0001 RUNNING: "word count" of bob in queue bob
          maps     2 of 9 done, 1 running, 6 waiting
          reduces  0 of 1 done, 0 running, 1 waiting
          cost     12.75 up to the last tick

        why it has no more slots:
          - its queue has bought 1 map slot and holds 1; more come only from what others leave free
          - 2 other jobs stand before it in line for map slots
          - map slots are free that it cannot use: 2 where too much of it failed, 1 where each task that waits has failed, 4 of trackers that are silent, unhealthy or take no work
          - its reduces wait until 5 maps are done; 2 are

        holders of the slots:
                                             MAP SLOTS  REDUCE SLOTS
          this job                                   1             0
          other jobs of its queue                    0             0
          other queues, within their quotas          5             0
          other queues, beyond their quotas          1             0
          queues that pay nothing                    1             0
          setups and cleanups                        1             0
          free                                       3             2
          total                                     12             2
          queue alice: 6 map slots of the 5 it bought
          queue carol: 1 map slot of the 0 it bought

        queue bob: budget 87.25, bids 0.5, pays 0.5 for a slot (price 3.0, share 0.166666666)
          map slots: 1 bought, 1 held; served as a queue at or above its quota, after 1 queue
          reduce slots: 0 bought, 0 held
          a rate of 0.75 would buy more than it holds: 2 map and 0 reduce slots at the next tick (share 0.230769230, price 3.25)

        preemption: 3 attempts of this job preempted so far; a round now would preempt 1 of it (one every 20000 ms)
          last at 2026-11-18T11:06:40Z: 2 attempts, for 1 queue that had bought 4 more slots than it held
            queue alice: 4
        "#);
        insta::assert_snapshot!(render_status(&explanation(), OutputForm::Table), @r#"
        job_202611211200_0001 RUNNING: "word count" of bob in queue bob
          maps     2 of 9 done, 1 running, 6 waiting
          reduces  0 of 1 done, 0 running, 1 waiting
          cost     12.75 up to the last tick
        "#);
    }

    /// The least rate that is enough is not the bid, and money has as many figures as people read.
    #[test]
    fn money_is_written_as_people_write_it() {
        let mut explanation = explanation();
        let market = explanation.market.as_mut().unwrap();
        (market.bid, market.budget) = ("2".parse().unwrap(), "87.256789".parse().unwrap());
        market.moving.as_mut().unwrap().rate = "0.071428571429".parse().unwrap();
        let text = render_explanation(&explanation, OutputForm::Table);
        assert!(text.contains("queue bob: budget 87.26, bids 2.0, pays 0.5 for a slot"), "{text}");
        let least = "  its bid of 2.0 buys more than it holds; a rate of 0.0715 would do: 2 map and 0 reduce slots";
        assert!(text.contains(least) && !text.contains("0.0714"), "{text}");
        assert!(render_explanation(&explanation, OutputForm::Json).contains("\"0.071428571429\""));
        explanation.why = vec![PendingReason::NotFunded { budget: "1".parse().unwrap(), bid: "2".parse().unwrap() }];
        explanation.preemption.as_mut().unwrap().for_queue = Some(PreemptedFor { short: 3, victims: 2 });
        let text = render_explanation(&explanation, OutputForm::Table);
        assert!(text.contains("  its budget does not pay its bid of 2.0; a rate of 0.0715 would buy: 2 map"), "{text}");
        assert!(
            text.contains("waits for 3 slots that it has bought: a round now would preempt 2 of other work"),
            "{text}"
        );
    }

    #[test]
    fn without_market_and_preemption_nothing_is_said_of_them() {
        let market = explanation().market.map(|buyer| Buyer { moving: None, ..buyer });
        let stuck = Explanation { market, preemption: None, ..explanation() };
        let text = render_explanation(&stuck, OutputForm::Table);
        assert!(text.ends_with("  no affordable rate would buy more than it holds\n"), "{text}");
        let because = "a comparator of Java".to_owned();
        let nowhere = Explanation { why: vec![PendingReason::NoWorkerCanRun { workers: 1, because }], ..stuck.clone() };
        let text = render_explanation(&nowhere, OutputForm::Table);
        assert!(!text.contains("would buy") && !text.contains("affordable"), "{text}");
        let fifo = Explanation { market: None, cost: None, ..stuck };
        insta::assert_snapshot!(render_explanation(&fifo, OutputForm::Table), @r#"
        job_202611211200_0001 RUNNING: "word count" of bob in queue bob
          maps     2 of 9 done, 1 running, 6 waiting
          reduces  0 of 1 done, 0 running, 1 waiting

        why it has no more slots:
          - its queue has bought 1 map slot and holds 1; more come only from what others leave free
          - 2 other jobs stand before it in line for map slots
          - map slots are free that it cannot use: 2 where too much of it failed, 1 where each task that waits has failed, 4 of trackers that are silent, unhealthy or take no work
          - its reduces wait until 5 maps are done; 2 are

        holders of the slots:
                                   MAP SLOTS  REDUCE SLOTS
          this job                         1             0
          other jobs of its queue          0             0
          other queues                     7             0
          setups and cleanups              1             0
          free                             3             2
          total                           12             2
          queue alice: 6 map slots of the 5 it bought
          queue carol: 1 map slot of the 0 it bought
        "#);
    }

    #[test]
    fn machines_get_json() {
        let text = render_explanation(&explanation(), OutputForm::Json);
        assert_eq!(serde_json::from_str::<Explanation>(&text).unwrap(), explanation());
        insta::assert_snapshot!(render_status(&explanation(), OutputForm::Json), @r#"
        {
          "cost": "12.75",
          "job": "job_202611211200_0001",
          "name": "word count",
          "queue": "bob",
          "state": "RUNNING",
          "tasks": {
            "map": {
              "finished": 2,
              "pending": 6,
              "running": 1,
              "total": 9
            },
            "reduce": {
              "finished": 0,
              "pending": 1,
              "running": 0,
              "total": 1
            }
          },
          "user": "bob"
        }
        "#);
    }
}
