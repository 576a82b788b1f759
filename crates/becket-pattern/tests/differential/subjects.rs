//! Texts to search.

use crate::grammar::{Made, Style};
use crate::letters::{ODD, PLAIN, other_case};
use crate::prefix;
use crate::random::Random;

/// The sample that was made with a pattern, the sample changed, and texts that have nothing to do with it.
pub(crate) fn make(random: &mut Random, style: Style, made: &Made, count: usize) -> Vec<String> {
    let mut all = vec![made.sample.chars().take(24).collect::<String>()];
    while all.len() < count {
        let chars: Vec<char> = all[0].chars().collect();
        all.push(match style {
            Style::Captures if !random.one_in(4) => {
                (0..random.below(10)).map(|_| random.pick_char(&['a', 'b'])).collect()
            }
            Style::Prefix if !random.one_in(8) => prefix::subject(random, &made.sample),
            Style::Cases if !random.one_in(4) => cases(random, &made.pattern),
            _ => variation(random, chars),
        });
    }
    all
}

/// A few characters that stand near those of the pattern.
fn cases(random: &mut Random, pattern: &str) -> String {
    let letters: Vec<char> = pattern.chars().filter(|c| !"()[]?|:\\".contains(*c)).chain(['x']).collect();
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        let c = if random.one_in(4) { random.pick_char(ODD) } else { random.pick_char(&letters) };
        text.push(match random.below(6) {
            0 => c,
            1 => c.to_lowercase().next().unwrap_or(c),
            2 => char::from_u32(u32::from(c) + random.below(40) as u32).unwrap_or(c),
            3 => other_case(other_case(c)),
            _ => other_case(c),
        });
    }
    text
}

fn variation(random: &mut Random, mut chars: Vec<char>) -> String {
    match random.below(8) {
        0 => return random.pick(&["", "\n", "a", "a\n", "\n\n", "ab", "aa", "Aa1 _-\n"]).to_owned(),
        1 => {
            chars.clear();
            for _ in 0..random.below(8) {
                let few = if random.one_in(4) { ODD } else { &PLAIN[..5] };
                chars.push(random.pick_char(few));
            }
        }
        2 => chars.push('\n'),
        3 => chars = chars.into_iter().map(other_case).collect(),
        _ => {
            for _ in 0..1 + random.below(2) {
                let at = random.below(chars.len() + 1);
                let c = if random.one_in(4) { random.pick_char(ODD) } else { random.pick_char(PLAIN) };
                match random.below(3) {
                    0 if at < chars.len() => {
                        chars.remove(at);
                    }
                    1 if at < chars.len() => chars[at] = c,
                    _ => chars.insert(at, c),
                }
            }
        }
    }
    chars.into_iter().collect()
}
