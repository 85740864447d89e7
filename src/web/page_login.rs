//! Names the user of each request where `hadoop.http.filter.initializers` says how, and refuses those without a name where all must
//! have one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::middleware::Next;

use super::identify::viewer_of_program;
use super::owner::Owner;
use super::page_user::{COOKIE_NAME, PageLogin, PageUser, Said};
use super::response::text;
use super::state::WebState;

/// Where requests have proofs of their own, or must be answered without any.
const OPEN_TO_ALL: [&str; 6] = ["/scheduler", "/session", "/healthz", "/readyz", "/status", "/jobfile"];

/// Says in the request who asks, and gives the browser the cookie; refuses requests without a name where all must have one.
pub(super) async fn identify_page_user<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let said = match &state.stock.login {
        PageLogin::Nameless => return next.run(request).await,
        PageLogin::OneUser(user) => Said::User(user.clone(), None),
        PageLogin::Simple(login) => login.say(request.uri(), request.headers(), state.owner.health().at_ms),
    };
    let cookie = match said {
        Said::BadName => {
            return text(
                StatusCode::BAD_REQUEST,
                "user.name: expected a name of at most 255 letters, digits and marks of ASCII, without &, \" and ;",
            );
        }
        Said::Nothing if must_have_name(&state, request.uri().path(), request.headers()).await => {
            let mut refusal =
                text(StatusCode::UNAUTHORIZED, "Anonymous requests are disallowed: give your name by user.name=NAME");
            set_cookie(&mut refusal, &format!("{COOKIE_NAME}=; Path=/; Max-Age=0"));
            return refusal;
        }
        Said::Nothing => None,
        Said::User(user, cookie) => {
            request.extensions_mut().insert(PageUser(user));
            cookie
        }
    };
    let mut response = next.run(request).await;
    if let Some(cookie) = cookie {
        set_cookie(&mut response, &format!("{COOKIE_NAME}=\"{cookie}\"; Path=/; HttpOnly; SameSite=Lax"));
    }
    response
}

/// A session is as good as a name.
async fn must_have_name<O: Owner>(state: &WebState<O>, path: &str, headers: &HeaderMap) -> bool {
    let is_strict = matches!(&state.stock.login, PageLogin::Simple(login) if !login.allows_nameless());
    let is_open = OPEN_TO_ALL
        .iter()
        .any(|open| path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    if !is_strict || is_open {
        return false;
    }
    // A bearer that is none is refused by the API itself.
    let viewer = viewer_of_program(state, headers, None).await;
    viewer.is_ok_and(|(viewer, _)| viewer.signed_in().is_none())
}

fn set_cookie(response: &mut Response<Body>, cookie: &str) {
    // A name that no header can carry is asked for again.
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}
