//! Delegation tokens: issue, renewal, cancellation, expiry, and what becomes of those of jobs (1.2.1
//! `AbstractDelegationTokenSecretManager`, `DelegationTokenRenewal`).

use crate::engine::core::{DelegationCall, DelegationRequest, Engine, Reply, Wait};
use crate::engine::state::{
    DELEGATION_KEY_BYTES, DelegationChange, DelegationKey, DelegationTokens, Fact, LogLevel, Refusal,
};
use crate::model::{JobId, Now};
use crate::wire::file::read_token_storage;
use crate::wire::limits::{USER_NAME_BYTES, excerpt};
use crate::wire::{DELEGATION_KIND, DelegationIdentifier, Token};

impl Engine {
    /// Handles a call. Its answer waits for all facts: it shows what was issued, renewed or cancelled.
    pub(super) fn on_delegation_request(&mut self, request: DelegationRequest, now: Now) -> (Reply, Wait) {
        self.end_delegation_tokens(now);
        let outcome = match &request.call {
            DelegationCall::Get { renewer, secret } => self.issue_token(&request, renewer, secret, now),
            DelegationCall::Renew(token) => self.renew_token(token, &request.user, now),
            DelegationCall::Cancel(token) => self.cancel_token(token, &request.user, now),
        };
        (outcome.unwrap_or_else(Reply::Refused), Wait::All)
    }

    fn issue_token(
        &mut self,
        request: &DelegationRequest,
        renewer: &str,
        secret: &[u8; DELEGATION_KEY_BYTES],
        now: Now,
    ) -> Result<Reply, Refusal> {
        if renewer.len() > USER_NAME_BYTES {
            let text = format!(
                "the name of the renewer {} has {} bytes; the limit is {USER_NAME_BYTES}",
                excerpt(renewer),
                renewer.len()
            );
            return Err(Refusal::Invalid(text));
        }
        let room = self.delegation.make_room(&request.user, request.origin);
        let gives_way =
            room.map_err(|text| Refusal::Invalid(format!("{text}: cancel some, or wait until they end")))?;
        if let Some(sequence) = gives_way {
            self.outbox
                .log_line(LogLevel::Warning, format!("ended delegation token {sequence}: its host has too many"));
            self.change_delegation(DelegationChange::Ended(vec![sequence]), now);
        }
        let key = match self.delegation.signing_key(now) {
            Some(key) => key.clone(),
            None => self.make_key(*secret, now),
        };
        let real_user = request.real_user.as_deref();
        let token =
            self.delegation.new_token(&request.user, short_name(renewer), real_user, key.id, request.origin, now);
        let identifier = token.identifier.to_bytes();
        self.outbox.log_line(LogLevel::Info, format!("issued a delegation token: {}", token.identifier));
        self.change_delegation(DelegationChange::Issued(token), now);
        let password = key.password_of(&identifier);
        Ok(Reply::Token(Token { identifier, password, kind: DELEGATION_KIND.into(), service: "".into() }))
    }

    fn make_key(&mut self, secret: [u8; DELEGATION_KEY_BYTES], now: Now) -> DelegationKey {
        let key = self.delegation.new_key(secret, now);
        self.change_delegation(DelegationChange::KeyMade(key.clone()), now);
        key
    }

    fn renew_token(&mut self, token: &Token, renewer: &str, now: Now) -> Result<Reply, Refusal> {
        let identifier = identifier_of(token)?;
        let invalid = |text: String| Err(Refusal::InvalidToken(text));
        let denied = |text: String| Err(Refusal::AccessDenied(text));
        if identifier.max_ms < now.wall_ms {
            return invalid(format!("User {renewer} tried to renew an expired token"));
        }
        if identifier.renewer.is_empty() {
            return denied(format!("User {renewer} tried to renew a token without a renewer"));
        }
        if *identifier.renewer != *renewer {
            return denied(format!(
                "Client {renewer} tries to renew a token with renewer specified as {}",
                excerpt(&identifier.renewer)
            ));
        }
        let Some(key) = self.delegation.key(identifier.key) else {
            return invalid(format!(
                "Unable to find master key for keyId={} from cache. Failed to renew an unexpired token with \
                 sequenceNumber={}",
                identifier.key, identifier.sequence
            ));
        };
        if !DelegationTokens::has_password(key, &token.identifier, &token.password) {
            return denied(format!("Client {renewer} is trying to renew a token with wrong password"));
        }
        if !self.delegation.is_in_force(&identifier) {
            return invalid("Renewal request for unknown token".to_owned());
        }
        let until_ms = self.delegation.renewed_until_ms(&identifier, now);
        self.change_delegation(DelegationChange::Renewed { sequence: identifier.sequence, until_ms }, now);
        Ok(Reply::Time(until_ms))
    }

    fn cancel_token(&mut self, token: &Token, canceller: &str, now: Now) -> Result<Reply, Refusal> {
        let identifier = identifier_of(token)?;
        if identifier.owner.is_empty() {
            return Err(Refusal::InvalidToken("Token with no owner".to_owned()));
        }
        if !may_cancel(&identifier, canceller) {
            return Err(Refusal::AccessDenied(format!("{canceller} is not authorized to cancel the token")));
        }
        if !self.delegation.is_in_force(&identifier) {
            return Err(Refusal::InvalidToken("Token not found".to_owned()));
        }
        self.outbox.log_line(LogLevel::Info, format!("{canceller} cancelled a delegation token: {identifier}"));
        self.change_delegation(DelegationChange::Ended(vec![identifier.sequence]), now);
        Ok(Reply::Done)
    }

    /// Ends tokens whose time is over, and forgets keys that nothing needs. A token of an unfinished job whose renewer is
    /// the daemon is renewed instead.
    pub(super) fn end_delegation_tokens(&mut self, now: Now) {
        let (mut ended, mut renewed) = (Vec::new(), Vec::new());
        for token in self.delegation.ended(now) {
            let sequence = token.identifier.sequence;
            let is_renewed = *token.identifier.renewer == *self.config.daemon_user
                && token.identifier.max_ms > now.wall_ms
                && self.delegation.is_of_job(sequence);
            match is_renewed {
                true => renewed.push((sequence, self.delegation.renewed_until_ms(&token.identifier, now))),
                false => ended.push(sequence),
            }
        }
        for (sequence, until_ms) in renewed {
            self.change_delegation(DelegationChange::Renewed { sequence, until_ms }, now);
        }
        if !ended.is_empty() {
            self.change_delegation(DelegationChange::Ended(ended), now);
        }
        for id in self.delegation.unneeded_keys(now) {
            self.change_delegation(DelegationChange::KeyForgotten(id), now);
        }
        self.delegation.set_due(now);
    }

    pub(super) fn end_delegation_tokens_when_due(&mut self, now: Now) {
        if self.delegation.due_mono_ms().is_some_and(|due_mono_ms| due_mono_ms <= now.mono_ms) {
            self.end_delegation_tokens(now);
        }
    }

    /// Finds our tokens in the credentials of a job that begins or continues.
    pub(super) fn hold_delegation_tokens(&mut self, job: JobId, token_file: &[u8]) {
        let Ok(credentials) = read_token_storage(token_file) else { return };
        let tokens = credentials.tokens.iter().map(|(_, token)| token);
        let ours = tokens.filter(|token| &*token.kind == DELEGATION_KIND).filter_map(|token| {
            let identifier = DelegationIdentifier::from_bytes(&token.identifier).ok()?;
            let key = self.delegation.key(identifier.key)?;
            let is_ours = DelegationTokens::has_password(key, &token.identifier, &token.password)
                && self.delegation.is_in_force(&identifier);
            is_ours.then_some(identifier.sequence)
        });
        let sequences = ours.collect();
        self.delegation.hold(job, sequences);
    }

    /// Cancels the tokens of jobs that have ended, where the daemon may and the job does not say no
    /// (`mapreduce.job.complete.cancel.delegation.tokens`).
    pub(super) fn cancel_tokens_of_jobs(&mut self, now: Now) {
        let released = self.delegation.take_released().into_iter().map(|token| token.identifier);
        let ended: Vec<i32> = released
            .filter(|identifier| may_cancel(identifier, &self.config.daemon_user))
            .map(|identifier| identifier.sequence)
            .collect();
        if !ended.is_empty() {
            self.outbox.log_line(LogLevel::Info, format!("cancelled {} delegation tokens of ended jobs", ended.len()));
            self.change_delegation(DelegationChange::Ended(ended), now);
        }
    }

    fn change_delegation(&mut self, change: DelegationChange, now: Now) {
        self.delegation.apply(&change, now, &mut self.outbox.violations);
        self.outbox.record(Fact::Delegation(change));
    }
}

fn identifier_of(token: &Token) -> Result<DelegationIdentifier, Refusal> {
    DelegationIdentifier::from_bytes(&token.identifier).map_err(|error| Refusal::Invalid(error.to_string()))
}

/// Owner and renewer may.
fn may_cancel(identifier: &DelegationIdentifier, user: &str) -> bool {
    *identifier.owner == *user || (!identifier.renewer.is_empty() && *identifier.renewer == *short_name(user))
}

/// The short name of a principal `name/host@REALM`; a plain name is one.
fn short_name(name: &str) -> &str {
    name.split(['/', '@']).next().unwrap_or_default()
}
