//! The budget file that a dead daemon left: the original scheduler can read it, and it is what the ledger once said.

use std::collections::BTreeMap;

use super::amount::units_of;
use super::evidence::Evidence;

const DECIMALS: usize = 20;

/// What is wrong with the file, and how many ticks ago it was the truth. `first` is what the administrator wrote: balance
/// and bid of each queue.
pub fn violations(evidence: &Evidence, first: &BTreeMap<String, (i128, i128)>) -> (Vec<String>, Option<usize>) {
    let budgets = match parse(&evidence.budget_file) {
        Ok(budgets) => budgets,
        Err(text) => return (vec![format!("the budget file cannot be read: {text}")], None),
    };
    if evidence.ledger.is_empty() {
        // Nothing has come in yet: it must be what the administrator wrote.
        let is_as_written = *first == budgets;
        return (Vec::from_iter((!is_as_written).then(|| "the first budget file was changed".to_owned())), None);
    }
    match ticks_behind(evidence, &budgets) {
        Some(ticks) => (Vec::new(), Some(ticks)),
        None => (vec![format!("the ledger never said what the budget file says: {budgets:?}")], None),
    }
}

/// By the original's grammar: lines that each end, three fields with one blank between, twenty decimals.
fn parse(text: &str) -> Result<BTreeMap<String, (i128, i128)>, String> {
    let Some(lines) = text.strip_suffix('\n') else { return Err(format!("it breaks off, after {} bytes", text.len())) };
    let mut budgets = BTreeMap::new();
    for line in lines.split('\n') {
        let refuse = || format!("no line of queue, budget and rate: {line:?}");
        let fields: Vec<&str> = line.split(' ').collect();
        let [queue, budget, rate] = fields[..] else { return Err(refuse()) };
        let amount = |text: &str| {
            let (_, decimals) = text.split_once('.')?;
            units_of(text).filter(|sum| decimals.len() == DECIMALS && *sum >= 0)
        };
        let sums = amount(budget).zip(amount(rate)).filter(|_| !queue.is_empty()).ok_or_else(refuse)?;
        if budgets.insert(queue.to_owned(), sums).is_some() {
            return Err(format!("{queue} stands there twice"));
        }
    }
    Ok(budgets)
}

/// How many ticks have come since the ledger last said this; none if it never did.
fn ticks_behind(evidence: &Evidence, budgets: &BTreeMap<String, (i128, i128)>) -> Option<usize> {
    let mut differences: BTreeMap<&str, i128> =
        budgets.iter().map(|(queue, (budget, _))| (queue.as_str(), -budget)).collect();
    differences.retain(|_, difference| *difference != 0);
    let mut last = differences.is_empty().then_some(0);
    for row in &evidence.ledger {
        let Some((queue, amount)) = row.of_queue() else { continue };
        let difference = differences.entry(queue).or_default();
        *difference += amount;
        if *difference == 0 {
            differences.remove(queue);
        }
        // Daily sums tell of no moment within the day.
        if differences.is_empty() {
            last = Some(row.number);
        }
    }
    let last = last?;
    Some(evidence.ticks.iter().filter(|tick| tick.ledger_rows > last).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_originals_grammar_is_taken() {
        let line = "a 1.50000000000000000000 0.00000000000000000000\n";
        assert_eq!(parse(line), Ok(BTreeMap::from([("a".to_owned(), (1_500_000_000_000, 0))])));
        for bad in [
            &line[..line.len() - 1],
            "",
            "\n",
            "a 1.5 0.00000000000000000000\n",
            "a  1.50000000000000000000 0.00000000000000000000\n",
            "a 1.50000000000000000000\n",
            "a -1.50000000000000000000 0.00000000000000000000\n",
            &line.repeat(2),
            &format!("{line}\n"),
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
