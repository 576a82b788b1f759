//! Who is above a process, while those above it come and go.

use std::process::Command;
use std::time::Instant;

use becket_exec::ancestors;

use crate::support::ms;

pub(crate) const TESTS: &[(&str, fn())] =
    &[("ancestry::who_lives_is_found_while_others_go", who_lives_is_found_while_others_go)];

/// The reaper of all below it starts a chain of sixty parents that leave no zombies; the last is asked who is above it while
/// every second one of the others is killed at one stroke, and then all of them. It leaves with 7 if the reaper was missing.
const CHAIN: &str = r#"
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
reaper, (began, begins) = os.getpid(), os.pipe()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
halves = []
for _ in range(2):
    half = os.fork()
    if half == 0:
        os.setpgid(0, 0)
        signal.pause()
    os.setpgid(half, half)
    halves.append(half)
asked, asks = os.pipe()
if os.fork() == 0:
    for step in range(60):
        os.setpgid(0, halves[step % 2])
        if os.fork():
            os.close(begins)
            os.close(asks)
            signal.pause()
            os._exit(0)
    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.set_inheritable(begins, True)
    os.set_inheritable(asks, True)
    os.execv(sys.argv[1], [sys.argv[1], "role:climb", str(reaper), str(begins), str(asks)])
os.close(begins)
os.close(asks)
os.read(began, 1)
for half in halves:
    os.killpg(half, signal.SIGKILL)
verdict = os.read(asked, 1)
sys.exit(0 if verdict == b"y" else 7)
"#;

fn who_lives_is_found_while_others_go() {
    let exe = std::env::current_exe().unwrap();
    for round in 0..10 {
        let status = Command::new("python3").arg("-c").arg(CHAIN).arg(&exe).status().unwrap();
        assert!(status.success(), "round {round}: {status}");
    }
}

/// Looks upward until nobody of the chain is left; says `y` if whoever lives was above it each time.
pub(crate) fn climb(reaper: &str, begins: &str, says: &str) {
    let reaper: u32 = reaper.parse().unwrap();
    let say = |fd: &str, word: &str| std::fs::write(format!("/proc/self/fd/{fd}"), word).unwrap();
    say(begins, "b");
    let until = Instant::now() + ms(20_000);
    let found = loop {
        let above = ancestors();
        if above.as_ref().is_some_and(|above| !above.contains(&reaper)) || Instant::now() > until {
            break false;
        }
        if above.is_some_and(|above| above.first() == Some(&reaper)) {
            break true;
        }
    };
    say(says, if found { "y" } else { "n" });
}
