//! Whose rows a list shows, or whose jobs a command changes.

use super::signer::SignerArguments;

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
    /// The user.
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
