//! The cases.

use becket_e2e::Host;
use becket_model::{Script, Turn};

use crate::guard::Words;
use crate::stage::{Sight, Stage};

/// After so many requests the model fails, which ends an agent that would go on for ever.
const ENOUGH: usize = 40;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) event: &'static str,
    /// What a hook may take, in seconds.
    pub(crate) limit: u64,
    /// What each hook does, in shell.
    pub(crate) hooks: fn(&Stage, Words) -> Vec<String>,
    /// Through Becket, the last hook is in another dialect.
    pub(crate) elsewhere: bool,
    pub(crate) script: fn(Host) -> Script,
    /// What was seen, in words.
    pub(crate) say: fn(&Sight) -> String,
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a hook that does nothing",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, _| vec!["exit 0".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a background child holds the pipe for 10 s; the hook itself is done at once",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |stage, _| vec![format!("{} &\nexit 0", stage.linger(10))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "a guard that hangs; it may take 2 s",
        event: "PreToolUse",
        limit: 2,
        elsewhere: false,
        hooks: |stage, _| vec![format!("exec {}", stage.linger(600))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "the same, with a child that hangs too",
        event: "PreToolUse",
        limit: 2,
        elsewhere: false,
        hooks: |stage, _| vec![format!("{} &\n{}", stage.linger(600), stage.linger(600))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "the same, and that child has left its session",
        event: "PreToolUse",
        limit: 2,
        elsewhere: false,
        hooks: |stage, _| vec![format!("setsid {} &\n{}", stage.linger(600), stage.linger(600))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "exit 2 without a word",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, _| vec!["exit 2".into()],
        script: one_call,
        say: denial,
    },
    Case {
        name: "exit 2 with a reason on stderr",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, _| vec!["echo 'the guard said no' >&2; exit 2".into()],
        script: one_call,
        say: denial,
    },
    Case {
        name: "a guard that crashes (SIGSEGV)",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, _| vec!["kill -SEGV $$".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a guard whose program is missing",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, _| vec!["exec /nowhere/guard".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a deny in JSON",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, words| vec![format!("echo '{}'", words.deny())],
        script: one_call,
        say: denial,
    },
    Case {
        name: "a deny with an unknown key beside it",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, words| vec![format!("echo '{}'", words.deny_with_more())],
        script: one_call,
        say: denial,
    },
    Case {
        name: "a line of noise before the deny",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |_, words| vec![format!("echo 'loading profile'; echo '{}'", words.deny())],
        script: one_call,
        say: denial,
    },
    Case {
        name: "two rewrites, the first of them slow",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |stage, words| two_rewrites(stage, words, "sleep 0.5;", ""),
        script: one_call,
        say: which,
    },
    Case {
        name: "two rewrites, the second of them slow",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: |stage, words| two_rewrites(stage, words, "", "sleep 0.5;"),
        script: one_call,
        say: which,
    },
    Case {
        name: "a rewrite to what a sibling guard forbids",
        event: "PreToolUse",
        limit: 20,
        elsewhere: false,
        hooks: rewrite_and_sibling,
        script: one_call,
        say: forbidden,
    },
    Case {
        name: "the same, and the sibling is written in another dialect",
        event: "PreToolUse",
        limit: 20,
        elsewhere: true,
        hooks: rewrite_and_sibling,
        script: one_call,
        say: forbidden,
    },
    Case {
        name: "a Stop hook that always blocks",
        event: "Stop",
        limit: 20,
        elsewhere: false,
        hooks: |_, words| vec![format!("echo '{}'", words.go_on())],
        script: |_| {
            let mut turns = vec![Turn::say("all done"); ENOUGH];
            turns.extend(vec![Turn::fail(400, "enough"); 10]);
            Script::new(turns)
        },
        say: |sight| {
            if sight.asked > ENOUGH {
                format!("**goes on for ever** (the model was asked {ENOUGH} times, then it failed)")
            } else {
                format!("ends; the model was asked {} times", sight.asked)
            }
        },
    },
    Case {
        name: "endless output; it may take 2 s",
        event: "PreToolUse",
        limit: 2,
        elsewhere: false,
        hooks: |_, _| vec!["exec yes".into()],
        script: one_call,
        say: |sight| format!("{}; the agent held {} MiB", verdict(sight), sight.agent.peak_mib),
    },
];

fn one_call(host: Host) -> Script {
    Script::new([host.shell("echo asked >ran")])
}

fn two_rewrites(stage: &Stage, words: Words, first: &str, second: &str) -> Vec<String> {
    let rewrite = |before: &str, word: &str| {
        let rewrite = words.rewrite(stage.host(), &format!("echo {word} >ran"));
        format!("cat >/dev/null; {before} echo '{rewrite}'")
    };
    vec![rewrite(first, "first"), rewrite(second, "second")]
}

fn rewrite_and_sibling(stage: &Stage, words: Words) -> Vec<String> {
    vec![
        format!("echo '{}'", words.rewrite(stage.host(), "touch forbidden")),
        format!("if grep -q forbidden; then echo '{}'; fi", words.deny()),
    ]
}

fn forbidden(sight: &Sight) -> String {
    match (sight.forbidden, &sight.ran) {
        (true, _) => "**the forbidden command ran**".into(),
        (false, Some(_)) => "what was asked for ran".into(),
        (false, None) => "denied".into(),
    }
}

fn verdict(sight: &Sight) -> String {
    if sight.agent.cut {
        return format!("**still waiting** after {:.0} s", sight.agent.took.as_secs_f64());
    }
    let what = if sight.ran.is_some() { "ran" } else { "denied" };
    match sight.seconds {
        Some(seconds) => format!("{what}, {seconds:.1} s"),
        None => format!(
            "{what}, and **the agent itself died** ({}, after {:.1} s in all)",
            sight.agent.code.map_or_else(|| "by a signal".into(), |code| format!("exit code {code}")),
            sight.agent.took.as_secs_f64()
        ),
    }
}

/// Where the hook said no.
fn denial(sight: &Sight) -> String {
    let verdict = verdict(sight);
    verdict.strip_prefix("ran").map_or_else(|| verdict.clone(), |rest| format!("**ran**{rest}"))
}

fn with_left(sight: &Sight) -> String {
    if sight.agent.cut {
        return verdict(sight);
    }
    format!("{}; {} left", verdict(sight), sight.left)
}

fn which(sight: &Sight) -> String {
    sight.ran.as_ref().map_or_else(|| "nothing ran".into(), |word| format!("the {word} ran"))
}
