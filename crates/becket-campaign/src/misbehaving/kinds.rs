//! What hooks do that they must not do.

/// How a hook comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// By itself, soon.
    Soon,
    /// Not before it is cut short.
    Never,
    /// When it is cut short, or because it wrote too much.
    WithTooMuch,
}

/// Where a kind has a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Everywhere,
    /// It acts against its parent, which must be a keeper, or is what only a keeper promises to end.
    BelowKeepers,
    /// It leaves something running on purpose, which stays unless everything is to be ended.
    IfEverythingEnds,
}

/// One way to misbehave.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) ends: Ends,
    place: Where,
    /// In shell; `LINGER` is a program that does nothing for long, `ESCAPES` the same for what `Custody::Group` does not
    /// promise to find.
    script: &'static str,
}

/// Seconds that tell what may escape from a group: out of it, orphaned, and with a cleaned environment.
pub(crate) const ESCAPES: u32 = 611;
const LINGERS: u32 = 600;

/// Executes one program after the other, so that it has no environment at most moments.
const EXECUTES: &str = r#"export AGAIN='exec sh -c "$AGAIN"'; (setsid sh -c "$AGAIN" &); exec LINGER"#;
const EXECUTES_BEHIND: &str =
    r#"export AGAIN='exec sh -c "$AGAIN"'; setsid sh -c "$AGAIN" >/dev/null 2>&1 & exit 0"#;

/// Nothing but processes that fork their successor and end, in one session, or in one for each.
const SUCCEEDS: &str =
    "(setsid sh -c 'f() { sleep 0.001; f & exit 0; }; f' <&- >/dev/null 2>&1 &); exec LINGER";
const SUCCEEDS_ELSEWHERE: &str = r#"export AGAIN='setsid sh -c "$AGAIN" & exit 0'; (setsid sh -c "$AGAIN" <&- >/dev/null 2>&1 &); exec LINGER"#;

const fn kind(name: &'static str, ends: Ends, script: &'static str) -> Kind {
    Kind { name, ends, place: Where::Everywhere, script }
}

/// All of them.
pub(crate) const KINDS: &[Kind] = &[
    kind("a-child-holds-the-pipe", Ends::Soon, "LINGER & exit 0"),
    kind("a-stopped-child-holds-the-pipe", Ends::Soon, "LINGER & kill -STOP $!; exit 0"),
    kind("a-child-leaves-the-session", Ends::Never, "setsid LINGER & exec LINGER"),
    kind("forks-twice", Ends::Never, "(setsid sh -c 'LINGER & exit' &); exec LINGER"),
    kind("is-a-daemon", Ends::Never, "(setsid sh -c 'LINGER <&- >&- 2>&- & exit' &); exec LINGER"),
    kind("is-a-daemon-in-disguise", Ends::Never, "(setsid env -i sh -c 'ESCAPES & exit' &); exec LINGER"),
    kind("cleans-its-environment", Ends::Never, "exec env -i LINGER"),
    kind("ignores-term", Ends::Never, "trap '' TERM HUP INT; while :; do LINGER; done"),
    kind("stops-itself", Ends::Never, "kill -STOP $$; exec LINGER"),
    kind("floods-stdout", Ends::WithTooMuch, "exec yes"),
    kind("floods-stderr", Ends::WithTooMuch, "exec yes >&2"),
    kind("closes-its-pipes", Ends::Never, "exec <&- >&- 2>&-; exec LINGER"),
    kind("kills-itself", Ends::Soon, "kill -KILL $$"),
    kind("crashes", Ends::Soon, "ulimit -c 0; kill -SEGV $$"),
    kind("never-reads", Ends::Soon, "exit 0"),
    kind("half-an-answer", Ends::Soon, "printf '{\"hookSpecificOutput\": {\"hook'"),
    kind("no-utf-8", Ends::Soon, "printf '\\377\\376{\\200'; printf '\\377' >&2; exit 1"),
    kind("has-many-children", Ends::Never, "i=0; while [ $i -lt 24 ]; do LINGER & i=$((i + 1)); done; wait"),
    kind("goes-on-forking", Ends::Never, "trap '' TERM; while :; do sleep 0.2 & sleep 0.03; done"),
    kind("goes-on-executing", Ends::Never, EXECUTES),
    Kind {
        name: "stops-its-keeper",
        ends: Ends::Never,
        place: Where::BelowKeepers,
        script: "kill -STOP $PPID; exec LINGER",
    },
    Kind {
        name: "goes-on-in-its-successors",
        ends: Ends::Never,
        place: Where::BelowKeepers,
        script: SUCCEEDS,
    },
    Kind {
        name: "goes-on-in-successors-elsewhere",
        ends: Ends::Never,
        place: Where::BelowKeepers,
        script: SUCCEEDS_ELSEWHERE,
    },
    Kind {
        name: "leaves-a-daemon",
        ends: Ends::Soon,
        place: Where::IfEverythingEnds,
        script: "setsid LINGER >/dev/null 2>&1 & exit 0",
    },
    Kind {
        name: "leaves-what-goes-on-executing",
        ends: Ends::Soon,
        place: Where::IfEverythingEnds,
        script: EXECUTES_BEHIND,
    },
    Kind {
        name: "leaves-a-daemon-in-disguise",
        ends: Ends::Soon,
        place: Where::IfEverythingEnds,
        script: "(setsid env -i sh -c 'ESCAPES >/dev/null 2>&1 & exit' &); exit 0",
    },
];

impl Kind {
    pub(crate) fn has_a_place(&self, below_keepers: bool, everything_ends: bool) -> bool {
        match self.place {
            Where::Everywhere => true,
            Where::BelowKeepers => below_keepers,
            Where::IfEverythingEnds => everything_ends,
        }
    }

    /// The hook's command. It begins with the kind's name, so that a run tells of which it is.
    pub(crate) fn command(&self, linger: impl Fn(u32) -> String) -> String {
        let script = self.script.replace("LINGER", &linger(LINGERS)).replace("ESCAPES", &linger(ESCAPES));
        format!(": {}; {script}", self.name)
    }

    /// Of which kind a command is.
    pub(crate) fn of(command: &str) -> Option<&'static Self> {
        let name = command.strip_prefix(": ")?.split_once(';')?.0;
        KINDS.iter().find(|kind| kind.name == name)
    }
}
