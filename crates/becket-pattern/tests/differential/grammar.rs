//! Makes patterns that reach every construct of the grammar, each with a text that it may well match.

use crate::random::Random;

/// What the Python at hand does otherwise than 3.11, hence is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// 3.11 itself: everything is compared.
    pub(crate) exact: bool,
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

/// Characters around which rules change: case with more than two forms, space that is none elsewhere,
/// digits and letters beyond ASCII, beyond U+FFFF, and one without a case.
pub(crate) const ODD: &[char] = &[
    'k',
    'K',
    '\u{212a}',
    's',
    'S',
    'ſ',
    'i',
    'I',
    'İ',
    'ı',
    'σ',
    'ς',
    'Σ',
    'ß',
    'ẞ',
    'µ',
    'μ',
    'Μ',
    'é',
    'É',
    'ǅ',
    'ǆ',
    'Ǆ',
    'ﬅ',
    'ﬆ',
    'ΐ',
    'ΐ',
    '\u{345}',
    'ι',
    'Ι',
    'ι',
    'ᾳ',
    'ᾼ',
    'ŉ',
    'Ω',
    'ω',
    'Ω',
    'å',
    'Å',
    'Å',
    'в',
    'ᲀ',
    'В',
    '\u{10400}',
    '\u{10428}',
    '\u{1e900}',
    '\u{1e922}',
    '𝔸',
    '٣',
    '५',
    '²',
    '½',
    'Ⅷ',
    'ⅷ',
    'Ⓐ',
    'ⓐ',
    '\u{1c}',
    '\u{1f}',
    '\u{85}',
    '\u{a0}',
    '\u{2028}',
    '\u{3000}',
    '\u{b}',
    '\r',
    '\u{0}',
    '\u{7f}',
    '\u{ff}',
    '\u{100}',
    '字',
    'が',
    '\u{301}',
    '\u{200d}',
    '\u{ffff}',
    '\u{10ffff}',
    '😀',
    'ա',
    'Ա',
    'ა',
    'Ა',
    'Ꭰ',
    'ꭰ',
    'ᏸ',
];

const PLAIN: &[char] =
    &['a', 'b', 'c', 'a', 'b', 'A', 'B', '1', '_', ' ', '-', '\n', 'x', '#', ',', '<', '>', '&'];

const SPECIAL: &[char] = &['.', '\\', '[', ']', '{', '}', '(', ')', '*', '+', '?', '^', '$', '|'];

const NAMES: &[(&str, &str)] = &[
    ("LATIN SMALL LETTER A", "a"),
    ("latin small letter b", "b"),
    ("DIGIT ONE", "1"),
    ("LINE FEED", "\n"),
    ("KELVIN SIGN", "\u{212a}"),
    ("CJK UNIFIED IDEOGRAPH-5B57", "字"),
    ("HANGUL SYLLABLE GA", "가"),
    ("LEFT CURLY BRACKET", "{"),
    ("SPACE", " "),
];

/// Things that Python refuses, or refuses in some places, or takes for plain text.
const DOUBTFUL: &[&str] = &[
    r"\z",
    r"\h",
    r"\G",
    r"\K",
    r"\R",
    r"\e",
    r"\p{L}",
    r"\pL",
    r"\Q",
    r"\c",
    r"\i",
    r"\y",
    r"\X",
    r"\C",
    r"\_",
    r"\é",
    r"\-",
    r"\ ",
    r"\#",
    r"\<",
    r"\>",
    r"\8",
    r"\9",
    r"\1",
    r"\2",
    r"\10",
    r"\99",
    r"\100",
    r"\377",
    r"\400",
    r"\777",
    r"\08",
    r"\018",
    r"\x",
    r"\x6",
    r"\x{41}",
    r"\xg1",
    r"\u",
    r"\u006",
    r"\u{41}",
    r"\ud800",
    r"\U0001",
    r"\U00110000",
    r"\UFFFFFFFF",
    r"\U0000d800",
    r"\N",
    r"\N{",
    r"\N{}",
    r"\N{NO SUCH}",
    r"\N{DIGIT  ONE}",
    r"\N{KEYCAP DIGIT ONE}",
    r"\Na",
    "*",
    "+",
    "?",
    "**",
    "+*",
    "??*",
    "{",
    "}",
    "{}",
    "{,}",
    "{1",
    "{1,",
    "{,1",
    "{,1}",
    "{1,1}",
    "{01}",
    "{ 1}",
    "{1, 2}",
    "{a}",
    "{-1}",
    "{3,2}",
    "{0}",
    "{0,0}",
    "{4294967294}",
    "{4294967295}",
    "{0,4294967295}",
    "{99999999999999999999}",
    "{,99999999999}",
    "{2}{3}",
    "{1}?",
    "{1}+",
    "{1}*",
    "(",
    ")",
    "()",
    "(?",
    "(?)",
    "(?P",
    "(?P<",
    "(?P<>",
    "(?P<n",
    "(?P<n>",
    "(?P<1>a)",
    "(?P<a-b>a)",
    "(?P<n>a)",
    "(?P<é>a)",
    "(?P<²>a)",
    "(?P=n)",
    "(?P=",
    "(?P=)",
    "(?P=nope)",
    "(?P>n)",
    "(?Px)",
    "(?<n>a)",
    "(?'n'a)",
    "(?<",
    "(?<a",
    "(?R)",
    "(?1)",
    "(?&n)",
    "(?|a)",
    "(?#",
    "(?#)",
    "(?#a)",
    r"(?#\))",
    "(?i",
    "(?i)",
    "(?m)",
    "(?s)",
    "(?x)",
    "(?a)",
    "(?u)",
    "(?L)",
    "(?-i)",
    "(?i-)",
    "(?i-:a)",
    "(?-:a)",
    "(?i-i:a)",
    "(?au)",
    "(?aa)",
    "(?a-u:a)",
    "(?u-i:a)",
    "(?q)",
    "(?iq)",
    "(?i-q:a)",
    "(?L:a)",
    "(?-x: a)",
    "(?ims",
    "(?i-",
    "(?i-s",
    "(?i.a)",
    "(?(1)a)",
    "(?(1)a|b)",
    "(?(1)a|b|c)",
    "(?(2)a)",
    "(?(9)a)",
    "(?(0)a)",
    "(?(n)a|b)",
    "(?(nope)a)",
    "(?()a)",
    "(?(",
    "(?(1",
    "(?(1)",
    "(?(-1)a)",
    "(?(a b)a)",
    "(?(99999999999)a)",
    "(?<=a*)",
    "(?<=a|bc)",
    "(?<!a?)",
    "(?<=(a)\\1)",
    "(?<=a{2})",
    "(?<=)",
    "(?<=(?=a*))",
    "(?<=a{1,1})",
    "(?<=(a))(?<=\\1)",
    "(?=",
    "(?!",
    "(?!)",
    "(?=)",
    "(?>",
    "(?>a",
    "(?:",
    "(?:)",
    "(?:)*",
    "(?:)+?",
    "()*",
    "(|a)+",
    "(a|)*?",
    "^*",
    "$*",
    "^{2}",
    r"\b*",
    r"\B+",
    r"\A?",
    r"\Z*",
    "(?:^)*",
    "(?=a)*",
    "(?!a){2}",
    "(?#x)*",
    "|*",
    "(*a)",
    "[",
    "[]",
    "[]a]",
    "[^]",
    "[^]a]",
    "[^^]",
    "[a",
    "[a-",
    "[a-]",
    "[-a]",
    "[a-b-c]",
    "[b-a]",
    "[--a]",
    "[a--b]",
    "[a&&b]",
    "[a||b]",
    "[a~~b]",
    "[[a]]",
    "[[:alpha:]]",
    "[[.a.]]",
    r"[\]]",
    r"[\]a]",
    r"[\d-a]",
    r"[a-\d]",
    r"[\d-]",
    r"[\w\W]",
    r"[^\w\W]",
    r"[\b]",
    r"[\B]",
    r"[\A]",
    r"[\Z]",
    r"[\1]",
    r"[\8]",
    r"[\18]",
    r"[\400]",
    r"[\0]",
    r"[\x61-\x63]",
    r"[\u0061-c]",
    r"[\N{DIGIT ONE}-2]",
    r"[\z]",
    r"[\_]",
    "[a\\",
    "[\\",
    "[a-\\",
    r"[\x6]",
    "[\n]",
    "[#]",
    "[ ]",
    "a||b",
    "|",
    "||",
    "]",
    "\\",
    "a\\",
    "#",
    "# a\n",
    "#\\\na\n",
    " ",
    "\t",
    "-",
    "&&",
    "~~",
];

/// Where 3.11 differs from later versions.
const ONLY_EXACT: &[&str] = &[
    "(?t)",
    "(?t:a)",
    "(?-t:a)",
    "(?( 1 )a)",
    "(?(+1)a)",
    "(?(1_0)a)",
    "(?(\u{661})a|b)",
    "(?(-0)a)",
    "(?(01)a)",
    r"\z",
];

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
    /// How often letters come from [`ODD`].
    odd: bool,
    /// Whether doubtful things are mixed in.
    doubtful: bool,
    /// How many more items there may be.
    budget: usize,
    in_possessive: bool,
}

pub(crate) fn make(random: &mut Random, dialect: Dialect) -> Made {
    let odd = random.one_in(3);
    let doubtful = random.one_in(6);
    let budget = 2 + random.below(14);
    let mut grammar = Grammar {
        random,
        dialect,
        groups: Vec::new(),
        verbose: false,
        odd,
        doubtful,
        budget,
        in_possessive: false,
    };
    let mut made = Made::default();
    if grammar.random.one_in(3) {
        made.push(&grammar.global_flags());
    }
    let depth = 1 + grammar.random.below(4);
    let body = grammar.alternatives(depth);
    made.push(&body);
    if grammar.random.one_in(25) {
        made.pattern = grammar.mutated(&made.pattern);
    }
    made
}

impl Grammar<'_> {
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
            if self.doubtful && self.random.one_in(5) {
                let only_exact = self.dialect.exact && self.random.one_in(12);
                let text = self.random.pick(if only_exact { ONLY_EXACT } else { DOUBTFUL });
                // Later versions know `\z`.
                made.pattern.push_str(if text == r"\z" && !self.dialect.exact { r"\h" } else { text });
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
        let quantifier = if self.random.one_in(2) { Some(self.quantifier()) } else { None };
        let possessive = quantifier.as_ref().is_some_and(|(text, _)| text.len() > 1 && text.ends_with('+'));
        self.in_possessive |= possessive;
        let item = match self.random.below(if depth > 0 { 20 } else { 9 }) {
            0..=4 => self.unit(),
            5 => self.set(),
            6 => self.place(),
            7 | 8 => self.reference().unwrap_or_else(|| self.unit()),
            9..=15 => self.group(depth - 1),
            16 | 17 => self.look(depth - 1),
            18 => self.conditional(depth - 1),
            _ => Made::new(self.random.pick(&["(?#)", "(?#a*)", "(?#\\))"]), ""),
        };
        self.in_possessive = outer;
        let Some((text, times)) = quantifier else { return item };
        let bare = matches!(item.pattern.as_str(), "" | "^" | "$" | r"\A" | r"\Z" | r"\b" | r"\B");
        if (bare || item.pattern.starts_with("(?#")) && !self.doubtful {
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
        match self.random.below(12) {
            0 if self.doubtful => self.random.pick_char(SPECIAL),
            0..=4 if self.odd => self.random.pick_char(ODD),
            _ => {
                let few = if self.random.one_in(3) { PLAIN } else { &PLAIN[..5] };
                self.random.pick_char(few)
            }
        }
    }

    /// One character.
    fn unit(&mut self) -> Made {
        match self.random.below(14) {
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
            _ => {
                let c = self.letter();
                let sample = if self.odd && self.random.one_in(3) { self.other_case(c) } else { c };
                Made::new(self.literal(c), sample)
            }
        }
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

    fn other_case(&mut self, c: char) -> char {
        let upper = c.to_uppercase().next().unwrap_or(c);
        if upper != c { upper } else { c.to_lowercase().next().unwrap_or(c) }
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
                    if low > high && !self.doubtful {
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
                }
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
        if group.open && !self.doubtful {
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
        match self.random.below(10) {
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
        let index = self.random.below(count);
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

/// Texts to search: the sample, the sample changed, and some that have nothing to do with it.
pub(crate) fn subjects(random: &mut Random, sample: &str, count: usize) -> Vec<String> {
    let mut all = vec![sample.chars().take(24).collect::<String>()];
    while all.len() < count {
        let mut chars: Vec<char> = all[0].chars().collect();
        match random.below(8) {
            0 => {
                all.push(random.pick(&["", "\n", "a", "a\n", "\n\n", "ab", "aa", "Aa1 _-\n"]).to_owned());
                continue;
            }
            1 => {
                chars.clear();
                for _ in 0..random.below(8) {
                    let few = if random.one_in(4) { ODD } else { &PLAIN[..5] };
                    chars.push(random.pick_char(few));
                }
            }
            2 => chars.push('\n'),
            3 => {
                chars = chars
                    .into_iter()
                    .map(|c| {
                        let upper = c.to_uppercase().next().unwrap_or(c);
                        if upper != c { upper } else { c.to_lowercase().next().unwrap_or(c) }
                    })
                    .collect();
            }
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
        all.push(chars.into_iter().collect());
    }
    all
}
