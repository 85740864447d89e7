//! The table of fair shares, and the original's search as a reference.

use proptest::prelude::*;

use super::*;

const ONE: u64 = 1_000_000;

/// Shares, with one decimal, of claims (demand, minimum, weight in tenths).
fn shares(claims: &[(u32, u32, u64)], slots: u32) -> Vec<String> {
    let claim = |&(demand, min, tenths): &(u32, u32, u64)| ShareClaim {
        demand,
        min,
        weight: PartsPerMillion(tenths * ONE / 10),
    };
    let claims: Vec<ShareClaim> = claims.iter().map(claim).collect();
    fair_shares(&claims, FairShare::of_slots(slots)).into_iter().map(FairShare::to_tenths).collect()
}

#[test]
fn equal_weights_share_equally() {
    assert_eq!(shares(&[(100, 0, 10), (50, 0, 10), (30, 0, 10), (20, 0, 10)], 40), ["10.0"; 4]);
}

#[test]
fn small_demands_leave_their_rest_to_others() {
    assert_eq!(shares(&[(100, 0, 10), (50, 0, 10), (11, 0, 10), (3, 0, 10)], 40), ["13.0", "13.0", "11.0", "3.0"]);
}

#[test]
fn minimums_are_granted_up_to_the_demand() {
    let claims = [(100, 20, 10), (10, 20, 10), (10, 0, 10), (3, 2, 10)];
    assert_eq!(shares(&claims, 40), ["20.0", "10.0", "7.0", "3.0"]);
}

#[test]
fn weights_divide() {
    assert_eq!(shares(&[(100, 0, 20), (50, 0, 10), (30, 0, 10), (20, 0, 5)], 45), ["20.0", "10.0", "10.0", "5.0"]);
}

#[test]
fn weights_divide_what_small_demands_leave() {
    assert_eq!(shares(&[(10, 0, 20), (11, 0, 10), (30, 0, 10), (20, 0, 5)], 45), ["10.0", "11.0", "16.0", "8.0"]);
}

#[test]
fn weights_divide_what_minimums_leave() {
    assert_eq!(shares(&[(10, 20, 20), (11, 0, 10), (30, 5, 10), (20, 15, 5)], 45), ["10.0", "10.0", "10.0", "15.0"]);
}

#[test]
fn fewer_slots_than_claims_are_divided_too() {
    let claims = [10, 5, 3, 2].map(|demand| ShareClaim { demand, min: 0, weight: PartsPerMillion::ONE });
    assert_eq!(fair_shares(&claims, FairShare::of_slots(1)), [FairShare(250_000); 4]);
}

#[test]
fn large_numbers_are_exact() {
    let demands = [100_000_000, 50_000_000, 30_000_000, 20_000_000];
    let claims = demands.map(|demand| ShareClaim { demand, min: 0, weight: PartsPerMillion::ONE });
    assert_eq!(fair_shares(&claims, FairShare::of_slots(40_000_000)), [FairShare::of_slots(10_000_000); 4]);
}

#[test]
fn without_demand_there_is_no_share() {
    assert_eq!(shares(&[(100, 0, 10), (50, 0, 10), (30, 0, 10), (0, 0, 10)], 30), ["10.0", "10.0", "10.0", "0.0"]);
}

#[test]
fn without_claims_there_are_no_shares() {
    assert_eq!(shares(&[], 40), [""; 0]);
}

#[test]
fn minimums_may_exceed_the_cluster() {
    assert_eq!(shares(&[(100, 30, 10), (100, 30, 10)], 40), ["30.0", "30.0"]);
}

#[test]
fn weight_zero_has_its_minimum_only() {
    assert_eq!(shares(&[(100, 5, 0), (100, 0, 10)], 40), ["5.0", "35.0"]);
    assert_eq!(shares(&[(100, 5, 0), (3, 0, 10)], 40), ["5.0", "3.0"]);
    assert_eq!(shares(&[(100, 5, 0)], 40), ["5.0"]);
}

#[test]
fn shares_are_shown_with_one_decimal() {
    let shown = [1_333_333, 2_666_666, 50_000, 49_999, 0].map(|millionths| FairShare(millionths).to_tenths());
    assert_eq!(shown, ["1.3", "2.7", "0.1", "0.0", "0.0"]);
    assert_eq!(FairShare(2_666_666).to_string(), "2.666666");
}

#[test]
fn parts_of_a_share() {
    assert_eq!((FairShare(2_999_999).whole_slots(), FairShare(5_000_000).half()), (2, FairShare(2_500_000)));
}

/// The original's search with 64 halvings in place of 25.
fn searched(claims: &[ShareClaim], total: f64) -> Vec<f64> {
    let share = |claim: &ShareClaim, ratio: f64| {
        let weight = claim.weight.0 as f64 / 1e6;
        (weight * ratio).max(claim.min.into()).min(claim.demand.into())
    };
    let sum = |ratio| claims.iter().map(|claim| share(claim, ratio)).sum::<f64>();
    let target = claims.iter().map(|claim| f64::from(claim.demand)).sum::<f64>().min(total);
    let (mut low, mut high) = (0.0, 1.0);
    while sum(high) < target - 1e-9 {
        high *= 2.0;
    }
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if sum(middle) < target { low = middle } else { high = middle }
    }
    claims.iter().map(|claim| share(claim, high)).collect()
}

proptest! {
    #[test]
    fn shares_are_those_of_the_search(
        claims in prop::collection::vec((0_u32..200, 0_u32..40, 1_u64..5_000_000), 0..12),
        total in 0_u64..400_000_000,
    ) {
        let claim = |(demand, min, weight)| ShareClaim { demand, min, weight: PartsPerMillion(weight) };
        let claims: Vec<ShareClaim> = claims.into_iter().map(claim).collect();
        let exact = fair_shares(&claims, FairShare(total));
        for (exact, searched) in exact.iter().zip(searched(&claims, total as f64 / 1e6)) {
            prop_assert!((exact.0 as f64 / 1e6 - searched).abs() < 1e-5, "{exact} {searched}");
        }
    }
}
