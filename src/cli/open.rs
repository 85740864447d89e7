//! `jobtracker open`: opens a page of the JobTracker in a browser, signed in for private reads.

use std::env;
use std::process::{Command, Stdio};

use crate::client::market::{MarketClient, MarketClientError};

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::json;
use super::terminal::print_error;

const OPENERS: [&str; 3] = ["xdg-open", "open", "sensible-browser"];

/// Options of `open`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OpenArguments {
    /// Page to begin at, such as /market
    #[arg(value_name = "PAGE", default_value = "/")]
    page: String,
    /// Print the link and open nothing; it works once
    #[arg(long)]
    print: bool,
    /// Print what programs send in the header `Authorization: Bearer`, instead of a link
    #[arg(long, conflicts_with_all = ["print", "page"])]
    token: bool,
    /// Server, signer, output form: JSON is printed, and nothing opened.
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker open`: what to print.
pub(crate) fn open(arguments: &OpenArguments) -> Result<String, MarketCommandError> {
    let OpenArguments { page, print, token, market } = arguments;
    let client = market.client()?;
    if *token {
        let signer = market.signer()?;
        let session = wait_for(async { client.session(&signer).await.map_err(|error| market.signed_error(error)) })?;
        return Ok(printed("session", &session, market));
    }
    let page = as_path(page);
    let link = match wait_for(async { Ok(client.request("time").await) })? {
        // Without a market there are no keys, and nothing is private.
        Err(MarketClientError::Refused(_)) => plain_link(&client, &page),
        Err(error) => return Err(error.into()),
        Ok(_) => {
            let signer = market.signer()?;
            wait_for(async { Ok(client.session_link(&page, &signer).await?) })?
        }
    };
    if *print || market.json {
        return Ok(printed("link", &link, market));
    }
    if open_in_browser(&link) {
        return Ok(String::new());
    }
    print_error("jobtracker: note: no program here opens addresses: set BROWSER, or open this link, which works once");
    Ok(link + "\n")
}

/// A text as a line, or as a member of JSON.
fn printed(member: &str, text: &str, market: &MarketArguments) -> String {
    if market.json { json(&serde_json::json!({ member: text })) } else { format!("{text}\n") }
}

/// A page as a path: `market` is `/market`.
fn as_path(page: &str) -> String {
    if page.starts_with('/') { page.to_owned() } else { format!("/{page}") }
}

fn plain_link(client: &MarketClient, page: &str) -> String {
    format!("http://{}{page}", client.server())
}

fn open_in_browser(link: &str) -> bool {
    let named = env::var("BROWSER").ok().filter(|browser| !browser.is_empty());
    let openers = named.iter().map(String::as_str).chain(OPENERS);
    let has_opened = |opener: &str| {
        let quiet = || Stdio::null();
        let started = Command::new(opener).arg(link).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
        started.is_ok_and(|status| status.success())
    };
    openers.into_iter().any(has_opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_path() {
        assert_eq!([as_path("/"), as_path("market"), as_path("/queues/a")], ["/", "/market", "/queues/a"]);
    }
}
