//! What this machine is called.

/// The name of this machine, as its kernel knows it; `localhost` when that is no name.
pub(super) fn host_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}
