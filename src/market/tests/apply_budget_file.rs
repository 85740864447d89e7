//! An edited budget file takes the accounts' place.

use proptest::prelude::*;

use super::*;

impl Stage {
    fn apply_budget_file(&mut self, text: &str) -> AppliedBudgetFile {
        let busy = self.busy.clone();
        let lines = budget_file::parse(text, "budget").unwrap();
        let applied = self.market.apply_budget_file(lines, self.now, |queue| busy.contains(queue));
        self.facts.extend(applied.facts.iter().cloned());
        assert_eq!(self.market.total(), self.market.ledger().expected_balance(), "the ledger explains every balance");
        applied
    }
}

fn rows(applied: &AppliedBudgetFile) -> Vec<(String, &'static str)> {
    let row = |fact: &MarketFact| match fact {
        MarketFact::Ledger(entry) => {
            let sign = if entry.debit == LedgerAccount::Issued { "+" } else { "-" };
            let reason = match entry.reason {
                Reason::Adjustment => "adjustment",
                Reason::Closing => "closing",
                _ => "other",
            };
            Some((format!("{sign}{}", entry.amount), reason))
        }
        _ => None,
    };
    applied.facts.iter().filter_map(row).collect()
}

#[test]
fn each_difference_is_one_row_and_one_line() {
    let mut stage = Stage::new("alice 100 1\nbob 50 2\ncarol 7 1\ndave 3 1\n");
    let applied = stage.apply_budget_file("alice 120.5 1\nbob 40 3\ndave 3 1\nerin 9 0.5\n");
    let expected = [("+20.5", "adjustment"), ("-10.0", "adjustment"), ("-7.0", "closing"), ("+9.0", "adjustment")];
    assert_eq!(rows(&applied), expected.map(|(amount, reason)| (amount.to_owned(), reason)));
    assert_eq!(
        applied.messages,
        [
            "queue alice: budget 100.0 to 120.5, rate 1.0 to 1.0",
            "queue bob: budget 50.0 to 40.0, rate 2.0 to 3.0",
            "queue carol is removed, with its 7.0",
            "queue erin is new: budget 9.0, rate 0.5",
        ]
    );
    assert_eq!(applied.changes, [QueueChange::Removed(name("carol")), QueueChange::Added(name("erin"))]);
    assert_eq!(stage.market.account("bob").unwrap().bid(), credits("3"));
    assert_eq!(
        stage.apply_budget_file("alice 120.5 1\nbob 40 3\ndave 3 1\nerin 9 0.5\n"),
        AppliedBudgetFile::default()
    );
}

#[test]
fn money_of_the_open_interval_stays_until_it_is_paid() {
    let mut stage = Stage::new("a 10 1\nb 10 1\n");
    let usage = [("a", 0, 0, 5), ("b", 0, 0, 5)];
    stage.tick((4, 2), &usage);
    let committed = stage.market.committed("a");
    assert_eq!(committed, credits("3"));
    // The line of b is gone, but its interval is open.
    let applied = stage.apply_budget_file("a 1 1\n");
    assert_eq!((stage.balance("a"), stage.balance("b")), (credits("3"), credits("3")));
    assert!(applied.changes.is_empty());
    assert!(applied.messages[0].contains("kept for the open interval"), "{:?}", applied.messages);
    stage.tick((4, 2), &[("a", 2, 1, 0), ("b", 2, 1, 0)]);
    assert_eq!((stage.balance("a"), stage.balance("b")), (Credits::ZERO, Credits::ZERO), "bought and paid");
}

#[test]
fn a_queue_with_jobs_outlives_its_line() {
    let mut stage = Stage::new("a 10 1\nb 10 1\n");
    stage.busy = vec![name("b")];
    let applied = stage.apply_budget_file("a 10 1\n");
    assert_eq!(rows(&applied), [("-10.0".to_owned(), "adjustment")]);
    assert!(
        applied.changes.is_empty() && applied.messages[0].contains("queue b has no line any more"),
        "{:?}",
        applied.messages
    );
}

/// What the original wrote in single precision is rounded; the row has what was really moved.
#[test]
fn a_rounded_amount_is_booked_as_it_counts() {
    let mut stage = Stage::new("a 10 1\n");
    let applied = stage.apply_budget_file("a 10.10999999940395355225 1\n");
    assert_eq!(rows(&applied), [("+0.109999999404".to_owned(), "adjustment")]);
}

proptest! {
    #[test]
    fn facts_rebuild_what_a_take_over_has_made(
        before in prop::collection::btree_map(0u8..6, (0u32..50, 0u32..5), 0..6),
        after in prop::collection::btree_map(0u8..6, (0u32..50, 0u32..5), 0..6),
        usage in prop::collection::btree_map(0u8..6, (0u32..4, 0u32..4, 0u64..3), 0..6),
    ) {
        let text = |lines: &std::collections::BTreeMap<u8, (u32, u32)>| -> String {
            lines.iter().map(|(queue, (budget, rate))| format!("q{queue} {budget} {rate}\n")).collect()
        };
        let mut stage = Stage::new(&text(&before));
        let names: Vec<String> = usage.keys().map(|queue| format!("q{queue}")).collect();
        let used: Vec<_> = names.iter().zip(usage.values()).map(|(name, of)| (name.as_str(), of.0, of.1, of.2)).collect();
        stage.tick((9, 5), &used);
        stage.apply_budget_file(&text(&after));
        for (queue, (budget, rate)) in &after {
            let queue = format!("q{queue}");
            let (account, committed) = (stage.market.account(&queue).unwrap(), stage.market.committed(&queue));
            let wanted = credits(&budget.to_string());
            prop_assert!(account.balance() == wanted || account.balance() == committed);
            prop_assert!(account.balance() >= committed);
            prop_assert_eq!(account.bid(), credits(&rate.to_string()));
        }
        let mut rebuilt = Market::new(MarketConfig::default(), START);
        stage.facts.iter().for_each(|fact| rebuilt.apply(fact));
        prop_assert_eq!(rebuilt.budget_lines(), stage.market.budget_lines());
        prop_assert_eq!(rebuilt.ledger(), stage.market.ledger());
    }
}
