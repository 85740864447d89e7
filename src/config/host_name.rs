//! The name of this machine, if not configured.

/// The kernel's host name; `localhost` if it is empty or not UTF-8.
#[must_use]
pub fn host_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}
