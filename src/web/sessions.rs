//! Read-only sessions: what `jobtracker open` signs in for, as a cookie of a browser or a bearer of a program.
//!
//! Nothing is kept of a session: its text says user and end, and a MAC over both and the user's present key vouches for them. So a
//! key that is changed, rotated or removed ends the sessions of its user, and a restart ends none.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::market::{Acl, AclEntry, Key};
use crate::model::{SessionKey, from_hex, hex};

const COOKIE_NAME: &str = "jobtracker_session";
/// How texts of sessions begin; what comes after it may have another form one day.
const VERSION: &str = "v1";
/// What is signed for nothing else.
const PURPOSE: &[u8] = b"jobtracker session v1\0";

#[derive(Clone, Copy, Debug)]
pub struct Sessions {
    key: SessionKey,
    length_s: u32,
}

impl Sessions {
    /// Sessions that last so long, s, signed with this key.
    pub const fn new(key: SessionKey, length_s: u32) -> Self {
        Self { key, length_s }
    }

    /// A session of a user who has this key, from `now_ms` on, epoch ms.
    pub(super) fn begin(&self, user: &str, key: &Key, now_ms: i64) -> String {
        let end_s = now_ms.div_euclid(1_000).saturating_add(i64::from(self.length_s));
        let mac = hex(&self.mac(user, end_s, key).finalize().into_bytes());
        format!("{VERSION}.{}.{end_s}.{mac}", utf8_percent_encode(user, NON_ALPHANUMERIC))
    }

    /// The value of the header that gives a browser a session.
    pub(super) fn cookie(&self, session: &str) -> String {
        format!("{COOKIE_NAME}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}", self.length_s)
    }

    /// The user of a session with the line of the list of keys; none of one that has ended or was not made here.
    pub(super) fn find<'a>(&self, session: &str, acl: &'a Acl, now_ms: i64) -> Option<(String, &'a AclEntry)> {
        let mut parts = session.split('.');
        let (version, user, end, mac) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if version != VERSION || parts.next().is_some() {
            return None;
        }
        let user = percent_decode_str(user).decode_utf8().ok()?.into_owned();
        let end_s: i64 = end.parse().ok()?;
        let entry = acl.get(&user)?;
        let expected = self.mac(&user, end_s, &entry.key).finalize().into_bytes();
        let is_ours: bool = expected.as_slice().ct_eq(&from_hex(mac)?).into();
        (is_ours && now_ms < end_s.saturating_mul(1_000)).then_some((user, entry))
    }

    fn mac(&self, user: &str, end_s: i64, key: &Key) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_bytes()).expect("a key of any length");
        mac.update(PURPOSE);
        // What has no fixed length comes last.
        mac.update(&end_s.to_be_bytes());
        mac.update(&Sha256::digest(key.as_bytes()));
        mac.update(user.as_bytes());
        mac
    }
}

pub(super) fn session_in_cookies(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, COOKIE_NAME)
}

/// The value of the header that takes the session from a browser.
pub(super) fn no_cookie() -> String {
    format!("{COOKIE_NAME}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
}

/// The value of the first cookie of a name. Cookies of others beside it may be any bytes.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().flat_map(|cookies| cookies.as_bytes().split(|byte| *byte == b';'));
    cookies.filter_map(|cookie| std::str::from_utf8(cookie).ok()).find_map(|cookie| {
        let (known, value) = cookie.trim().split_once('=')?;
        (known == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::http::header::COOKIE;

    use crate::market::{RetiringKey, Role};

    use super::*;

    const NOW_MS: i64 = 1_700_000_000_500;

    fn sessions() -> Sessions {
        Sessions::new(SessionKey::new([7; 32]), 60)
    }

    fn acl(text: &str) -> Acl {
        Acl::parse(text, "acl").unwrap()
    }

    fn begun() -> String {
        sessions().begin("o'b.rien", &Key::new("k1"), NOW_MS)
    }

    fn role_of(session: &str, acl: &Acl, now_ms: i64) -> Option<(String, Role)> {
        sessions().find(session, acl, now_ms).map(|(user, entry)| (user, entry.role))
    }

    #[test]
    fn a_session_is_its_users_until_its_end() {
        let (session, acl) = (begun(), acl("o'b.rien admin k1"));
        assert!(session.starts_with("v1.o%27b%2Erien.1700000060."), "{session}");
        let found = Some(("o'b.rien".to_owned(), Role::Admin));
        assert_eq!(role_of(&session, &acl, NOW_MS), found);
        assert_eq!(role_of(&session, &acl, 1_700_000_059_999), found);
        assert_eq!(role_of(&session, &acl, 1_700_000_060_000), None, "over");
        // The role is the one that the list has now.
        assert_eq!(role_of(&session, &self::acl("o'b.rien user k1"), NOW_MS).map(|(_, role)| role), Some(Role::User));
        let cookie = sessions().cookie("v1.x");
        assert_eq!(cookie, "jobtracker_session=v1.x; HttpOnly; SameSite=Strict; Path=/; Max-Age=60");
    }

    #[test]
    fn another_key_ends_a_session_also_while_the_old_one_still_signs() {
        let session = begun();
        let rotated = acl("o'b.rien user k2").with_retiring([RetiringKey {
            user: "o'b.rien".to_owned(),
            until_ms: NOW_MS + 1_000,
            key: Key::new("k1"),
        }]);
        assert!(rotated.keys_of("o'b.rien").any(|key| *key == Key::new("k1")));
        for other in [rotated, acl("o'b.rien user k2"), acl("bob user k1"), Acl::default()] {
            assert_eq!(role_of(&session, &other, NOW_MS), None, "{other:?}");
        }
        let of_another_server = Sessions::new(SessionKey::new([8; 32]), 60);
        assert!(of_another_server.find(&session, &acl("o'b.rien user k1"), NOW_MS).is_none());
    }

    #[test]
    fn no_part_of_a_session_can_be_another() {
        let (session, acl) = (begun(), acl("o'b.rien user k1\nroot admin k1"));
        let parts: Vec<&str> = session.split('.').collect();
        let with = |place: usize, part: &str| {
            let mut parts = parts.clone();
            parts[place] = part;
            parts.join(".")
        };
        let flipped = if parts[3].starts_with('0') { "1" } else { "0" }.to_owned() + &parts[3][1..];
        for forged in [
            with(1, "root"),
            with(2, "1700000061"),
            with(3, &flipped),
            with(3, &parts[3][..62]),
            with(3, ""),
            with(0, "v2"),
            format!("{session}.x"),
            "v1.root.1700000060".to_owned(),
            String::new(),
        ] {
            assert_eq!(role_of(&forged, &acl, NOW_MS), None, "{forged}");
        }
        assert!(role_of(&session, &acl, NOW_MS).is_some());
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let headers = |cookies: &[&'static str]| -> HeaderMap {
            cookies.iter().map(|cookies| (COOKIE, cookies.parse().unwrap())).collect()
        };
        let found = |cookies: &[&'static str]| session_in_cookies(&headers(cookies)).map(str::to_owned);
        assert_eq!(found(&["a=b; jobtracker_session=v1.x; c"]).as_deref(), Some("v1.x"));
        assert_eq!(found(&["a=b", "jobtracker_session=v1.y"]).as_deref(), Some("v1.y"));
        assert_eq!(found(&["other_jobtracker_session=v1.x", "jobtracker_session"]), None);
    }

    #[test]
    fn what_others_keep_hides_none() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_bytes(b"theme=hell\xf6; a; wanted=1=2").unwrap());
        headers.append(COOKIE, HeaderValue::from_static("wanted=second; other=3"));
        assert_eq!(cookie(&headers, "wanted"), Some("1=2"));
        assert_eq!(cookie(&headers, "other"), Some("3"));
        assert_eq!(cookie(&headers, "theme"), None, "no text");
        assert_eq!(cookie(&headers, "a"), None);
    }
}
