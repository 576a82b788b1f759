//! Keeping the beginning and the end of a stream in bounded memory.

use std::collections::VecDeque;

use crate::job::{Keep, Overflow};

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, up to [`Keep::head`].
    pub head: Vec<u8>,
    /// The last bytes of what did not fit into `head`, up to [`Keep::tail`].
    pub tail: Vec<u8>,
    /// How many bytes were read in all.
    pub total: u64,
}

impl Captured {
    /// How many bytes between `head` and `tail` were forgotten.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Head and tail in one piece; the whole stream where [`dropped`](Self::dropped) is zero.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        bytes.extend_from_slice(&self.tail);
        bytes
    }
}

/// A stream being captured. Memory grows with what comes, never past `head + tail`.
pub(crate) struct Capture {
    keep: Keep,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep.head - self.head.len();
        if room > 0 {
            let (first, rest) = bytes.split_at(room.min(bytes.len()));
            // Growing by doubling, but not past the limit as `Vec` itself would.
            if self.head.capacity() - self.head.len() < first.len() {
                let grown = (self.head.len() * 2).clamp(self.head.len() + first.len(), self.keep.head);
                self.head.reserve_exact(grown - self.head.len());
            }
            self.head.extend_from_slice(first);
            bytes = rest;
        }
        self.push_tail(bytes);
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        // Only the last `tail` bytes can survive.
        let bytes = &bytes[bytes.len().saturating_sub(self.keep.tail)..];
        if bytes.is_empty() {
            return;
        }
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(self.keep.tail);
        self.tail.drain(..surplus);
        let needed = self.tail.len() + bytes.len();
        if self.tail.capacity() < needed {
            let grown = (self.tail.capacity() * 2).clamp(needed, self.keep.tail);
            self.tail.reserve_exact(grown - self.tail.len());
        }
        self.tail.extend(bytes);
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether more came than is allowed.
    pub(crate) fn overflowed(&self) -> bool {
        let limit = self.keep.head.saturating_add(self.keep.tail) as u64;
        self.keep.overflow == Overflow::End && self.total > limit
    }

    pub(crate) fn finish(&mut self) -> Captured {
        Captured {
            head: std::mem::take(&mut self.head),
            tail: std::mem::take(&mut self.tail).into(),
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(head: usize, tail: usize, chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(Keep { head, tail, overflow: Overflow::Drain });
        for chunk in chunks {
            capture.push(chunk);
            assert!(capture.head.capacity() <= head && capture.tail.capacity() <= tail);
        }
        capture.finish()
    }

    #[test]
    fn keeps_both_ends_whatever_the_chunks() {
        let text: Vec<u8> = (0..=255).collect();
        for size in 1..=text.len() {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            let got = capture(10, 7, &chunks);
            assert_eq!(got.head, &text[..10]);
            assert_eq!(got.tail, &text[249..]);
            assert_eq!((got.total, got.dropped()), (256, 239));
        }
    }

    #[test]
    fn a_short_stream_is_whole() {
        let got = capture(4, 4, &[b"abc", b"def"]);
        assert_eq!(got.dropped(), 0);
        assert_eq!(got.into_bytes(), b"abcdef");
    }

    #[test]
    fn nothing_kept_still_counts() {
        let got = capture(0, 0, &[b"abc"]);
        assert_eq!((got.total, got.dropped()), (3, 3));
    }

    #[test]
    fn one_byte_too_many_overflows() {
        let mut capture = Capture::new(Keep { head: 2, tail: 1, overflow: Overflow::End });
        capture.push(b"abc");
        assert!(!capture.overflowed());
        capture.push(b"d");
        assert!(capture.overflowed());
    }
}
