//! What this machine is called where the configuration does not say.

/// The name of this machine, as its kernel knows it; `localhost` when that is no name.
#[must_use]
pub fn host_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}
