//! Makes patterns that reach every construct of the grammar, each with a text that it may well match.

use crate::letters::{DOUBTFUL, NAMES, ODD, ONLY_EXACT, PLAIN, SPECIAL, other_case};
use crate::prefix;
use crate::random::Random;

/// What the Python at hand does otherwise than 3.11, hence is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// 3.11 itself: everything is compared.
    pub(crate) exact: bool,
    /// Whether possessive repetitions work; they did not from 3.11.0 to 3.11.4.
    pub(crate) possessive: bool,
}

impl Dialect {
    pub(crate) fn of(version: (u64, u64, u64)) -> Dialect {
        Dialect { exact: version < (3, 12, 0), possessive: version >= (3, 11, 5) }
    }

    /// Whether the pattern can be compared.
    fn covers(self, style: Style, pattern: &str) -> bool {
        // These have captures anywhere, and later versions put them back in possessive repetitions.
        let captures_anywhere = matches!(style, Style::Soup | Style::Prefix);
        let any_possessive = self.possessive && (self.exact || !captures_anywhere);
        any_possessive || !["*+", "++", "?+", "}+"].iter().any(|possessive| pattern.contains(possessive))
    }
}

/// A pattern, and a text made along with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    pub(crate) pattern: String,
    pub(crate) sample: String,
}

impl Made {
    fn new(pattern: impl Into<String>, sample: impl Into<String>) -> Made {
        Made { pattern: pattern.into(), sample: sample.into() }
    }

    fn push(&mut self, other: &Made) {
        self.pattern.push_str(&other.pattern);
        self.sample.push_str(&other.sample);
    }
}

/// What a pattern is to try out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Everything.
    General,
    /// Captures, references and conditionals in nested repetitions, on two letters.
    Captures,
    /// Letters with several cases, in sets and out of them.
    Cases,
    /// More groups than one digit counts.
    ManyGroups,
    /// No grammar at all: pieces in any order.
    Soup,
    /// Where the search ends, by what the pattern begins with.
    Prefix,
}

struct Group {
    name: Option<String>,
    sample: String,
    open: bool,
}

/// Makes one pattern.
pub(crate) struct Grammar<'r> {
    random: &'r mut Random,
    dialect: Dialect,
    groups: Vec<Group>,
    verbose: bool,
    style: Style,
    /// Whether letters come from [`ODD`] now and then.
    odd: bool,
    /// Whether doubtful things are mixed in.
    has_doubtful: bool,
    /// How many more items there may be.
    budget: usize,
    in_possessive: bool,
}

pub(crate) fn make(random: &mut Random, dialect: Dialect) -> (Style, Made) {
    loop {
        let (style, made) = make_any(random, dialect);
        if dialect.covers(style, &made.pattern) {
            return (style, made);
        }
    }
}

fn make_any(random: &mut Random, dialect: Dialect) -> (Style, Made) {
    let style = match random.below(22) {
        0..=7 => Style::General,
        8..=13 => Style::Captures,
        14..=17 => Style::Cases,
        18 => Style::ManyGroups,
        19 => Style::Soup,
        _ => Style::Prefix,
    };
    if style == Style::Prefix {
        return (style, prefix::make(random));
    }
    let general = style == Style::General;
    let mut grammar = Grammar {
        dialect,
        groups: Vec::new(),
        verbose: false,
        style,
        odd: style == Style::Cases || (general && random.one_in(3)),
        has_doubtful: if general { random.one_in(4) } else { random.one_in(40) },
        budget: if style == Style::Cases { 1 + random.below(4) } else { 2 + random.below(14) },
        in_possessive: false,
        random,
    };
    let mut made = Made::default();
    if style == Style::Soup {
        for _ in 0..1 + grammar.random.below(8) {
            let piece = grammar.piece();
            made.push(&piece);
        }
        return (style, made);
    }
    match style {
        Style::Cases if !grammar.random.one_in(12) => {
            made.pattern.push_str(grammar.random.pick(&["(?i)", "(?i)", "(?i)", "(?ai)"]));
        }
        Style::General if grammar.random.one_in(3) => made.push(&grammar.global_flags()),
        Style::ManyGroups => {
            for _ in 0..7 + grammar.random.below(5) {
                let unit = grammar.unit();
                grammar.groups.push(Group { name: None, sample: unit.sample.clone(), open: false });
                made.push(&Made::new(format!("({})", unit.pattern), unit.sample));
            }
        }
        _ => {}
    }
    let depth = match style {
        Style::Cases => grammar.random.below(2),
        Style::Captures => 2 + grammar.random.below(3),
        _ => 1 + grammar.random.below(4),
    };
    let body = grammar.alternatives(depth);
    made.push(&body);
    if grammar.random.one_in(40) {
        made.pattern = grammar.mutated(&made.pattern);
    }
    (style, made)
}

impl Grammar<'_> {
    /// Anything that may stand in a pattern.
    fn piece(&mut self) -> Made {
        match self.random.below(6) {
            0 => Made::new(self.random.pick_char(SPECIAL), ""),
            1 => self.unit(),
            2 => Made::new(
                self.random.pick(&["(", ")", "|", "(?:", "(?=", "(?<=", "(?>", "(?(1)", "[", "]", "*"]),
                "",
            ),
            3 => Made::new(self.quantifier().0, ""),
            _ => self.doubtful(),
        }
    }

    fn doubtful(&mut self) -> Made {
        let only_exact = self.dialect.exact && self.random.one_in(12);
        let text = self.random.pick(if only_exact { ONLY_EXACT } else { DOUBTFUL });
        // Later versions know `\z`.
        Made::new(if text == r"\z" && !self.dialect.exact { r"\h" } else { text }, "")
    }

    fn global_flags(&mut self) -> Made {
        let mut pattern = String::new();
        for _ in 0..1 + self.random.below(2) {
            let flags = match self.random.below(8) {
                3 => "x",
                4 => self.random.pick(&["m", "s", "ms"]),
                5 => self.random.pick(&["a", "ai", "u", "iu"]),
                6 => self.random.pick(&["im", "is", "ix", "imsx"]),
                _ => "i",
            };
            self.verbose |= flags.contains('x');
            pattern.push_str(&format!("(?{flags})"));
        }
        Made::new(pattern, "")
    }

    fn alternatives(&mut self, depth: usize) -> Made {
        let mut all = vec![self.sequence(depth)];
        while self.random.one_in(4) && all.len() < 4 {
            // Alternatives that begin alike take a path of their own.
            let begun = if self.random.one_in(4) { self.unit() } else { Made::default() };
            let mut next = begun.clone();
            next.push(&self.sequence(depth));
            if let Some(last) = all.last_mut() {
                *last = Made::new(format!("{}{}", begun.pattern, last.pattern), begun.sample + &last.sample);
            }
            all.push(next);
        }
        let chosen = self.random.below(all.len());
        let pattern = all.iter().map(|made| made.pattern.as_str()).collect::<Vec<_>>().join("|");
        Made::new(pattern, all[chosen].sample.clone())
    }

    fn sequence(&mut self, depth: usize) -> Made {
        let mut made = Made::default();
        let length = self.random.below(5);
        for _ in 0..length {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            if self.verbose && self.random.one_in(4) {
                made.pattern.push_str(self.random.pick(&[" ", "\t", "\n", "# a|b)\n", "  ", "#\n", "\u{b}"]));
            }
            if self.has_doubtful && self.random.one_in(5) {
                let text = self.doubtful();
                made.push(&text);
                continue;
            }
            let item = self.item(depth);
            made.push(&item);
        }
        made
    }

    fn item(&mut self, depth: usize) -> Made {
        // A quantifier's own group decides whether captures lie within a possessive one.
        let outer = self.in_possessive;
        let repeats = match self.style {
            Style::Captures => !self.random.one_in(3),
            Style::Cases => self.random.one_in(6),
            _ => self.random.one_in(2),
        };
        let quantifier = repeats.then(|| self.quantifier());
        let possessive = quantifier.as_ref().is_some_and(|(text, _)| text.len() > 1 && text.ends_with('+'));
        self.in_possessive |= possessive;
        let choice = match (self.style, depth) {
            (Style::Captures, 0) => *self.random.pick(&[&0, &0, &7, &7, &6]),
            (Style::Captures, _) => *self.random.pick(&[&0, &0, &7, &7, &9, &9, &9, &9, &16, &18, &18]),
            (Style::Cases, _) => *self.random.pick(&[&0, &5, &5, &5, &7, &9]),
            (_, 0) => self.random.below(9),
            _ => self.random.below(20),
        };
        let item = match choice {
            0..=4 => self.unit(),
            5 => self.set(),
            6 => self.place(),
            7 | 8 => self.reference().unwrap_or_else(|| self.unit()),
            9..=15 => self.group(depth.saturating_sub(1)),
            16 | 17 => self.look(depth - 1),
            18 => self.conditional(depth - 1),
            _ => Made::new(self.random.pick(&["(?#)", "(?#a*)", "(?#\\))"]), ""),
        };
        self.in_possessive = outer;
        let Some((text, times)) = quantifier else { return item };
        let bare = matches!(item.pattern.as_str(), "" | "^" | "$" | r"\A" | r"\Z" | r"\b" | r"\B");
        if (bare || item.pattern.starts_with("(?#")) && !self.has_doubtful {
            return item;
        }
        Made::new(item.pattern + &text, item.sample.repeat(times))
    }

    /// A quantifier, and a number of times that it allows.
    fn quantifier(&mut self) -> (String, usize) {
        let few = self.random.below(3);
        let more = few + self.random.below(3);
        let (mut text, times) = match self.random.below(9) {
            0 | 1 => ("*".to_owned(), few),
            2 | 3 => ("+".to_owned(), 1 + few),
            4 | 5 => ("?".to_owned(), few % 2),
            6 => (format!("{{{few}}}"), few),
            7 => (
                self.random
                    .pick(&[format!("{{{few},}}").as_str(), format!("{{,{more}}}").as_str(), "{,}"])
                    .to_owned(),
                few,
            ),
            _ => (format!("{{{few},{more}}}"), few + self.random.below(more - few + 1)),
        };
        match self.random.below(6) {
            0 | 1 => text.push('?'),
            2 => text.push('+'),
            _ => {}
        }
        (text, times)
    }

    fn letter(&mut self) -> char {
        match (self.style, self.random.below(12)) {
            (Style::Captures, _) => self.random.pick_char(&['a', 'b']),
            (_, 0) if self.has_doubtful => self.random.pick_char(SPECIAL),
            (Style::Cases, 0..=9) | (_, 0..=4) if self.odd => self.random.pick_char(ODD),
            _ => {
                let few = if self.random.one_in(3) { PLAIN } else { &PLAIN[..5] };
                self.random.pick_char(few)
            }
        }
    }

    /// One character.
    fn unit(&mut self) -> Made {
        match self.random.below(14) {
            0..=2 if self.style == Style::Captures => self.plain_unit(),
            0 => {
                let c = self.letter();
                Made::new(".", c)
            }
            1 => {
                let (text, sample) = *self.random.pick(&[
                    &(r"\d", "1"),
                    &(r"\d", "٣"),
                    &(r"\w", "a"),
                    &(r"\w", "é"),
                    &(r"\s", " "),
                    &(r"\s", "\u{1c}"),
                    &(r"\D", "a"),
                    &(r"\W", "-"),
                    &(r"\S", "b"),
                    &(r"\w", "²"),
                ]);
                Made::new(text, sample)
            }
            2 => self.escaped_letter(),
            _ => self.plain_unit(),
        }
    }

    fn plain_unit(&mut self) -> Made {
        let c = self.letter();
        let sample = if self.odd && self.random.one_in(3) { other_case(c) } else { c };
        Made::new(self.literal(c), sample)
    }

    fn literal(&mut self, c: char) -> String {
        let must = SPECIAL.contains(&c) || (self.verbose && (c.is_whitespace() || c == '#'));
        if must || (!c.is_alphanumeric() && self.random.one_in(8)) { format!("\\{c}") } else { c.into() }
    }

    fn escaped_letter(&mut self) -> Made {
        if self.random.one_in(4) {
            let (name, sample) = NAMES[self.random.below(NAMES.len())];
            return Made::new(format!("\\N{{{name}}}"), sample);
        }
        let c = self.letter();
        let code = u32::from(c);
        let pattern = match self.random.below(5) {
            0 if code < 0x100 => format!("\\x{code:02x}"),
            1 if code < 0x1_0000 => format!("\\u{code:04X}"),
            2 if code < 0o100 => format!("\\0{code:o}"),
            3 if (0o100..=0o377).contains(&code) => format!("\\{code:03o}"),
            _ => format!("\\U{code:08x}"),
        };
        Made::new(pattern, c)
    }

    fn set(&mut self) -> Made {
        let mut pattern = "[".to_owned();
        let negated = self.random.one_in(3);
        if negated {
            pattern.push('^');
        }
        let mut sample = self.letter();
        for index in 0..1 + self.random.below(4) {
            match self.random.below(9) {
                0 => pattern.push_str(
                    self.random.pick(&[r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\n", r"\x61"]),
                ),
                1 | 2 => {
                    let (mut low, mut high) = (self.letter(), self.letter());
                    if self.random.one_in(2) {
                        // A short range cuts through pairs of cases.
                        let last = u32::from(low) + self.random.below(40) as u32;
                        high = char::from_u32(last).unwrap_or(low);
                    }
                    if low > high && !self.has_doubtful {
                        (low, high) = (high, low);
                    }
                    sample = high;
                    pattern.push_str(&format!("{}-{}", set_literal(low), set_literal(high)));
                }
                3 if index > 0 && self.random.one_in(2) => pattern
                    .push_str(self.random.pick(&["&&", "--", "~~", "||", "[", "^", "-", "&", "[:alpha:"])),
                4 if self.random.one_in(3) => {
                    pattern.push_str(self.random.pick(&[
                        "\\U00010400-\\U0010ffff",
                        "a-\\U0010ffff",
                        "\\u0100-\\uffff",
                        "\\0-\\xff",
                        "A-Z",
                        "0-9a-f",
                        "\\N{KELVIN SIGN}",
                        "\\101",
                    ]));
                }
                _ => {
                    sample = self.letter();
                    pattern.push_str(&set_literal(sample));
                    if self.random.one_in(8) {
                        pattern.push_str(&set_literal(sample));
                    }
                }
            }
            if index == 0 && self.random.one_in(4) {
                break;
            }
        }
        if self.random.one_in(12) {
            pattern.push('-');
        }
        pattern.push(']');
        if negated {
            sample = self.letter();
        }
        Made::new(pattern, sample)
    }

    fn place(&mut self) -> Made {
        Made::new(self.random.pick(&["^", "$", r"\A", r"\Z", r"\b", r"\B", "$", "$"]), "")
    }

    fn reference(&mut self) -> Option<Made> {
        if self.groups.is_empty() {
            return None;
        }
        let index = self.random.below(self.groups.len());
        let group = &self.groups[index];
        if group.open && !self.has_doubtful {
            return None;
        }
        let pattern = match &group.name {
            Some(name) if self.random.one_in(2) => format!("(?P={name})"),
            // A digit after it would make another number.
            _ => format!("(?:\\{})", index + 1),
        };
        Some(Made::new(pattern, group.sample.clone()))
    }

    fn group(&mut self, depth: usize) -> Made {
        // Later versions put captures back where 3.11 does not.
        let may_capture = self.dialect.exact || !self.in_possessive;
        match self.random.below(if self.style == Style::Captures { 6 } else { 10 }) {
            0..=3 if may_capture => self.capture(depth, None),
            4 if may_capture => {
                let name = format!("{}{}", self.random.pick(&["n", "é", "_", "N"]), self.groups.len());
                self.capture(depth, Some(name))
            }
            5 => {
                let outer = self.in_possessive;
                self.in_possessive = true;
                let body = self.alternatives(depth);
                self.in_possessive = outer;
                Made::new(format!("(?>{})", body.pattern), body.sample)
            }
            6..=8 if self.style == Style::Cases => {
                let flags = self.random.pick(&["i", "-i", "a", "u", "ai", "ui"]);
                let body = self.alternatives(depth);
                Made::new(format!("(?{flags}:{})", body.pattern), body.sample)
            }
            6 | 7 => {
                let flags = self.random.pick(&[
                    "i", "i", "-i", "s", "m", "x", "-x", "a", "u", "ai", "i-s", "-ms", "im-x", "s-i",
                ]);
                let outer = self.verbose;
                let (on, off) = flags.split_once('-').unwrap_or((flags, ""));
                self.verbose = (self.verbose || on.contains('x')) && !off.contains('x');
                let body = self.alternatives(depth);
                self.verbose = outer;
                Made::new(format!("(?{flags}:{})", body.pattern), body.sample)
            }
            _ => {
                let body = self.alternatives(depth);
                Made::new(format!("(?:{})", body.pattern), body.sample)
            }
        }
    }

    fn capture(&mut self, depth: usize, name: Option<String>) -> Made {
        let start = name.as_ref().map_or("(".to_owned(), |name| format!("(?P<{name}>"));
        self.groups.push(Group { name, sample: String::new(), open: true });
        let index = self.groups.len() - 1;
        let body = self.alternatives(depth);
        self.groups[index].sample.clone_from(&body.sample);
        self.groups[index].open = false;
        Made::new(format!("{start}{})", body.pattern), body.sample)
    }

    fn look(&mut self, depth: usize) -> Made {
        let start = self.random.pick(&["(?=", "(?!", "(?<=", "(?<!"]);
        let body = if start.contains('<') && !self.random.one_in(8) {
            let width = self.random.below(3);
            self.fixed(width)
        } else {
            self.alternatives(depth)
        };
        Made::new(format!("{start}{})", body.pattern), "")
    }

    /// Something of one width.
    fn fixed(&mut self, width: usize) -> Made {
        let mut made = Made::default();
        if self.random.one_in(8) {
            made.push(&self.place());
        }
        for _ in 0..width {
            let unit = if self.random.one_in(4) { self.set() } else { self.unit() };
            made.push(&unit);
        }
        match self.random.below(6) {
            0 => {
                let other = self.fixed(width);
                Made::new(format!("(?:{}|{})", made.pattern, other.pattern), made.sample)
            }
            1 if width == 1 => match self.reference() {
                Some(reference) => reference,
                None => made,
            },
            2 => Made::new(format!("(?:{}){{2}}", made.pattern), made.sample.repeat(2)),
            3 if self.dialect.exact || !self.in_possessive => {
                self.groups.push(Group { name: None, sample: made.sample.clone(), open: false });
                Made::new(format!("({})", made.pattern), made.sample)
            }
            _ => made,
        }
    }

    fn conditional(&mut self, depth: usize) -> Made {
        let count = self.groups.len() + usize::from(self.random.one_in(6));
        if count == 0 {
            return self.group(depth);
        }
        let open = self.groups.iter().rposition(|group| group.open);
        let index = match open {
            Some(open) if self.style == Style::Captures && self.random.one_in(2) => open,
            _ => self.random.below(count),
        };
        let condition = match self.groups.get(index).and_then(|group| group.name.clone()) {
            Some(name) if self.random.one_in(2) => name,
            _ => (index + 1).to_string(),
        };
        let yes = self.sequence(depth);
        if self.random.one_in(3) {
            return Made::new(format!("(?({condition}){})", yes.pattern), yes.sample);
        }
        let no = self.sequence(depth);
        let sample = if self.random.one_in(3) { no.sample.clone() } else { yes.sample.clone() };
        Made::new(format!("(?({condition}){}|{})", yes.pattern, no.pattern), sample)
    }

    /// The text with one character changed.
    fn mutated(&mut self, text: &str) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        let at = self.random.below(chars.len() + 1);
        match self.random.below(3) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            1 if at < chars.len() => chars[at] = self.random.pick_char(SPECIAL),
            _ => chars.insert(at, self.random.pick_char(SPECIAL)),
        }
        let text: String = chars.into_iter().collect();
        if self.dialect.exact { text } else { text.replace(r"\z", r"\h") }
    }
}

fn set_literal(c: char) -> String {
    if matches!(c, '\\' | ']' | '^' | '-' | '[') { format!("\\{c}") } else { c.into() }
}
