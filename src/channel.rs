//! A socket between two processes of this program: length-prefixed JSON messages, plain bytes, and descriptors. All calls block, up to
//! their timeouts.

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

/// Descriptors per message; the kernel's maximum is 253.
const DESCRIPTORS_PER_MESSAGE: usize = 200;
/// Maximum length of a message: ten thousand connections take two megabytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// A peer that reads nothing for so long is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// One end of the channel.
#[derive(Debug)]
pub struct Channel(UnixStream);

impl Channel {
    /// This process's end, and the end for the new process.
    ///
    /// # Errors
    /// Errors of the system and the socket.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::on(ours)?, theirs.into()))
    }

    /// The end passed as this process's standard input, which is replaced by `/dev/null`.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let stream = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        Self::on(stream)
    }

    fn on(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Self(stream))
    }

    /// The process that made the channel, as the kernel says.
    pub(crate) fn maker(&self) -> Option<u32> {
        let maker = rustix::net::sockopt::socket_peercred(&self.0).ok()?;
        u32::try_from(maker.pid.as_raw_nonzero().get()).ok()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Errors of the socket; the peer may be gone.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        serde_json::to_writer(&mut bytes, message)?;
        let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        self.send_bytes(&bytes)
    }

    /// Receives a message, within `timeout` if there is one.
    ///
    /// # Errors
    /// Errors of the system and the socket.
    pub fn receive<T: DeserializeOwned>(&self, timeout: Option<Duration>) -> io::Result<T> {
        self.0.set_read_timeout(timeout)?;
        let mut length = [0; 4];
        (&self.0).read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
        }
        Ok(serde_json::from_slice(&self.receive_bytes(length)?)?)
    }

    /// Sends bytes.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    /// Receives exactly so many bytes.
    pub(crate) fn receive_bytes(&self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let count = count as u64;
        if (&self.0).take(count).read_to_end(&mut bytes)? as u64 != count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// Closes the sending side: the peer reads to the end.
    pub(crate) fn shutdown_write(&self) {
        // A peer that is gone needs no notice.
        let _ = self.0.shutdown(Shutdown::Write);
    }

    /// What is there to read, at most so many bytes. Does not block or consume.
    pub(crate) fn peek(&self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        let received = recv(self.0.as_fd(), &mut bytes[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        bytes.truncate(received.map_or(0, |(_, count)| count));
        bytes
    }

    /// Whether the peer has closed its end and nothing is left to read. Does not block or consume.
    pub(crate) fn is_closed(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(self.0.as_fd(), &mut [0; 1], flags) {
            Ok((_, bytes)) => bytes == 0,
            Err(error) => error != rustix::io::Errno::AGAIN && error != rustix::io::Errno::INTR,
        }
    }

    /// Sends copies of descriptors, in order.
    ///
    /// # Errors
    /// Errors of the system and the socket.
    pub fn send_descriptors(&self, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        for some in descriptors.chunks(DESCRIPTORS_PER_MESSAGE) {
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_PER_MESSAGE))];
            let mut message = SendAncillaryBuffer::new(&mut room);
            message.push(SendAncillaryMessage::ScmRights(some));
            // Descriptors travel with a byte.
            sendmsg(self.0.as_fd(), &[IoSlice::new(&[some.len() as u8])], &mut message, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    pub(crate) fn receive_descriptors(&self, count: usize) -> io::Result<Vec<OwnedFd>> {
        let mut taken = Vec::with_capacity(count.min(1 << 16));
        while taken.len() < count {
            let before = taken.len();
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_PER_MESSAGE))];
            let mut message = RecvAncillaryBuffer::new(&mut room);
            let mut announced = [0];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let received = recvmsg(self.0.as_fd(), &mut [IoSliceMut::new(&mut announced)], &mut message, flags)?;
            for part in message.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                    taken.extend(descriptors);
                }
            }
            // Beyond the limit on descriptors the kernel drops the rest without an error.
            let is_whole = received.bytes == 1
                && !received.flags.contains(ReturnFlags::CTRUNC)
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
        let pipes: Vec<_> = (0..DESCRIPTORS_PER_MESSAGE + 3).map(|_| UnixStream::pair().unwrap()).collect();
        let sending = std::thread::spawn(move || {
            ours.send(&"three hundred").unwrap();
            ours.send_bytes(b"bytes").unwrap();
            let sockets: Vec<_> = pipes.iter().map(|(one, _)| one.as_fd()).collect();
            ours.send_descriptors(&sockets).unwrap();
            ours.send(&7).unwrap();
            for (number, (_, other)) in pipes.into_iter().enumerate() {
                (&other).write_all(&(number as u32).to_be_bytes()).unwrap();
            }
        });
        assert_eq!(theirs.receive::<String>(None).unwrap(), "three hundred");
        assert_eq!(theirs.receive_bytes(5).unwrap(), b"bytes");
        let taken = theirs.receive_descriptors(DESCRIPTORS_PER_MESSAGE + 3).unwrap();
        assert_eq!(theirs.receive::<u32>(None).unwrap(), 7);
        for (number, socket) in taken.into_iter().enumerate() {
            let mut number_bytes = [0; 4];
            UnixStream::from(socket).read_exact(&mut number_bytes).unwrap();
            assert_eq!(u32::from_be_bytes(number_bytes), number as u32);
        }
        sending.join().unwrap();
        assert!(theirs.receive::<u32>(None).is_err(), "the peer is gone");
    }

    #[test]
    fn who_says_nothing_is_waited_for_only_so_long() {
        let (ours, _theirs) = pair();
        let error = ours.receive::<u32>(Some(Duration::from_millis(1))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
