//! The guard against examples, and against a model that forgets nothing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const START: i64 = 1_700_000_000_000;
const MINUTE: i64 = 60_000;
const CONFIG: MarketConfig =
    MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 };
const KEY: KeyId = KeyId(1);

fn signature(consumer: Consumer, user: &str, key_id: KeyId, timestamp_ms: i64) -> Signature<'_> {
    Signature { consumer, user, key_id, timestamp_ms, text: SignedTextId(0) }
}

fn accept(
    guard: &mut ReplayGuard,
    signature: &Signature<'_>,
    now_ms: i64,
    config: &MarketConfig,
) -> Result<(Stamp, Option<ForgottenStamps>), ReplayRefusal> {
    let stamp = guard.check(signature, now_ms, config)?;
    guard.apply(&stamp);
    let forgotten = guard.next_to_forget(signature, now_ms, config);
    if let Some(forgotten) = &forgotten {
        guard.forget(forgotten);
    }
    Ok((stamp, forgotten))
}

fn servlet(guard: &mut ReplayGuard, timestamp_ms: i64, now_ms: i64) -> Result<Stamp, ReplayRefusal> {
    accept(guard, &signature(Consumer::Servlet, "alice", KEY, timestamp_ms), now_ms, &CONFIG).map(|(stamp, _)| stamp)
}

fn job(guard: &mut ReplayGuard, at: i64, now: i64, config: &MarketConfig) -> Result<u32, ReplayRefusal> {
    let text = SignedTextId::of("it is not looked at");
    let signature = Signature { text, ..signature(Consumer::Job, "alice", KEY, at) };
    accept(guard, &signature, now, config).map(|(stamp, _)| stamp.uses)
}

#[test]
fn signatures_are_accepted_once_in_any_order_from_the_servers_start() {
    let mut guard = ReplayGuard::new(START);
    let before = ReplayRefusal::BeforeStart { timestamp_ms: START, start_ms: START };
    assert_eq!(servlet(&mut guard, START, START), Err(before));
    for at in [START + 5, START + 4, START + 6, START] {
        assert!(servlet(&mut guard, at, START + 9).is_ok(), "{at}");
    }
    for at in [START + 5, START + 4, START + 6, START] {
        assert_eq!(servlet(&mut guard, at, START + 9), Err(ReplayRefusal::Used { timestamp_ms: at }));
    }
    let other_text = Signature { text: SignedTextId(1), ..signature(Consumer::Servlet, "alice", KEY, START + 5) };
    assert!(accept(&mut guard, &other_text, START + 9, &CONFIG).is_ok(), "another request of the same millisecond");
    assert!(accept(&mut guard, &other_text, START + 9, &CONFIG).is_err());
}

#[test]
fn consumers_and_users_have_signatures_of_their_own() {
    let mut guard = ReplayGuard::new(START);
    assert!(servlet(&mut guard, START + 5, START).is_ok());
    assert!(job(&mut guard, START + 5, START, &CONFIG).is_ok());
    let of_bob = signature(Consumer::Servlet, "bob", KEY, START + 5);
    assert!(accept(&mut guard, &of_bob, START, &CONFIG).is_ok());
}

/// Defect 16: in the original each ACL edit made every request since the start good again.
#[test]
fn defect_16_stamps_survive_key_changes_and_restarts() {
    let mut guard = ReplayGuard::new(START);
    let stamp = servlet(&mut guard, START + 5, START + 5).unwrap();
    let new_key = |guard: &mut ReplayGuard, at| {
        accept(guard, &signature(Consumer::Servlet, "alice", KeyId(2), at), START + 9, &CONFIG).is_ok()
    };
    assert!(new_key(&mut guard, START + 5), "signatures of the other key died with it");
    assert!(!new_key(&mut guard, START + 5));
    assert!(servlet(&mut guard, START + 5, START + 9).is_err(), "the old key is back, and what it used");

    let mut restarted = ReplayGuard::new(START + 10);
    restarted.apply(&stamp);
    assert!(servlet(&mut restarted, START + 5, START + 9).is_err());
    assert!(servlet(&mut restarted, START + 6, START + 9).is_ok(), "not used yet");
}

/// Defect 17: with the clock set back, old signatures worked again.
#[test]
fn defect_17_a_window_around_now_holds() {
    let mut guard = ReplayGuard::new(START);
    let now = START + 10 * MINUTE;
    let early = servlet(&mut guard, now - 5 * MINUTE - 1, now).unwrap_err();
    assert!(matches!(early, ReplayRefusal::OutsideWindow { .. }) && !early.to_string().contains("seconds"));
    let in_seconds = servlet(&mut guard, now / 1_000, now).unwrap_err().to_string();
    assert!(in_seconds.ends_with(": it looks like seconds, expected milliseconds"), "{in_seconds}");
    assert!(servlet(&mut guard, now - 5 * MINUTE, now).is_ok());
    assert!(servlet(&mut guard, now + 5 * MINUTE, now).is_ok());
    assert!(servlet(&mut guard, now, now).is_ok(), "one ahead of the clock locks no user out");
}

/// Defect 18: a timestamp far ahead was taken and locked its user out.
#[test]
fn defect_18_a_far_timestamp_is_refused_and_changes_nothing() {
    let mut guard = ReplayGuard::new(START);
    for far in [START + 5 * MINUTE + 1, i64::MAX, i64::MIN] {
        assert!(matches!(servlet(&mut guard, far, START), Err(ReplayRefusal::OutsideWindow { .. })));
    }
    assert_eq!(guard, ReplayGuard::new(START));
    assert!(servlet(&mut guard, START + 1, START).is_ok());
}

/// Defect 38: the clock set back either locked users out without a word or let replays in.
#[test]
fn defect_38_a_clock_set_back_accepts_nothing_that_is_forgotten() {
    let mut guard = ReplayGuard::new(START);
    let used = START + 50 * MINUTE;
    assert!(servlet(&mut guard, used, used).is_ok());
    let then = START + 60 * MINUTE;
    assert!(servlet(&mut guard, then, then).is_ok());
    let set_back = START + MINUTE;
    let ahead = ReplayRefusal::ClockSetBack { up_to_ms: used, now_ms: set_back };
    assert_eq!(servlet(&mut guard, set_back, set_back), Err(ahead));
    assert!(matches!(servlet(&mut guard, used, used), Err(ReplayRefusal::Forgotten { .. })));
    assert!(servlet(&mut guard, used + 1, used + 1).is_ok(), "the clock has passed what is forgotten");
    assert_eq!(servlet(&mut guard, then, then), Err(ReplayRefusal::Used { timestamp_ms: then }), "it is kept");
    let of_new_key = signature(Consumer::Servlet, "alice", KeyId(2), set_back);
    assert!(accept(&mut guard, &of_new_key, set_back, &CONFIG).is_ok());
}

#[test]
fn what_is_older_than_the_window_is_forgotten_for_others_too() {
    let mut guard = ReplayGuard::new(START);
    for at in 1..=100 {
        assert!(servlet(&mut guard, START + at, START).is_ok());
    }
    let later = START + 7 * MINUTE;
    let of_bob = signature(Consumer::Upload, "bob", KEY, later);
    let (_, forgotten) = accept(&mut guard, &of_bob, later, &CONFIG).unwrap();
    let (consumer, user) = (Consumer::Servlet, "alice".to_owned());
    assert_eq!(forgotten, Some(ForgottenStamps { consumer, user, key_id: KEY, up_to_ms: START + 100 }));
    let kept: usize = guard.users.values().flat_map(BTreeMap::values).map(|used| used.uses.len()).sum();
    assert_eq!((kept, guard.oldest.len()), (1, 1));
    // A window that is longer from then on.
    let longer = MarketConfig { signature_window_ms: 3_600_000, ..CONFIG };
    let again = guard.check(&signature(Consumer::Servlet, "alice", KEY, START + 7), later, &longer);
    assert_eq!(again, Err(ReplayRefusal::Forgotten { timestamp_ms: START + 7, up_to_ms: START + 100 }));
}

#[test]
fn after_a_copy_was_put_back_nothing_is_accepted_that_was_signed_before() {
    let mut guard = ReplayGuard::new(START);
    assert!(servlet(&mut guard, START + 1, START + 1).is_ok());
    guard.forget(&ForgottenStamps::of_everyone(Consumer::Servlet, START + 50));
    for user in ["alice", "bob"] {
        let signed = |at| signature(Consumer::Servlet, user, KeyId(2), at);
        let lost = guard.check(&signed(START + 50), START + 60, &CONFIG);
        assert_eq!(lost, Err(ReplayRefusal::Forgotten { timestamp_ms: START + 50, up_to_ms: START + 50 }));
        assert!(guard.check(&signed(START + 51), START + 60, &CONFIG).is_ok());
    }
    assert!(job(&mut guard, START + 2, START + 2, &CONFIG).is_ok(), "another consumer");
}

#[test]
fn a_user_may_sign_so_often_in_a_window_and_others_go_on() {
    let mut guard = ReplayGuard::with_limit(START, 5);
    for at in 1..=5 {
        assert!(servlet(&mut guard, START + at, START).is_ok());
    }
    let refusal = servlet(&mut guard, START + 6, START).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "5 signatures of this user within 300000 ms have been used, as many as are kept; wait"
    );
    let of_new_key = signature(Consumer::Servlet, "alice", KeyId(2), START + 6);
    assert_eq!(accept(&mut guard, &of_new_key, START, &CONFIG), Err(refusal), "another key is the same user");
    assert!(accept(&mut guard, &signature(Consumer::Servlet, "bob", KEY, START + 6), START, &CONFIG).is_ok());
    // As the first leave the window, others may follow; never more than one beyond the limit is kept.
    for now in START + 300_000..START + 300_040 {
        let _ = servlet(&mut guard, now, now);
        let kept: usize =
            guard.users[&(Consumer::Servlet, "alice".to_owned())].values().map(|used| used.uses.len()).sum();
        assert!(kept <= 5, "{kept} at {}", now - START);
    }
    assert!(servlet(&mut guard, START + 600_050, START + 600_050).is_ok());
}

#[test]
fn a_job_signature_is_good_once_by_default() {
    let mut guard = ReplayGuard::new(START);
    assert_eq!(job(&mut guard, START + 1, START + 1, &CONFIG), Ok(1));
    let refusal = job(&mut guard, START + 1, START + 2, &CONFIG).unwrap_err();
    assert_eq!(refusal, ReplayRefusal::UsedUp { uses: 1 });
    assert!(refusal.to_string().contains("mapred.dynamic-scheduler.job-signature-uses"));
}

#[test]
fn a_job_signature_may_be_used_more_often_inside_its_window() {
    let config = MarketConfig { job_signature_uses: 3, job_signature_window_ms: 600_000, ..CONFIG };
    let mut guard = ReplayGuard::new(START);
    let at = START + 1;
    assert_eq!(job(&mut guard, at, at, &config), Ok(1));
    assert_eq!(job(&mut guard, at, at + 10 * MINUTE, &config), Ok(2));
    let old = ReplayRefusal::TooOldForReuse { timestamp_ms: at, window_ms: 600_000 };
    assert_eq!(job(&mut guard, at, at + 10 * MINUTE + 1, &config), Err(old));
    let mut restarted = ReplayGuard::new(START + MINUTE);
    let (consumer, user, text) = (Consumer::Job, "alice".to_owned(), SignedTextId(0));
    restarted.apply(&Stamp { consumer, user, key_id: KEY, timestamp_ms: at, text, uses: 2 });
    assert_eq!(job(&mut restarted, at, at + MINUTE, &config), Ok(3), "the count is durable");
    assert_eq!(job(&mut restarted, at, at + MINUTE, &config), Err(ReplayRefusal::UsedUp { uses: 3 }));
    assert!(job(&mut restarted, at - 1, at + MINUTE, &config).is_ok(), "one that was signed before it is another");
}

#[derive(Clone, Debug)]
enum Act {
    /// Signs by the clock, so far from it, ms; the numbers choose consumer, user, key and text.
    Sign(u8, i64),
    /// Sends again what was sent so many acts ago.
    Again(usize),
    Clock(i64),
    /// The daemon dies and starts again, with what is stored.
    Crash,
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (any::<u8>(), prop_oneof![4 => -200i64..200, 1 => -400_000i64..400_000]).prop_map(|(who, off)| Act::Sign(who, off)),
        4 => (0usize..400).prop_map(Act::Again),
        3 => prop_oneof![6 => 0i64..2_000, 2 => 0i64..400_000, 1 => -400_000i64..0, 1 => -40_000_000i64..40_000_000].prop_map(Act::Clock),
        1 => Just(Act::Crash),
    ]
}

#[derive(Default)]
struct Stored {
    used: BTreeMap<(Consumer, String, KeyId, i64, SignedTextId), u32>,
    forgotten: BTreeMap<(Consumer, String, KeyId), i64>,
}

impl Stored {
    fn record(&mut self, stamp: &Stamp, forgotten: Option<&ForgottenStamps>) {
        let Stamp { consumer, user, key_id, timestamp_ms, text, uses } = stamp;
        self.used.insert((*consumer, user.clone(), *key_id, *timestamp_ms, *text), *uses);
        if let Some(ForgottenStamps { consumer, user, key_id, up_to_ms }) = forgotten {
            let key = (*consumer, user.clone(), *key_id);
            self.used.retain(|(c, u, k, at, _), _| (c, u, k) != (&key.0, &key.1, &key.2) || at > up_to_ms);
            self.forgotten.insert(key, *up_to_ms);
        }
    }

    fn restarted(&self, start_ms: i64) -> ReplayGuard {
        let mut guard = ReplayGuard::with_limit(start_ms, 40);
        for ((consumer, user, key_id), up_to_ms) in &self.forgotten {
            let (consumer, user, key_id, up_to_ms) = (*consumer, user.clone(), *key_id, *up_to_ms);
            guard.forget(&ForgottenStamps { consumer, user, key_id, up_to_ms });
        }
        for ((consumer, user, key_id, timestamp_ms, text), uses) in &self.used {
            let (consumer, user, key_id) = (*consumer, user.clone(), *key_id);
            guard.apply(&Stamp { consumer, user, key_id, timestamp_ms: *timestamp_ms, text: *text, uses: *uses });
        }
        guard
    }
}

proptest! {
    /// Whatever clock and restarts do, nothing is accepted twice; while the clock never goes back, whatever was not used
    /// is accepted within the window, but for users who sign more than is kept.
    #[test]
    fn nothing_is_accepted_twice_and_what_is_unused_is(acts in prop::collection::vec(any_act(), 0..400)) {
        let (mut now_ms, mut latest_ms, mut last_start_ms) = (START, START, START - 10_000_000);
        let mut guard = ReplayGuard::with_limit(last_start_ms, 40);
        let mut stored = Stored::default();
        let mut accepted = BTreeSet::new();
        let mut sent: Vec<(Consumer, &str, KeyId, i64, SignedTextId)> = Vec::new();
        for act in acts {
            let (consumer, user, key_id, timestamp_ms, text) = match act {
                Act::Clock(by_ms) => {
                    now_ms += by_ms;
                    continue;
                }
                Act::Crash => {
                    prop_assert_eq!(&stored.restarted(guard.start_ms()), &guard, "what is stored is the whole");
                    last_start_ms = last_start_ms.max(now_ms);
                    guard = stored.restarted(now_ms);
                    continue;
                }
                Act::Again(before) => match sent.len().checked_sub(before + 1) {
                    Some(index) => sent[index],
                    None => continue,
                },
                Act::Sign(who, off_ms) => {
                    let consumer = if who & 1 == 0 { Consumer::Servlet } else { Consumer::Job };
                    let user = if who & 2 == 0 { "alice" } else { "bob" };
                    let (key_id, text) = (KeyId(u64::from(who >> 2 & 1)), u64::from(who >> 3 & 1));
                    let text = SignedTextId(if consumer == Consumer::Job { 0 } else { text });
                    (consumer, user, key_id, now_ms + off_ms, text)
                }
            };
            let is_going_back = now_ms < latest_ms;
            latest_ms = latest_ms.max(now_ms);
            let one = (consumer, user, key_id, timestamp_ms, text);
            sent.push(one);
            let signature = Signature { consumer, user, key_id, timestamp_ms, text };
            match accept(&mut guard, &signature, now_ms, &CONFIG) {
                Ok((stamp, forgotten)) => {
                    prop_assert!(accepted.insert(one), "{one:?} is accepted again at {now_ms}");
                    prop_assert!(timestamp_ms.abs_diff(now_ms) <= CONFIG.signature_window_ms);
                    stored.record(&stamp, forgotten.as_ref());
                }
                Err(ReplayRefusal::TooMany { .. }) => {
                    let kept = |(c, u, _, at, _): &&(Consumer, &str, KeyId, i64, SignedTextId)| {
                        (*c, *u) == (consumer, user) && at.saturating_add(300_000) >= now_ms
                    };
                    prop_assert!(accepted.iter().filter(kept).count() >= 40);
                }
                Err(refusal) => {
                    let is_new = !accepted.contains(&one);
                    let is_within = timestamp_ms.abs_diff(now_ms) <= CONFIG.signature_window_ms;
                    let is_due = is_new && is_within && !is_going_back && timestamp_ms > last_start_ms;
                    prop_assert!(!is_due, "{one:?} is refused at {now_ms}: {refusal}");
                }
            }
        }
        prop_assert_eq!(&stored.restarted(guard.start_ms()), &guard, "what is stored is the whole");
    }
}
