//! What explanations read as.

use super::*;

#[test]
fn limits_and_waits_have_a_text_and_read_back_from_json() {
    let kind = Kind::Map;
    let begin = |of, name: Option<&str>, counts| PendingReason::BeginLimit {
        of,
        name: name.map(str::to_owned),
        counts,
        limit: 2,
        used: 2,
    };
    let near = |within, for_ms: Option<u64>, after_heartbeats| PendingReason::Locality {
        within,
        until_ms: for_ms.map(|_| 9),
        for_ms,
        after_heartbeats,
    };
    for (reason, text) in [
        (
            begin(LimitHolder::Queue, Some("q"), LimitCount::Tasks),
            "queue q may have 2 tasks of jobs begun at once, and 2 have begun",
        ),
        (begin(LimitHolder::User, None, LimitCount::Jobs), "its user may have 2 jobs begun at once, and 2 have begun"),
        (
            PendingReason::GroupMaximum { kind, of: LimitHolder::Pool, name: "p".to_owned(), maximum: 3, held: 3 },
            "pool p may hold 3 map slots and holds 3",
        ),
        (
            PendingReason::UserLimit { kind, limit: 4, held: 4 },
            "its user may hold 4 map slots of the queue now and holds 4",
        ),
        (
            PendingReason::Reservation { kind, trackers: 2, slots_per_task: 3 },
            "2 trackers keep their free map slots for it until 3 are free, as many as one of its tasks needs",
        ),
        (
            PendingReason::AfterMaps { has_maps: true },
            "its reduces start after its last map, so that they hold no slot that waits",
        ),
        (
            PendingReason::AfterMaps { has_maps: false },
            "its reduces start as soon as no other deadline needs the slots, at the latest when they must",
        ),
        (
            PendingReason::DeadlineLimit { kind, limit: 2, held: 2 },
            "its deadline needs 2 map slots at a time, and it holds 2",
        ),
        (
            PendingReason::PlannedStart { kind, from_ms: 1_795_000_026_050, for_ms: 26_050 },
            "the map slots that keep its deadline are promised to others for 26.0 s more",
        ),
        (PendingReason::PromisedToDeadlines { kind }, "the free map slots are promised to jobs with deadlines"),
        (
            near(NearLevel::Host, Some(4_250), None),
            "its maps run only on hosts with their data for at least 4.2 s more",
        ),
        (
            near(NearLevel::Rack, None, Some(7)),
            "its maps run only in racks with their data until 7 more trackers had slots but none there",
        ),
        (
            PendingReason::EarlierGroups { kind, groups: 3 },
            "3 other queues or pools stand before its own in line for map slots",
        ),
    ] {
        assert_eq!(reason.to_string(), text);
        let json = serde_json::to_string(&reason).unwrap();
        assert_eq!(serde_json::from_str::<PendingReason>(&json).unwrap(), reason, "{json}");
    }
}
