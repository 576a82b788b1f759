//! Many literals, or a long text: one pass finds whichever is there, so that the work grows with the text and not
//! with the text times the number of literals.

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, Input};

/// Below so many bytes to look at, searching one by one is done before an automaton is begun.
const LITTLE: usize = 1 << 20;

/// Building an automaton takes about as long, for each byte of the literals, as looking at so many bytes of a text.
const BUILDING: usize = 256;

/// How many bytes of literals go into one automaton. It takes up to a hundred times as much memory.
const BATCH: usize = 1 << 20;

/// Whether building an automaton takes less time than it saves.
pub(crate) fn is_worth_a_pass(literals: usize, bytes: usize, subject: &str) -> bool {
    let one_by_one = literals.saturating_mul(subject.len());
    literals > 1 && one_by_one > LITTLE && one_by_one / BUILDING > bytes
}

/// Whether any of the literals, none of which may end with another, is in the subject.
pub(crate) fn any_in_passes(literals: &[String], subject: &str) -> bool {
    any_in_batches(literals, subject, BATCH)
}

fn any_in_batches(literals: &[String], subject: &str, most: usize) -> bool {
    let mut rest = literals;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fitting = rest.iter().take_while(|text| {
            bytes += text.len();
            bytes <= most
        });
        let (batch, later) = rest.split_at(fitting.count().max(1));
        if any_in_one_pass(batch, subject) {
            return true;
        }
        rest = later;
    }
    false
}

fn any_in_one_pass(literals: &[String], subject: &str) -> bool {
    // The crate notes at each state all the literals that end there. Here that is one at most.
    let Ok(automaton) = NFA::new(literals) else {
        // It has room for far more than a batch, unless one literal is enormous.
        return literals.iter().any(|text| subject.contains(text));
    };
    let input = Input::new(subject).anchored(Anchored::No).earliest(true);
    matches!(automaton.try_find(&input), Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{any_in_batches, is_worth_a_pass};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_pass_finds_what_searching_one_by_one_finds(
            literals in prop::collection::vec("[abé]{0,6}", 0..6),
            subject in "[abé]{0,12}",
            most in 1_usize..12,
        ) {
            let found = literals.iter().any(|text| subject.contains(text.as_str()));
            prop_assert_eq!(any_in_batches(&literals, &subject, most), found);
        }
    }

    #[test]
    fn names_of_tools_are_worth_no_automaton() {
        assert!(!is_worth_a_pass(2, 9, "mcp__files__read"));
        assert!(!is_worth_a_pass(1, 4, &"a".repeat(1 << 21)));
        assert!(!is_worth_a_pass(150_000, 1 << 20, &"a".repeat(200)));
        assert!(is_worth_a_pass(150_000, 1 << 20, &"a".repeat(1 << 20)));
    }
}
