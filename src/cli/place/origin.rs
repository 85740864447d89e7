//! Who names an address: an option, a variable, a file, or no one.

use std::fmt;
use std::path::PathBuf;

/// Where an address comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An option.
    Option(&'static str),
    /// A variable of the environment.
    Variable(&'static str),
    /// The conf folder that an option or a variable names.
    ConfFolder(String, PathBuf),
    /// A file.
    File(PathBuf),
    /// The web server that this names.
    Server(Box<Origin>, String),
    /// Nothing names one.
    Default,
}

impl Origin {
    /// Ends the text of an error about the address.
    pub(crate) fn note(&self) -> String {
        match self {
            Self::Default => {
                "; nothing names another: give --server HOST:PORT or --conf DIR, or set JOBTRACKER_SERVER".to_owned()
            }
            origin => format!("; the address is from {origin}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => formatter.write_str(name),
            Self::Variable(name) => write!(formatter, "${name}"),
            Self::ConfFolder(name, folder) => write!(formatter, "{name} {}", folder.display()),
            Self::File(path) => path.display().fmt(formatter),
            Self::Server(origin, server) => write!(formatter, "the web server {server} of {origin}"),
            Self::Default => formatter.write_str("no option, variable or file"),
        }
    }
}
