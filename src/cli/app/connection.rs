//! How `app` commands and `jobtracker run` reach the server, and how they fail.

use crate::cli::exit_code::{DENIED, HasExitCode, UNREACHABLE, WRONG_USAGE};
use crate::cli::market_command::MarketArguments;
use crate::cli::place::{FoundAddress, PlaceError};
use crate::cli::signer::{KEY_FILE, SignerError};
use crate::client::applications::{ApplicationClient, ApplicationClientError, Fault, Problem};

/// The client that the options name: it signs if a key is found.
pub(crate) fn client_of(market: &MarketArguments) -> Result<ApplicationClient, AppCommandError> {
    let user = market.signer.user()?;
    let signer = market.signer_if_any()?;
    let FoundAddress { address, origin } = market.place.find(&[])?.http();
    let client = ApplicationClient::new(address.to_string(), user, signer, crate::clock::wall_ms);
    Ok(client.found(origin.note()))
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AppCommandError {
    #[error("{0}")]
    Place(#[from] PlaceError),
    #[error("{0}")]
    Signer(#[from] SignerError),
    #[error("{0}")]
    Client(#[from] ApplicationClientError),
    /// The server does not know the caller, or does not let it do this.
    #[error("{text}")]
    Denied {
        /// Why, and who has asked with which key.
        text: String,
    },
    #[error("{0}")]
    Argument(String),
    #[error("{option}: cannot read {path}: {source}")]
    File { option: &'static str, path: String, source: std::io::Error },
    #[error("cannot write the output: {0}")]
    Output(std::io::Error),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl HasExitCode for AppCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Signer(error) => error.exit_code(),
            Self::Place(_) | Self::Argument(_) | Self::File { .. } => WRONG_USAGE,
            Self::Client(ApplicationClientError::Refused(_) | ApplicationClientError::NoApplications { .. }) => {
                WRONG_USAGE
            }
            Self::Client(ApplicationClientError::Denied(_)) | Self::Denied { .. } => DENIED,
            Self::Client(_) | Self::Output(_) | Self::System(_) => UNREACHABLE,
        }
    }
}

impl AppCommandError {
    /// With the signer and the key in the text of a denial.
    #[must_use]
    pub(crate) fn signed_by(self, market: &MarketArguments) -> Self {
        let Self::Client(ApplicationClientError::Denied(problem)) = self else { return self };
        // Who is known and may not do this has signed well.
        if problem.name == "forbidden" {
            return Self::Denied { text: format!("access denied: {problem}") };
        }
        let signer = (market.signer.user(), market.signer.key_source(), market.signer.key());
        Self::Denied {
            text: match signer {
                (Ok(user), Ok(source), Ok(_)) => {
                    format!("access denied: {problem}; signed as {user} with the key in {source}")
                }
                _ => format!("access denied: {problem}; not signed: no key in --key-file, $HADOOP_KEY or ~/{KEY_FILE}"),
            },
        }
    }

    /// With the option that is at fault in the place of each member of the body.
    #[must_use]
    pub(crate) fn with_options(self, option_at: impl Fn(&Fault) -> Option<String>) -> Self {
        let Self::Client(ApplicationClientError::Refused(problem)) = self else { return self };
        let Problem { detail, faults, .. } = &problem;
        let line = |fault: &Fault| {
            let place = option_at(fault).unwrap_or_else(|| fault.place.to_string());
            format!("{place}: {}", fault.detail)
        };
        let lines: Vec<String> = faults.iter().map(line).collect();
        match lines.as_slice() {
            [] => Self::Client(ApplicationClientError::Refused(problem)),
            [only] => Self::Argument(only.clone()),
            lines => Self::Argument(format!("{detail}\n  {}", lines.join("\n  "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::applications::FaultPlace;

    #[test]
    fn refusals_name_the_options_at_fault() {
        let fault =
            |step: &str| Fault { place: FaultPlace::Body(vec![step.to_owned()]), detail: "is wrong".to_owned() };
        let text = |faults: Vec<Fault>| {
            let problem = Problem { detail: "refused".to_owned(), faults, ..Problem::default() };
            let error = AppCommandError::from(ApplicationClientError::Refused(problem));
            let error = error.with_options(|fault| (fault.place.to_string() == "queue").then(|| "--queue".to_owned()));
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        };
        assert_eq!(text(vec![fault("queue")]), "--queue: is wrong");
        assert_eq!(text(vec![fault("queue"), fault("other")]), "refused\n  --queue: is wrong\n  other: is wrong");
        assert_eq!(text(Vec::new()), "refused");
    }

    #[test]
    fn denials_say_who_has_signed() {
        let mut market = MarketArguments::default();
        market.signer.user = Some("alice".to_owned());
        let text = |name: &str, market: &MarketArguments| {
            let (name, detail) = (name.to_owned(), "not you".to_owned());
            let problem = Problem { name, detail, ..Problem::default() };
            let error = AppCommandError::from(ApplicationClientError::Denied(problem)).signed_by(market);
            assert_eq!(error.exit_code(), 3);
            error.to_string()
        };
        assert_eq!(text("forbidden", &market), "access denied: not you");
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        market.signer.key_file = Some(key.clone());
        assert!(text("signature-refused", &market).starts_with("access denied: not you; not signed: no key in "));
        std::fs::write(&key, "k\n").unwrap();
        let signed = format!("access denied: not you; signed as alice with the key in {}", key.display());
        assert_eq!(text("signature-refused", &market), signed);
    }
}
