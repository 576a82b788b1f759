//! What is kept and shown of a hook's two streams: one budget for both, the beginning and mostly the end.

use crate::dialect::Captured;

/// What is kept of both streams together, in bytes, marks included.
pub(super) const BUDGET: usize = 16_000;

/// What is captured from the beginning of each stream.
pub(super) const HEAD: usize = BUDGET / 4;

/// What is captured from the end of each stream.
pub(super) const TAIL: usize = BUDGET - HEAD;

/// Room for the mark where something was left out.
const MARK: usize = 48;

/// Both streams as text, within the budget. A stream that needs less than its half leaves the rest to the other.
pub(super) fn fit(stdout: &Captured, stderr: &Captured) -> (String, String) {
    let (out, err) = (Text::of(stdout), Text::of(stderr));
    let half = BUDGET / 2;
    let (for_out, for_err) = match (out.size(), err.size()) {
        (o, e) if o + e <= BUDGET => (o, e),
        (o, _) if o <= half => (o, BUDGET - o),
        (_, e) if e <= half => (BUDGET - e, e),
        _ => (half, half),
    };
    (out.cut(for_out), err.cut(for_err))
}

/// The end of a stream in at most `limit` bytes, trimmed: where test runners put the answer.
pub(super) fn tail(captured: &Captured, limit: usize) -> String {
    let text = Text::of(captured);
    let all = if text.gap == 0 { format!("{}{}", text.head, text.tail) } else { text.tail };
    let shown = all.trim();
    if text.gap == 0 && shown.len() <= limit {
        return shown.to_owned();
    }
    let room = limit.saturating_sub('…'.len_utf8());
    let from = shown.ceil_char_boundary(shown.len().saturating_sub(room));
    if limit < '…'.len_utf8() { String::new() } else { format!("…{}", &shown[from..]) }
}

struct Text {
    head: String,
    tail: String,
    /// Bytes between them that were not captured.
    gap: u64,
}

impl Text {
    fn of(captured: &Captured) -> Self {
        let gap = captured.total.saturating_sub((captured.head.len() + captured.tail.len()) as u64);
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if gap == 0 {
            // One text: a character may lie across the two pieces.
            return Self {
                head: lossy(&[&captured.head[..], &captured.tail].concat()),
                tail: String::new(),
                gap,
            };
        }
        Self { head: lossy(&captured.head), tail: lossy(&captured.tail), gap }
    }

    fn size(&self) -> usize {
        let gap = if self.gap == 0 { 0 } else { MARK };
        self.head.len() + self.tail.len() + gap
    }

    fn cut(self, budget: usize) -> String {
        if self.gap == 0 && self.head.len() <= budget {
            return self.head;
        }
        let room = budget.saturating_sub(MARK);
        let (head, tail) = match self.gap {
            0 => (self.head.as_str(), self.head.as_str()),
            _ => (self.head.as_str(), self.tail.as_str()),
        };
        let first = &head[..head.floor_char_boundary(room / 4)];
        let last = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(room - room / 4))..];
        let kept = (first.len() + last.len()) as u64;
        let all = self.gap + (self.head.len() + self.tail.len()) as u64;
        format!("{first}\n[… {} bytes left out …]\n{last}", all.saturating_sub(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the engine captures it.
    fn captured(bytes: &[u8]) -> Captured {
        let head = bytes[..bytes.len().min(HEAD)].to_vec();
        let rest = &bytes[head.len()..];
        Captured { head, tail: rest[rest.len().saturating_sub(TAIL)..].to_vec(), total: bytes.len() as u64 }
    }

    #[test]
    fn what_fits_is_whole_and_what_does_not_keeps_both_ends() {
        let whole = "x".repeat(15_990);
        assert_eq!(
            fit(&captured(whole.as_bytes()), &captured(b"0123456789")),
            (whole, "0123456789".to_owned())
        );
        let long = format!("first {} last", "y".repeat(100_000));
        let (out, err) = fit(&captured(long.as_bytes()), &captured(b"short"));
        assert!(out.starts_with("first ") && out.ends_with(" last") && out.contains("bytes left out"));
        assert_eq!(err, "short");
        assert!(out.len() > 15_900 && out.len() + err.len() <= BUDGET);
        let (out, err) = fit(&captured(long.as_bytes()), &captured(long.as_bytes()));
        assert!(out.len() + err.len() <= BUDGET && out.ends_with("last") && err.ends_with("last"));
    }

    #[test]
    fn an_excerpt_is_the_end() {
        assert_eq!(tail(&captured(b"  all \n"), 100), "all");
        assert_eq!(tail(&captured("aébcd".as_bytes()), 5), "…cd");
        assert_eq!(tail(&captured("xxéb".as_bytes()), 4), "…b");
        assert_eq!(tail(&captured(b"abc"), 1), "");
        let long = format!("{}end", "x".repeat(50_000));
        let shown = tail(&captured(long.as_bytes()), 1_000);
        assert!(shown.len() <= 1_000 && shown.starts_with('…') && shown.ends_with("end"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_output_breaks_the_budget(out in prop::collection::vec(any::<u8>(), 0..40_000), err in prop::collection::vec(any::<u8>(), 0..40_000), limit in 0usize..2_000) {
            let (out, err) = (captured(&out), captured(&err));
            let (a, b) = fit(&out, &err);
            prop_assert!(a.len() + b.len() <= BUDGET);
            prop_assert!(tail(&out, limit).len() <= limit);
        }
    }
}
