#!/usr/bin/env python3
"""Write src/tables.rs: the facts about characters that Python 3.11's `re` goes by.

Usage: tables.py NAME_ALIASES > src/tables.rs

Run it with CPython 3.11, whose Unicode database is version 14.0. NAME_ALIASES is any Unicode version's
NameAliases.txt from 14.0 on (the source of the crate unicode_names2 has one under data/); only the
aliases that this Python looks up are kept. With --check instead of the file, nothing is written: the
tables' digests are printed, one a line, for the test that compares them with the Rust side.
"""

import sys
import unicodedata
import _sre
from re import _casefix

LAST = 0x10FFFF
EVERY = range(LAST + 1)


def upper(code):
    """Python's one-character upper case: the first character of the full mapping."""
    return ord(chr(code).upper()[0])


def is_word(char):
    return char.isalnum() or char == "_"


def has_name(char):
    return unicodedata.name(char, None) is not None


SETS = [
    ("WORD", "`str.isalnum()` or the underscore: `\\w`.", is_word),
    ("DIGIT", "`str.isdecimal()`: `\\d`.", str.isdecimal),
    ("SPACE", "`str.isspace()`: `\\s`.", str.isspace),
    ("NAME_START", "What may begin an identifier, hence a group's name.", str.isidentifier),
    ("NAME_CONTINUE", "What may follow in an identifier.", lambda char: ("_" + char).isidentifier()),
    ("NAMED", "What has a name in version 14.0, for `\\N{...}`.", has_name),
]

CASES = [
    ("LOWER", "One-character lower case, where it differs from the character.", _sre.unicode_tolower),
    ("UPPER", "First character of the upper case, where it differs from the character.", upper),
]


def ranges(member):
    """Inclusive ranges of the code points whose character is a member."""
    found = []
    for code in EVERY:
        if member(chr(code)):
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return found


def runs(mapping):
    """Runs (first, last, step, delta) of the code points that the mapping moves by one delta."""
    found = []
    for code in EVERY:
        delta = mapping(code) - code
        if not delta:
            continue
        if found:
            first, last, step, same = found[-1]
            if same == delta and code - last <= 2 and (first == last or code - last == step):
                found[-1] = (first, code, code - last, delta)
                continue
        found.append((code, code, 1, delta))
    return found


def aliases(path):
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = line.split("#")[0].strip().split(";")
            if len(fields) < 2:
                continue
            try:
                char = unicodedata.lookup(fields[1])
            except KeyError:
                continue
            assert ord(char) == int(fields[0], 16), fields
            if unicodedata.name(char, None) != fields[1]:
                found[fields[1]] = ord(char)
    return sorted(found.items())


def digest(numbers):
    """FNV-1a over 32-bit numbers, low byte first."""
    value = 0xCBF29CE484222325
    for number in numbers:
        for byte in number.to_bytes(4, "little"):
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def check():
    for name, _, member in SETS:
        print(name, digest(code for code in EVERY if member(chr(code))))
    for name, _, mapping in CASES:
        print(name, digest(part for code in EVERY if mapping(code) != code for part in (code, mapping(code))))
    pairs = sorted((a, b) for a, others in _casefix._EXTRA_CASES.items() for b in others)
    print("EXTRA_CASES", digest(part for pair in pairs for part in pair))


def write(path):
    # `re` calls a character cased when either mapping moves it. If that holds for every code point,
    # `upper` above is the mapping that the C code uses.
    for code in EVERY:
        assert _sre.unicode_iscased(code) == (_sre.unicode_tolower(code) != code or upper(code) != code)
    for code in EVERY:
        name = unicodedata.name(chr(code), None)
        assert name is None or unicodedata.lookup(name) == chr(code)

    print("//! Facts about characters, written by scripts/tables.py: do not edit.")
    print("//!")
    print(f"//! Unicode {unicodedata.unidata_version}, as in CPython {sys.version_info[0]}.{sys.version_info[1]}.")
    print()
    print("/// Inclusive ranges of code points, in order.")
    print("pub(crate) type Ranges = &'static [(u32, u32)];")
    print()
    print("/// Runs `(first, last, step, delta)`, in order: each `step`th code point maps to itself plus `delta`.")
    print("pub(crate) type Runs = &'static [(u32, u32, u32, i32)];")

    def table(name, kind, doc, rows):
        print(f"\n/// {doc}\n#[rustfmt::skip]\npub(crate) static {name}: {kind} = &[")
        line = ""
        for row in rows:
            if len(line) + len(row) > 108:
                print("   " + line)
                line = ""
            line += " " + row + ","
        print("   " + line + "\n];")

    for name, doc, member in SETS:
        table(name, "Ranges", doc, (f"({a:#x}, {b:#x})" for a, b in ranges(member)))
    for name, doc, mapping in CASES:
        table(name, "Runs", doc, (f"({a:#x}, {b:#x}, {s}, {d})" for a, b, s, d in runs(mapping)))
    table(
        "EXTRA_CASES",
        "&[(u32, u32)]",
        "Pairs of different lower case characters that match each other without regard to case.",
        sorted(
            f"({a:#06x}, {b:#06x})" for a, others in _casefix._EXTRA_CASES.items() for b in others
        ),
    )
    table(
        "ALIASES",
        "&[(&str, u32)]",
        "Names that `\\N{...}` takes besides the characters' own, in order.",
        (f'("{name}", {code:#x})' for name, code in aliases(path)),
    )


if __name__ == "__main__":
    assert unicodedata.unidata_version == "14.0.0", "run this with CPython 3.11"
    if sys.argv[1:] == ["--check"]:
        check()
    else:
        write(sys.argv[1])
