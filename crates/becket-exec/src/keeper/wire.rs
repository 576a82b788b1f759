//! The language between a caller and its keeper: framed requests one way, fixed answers the other.
//!
//! A request is a kind and a length (two native `u32`), then a body of that length; descriptors travel
//! with its first byte. The caller never sends a second request before the answer to the first, except
//! after [`REST`]. A stream, not packets: an argument list may be megabytes long.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Body: [`VERSION`]. Descriptors: a pidfd of the caller. Answer: `OK`, the version.
pub(super) const HELLO: u32 = 1;
/// Body: number of arguments, of variables, the image's block. Descriptors: directory, stdin, stdout,
/// stderr. Answer: `OK`, the process number, with its pidfd; or `FAILED`, the error number.
pub(super) const START: u32 = 2;
/// Body: process number. Answer: `EXITED` or `SIGNALLED` with which, `RUNNING`, or `FAILED`.
pub(super) const FINISH: u32 = 3;
/// Body: process number, signal. Answer: `OK`.
pub(super) const SIGNAL: u32 = 4;
/// Body: marks to spare. Answer: `OK`, how many could not be ended in time.
pub(super) const SWEEP: u32 = 5;
/// An event is over. Answer: `OK`, 1 if something still runs below the keeper.
pub(super) const REST: u32 = 6;
/// All is over and what still runs may stay. No answer.
pub(super) const DONE: u32 = 7;

pub(super) const OK: u32 = 0;
pub(super) const FAILED: u32 = 1;
pub(super) const EXITED: u32 = 2;
pub(super) const SIGNALLED: u32 = 3;
pub(super) const RUNNING: u32 = 4;

/// Both ends are of one build in practice; this catches a program that was replaced under a host.
pub(super) const VERSION: u32 = 1;

/// The longest body that is taken: more than any system's limit on arguments.
const LONGEST: usize = 64 * 1024 * 1024;

/// What a keeper answers: how it went, and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) how: u32,
    pub(super) value: i32,
}

/// Why a message could not be exchanged: the other end is gone, or talks nonsense, which is the same.
#[derive(Debug)]
pub(super) struct Closed;

impl From<Errno> for Closed {
    fn from(_: Errno) -> Self {
        Self
    }
}

/// Sends a request. Where the socket has a time limit and the other end does not read within it, `goes_on` is asked whether to
/// wait that long again.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    kind: u32,
    body: &[&[u8]],
    fds: &[BorrowedFd<'_>],
    goes_on: impl FnMut() -> bool,
) -> Result<(), Closed> {
    let length = u32::try_from(body.iter().map(|part| part.len()).sum::<usize>()).map_err(|_| Closed)?;
    let mut message = Vec::with_capacity(8 + length as usize);
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&length.to_ne_bytes());
    for part in body {
        message.extend_from_slice(part);
    }
    send_all(socket, &message, fds, goes_on)
}

pub(super) fn answer(
    socket: BorrowedFd<'_>,
    answer: Answer,
    fd: Option<BorrowedFd<'_>>,
) -> Result<(), Closed> {
    let mut message = [0; 8];
    message[..4].copy_from_slice(&answer.how.to_ne_bytes());
    message[4..].copy_from_slice(&answer.value.to_ne_bytes());
    send_all(socket, &message, fd.as_slice(), || false)
}

fn send_all(
    socket: BorrowedFd<'_>,
    mut message: &[u8],
    mut fds: &[BorrowedFd<'_>],
    mut goes_on: impl FnMut() -> bool,
) -> Result<(), Closed> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    while !message.is_empty() {
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(fds));
        }
        match sendmsg(socket, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => {
                message = &message[count..];
                fds = &[];
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if goes_on() => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Reads one piece, with the descriptors that came with it. Nothing to read is the end.
fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    fds: &mut Vec<OwnedFd>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<usize, Closed> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    loop {
        let mut control = RecvAncillaryBuffer::new(&mut space);
        match recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => {
                for message in control.drain() {
                    if let RecvAncillaryMessage::ScmRights(rights) = message {
                        fds.extend(rights);
                    }
                }
                return if received.bytes == 0 { Err(Closed) } else { Ok(received.bytes) };
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if goes_on() => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Waits for an answer, and the descriptor that may come with it. `goes_on` as with [`send`].
pub(super) fn receive_answer(
    socket: BorrowedFd<'_>,
    mut goes_on: impl FnMut() -> bool,
) -> Result<(Answer, Option<OwnedFd>), Closed> {
    let (mut message, mut have, mut fds) = ([0; 8], 0, Vec::new());
    while have < message.len() {
        have += receive(socket, &mut message[have..], &mut fds, &mut goes_on)?;
    }
    let answer = Answer { how: word(&message, 0)?, value: word(&message, 4)?.cast_signed() };
    Ok((answer, fds.pop()))
}

/// One request, as the keeper sees it.
pub(super) struct Request {
    pub(super) kind: u32,
    pub(super) body: Vec<u8>,
    pub(super) fds: Vec<OwnedFd>,
}

/// Waits for a request.
pub(super) fn receive_request(socket: BorrowedFd<'_>) -> Result<Request, Closed> {
    // The usual request is no longer than this. Less memory is touched for the first time before it is answered.
    let mut buffer = [0; 2048];
    let (mut have, mut fds) = (0, Vec::new());
    while have < 8 {
        have += receive(socket, &mut buffer[have..], &mut fds, &mut || false)?;
    }
    let kind = word(&buffer, 0)?;
    let length = word(&buffer, 4)? as usize;
    // More than was announced would be a second request, which nobody sends unasked.
    if length > LONGEST || have > length + 8 {
        return Err(Closed);
    }
    let mut body = buffer[8..have].to_vec();
    let mut have = body.len();
    body.resize(length, 0);
    while have < length {
        have += receive(socket, &mut body[have..], &mut fds, &mut || false)?;
    }
    Ok(Request { kind, body, fds })
}

/// The four bytes at `at`.
pub(super) fn word(bytes: &[u8], at: usize) -> Result<u32, Closed> {
    let bytes = bytes.get(at..at + 4).ok_or(Closed)?;
    Ok(u32::from_ne_bytes(bytes.try_into().map_err(|_| Closed)?))
}
