//! Options, and values of options, that more than one command takes, with errors that say what was expected.

use crate::model::Credits;

use super::signer::SignerArguments;

/// Parses a whole number of at least `LEAST`.
pub(super) fn whole_number<const LEAST: u32>(text: &str) -> Result<u32, String> {
    whole_number_to::<LEAST, { u32::MAX }>(text)
}

/// Parses a whole number from `LEAST` to `MOST`.
pub(super) fn whole_number_to<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    let expected = || format!("expected a whole number from {LEAST} to {MOST}");
    text.trim().parse().ok().filter(|number| (LEAST..=MOST).contains(number)).ok_or_else(expected)
}

/// Checks an amount of credits that is not negative, and leaves it as it is written.
pub(super) fn credits(text: &str) -> Result<String, String> {
    match Credits::parse_exact(text) {
        Ok(amount) if amount < Credits::ZERO => Err("expected credits that are not negative, such as 12.5".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses the name of a queue, which is not empty.
pub(super) fn queue_name(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is empty; expected the name of a queue") } else { Ok(text.to_owned()) }
}

/// The option that filters by user.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct UserFilter {
    /// Only what is this user's; also who asks and signs where --key-file is given without --as
    #[arg(long, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// Another word for --user; beside it, --user is who asks
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<String>,
}

impl UserFilter {
    pub(super) fn name(&self) -> Option<&str> {
        self.owner.as_deref().or(self.user.as_deref())
    }

    /// Who asks: as an option says, else the user beside `--owner`, else the user whose key file is given.
    pub(super) fn signer(&self, given: &SignerArguments) -> SignerArguments {
        let (asks, of_key) = match &self.owner {
            Some(owner) => (self.user.as_ref(), Some(owner)),
            None => (None, self.user.as_ref()),
        };
        let of_key = of_key.filter(|_| given.key_file.is_some());
        SignerArguments { user: given.user.as_ref().or(asks).or(of_key).cloned(), key_file: given.key_file.clone() }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn what_is_no_number_says_what_one_is() {
        assert_eq!([whole_number::<0>("0"), whole_number::<1>(" 7 ")], [Ok(0), Ok(7)]);
        for text in ["-1", "0", "many", "4294967296", "1.5", ""] {
            assert_eq!(whole_number::<1>(text).unwrap_err(), "expected a whole number from 1 to 4294967295", "{text}");
        }
        assert_eq!(whole_number_to::<1, 100>("101").unwrap_err(), "expected a whole number from 1 to 100");
        assert!(queue_name(" ").is_err() && queue_name("a").is_ok());
    }

    #[test]
    fn what_is_no_amount_is_refused_before_anything_is_sent() {
        assert_eq!(credits("12.5"), Ok("12.5".to_owned()));
        assert!(credits("1,5").unwrap_err().contains("is not a decimal number"), "{:?}", credits("1,5"));
        assert!(credits("-1").unwrap_err().contains("not negative"));
    }

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        filter: UserFilter,
        #[command(flatten)]
        signer: SignerArguments,
    }

    #[test]
    fn a_filter_signs_only_with_a_key_file() {
        for (line, name, signer) in [
            ("", None, None),
            ("--user bob", Some("bob"), None),
            ("--owner bob", Some("bob"), None),
            ("--user bob --as root", Some("bob"), Some("root")),
            ("--user bob --key-file k", Some("bob"), Some("bob")),
            ("--owner bob --key-file k", Some("bob"), Some("bob")),
            ("--user bob --key-file k --as root", Some("bob"), Some("root")),
            ("--owner bob --user alice", Some("bob"), Some("alice")),
        ] {
            let Line { filter, signer: given } =
                Line::try_parse_from(["list"].into_iter().chain(line.split_whitespace())).unwrap();
            assert_eq!((filter.name(), filter.signer(&given).user.as_deref()), (name, signer), "{line}");
        }
    }
}
