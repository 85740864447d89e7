//! Law 1, signatures: each counts as often as it may, within its window, and never after it is forgotten.

use std::collections::BTreeMap;

use crate::market::{Consumer, ForgottenStamps, MarketConfig, SignedTextId, Stamp};
use crate::model::Now;

/// How often each signature of a key was used, by timestamp and text.
type UsedSignatures = BTreeMap<(i64, SignedTextId), u32>;

#[derive(Clone, Debug, Default)]
pub(super) struct StampBooks {
    used: BTreeMap<(Consumer, String, u64), UsedSignatures>,
    /// Up to which timestamps the signatures of keys are forgotten.
    forgotten: BTreeMap<(Consumer, String, u64), i64>,
}

impl StampBooks {
    pub(super) fn use_up(&mut self, stamp: &Stamp, config: &MarketConfig, now: Now) -> Result<(), String> {
        let Stamp { consumer, user, key_id, timestamp_ms, text, uses } = stamp;
        let limit = if *consumer == Consumer::Job { config.job_signature_uses } else { 1 };
        let key = (*consumer, user.clone(), key_id.0);
        if let Some(up_to_ms) = self.forgotten.get(&key).filter(|up_to_ms| timestamp_ms <= *up_to_ms) {
            return Err(format!("{user}'s signature of {timestamp_ms} counts, forgotten up to {up_to_ms}"));
        }
        let before = self.used.entry(key).or_default().insert((*timestamp_ms, *text), *uses);
        if *uses != before.unwrap_or(0) + 1 || *uses > limit {
            return Err(format!("{user}'s signature of {timestamp_ms} counts again: use {uses} after {before:?}"));
        }
        let window_ms = if *uses > 1 { config.job_signature_window_ms } else { config.signature_window_ms };
        if timestamp_ms.abs_diff(now.wall_ms) > window_ms {
            return Err(format!("{user}'s signature of {timestamp_ms} is good at {}", now.wall_ms));
        }
        Ok(())
    }

    /// What is forgotten lies outside the window, in which nothing of it can be accepted.
    pub(super) fn forget(
        &mut self,
        forgotten: &ForgottenStamps,
        config: &MarketConfig,
        now: Now,
    ) -> Result<(), String> {
        let ForgottenStamps { consumer, user, key_id, up_to_ms } = forgotten;
        let window_ms = config.signature_window_ms;
        if *up_to_ms >= now.wall_ms.saturating_sub_unsigned(window_ms) {
            return Err(format!("{forgotten:?} at {} is within {window_ms} ms", now.wall_ms));
        }
        let key = (*consumer, user.clone(), key_id.0);
        if let Some(used) = self.used.get_mut(&key) {
            *used = used.split_off(&(up_to_ms + 1, SignedTextId(0)));
        }
        match self.forgotten.insert(key, *up_to_ms) {
            Some(before) if before >= *up_to_ms => Err(format!("{forgotten:?} after {before}")),
            _ => Ok(()),
        }
    }
}
