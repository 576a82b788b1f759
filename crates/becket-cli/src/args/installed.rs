//! The line that `install` wrote, read by itself. It is called for every event of every agent, and building the parser of
//! the whole command line would cost each of them more than anything else that happens before a hook runs.

use std::ffi::OsString;

use super::{Cli, Common, Hook, Verb};

/// What these arguments say, if they are put as `install` puts them; `None` for all others, right or wrong, which are
/// the whole parser's to judge.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Option<Cli> {
    let mut words = arguments.into_iter().map(OsString::into_string);
    let mut next = || words.next()?.ok().filter(|word| !word.is_empty() && !word.starts_with('-'));
    if next()? != "hook" {
        return None;
    }
    let mut hook = Hook { host: next()?, home: None, set: Vec::new(), deadline: None, event: None };
    while let Some(option) = words.next() {
        let option = option.ok()?;
        let value = words.next()?.ok().filter(|word| !word.is_empty() && !word.starts_with('-'))?;
        match option.as_str() {
            "--home" if hook.home.is_none() => hook.home = Some(value.into()),
            "--set" => hook.set.push(value),
            "--deadline" if hook.deadline.is_none() => hook.deadline = Some(value.parse().ok()?),
            "--event" if hook.event.is_none() => hook.event = Some(value),
            _ => return None,
        }
    }
    Some(Cli { verb: Verb::Hook(hook), common: Common::default() })
}

#[cfg(test)]
mod tests {
    use becket_hosts::Host;
    use becket_hosts::install::Line;
    use clap::Parser as _;
    use proptest::prelude::*;

    use super::*;

    fn parsed(words: &[String]) -> Option<Cli> {
        Cli::try_parse_from(["becket".to_owned()].iter().chain(words)).ok()
    }

    #[test]
    fn every_installed_line_is_read_and_means_what_the_whole_parser_says() {
        let set =
            vec![("BECKET_HOME".to_owned(), "/a b".to_owned()), ("CODEX_HOME".to_owned(), "/=".to_owned())];
        for set in [Vec::new(), set] {
            let line = Line { program: "/bin/becket".into(), home: "/home/dev".into(), set };
            for host in Host::ALL {
                for row in host.rows().iter().map(Some).chain([None]) {
                    let words = line.argv(host, row)[1..].to_vec();
                    let read = read(words.iter().map(OsString::from));
                    assert!(read.is_some(), "{words:?}");
                    assert_eq!(read, parsed(&words), "{words:?}");
                }
            }
        }
    }

    fn word() -> impl Strategy<Value = String> {
        const KNOWN: [&str; 23] = [
            "hook",
            "fire",
            "codex",
            "claude",
            "--home",
            "--set",
            "--deadline",
            "--event",
            "--json",
            "--home=/x",
            "-",
            "--",
            "",
            "/home",
            "A=b",
            "630",
            "+5",
            "18446744073709551616",
            "PreToolUse",
            "--help",
            "-h",
            "--workspace",
            "é",
        ];
        prop_oneof![8 => proptest::sample::select(&KNOWN[..]).prop_map(str::to_owned), 1 => "[-=a-z0-9 ]{0,4}"]
    }

    fn words() -> impl Strategy<Value = Vec<String>> {
        let option = (proptest::sample::select(&["--home", "--set", "--deadline", "--event"][..]), word());
        let line = proptest::collection::vec(option, 0..5).prop_map(|options| {
            let start = ["hook".to_owned(), "codex".to_owned()];
            start
                .into_iter()
                .chain(options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]))
                .collect()
        });
        prop_oneof![line, proptest::collection::vec(word(), 0..8)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_read_is_what_the_whole_parser_reads(words in words()) {
            if let Some(read) = read(words.iter().map(OsString::from)) {
                prop_assert_eq!(Some(read), parsed(&words));
            }
        }
    }
}
