//! A socket between two processes of this program: words as JSON behind their length, plain bytes, and descriptors.
//!
//! Everything here blocks, for as long as it is told at most.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recv, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Descriptors in one message; the kernel takes 253.
const AT_ONCE: usize = 200;
/// The longest word: ten thousand connections take two megabytes.
const LONGEST_WORD_BYTES: usize = 64 << 20;
/// A process that takes nothing of what it is told for so long is given up.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// One end.
#[derive(Debug)]
pub struct Channel(UnixStream);

// === impl Channel ===

impl Channel {
    /// An end of ours, and one for the new process.
    ///
    /// # Errors
    /// Those of the system, and of the socket.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::on(ours)?, theirs.into()))
    }

    /// The end that this process was given in the place of its standard input, which reads as empty from now on.
    ///
    /// # Errors
    /// Those of the system, and of the socket.
    pub fn of_stdin() -> io::Result<Self> {
        let stream = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        Self::on(stream)
    }

    fn on(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        Ok(Self(stream))
    }

    /// Says a word.
    ///
    /// # Errors
    /// Those of the socket; nobody is there any more.
    pub fn tell(&self, word: &impl Serialize) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        serde_json::to_writer(&mut bytes, word)?;
        let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        self.tell_bytes(&bytes)
    }

    /// Waits as long as `patience` says, for ever without.
    ///
    /// # Errors
    /// Those of the system, and of the socket.
    pub fn hear<T: DeserializeOwned>(&self, patience: Option<Duration>) -> io::Result<T> {
        self.0.set_read_timeout(patience)?;
        let mut length = [0; 4];
        (&self.0).read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST_WORD_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a word of {length} bytes")));
        }
        Ok(serde_json::from_slice(&self.hear_bytes(length)?)?)
    }

    /// Says bytes.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn tell_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    /// Waits for so many bytes.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn hear_bytes(&self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let count = count as u64;
        if (&self.0).take(count).read_to_end(&mut bytes)? as u64 != count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// Says that nothing more will be said: the other end reads to an end.
    pub fn end_talk(&self) {
        // Whoever is gone needs not be told.
        let _ = self.0.shutdown(Shutdown::Write);
    }

    /// Whether the other end is gone and has left no word. Does not wait, and takes nothing.
    pub fn is_over(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(self.0.as_fd(), &mut [0; 1], flags) {
            Ok((_, bytes)) => bytes == 0,
            Err(error) => error != rustix::io::Errno::AGAIN && error != rustix::io::Errno::INTR,
        }
    }

    /// Hands copies of descriptors over, in this order.
    ///
    /// # Errors
    /// Those of the system, and of the socket.
    pub fn give(&self, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        for some in descriptors.chunks(AT_ONCE) {
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(AT_ONCE))];
            let mut message = SendAncillaryBuffer::new(&mut room);
            message.push(SendAncillaryMessage::ScmRights(some));
            // Descriptors travel with a byte.
            sendmsg(self.0.as_fd(), &[IoSlice::new(&[some.len() as u8])], &mut message, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    /// Takes so many descriptors.
    ///
    /// # Errors
    /// Those of the system, and of the socket.
    pub fn take(&self, count: usize) -> io::Result<Vec<OwnedFd>> {
        let mut taken = Vec::with_capacity(count.min(1 << 16));
        while taken.len() < count {
            let before = taken.len();
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(AT_ONCE))];
            let mut message = RecvAncillaryBuffer::new(&mut room);
            let mut announced = [0];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let heard = recvmsg(self.0.as_fd(), &mut [IoSliceMut::new(&mut announced)], &mut message, flags)?;
            for part in message.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                    taken.extend(descriptors);
                }
            }
            // With too low a limit on descriptors the kernel drops the rest without an error.
            let is_whole = heard.bytes == 1
                && !heard.flags.contains(ReturnFlags::CTRUNC)
                && taken.len() - before == announced[0] as usize;
            if !is_whole {
                return Err(io::Error::other(format!(
                    "{} of {count} descriptors have arrived; is the limit on open files too low?",
                    taken.len()
                )));
            }
        }
        Ok(taken)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn pair() -> (Channel, Channel) {
        let (ours, theirs) = Channel::pair().unwrap();
        (ours, Channel::on(theirs.into()).unwrap())
    }

    #[test]
    fn words_bytes_and_descriptors_come_in_their_order() {
        let (ours, theirs) = pair();
        let pipes: Vec<_> = (0..AT_ONCE + 3).map(|_| UnixStream::pair().unwrap()).collect();
        let sending = std::thread::spawn(move || {
            ours.tell(&"three hundred").unwrap();
            ours.tell_bytes(b"bytes").unwrap();
            let sockets: Vec<_> = pipes.iter().map(|(one, _)| one.as_fd()).collect();
            ours.give(&sockets).unwrap();
            ours.tell(&7).unwrap();
            for (number, (_, other)) in pipes.into_iter().enumerate() {
                (&other).write_all(&(number as u32).to_be_bytes()).unwrap();
            }
        });
        assert_eq!(theirs.hear::<String>(None).unwrap(), "three hundred");
        assert_eq!(theirs.hear_bytes(5).unwrap(), b"bytes");
        let taken = theirs.take(AT_ONCE + 3).unwrap();
        assert_eq!(theirs.hear::<u32>(None).unwrap(), 7);
        for (number, socket) in taken.into_iter().enumerate() {
            let mut told = [0; 4];
            UnixStream::from(socket).read_exact(&mut told).unwrap();
            assert_eq!(u32::from_be_bytes(told), number as u32);
        }
        sending.join().unwrap();
        assert!(theirs.hear::<u32>(None).is_err(), "nobody is there any more");
    }

    #[test]
    fn who_says_nothing_is_waited_for_only_so_long() {
        let (ours, _theirs) = pair();
        let error = ours.hear::<u32>(Some(Duration::from_millis(1))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
