//! The difference between two texts, line by line.

use std::fmt::Write as _;

use becket::core::text;

/// Lines of unchanged text around a change.
const AROUND: usize = 2;

/// Beyond so many pairs of lines all that lies between the first and the last change is shown as changed.
const LARGEST: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Gone,
    New,
}

/// The page that shows it; what would act on a terminal is escaped.
pub(crate) fn of(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let (old, new) = (text(before), text(after));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let lines = compare(&old, &new);
    let mut page = String::new();
    let name = |there: bool| if there { path } else { "/dev/null" };
    let _ = writeln!(page, "--- {}\n+++ {}", name(before.is_some()), name(after.is_some()));
    let mut shown_to = 0;
    for (at, (mark, line)) in lines.iter().enumerate() {
        let near = lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)]
            .iter()
            .any(|(mark, _)| *mark != Mark::Same);
        if !near {
            continue;
        }
        if at > shown_to {
            page.push_str("  …\n");
        }
        shown_to = at + 1;
        let sign = match mark {
            Mark::Same => ' ',
            Mark::Gone => '-',
            Mark::New => '+',
        };
        let shown = line.trim_end_matches('\r').replace('\t', "    ");
        let _ = writeln!(page, "{sign} {}", text::line(&shown));
    }
    page
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let tail =
        old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let (left, right) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines: Vec<(Mark, &str)> = old[..head].iter().map(|line| (Mark::Same, *line)).collect();
    if left.len().saturating_mul(right.len()) > LARGEST {
        lines.extend(left.iter().map(|line| (Mark::Gone, *line)));
        lines.extend(right.iter().map(|line| (Mark::New, *line)));
    } else {
        middle(left, right, &mut lines);
    }
    lines.extend(old[old.len() - tail..].iter().map(|line| (Mark::Same, *line)));
    lines
}

/// The longest common subsequence, by the table that everybody knows.
fn middle<'a>(left: &[&'a str], right: &[&'a str], lines: &mut Vec<(Mark, &'a str)>) {
    let width = right.len() + 1;
    let mut longest = vec![0u32; (left.len() + 1) * width];
    for at in (0..left.len()).rev() {
        for to in (0..right.len()).rev() {
            longest[at * width + to] = if left[at] == right[to] {
                longest[(at + 1) * width + to + 1] + 1
            } else {
                longest[(at + 1) * width + to].max(longest[at * width + to + 1])
            };
        }
    }
    let (mut at, mut to) = (0, 0);
    while at < left.len() || to < right.len() {
        if at < left.len() && to < right.len() && left[at] == right[to] {
            lines.push((Mark::Same, left[at]));
            (at, to) = (at + 1, to + 1);
        } else if to == right.len()
            || (at < left.len() && longest[(at + 1) * width + to] >= longest[at * width + to + 1])
        {
            lines.push((Mark::Gone, left[at]));
            at += 1;
        } else {
            lines.push((Mark::New, right[to]));
            to += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn only_what_changed_is_shown_with_a_little_around_it() {
        let old = "a\nb\nc\nd\ne\nf\n";
        let new = "a\nb\nc\nx\nd\ne\nf\n";
        assert_eq!(
            of("p", Some(old.as_bytes()), Some(new.as_bytes())),
            "--- p\n+++ p\n  …\n  b\n  c\n+ x\n  d\n  e\n"
        );
        assert_eq!(of("p", None, Some(b"\x1b\n")), "--- /dev/null\n+++ p\n+ \"\\x1b\"\n");
    }
}
