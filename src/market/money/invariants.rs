//! What must hold of money, whatever happens.

use crate::model::{Credits, PerPool, Pool, Violations};

use super::allocation::cost;
use super::interval::Interval;
use super::state::Market;
use super::tick::{QueueTick, Tick};

impl Market {
    pub(crate) fn report_violations(&mut self, violations: &mut Violations) {
        violations.append(&mut self.violations);
    }

    /// No balance is below zero, and the balances sum to what was issued less what was charged. Costs a walk over all accounts.
    pub(crate) fn check_accounts(&self, violations: &mut Violations) {
        let mut sum = Some(Credits::ZERO);
        for (queue, account) in &self.accounts {
            let balance = account.balance();
            violations.check(balance >= Credits::ZERO, || format!("queue {queue} has {balance}"));
            sum = sum.and_then(|sum| sum.checked_add(balance));
        }
        let ledger = self.ledger();
        violations.check(sum == Some(ledger.expected_balance()), || {
            format!("balances sum to {sum:?}; issued {} less charged {}", ledger.issued, ledger.charged)
        });
    }
}

impl Tick {
    /// All that is charged is laid on jobs and applications; the price is the sum of the rates, the quotas fit the slots of the
    /// cluster, and each queue can pay its own.
    pub(super) fn check(&self, slots: PerPool<u32>, violations: &mut Violations) {
        let charged: i128 =
            self.queue_ticks.iter().flat_map(QueueTick::charges).map(|charge| charge.amount().units()).sum();
        let laid: i128 = self.laid.iter().map(|charge| charge.amount.units()).sum();
        violations
            .check(charged == laid, || format!("{charged} units are charged, {laid} are laid on what held slots"));
        let (mut rates, mut sold) = (Some(Credits::ZERO), PerPool::<u64>::default());
        for queue_tick in &self.queue_ticks {
            let Some(Interval { share, quota, .. }) = &queue_tick.interval else { continue };
            rates = rates.and_then(|rates| rates.checked_add(share.rate()));
            Pool::ALL.into_iter().for_each(|pool| sold[pool] += u64::from(quota[pool]));
            let (most, balance) = (cost(share.rate(), *quota), queue_tick.balance);
            violations.check(most <= balance, || {
                format!("queue {} is sold slots for {most} and has {balance}", queue_tick.queue)
            });
        }
        violations.check(rates == Some(self.price), || format!("rates sum to {rates:?}, the price is {}", self.price));
        for pool in Pool::ALL {
            violations.check(sold[pool] <= u64::from(slots[pool]), || {
                format!("{} of {} {pool:?} slots are sold", sold[pool], slots[pool])
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::money::{
        BudgetLine, ContainerUse, LaidCharge, MarketConfig, MarketFact, MeteredUse, QueueUse, SlotHolder,
    };
    use crate::market::tests::hold_since_tick;
    use crate::model::{ApplicationId, Now, PerKind, QueueName};

    const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };
    const INTERVAL_MS: u64 = 1_000;
    const LATER: Now = Now { mono_ms: INTERVAL_MS, wall_ms: 0 };
    const SLOTS: PerPool<u32> = PerPool::new(4, 2, 3);

    fn queue() -> QueueName {
        QueueName::new("q").unwrap()
    }

    fn credits(text: &str) -> Credits {
        text.parse().unwrap()
    }

    /// A market with one queue that has 100 credits and an open interval of four map slots at 2 credits.
    fn market() -> (Market, Tick) {
        let mut market = Market::new(MarketConfig::default(), 0);
        market.violations = Violations::counting();
        let (budget, rate) = (credits("100"), credits("2"));
        let line = BudgetLine { queue: queue(), budget, rate, is_budget_rounded: false, is_rate_rounded: false };
        market.seed_budgets(vec![line], NOW);
        let tick = market.tick(&[usage()], SLOTS, INTERVAL_MS, NOW);
        hold_since_tick(&mut market, &[usage()], NOW);
        (market, tick)
    }

    fn usage() -> QueueUse {
        let containers = ContainerUse::default();
        let want = QueueUse::wants_all(&containers);
        QueueUse {
            queue: queue(),
            running: PerKind::new(4, 0),
            pending: 1,
            containers,
            want,
            later: PerKind::default(),
        }
    }

    fn texts(violations: &mut Violations) -> Vec<String> {
        violations.take().into_iter().map(|broken| broken.text).collect()
    }

    #[test]
    fn a_sound_market_breaks_nothing() {
        let (mut market, _) = market();
        market.tick(&[usage()], SLOTS, INTERVAL_MS, LATER);
        assert_eq!(texts(&mut market.violations), [""; 0]);
        assert_eq!(market.total(), credits("92"));
    }

    #[test]
    fn money_from_nowhere_a_negative_balance_and_an_unpaid_interval_are_found() {
        let held = MeteredUse { within_ms: PerPool::new(4_000, 0, 0), beyond_ms: 0 };
        for (balance, expected) in [
            ("101", "balances sum to Some(Credits(93000000000000)); issued 100.0 less charged 8.0"),
            ("-1", &*format!("queue q has -1.0, and has held {held:?}")),
            ("7", &*format!("queue q has 7.0, and has held {held:?}")),
        ] {
            let (mut market, _) = market();
            let account = MarketFact::Account { queue: queue(), balance: credits(balance), rate: credits("2") };
            market.apply(&account);
            market.tick(&[usage()], SLOTS, INTERVAL_MS, LATER);
            let found = texts(&mut market.violations);
            assert!(found.iter().any(|text| text == expected), "{found:?}");
        }
    }

    #[test]
    fn a_tick_that_sells_too_much_is_found() {
        type Damage = fn(&mut Tick);
        let damages: [(Damage, &str); 4] = [
            (|tick| tick.price = credits("3"), "rates sum to Some(Credits(2000000000000)), the price is 3.0"),
            (|tick| tick.queue_ticks[0].balance = credits("7"), "queue q is sold slots for 12.0 and has 7.0"),
            (|tick| tick.queue_ticks[0].interval.as_mut().unwrap().quota.map = 5, "5 of 4 Map slots are sold"),
            (
                |tick| {
                    let (holder, slot_ms) = (SlotHolder::Application(ApplicationId::new(1, 1)), PerPool::default());
                    tick.laid.push(LaidCharge { holder, slot_ms, amount: credits("1") });
                },
                "0 units are charged, 1000000000000 are laid on what held slots",
            ),
        ];
        for (damage, expected) in damages {
            let (_, mut tick) = market();
            damage(&mut tick);
            let mut violations = Violations::counting();
            tick.check(SLOTS, &mut violations);
            let found = texts(&mut violations);
            assert!(found.iter().any(|text| text == expected), "{found:?}");
        }
    }
}
