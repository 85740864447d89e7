//! A step that panics on purpose, for tests: `JOBTRACKER_PANIC_STEP` names the beginning of what
//! [`StepSource`](super::StepSource) prints, such as `heartbeat of TaskTracker tracker_h1`. A release build contains
//! none of this and ignores the variable.

use super::Quarantine;

#[inline]
pub(in crate::server) fn panic_if_chosen(quarantine: &Quarantine) {
    #[cfg(debug_assertions)]
    chosen::panic_if_chosen(&quarantine.source.borrow());
    #[cfg(not(debug_assertions))]
    let _ = quarantine;
}

#[cfg(debug_assertions)]
mod chosen {
    use std::sync::LazyLock;

    use super::super::StepSource;

    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("JOBTRACKER_PANIC_STEP").ok());

    pub(super) fn panic_if_chosen(source: &StepSource) {
        if let Some(chosen) = &*CHOSEN
            && source.to_string().starts_with(chosen)
        {
            #[expect(clippy::panic, reason = "the purpose of this function")]
            {
                panic!("JOBTRACKER_PANIC_STEP={chosen}");
            }
        }
    }
}
