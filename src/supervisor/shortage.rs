//! What the machine or the limits of this process lack: no fault of what was to be started or opened.

use std::any::Any;
use std::error::Error;
use std::io;

use rustix::io::Errno;

/// The supervisor process of a command has gone before it reported the start. Nothing of the command has run, or hardly anything: such a
/// process ends by itself where it gets no thread or descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its supervisor process has gone")]
pub(crate) struct SupervisorGone;

/// Whether descriptors or memory are lacking, by the error or one that it wraps.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    errno.is_some_and(|errno| [Errno::NOMEM, Errno::MFILE, Errno::NFILE].contains(&errno))
        || error.kind() == io::ErrorKind::OutOfMemory
        || error.get_ref().is_some_and(|inner| has_shortage(inner))
}

/// The same of the start of a process or thread, for which processes may be lacking too. Elsewhere EAGAIN means a timeout.
pub(crate) fn is_shortage_at_start(error: &io::Error) -> bool {
    let is_gone = error.get_ref().is_some_and(|inner| inner.is::<SupervisorGone>());
    is_gone || is_shortage(error) || error.raw_os_error().map(Errno::from_raw_os_error) == Some(Errno::AGAIN)
}

/// Whether an error, or one that it comes from, is a shortage.
pub(crate) fn has_shortage(error: &(dyn Error + 'static)) -> bool {
    has_cause(error, is_shortage)
}

/// The same of the start of a process or thread.
pub(crate) fn has_shortage_at_start(error: &(dyn Error + 'static)) -> bool {
    has_cause(error, is_shortage_at_start)
}

/// Whether an error, or one that it comes from, is that of a full or broken disk.
pub(crate) fn has_disk_fault(error: &(dyn Error + 'static)) -> bool {
    has_cause(error, is_of_disk)
}

fn has_cause(error: &(dyn Error + 'static), is_it: fn(&io::Error) -> bool) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(is_it) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Whether a panic says that no thread could be started: the runtime for blocking work and scopes of threads report it in no other way.
pub(crate) fn is_shortage_panic(panic: &(dyn Any + Send)) -> bool {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let texts = ["OS can't spawn worker thread", "failed to spawn thread"];
    text.is_some_and(|text| texts.iter().any(|known| text.contains(known)))
}

/// Whether a disk is full or broken.
pub(crate) fn is_of_disk(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    errno.is_some_and(|errno| [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS].contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open it")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn an_error_that_wraps_a_shortage_is_one() {
        let of = |errno: Errno| is_shortage(&io::Error::other(Wrapped(errno.into())));
        assert!(of(Errno::MFILE) && !of(Errno::NOENT));
    }

    #[test]
    fn a_timeout_is_no_shortage_and_a_fork_that_fails_is() {
        let again = io::Error::from(Errno::AGAIN);
        assert!(is_shortage_at_start(&again) && !is_shortage(&again));
        assert!(is_shortage(&Errno::MFILE.into()) && is_shortage_at_start(&Errno::NOMEM.into()));
        assert!(is_shortage_at_start(&io::Error::other(SupervisorGone)));
        assert!(!is_shortage_at_start(&Errno::NOENT.into()) && !is_shortage_at_start(&io::Error::other("gone")));
        let text = format!("failed to spawn thread: {again}");
        let panic = std::panic::catch_unwind(|| panic!("{text}")).unwrap_err();
        assert!(is_shortage_panic(&*panic) && !is_shortage_panic(&"another"));
        assert!(has_shortage(&Wrapped(Errno::NFILE.into())) && !has_shortage(&Wrapped(Errno::NOENT.into())));
    }
}
