//! Serves session after session: one ends with a stop or a hand-over to another process; if that fails, this process
//! starts the next one.

use std::sync::Arc;
use std::time::Duration;

use crate::config::settings::HttpLimits;
use crate::ipc::RpcLimits;
use crate::store::Precedence;

use super::handover::{Control, HandoverState, UpgradeOutcome, UpgradeRequest};
use super::market_opening::MarketOpening;
use super::process::{DaemonProcess, STOPPED_MEANWHILE};
use super::serve_error::ServeError;
use super::session::{PendingHandover, Serving, SessionEnd};

/// First and longest pause before a session that failed to start is retried.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// The result of a hand-over.
enum HandoverResult {
    Done,
    Failed,
    /// Stopped meanwhile, so no process serves.
    Stopped,
}

impl DaemonProcess<'_> {
    /// Serves until stopped, or until another process has taken over.
    pub(super) async fn serve_until_stopped(
        mut self,
        limits: (RpcLimits, HttpLimits),
        precedence: Precedence,
        started: impl FnOnce(&Serving),
    ) -> Result<(), ServeError> {
        let mut started = Some(started);
        // The administrator's choice about the budget file applies to the first start only.
        let mut precedence = if self.handed_over.is_some() { Precedence::Ledger } else { precedence };
        let mut is_ours_again = false;
        let mut pause = PAUSES.0;
        loop {
            self.has_served = false;
            let announce = |serving: &Serving| started.take().into_iter().for_each(|started| started(serving));
            match self.serve_session(limits, precedence, announce).await {
                Ok(SessionEnd::Stopped) => return Ok(()),
                Ok(SessionEnd::HandingOver(handover)) => match self.hand_over(*handover).await {
                    HandoverResult::Done | HandoverResult::Stopped => return Ok(()),
                    HandoverResult::Failed => {
                        (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0);
                    }
                },
                Ok(SessionEnd::OpeningMarket(opening)) => {
                    let MarketOpening { market, call } = *opening;
                    (self.market, self.market_opening) = (Some(market), Some(call));
                    (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0);
                }
                Ok(SessionEnd::LoadingAgain) => {
                    (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0)
                }
                // Without the market this process served before.
                Err(error) if self.market_opening.is_some() && !self.has_served => {
                    if let (Some(market), Some(call)) = (self.market.take(), self.market_opening.take()) {
                        MarketOpening { market, call }.refuse(&error.to_string()).await;
                    }
                }
                // This process holds the connections and the state is complete: the cause may be temporary.
                Err(error) if is_ours_again && !self.has_served => {
                    tracing::error!("cannot resume serving, retrying: {error}");
                    self.service.status(&format!("cannot resume serving: {error}"));
                    let sleep = self.service.keep_alive_during(tokio::time::sleep(pause));
                    tokio::select! {
                        () = self.stop.requested() => return Err(error),
                        () = sleep => pause = (pause * 2).min(PAUSES.1),
                    }
                }
                Err(error) => {
                    if let Some(predecessor) = &self.predecessor {
                        predecessor.refuse(&error.to_string());
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Hands over to the successor. On failure the successor is dead and its state belongs to this process again.
    async fn hand_over(&mut self, handover: PendingHandover) -> HandoverResult {
        let PendingHandover { mut successor, request, closed, clock, since_ms } = handover;
        let connections = self.connections.len();
        let state = match closed.and_then(|()| self.handover_state()) {
            Ok(state) => Arc::new(state),
            Err(error) => {
                drop(successor);
                return self.report_failed_upgrade(request, &error);
            }
        };
        let transfer = self.service.keep_alive_during(successor.transfer(state.clone()));
        let transferred = tokio::select! {
            transferred = transfer => transferred,
            () = self.stop.requested() => {
                self.service.stopping();
                drop(successor);
                request.answer(UpgradeOutcome::Refused { why: STOPPED_MEANWHILE.to_owned() }).await;
                return HandoverResult::Stopped;
            }
        };
        let outcome = match transferred {
            Ok(()) => self.service.keep_alive_during(successor.start_serving()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            drop(successor);
            match Arc::into_inner(state) {
                Some(state) => self.connections = state.connections,
                None => tracing::error!("connections are lost: the hand-over still holds them"),
            }
            return self.report_failed_upgrade(request, &error);
        }
        let waited_ms = clock.mono_ms().saturating_sub(since_ms);
        self.service.succeeded_by(successor.process_id());
        successor.acknowledge_handover();
        if let Some(control) = self.control.take() {
            control.release_socket();
        }
        let process = successor.process_id();
        let summary = format!(
            "process {process} (jobtracker {}) replaced process {} with {connections} connections; calls waited \
             {waited_ms} ms",
            successor.program_version,
            std::process::id(),
        );
        request.answer(UpgradeOutcome::Done { process, summary }).await;
        if self.stop.is_requested() {
            successor.stop();
        }
        HandoverResult::Done
    }

    /// The state for the successor; this process keeps copies.
    fn handover_state(&mut self) -> Result<HandoverState, ServeError> {
        let refused = |source| ServeError::System { what: "copies of listeners", source };
        let control = self.control.as_ref().map(Control::share).transpose().map_err(refused)?;
        Ok(HandoverState {
            rpc: self.ports.rpc.share().map_err(refused)?,
            http: self.ports.http.share().map_err(refused)?,
            control,
            trackers: self.handed_over.iter().flatten().cloned().collect(),
            open_ids: self.open_ids.clone(),
            connections: std::mem::take(&mut self.connections),
        })
    }

    /// Keeps the failure for the operator, who is answered once this process serves again.
    fn report_failed_upgrade(&mut self, request: UpgradeRequest, error: &dyn std::fmt::Display) -> HandoverResult {
        tracing::error!("hand-over failed, this process resumes serving: {error}");
        self.failed_upgrade = Some((request, error.to_string()));
        HandoverResult::Failed
    }
}
