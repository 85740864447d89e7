//! The administrator who gives allowances and moves money between queues.

use crate::market::AllowanceTerms;
use crate::model::Credits;

use super::ADMINISTRATOR;
use super::bidders::Draft;
use super::cuts::Part;
use super::event_queue::SimEvent;
use super::laws::{MoneyChange, Violation};
use super::random::Random;
use super::world::World;

/// Requests that must not be granted.
const REFUSED: [&str; 9] = [
    "allowance=0&every=5",
    "allowance=-1&every=5",
    "allowance=1",
    "allowance=1&every=0",
    "allowance=1&every=1.5",
    "allowance=1&every=99999999999999999999",
    "allowance=1&every=5&cap=-0.1",
    "allowance=0.0000000000001&every=5",
    "allowance=some&every=5",
];

impl World<'_> {
    pub(super) fn run_treasurer(&mut self) -> Result<(), Violation> {
        let Some(interval_ms) = self.plan.bidding_interval_ms() else { return Ok(()) };
        let mut random = Random::stream(self.treasurer.number(), 0);
        self.schedule_in(random.between(1, interval_ms * 8), SimEvent::Treasurer);
        if !self.may_act() || !self.has(Part::Treasurer) {
            return Ok(());
        }
        let pick = |random: &mut Random| random.pick(&self.plan.users).map(|user| user.name.clone());
        let (Some(queue), Some(other)) = (pick(&mut random), pick(&mut random)) else { return Ok(()) };
        let draft = match random.below(12) {
            0..5 => {
                let units = i128::from(random.between(1, 80_000)) * 125_000_000_000;
                let credits = Credits::from_units(if random.one_in(3) { (units / 7).max(1) } else { units });
                let every_s = if random.one_in(3) { random.between(1, 5) } else { random.between(5, 120) };
                let cap =
                    random.one_in(2).then(|| Credits::from_units(i128::from(random.below(2_000)) * 10_i128.pow(12)));
                let in_query = cap.map(|cap| format!("&cap={cap}")).unwrap_or_default();
                let operation = format!("allowance={credits}&queue={queue}&every={every_s}{in_query}");
                Draft::new(operation, MoneyChange::Allowance(queue, Some(AllowanceTerms { credits, every_s, cap })))
            }
            5 | 6 => Draft::new(format!("allowance=none&queue={queue}"), MoneyChange::Allowance(queue, None)),
            7 => {
                let refused = random.pick(&REFUSED).copied().unwrap_or_default();
                Draft::without_change(format!("{refused}&queue={queue}"))
            }
            8 => Draft::without_change(format!("transfer=1&from={queue}&to={queue}")),
            _ => {
                let units = i128::from(random.between(1, 400_000)) * 125_000_000_000;
                let amount = Credits::from_units(if random.one_in(3) { (units / 7).max(1) } else { units });
                let operation = format!("transfer={amount}&from={queue}&to={other}&note=lent");
                Draft::new(operation, MoneyChange::Transfer(queue, other, amount))
            }
        };
        self.ask(ADMINISTRATOR, draft)
    }
}
