//! The cases.

use becket_e2e::Host;
use becket_model::{Script, Turn};

use crate::stage::{Sight, Stage};

/// After so many requests the model fails, which ends an agent that would go on for ever.
const ENOUGH: usize = 40;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) event: &'static str,
    /// What each hook does, in shell.
    pub(crate) hooks: fn(&Stage) -> Vec<String>,
    pub(crate) script: fn(Host) -> Script,
    /// What was seen, in words.
    pub(crate) say: fn(&Sight) -> String,
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a hook that does nothing",
        event: "PreToolUse",
        hooks: |_| vec!["exit 0".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a background child holds the pipe for 10 s; the hook itself is done at once",
        event: "PreToolUse",
        hooks: |stage| vec![format!("{} &\nexit 0", stage.linger(10))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "a guard that hangs, with a child that hangs; limit 2 s",
        event: "PreToolUse",
        hooks: |stage| vec![format!("{} &\n{}", stage.linger(600), stage.linger(600))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "the same, and the child has left its session",
        event: "PreToolUse",
        hooks: |stage| vec![format!("setsid {} &\n{}", stage.linger(600), stage.linger(600))],
        script: one_call,
        say: with_left,
    },
    Case {
        name: "exit 2 without a word",
        event: "PreToolUse",
        hooks: |_| vec!["exit 2".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "exit 2 with a reason on stderr",
        event: "PreToolUse",
        hooks: |_| vec!["echo 'the guard said no' >&2; exit 2".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a guard that crashes (SIGSEGV)",
        event: "PreToolUse",
        hooks: |_| vec!["kill -SEGV $$".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a guard whose program is missing",
        event: "PreToolUse",
        hooks: |_| vec!["exec /nowhere/guard".into()],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a deny in JSON",
        event: "PreToolUse",
        hooks: |stage| vec![format!("echo '{}'", stage.words().deny())],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a deny with an unknown key beside it",
        event: "PreToolUse",
        hooks: |stage| vec![format!("echo '{}'", stage.words().deny_with_more())],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "a line of noise before the deny",
        event: "PreToolUse",
        hooks: |stage| vec![format!("echo 'loading profile'; echo '{}'", stage.words().deny())],
        script: one_call,
        say: verdict,
    },
    Case {
        name: "two rewrites, the first of them slow",
        event: "PreToolUse",
        hooks: |stage| two_rewrites(stage, "sleep 0.5;", ""),
        script: one_call,
        say: which,
    },
    Case {
        name: "two rewrites, the second of them slow",
        event: "PreToolUse",
        hooks: |stage| two_rewrites(stage, "", "sleep 0.5;"),
        script: one_call,
        say: which,
    },
    Case {
        name: "a rewrite to what a sibling guard forbids",
        event: "PreToolUse",
        hooks: |stage| {
            let words = stage.words();
            vec![
                format!("echo '{}'", words.rewrite("touch forbidden")),
                format!("if grep -q forbidden; then echo '{}'; fi", words.deny()),
            ]
        },
        script: one_call,
        say: |sight| {
            let what = if sight.forbidden { "**the forbidden command ran**" } else { "it did not run" };
            format!("{what}, {}", asked_for(sight))
        },
    },
    Case {
        name: "a Stop hook that always blocks",
        event: "Stop",
        hooks: |stage| vec![format!("echo '{}'", stage.words().go_on())],
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
        name: "endless output; limit 2 s",
        event: "PreToolUse",
        hooks: |_| vec!["exec yes".into()],
        script: one_call,
        say: |sight| format!("{}; the agent held {} MiB", verdict(sight), sight.agent.peak_mib),
    },
];

fn one_call(host: Host) -> Script {
    Script::new([host.shell("echo asked >ran")])
}

fn two_rewrites(stage: &Stage, first: &str, second: &str) -> Vec<String> {
    let rewrite = |before: &str, word: &str| {
        format!("cat >/dev/null; {before} echo '{}'", stage.words().rewrite(&format!("echo {word} >ran")))
    };
    vec![rewrite(first, "first"), rewrite(second, "second")]
}

fn verdict(sight: &Sight) -> String {
    if sight.agent.cut {
        return format!("**still waiting** after {:.0} s", sight.agent.took.as_secs_f64());
    }
    let what = if sight.ran.is_some() { "ran" } else { "denied" };
    match sight.seconds {
        Some(seconds) => format!("{what}, {seconds:.1} s"),
        None => format!(
            "{what}, and the agent ended ({}, {:.1} s in all)",
            sight.agent.code.map_or_else(|| "killed".into(), |code| format!("exit code {code}")),
            sight.agent.took.as_secs_f64()
        ),
    }
}

fn with_left(sight: &Sight) -> String {
    format!("{}; {} left", verdict(sight), sight.left)
}

fn which(sight: &Sight) -> String {
    sight.ran.as_ref().map_or_else(|| "nothing ran".into(), |word| format!("the {word} ran"))
}

fn asked_for(sight: &Sight) -> &'static str {
    if sight.ran.is_some() { "what was asked for ran" } else { "nor what was asked for" }
}
