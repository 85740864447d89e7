//! Who asks at the pages of Hadoop's addresses, where `hadoop.http.filter.initializers` says how: everybody is one user, or each gives
//! a name, which is believed, and gets the cookie that NameNode and JobTracker share (1.2.1 `AuthenticationFilter`, type `simple`).

use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderMap, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

use super::request_body::values_of;
use super::sessions::cookie;

pub(super) const COOKIE_NAME: &str = "hadoop.auth";
/// Between what is signed and the signature.
const SIGNATURE: &str = "&s=";
/// The type of these names in the cookie.
const TYPE: &str = "simple";
const USER_NAME: &str = "user.name";
/// The longest name, bytes: a browser drops a cookie of more than 4 KiB, and the name is in it twice.
const MAX_USER_BYTES: usize = 255;

/// How a request says who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PageLogin {
    /// It does not.
    #[default]
    Nameless,
    OneUser(Arc<str>),
    /// By `user.name`, then by the cookie.
    Simple(SimpleLogin),
}

#[derive(Clone, PartialEq, Eq)]
pub struct SimpleLogin {
    secret: Arc<[u8]>,
    validity_ms: i64,
    allows_nameless: bool,
}

/// Who asks, as [`PageLogin`] has it; in the extensions of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageUser(pub(super) Arc<str>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Nothing,
    /// A user, and the cookie that the browser has not yet.
    User(Arc<str>, Option<String>),
    /// A name that the cookie cannot hold.
    BadName,
}

impl SimpleLogin {
    /// Cookies are signed with this secret and good for so long, ms; `allows_nameless`: requests without a name are answered.
    pub(crate) fn new(secret: impl Into<Arc<[u8]>>, validity_ms: i64, allows_nameless: bool) -> Self {
        Self { secret: secret.into(), validity_ms, allows_nameless }
    }

    /// What a request says, at `now_ms`, epoch ms.
    pub(super) fn say(&self, uri: &Uri, headers: &HeaderMap, now_ms: i64) -> Said {
        if let Some(user) =
            cookie(headers, COOKIE_NAME).and_then(|cookie| self.user_of(cookie.trim_matches('"'), now_ms))
        {
            return Said::User(user.into(), None);
        }
        // The first of two values, as a servlet takes it.
        let named = values_of(uri.query().unwrap_or_default().as_bytes(), USER_NAME).next();
        match named {
            None => Said::Nothing,
            Some(name) if !fits_cookie(&name) => Said::BadName,
            Some(name) => {
                let cookie = self.cookie(&name, now_ms.saturating_add(self.validity_ms));
                Said::User(name.into(), Some(cookie))
            }
        }
    }

    /// Whether requests without a name are answered.
    pub(super) const fn allows_nameless(&self) -> bool {
        self.allows_nameless
    }

    fn cookie(&self, user: &str, end_ms: i64) -> String {
        let signed = format!("u={user}&p={user}&t={TYPE}&e={end_ms}");
        let signature = self.signature(&signed);
        format!("{signed}{SIGNATURE}{signature}")
    }

    /// The user of a cookie's value; none of one that has ended or was signed with another secret.
    fn user_of(&self, cookie: &str, now_ms: i64) -> Option<String> {
        let (signed, signature) = cookie.rsplit_once(SIGNATURE)?;
        let is_signed: bool = self.signature(signed).as_bytes().ct_eq(signature.as_bytes()).into();
        let part = |name: &str| signed.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        let end_ms: i64 = part("e")?.parse().ok()?;
        let is_good = is_signed && part("t") == Some(TYPE) && now_ms <= end_ms;
        part("u").filter(|user| is_good && !user.is_empty()).map(str::to_owned)
    }

    fn signature(&self, signed: &str) -> String {
        let digest = Sha1::new().chain_update(signed).chain_update(&self.secret).finalize();
        STANDARD.encode(digest)
    }
}

/// Whether a name stands in the cookie as one part of its text, and can end neither the text nor the cookie.
fn fits_cookie(name: &str) -> bool {
    let stands = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'"' | b';');
    (1..=MAX_USER_BYTES).contains(&name.len()) && name.bytes().all(stands)
}

/// Never prints the secret.
impl fmt::Debug for SimpleLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SimpleLogin({} ms, {})", self.validity_ms, self.allows_nameless)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn login() -> SimpleLogin {
        SimpleLogin::new(*b"sharedsecret", 36_000_000, true)
    }

    fn say(login: &SimpleLogin, target: &str, cookie: &str) -> Said {
        let mut headers = HeaderMap::new();
        if !cookie.is_empty() {
            headers.insert(COOKIE, format!("a=b; hadoop.auth={cookie}").parse().unwrap());
        }
        login.say(&target.parse().unwrap(), &headers, NOW_MS)
    }

    #[test]
    fn the_cookie_is_as_hadoop_makes_it() {
        // printf '%s' 'u=alice&p=alice&t=simple&e=1700036000000sharedsecret' | openssl sha1 -binary | base64
        let expected = "u=alice&p=alice&t=simple&e=1700036000000&s=zr00eamQPqqOFaMWyGoz0LIktp4=";
        assert_eq!(login().cookie("alice", NOW_MS + 36_000_000), expected);
        assert_eq!(login().user_of(expected, NOW_MS).as_deref(), Some("alice"));
    }

    #[test]
    fn a_name_is_believed_then_the_cookie_of_any_daemon_with_the_secret() {
        let login = login();
        let Said::User(user, Some(cookie)) = say(&login, "/jobtracker.jsp?user.name=alice", "") else {
            panic!("named")
        };
        assert_eq!(&*user, "alice");
        let alice = Said::User("alice".into(), None);
        // Another daemon with the secret, quotes as Java's servers send them, and another name beside it.
        assert_eq!(say(&self::login(), "/", &cookie), alice);
        assert_eq!(say(&login, "/", &format!("\"{cookie}\"")), alice);
        assert_eq!(say(&login, "/?user.name=bob", &cookie), alice);
        assert_eq!(say(&SimpleLogin::new(*b"other", 1, true), "/", &cookie), Said::Nothing);
        assert_eq!(say(&login, "/", &cookie.replace("u=alice", "u=root")), Said::Nothing);
        assert_eq!(say(&login, "/", &login.cookie("alice", NOW_MS - 1)), Said::Nothing, "it has ended");
        let kerberos = "u=alice&p=alice&t=kerberos&e=1700036000000";
        assert_eq!(say(&login, "/", &format!("{kerberos}&s={}", login.signature(kerberos))), Said::Nothing);
        for bad in [
            "",
            "a%26t%3Dx",
            "a%0Ab",
            "b%C3%B6ss",
            "a%22%3B%20Domain%3Dexample.org",
            "a;Max-Age=9",
            &"a".repeat(60_000),
        ] {
            assert_eq!(say(&login, &format!("/?user.name={bad}"), ""), Said::BadName, "{bad:.40}");
        }
    }

    #[test]
    fn the_first_of_two_names_counts_and_other_doubled_fields_hide_none() {
        for query in ["user.name=alice&user.name=root", "jobCheckBox=1&jobCheckBox=2&user.name=alice"] {
            let said = say(&login(), &format!("/jobtracker.jsp?{query}"), "");
            assert!(matches!(&said, Said::User(user, Some(_)) if &**user == "alice"), "{query}: {said:?}");
        }
        let forged = "u=alice&p=alice&t=simple&e=1700036000000&s=";
        assert!(
            matches!(say(&login(), "/?user.name=bob&user.name=alice", forged), Said::User(user, _) if &*user == "bob")
        );
    }
}
