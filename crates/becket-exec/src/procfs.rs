//! What the kernel says in `/proc` of a process that is not our own.
//!
//! All of it may be old by the time it is looked at: a process forks, executes another program, ends, and its number is
//! somebody else's. So every answer here is of one moment, and says when that moment had none.

use std::fs;

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::{Errno, read, retry_on_intr};
use rustix::process::{Pid, getpid};
use rustix::time::{ClockId, clock_gettime};

use crate::sys;

/// What most environments fit into. (The kernel gives a larger one too, with more room.)
const ROOM: usize = 32 * 1024;
/// The flag of the kernel's own threads in `stat`.
const KERNEL: u64 = 0x0020_0000;

/// A moment since the system has booted, as coarse as `/proc` tells when a process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticks(u64);

impl Ticks {
    /// No process that begins from here on is said to have begun earlier. No system call.
    pub(crate) fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let parts =
            |count: i64, second: u64| count.unsigned_abs().saturating_mul(sys::ticks_per_second()) / second;
        Self(parts(now.tv_sec, 1) + parts(now.tv_nsec, 1_000_000_000))
    }
}

/// How far a process has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    /// Its first thread has ended and looks like a zombie; others of its threads go on.
    Headless,
    /// A zombie.
    Dead,
}

/// What `/proc/PID/stat` says.
pub(crate) struct Stat {
    /// At most 15 bytes of the program's name, which may be no text.
    name: Vec<u8>,
    pub(crate) life: Life,
    pub(crate) parent: i32,
    pub(crate) began: Ticks,
    /// It is a thread of the kernel's.
    kernel: bool,
    /// Its program has begun, and was given no environment at all.
    bare: bool,
}

impl Stat {
    /// `None` once the process is gone.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        Self::at(&directory(pid))
    }

    fn at(directory: &str) -> Option<Self> {
        Self::parse(&at_once(&format!("{directory}/stat")).ok()?)
    }

    /// The fields have their numbers in proc_pid_stat(5).
    fn parse(text: &[u8]) -> Option<Self> {
        // The name, field 2, stands in parentheses and may itself hold any of these.
        let begin = text.iter().position(|byte| *byte == b'(')? + 1;
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<&[u8]> = text.get(end + 2..)?.split(|byte| byte.is_ascii_whitespace()).collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |number| decimal::<u64>(field(number)?);
        let is_zombie = matches!(field(3)?, b"Z" | b"X");
        let threads = number(20)?;
        let (code, environment) = (number(26)?, number(50)?..number(51)?);
        Some(Self {
            name: text.get(begin..end)?.to_vec(),
            life: match (is_zombie, threads) {
                (false, _) => Life::Alive,
                (true, 0 | 1) => Life::Dead,
                (true, _) => Life::Headless,
            },
            parent: decimal(field(4)?)?,
            began: Ticks(number(22)?),
            kernel: number(9)? & KERNEL != 0,
            // The place of the code is noted last of these when a program is executed.
            bare: code != 0 && environment.is_empty(),
        })
    }
}

fn decimal<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The environment that a process's program was started with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// All of it.
    Whole(Vec<u8>),
    /// The process is just executing a program, or ending: there is none at this moment, or none can be read.
    Between,
    /// The process has ended.
    Gone,
    /// It is another user's, or the kernel's.
    Closed,
}

pub(crate) fn environment(pid: Pid) -> Environment {
    let own = environment_at(&directory(pid));
    if own != Environment::Gone || Stat::of(pid).is_none_or(|stat| stat.life != Life::Headless) {
        return own;
    }
    // The memory hangs on the threads that are left.
    threads(pid)
        .unwrap_or_default()
        .iter()
        .map(|thread| environment_at(thread))
        .find(|environment| *environment != Environment::Gone)
        .unwrap_or(Environment::Between)
}

fn environment_at(directory: &str) -> Environment {
    match at_once(&format!("{directory}/environ")) {
        Ok(bytes) if !bytes.is_empty() => return Environment::Whole(bytes),
        Err(Errno::ACCESS | Errno::PERM) => return Environment::Closed,
        Err(Errno::NOENT | Errno::SRCH) => return Environment::Gone,
        // Also of what is executing, ending, a thread of the kernel's.
        Ok(_) | Err(_) => {}
    }
    match Stat::at(directory) {
        None => Environment::Gone,
        Some(stat) if stat.life != Life::Alive => Environment::Gone,
        Some(stat) if stat.kernel => Environment::Closed,
        Some(stat) if stat.bare => Environment::Whole(Vec::new()),
        Some(_) => Environment::Between,
    }
}

/// Whether `/proc` is there and gives this process the number that it has itself. In another space of process numbers
/// each number that stands there is somebody else's.
pub fn is_own_proc() -> bool {
    check().is_ok()
}

/// The numbers of the processes above this one, nearest first, as far as they are told. `None` where they come and go so
/// fast that nobody can tell. Of no meaning where it is not the [own `/proc`](is_own_proc).
pub fn ancestors() -> Option<Vec<u32>> {
    /// Whoever is orphaned has another parent at once: each try begins with whom it has by then.
    const TRIES: usize = 1000;
    (0..TRIES).find_map(|_| climb())
}

/// `None` if one of them went meanwhile.
fn climb() -> Option<Vec<u32>> {
    let mut above = Vec::new();
    let mut child = getpid();
    let Some(mut stat) = Stat::of(child) else { return Some(above) };
    while let Some(parent) = Pid::from_raw(stat.parent) {
        let next = Stat::of(parent);
        // What was read is the parent's only if it still is the parent, and that it is not told of only then means
        // that it is hidden.
        if Stat::of(child)?.parent != stat.parent {
            return None;
        }
        above.push(parent.as_raw_nonzero().get().unsigned_abs());
        let Some(next) = next else { break };
        (child, stat) = (parent, next);
    }
    Some(above)
}

/// At most 15 bytes of the name of the program that a process runs, which may be no text. `None` for one that is gone or
/// hidden.
pub fn program_name(process: u32) -> Option<Vec<u8>> {
    Stat::of(Pid::from_raw(i32::try_from(process).ok()?)?).map(|stat| stat.name)
}

/// As [`is_own_proc`].
///
/// # Errors
///
/// It is not: why.
pub(crate) fn check() -> Result<(), Errno> {
    let own = readlinkat(CWD, "/proc/self", Vec::new())?;
    let is_own = decimal(own.as_bytes()) == Some(getpid().as_raw_nonzero().get());
    if is_own { Ok(()) } else { Err(Errno::NODEV) }
}

/// Who holds a process as a debugger does, if anybody does.
pub(crate) fn tracer(pid: Pid) -> Option<Pid> {
    let status = at_once(&format!("{}/status", directory(pid))).ok()?;
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"TracerPid:"))?;
    Pid::from_raw(decimal(line)?)
}

/// The numbers that are said to be children of `parent`, of each of its threads the oldest first; of one that is gone,
/// none. Only after [`check`].
///
/// # Errors
///
/// What kept them from being listed (too many open files).
pub(crate) fn children(parent: Pid) -> Result<Vec<Pid>, Errno> {
    let mut found = Vec::new();
    for thread in threads(parent)? {
        // In pieces: there may be more than the kernel gives in one call.
        match fs::read(format!("{thread}/children")).map_err(|error| errno(&error)) {
            Ok(text) => found.extend(text.split(|byte| *byte == b' ').filter_map(decimal::<i32>)),
            // A kernel without these lists: every process says who its parent is.
            Err(Errno::NOENT) if !fs::exists("/proc/thread-self/children").unwrap_or(true) => {
                let theirs = |pid: &Pid| {
                    Stat::of(*pid).is_some_and(|stat| stat.parent == parent.as_raw_nonzero().get())
                };
                return Ok(everybody()?.into_iter().filter(theirs).collect());
            }
            Err(Errno::NOENT | Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(found.into_iter().filter_map(Pid::from_raw).collect())
}

/// Every process there is.
///
/// # Errors
///
/// What kept them from being listed.
pub(crate) fn everybody() -> Result<Vec<Pid>, Errno> {
    check()?;
    let names = names("/proc")?;
    Ok(names.iter().filter_map(|name| Pid::from_raw(name.parse().ok()?)).collect())
}

/// The directories of a process's threads; of one that is gone, none.
fn threads(pid: Pid) -> Result<Vec<String>, Errno> {
    let tasks = format!("{}/task", directory(pid));
    match names(&tasks) {
        Ok(names) => Ok(names.into_iter().map(|name| format!("{tasks}/{name}")).collect()),
        Err(Errno::NOENT | Errno::SRCH) => Ok(Vec::new()),
        Err(errno) => Err(errno),
    }
}

fn names(directory: &str) -> Result<Vec<String>, Errno> {
    let entries =
        fs::read_dir(directory).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn directory(pid: Pid) -> String {
    format!("/proc/{}", pid.as_raw_nonzero())
}

/// Reads a file in one call. In several, an environment ends wherever the process has executed another program between two
/// of them, and looks whole.
fn at_once(path: &str) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; ROOM];
    loop {
        let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let length = retry_on_intr(|| read(&file, &mut buffer))?;
        if length < buffer.len() {
            buffer.truncate(length);
            return Ok(buffer);
        }
        buffer.resize(buffer.len() * 4, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a process, with some of its fields told otherwise.
    fn line(others: &[(usize, &str)]) -> Vec<u8> {
        named(b"a) b) c", others)
    }

    fn named(name: &[u8], others: &[(usize, &str)]) -> Vec<u8> {
        let usual = [(3, "S"), (4, "7"), (9, "4194560"), (20, "1"), (26, "99"), (50, "60"), (51, "60")];
        let field = |number| {
            let told = others.iter().chain(&usual).find(|(field, _)| *field == number);
            told.map_or("0", |(_, text)| text)
        };
        let fields: Vec<&str> = (3..=52).map(field).collect();
        [b"1 (", name, b") ", fields.join(" ").as_bytes(), b"\n"].concat()
    }

    #[test]
    fn a_line_is_read_by_its_fields() {
        let read = |others| Stat::parse(&line(others)).expect("it is one");
        let usual = read(&[]);
        assert_eq!((usual.life, usual.parent, usual.kernel, usual.bare), (Life::Alive, 7, false, true));
        assert_eq!(read(&[(22, "12345")]).began, Ticks(12345));
        assert_eq!(read(&[(3, "Z")]).life, Life::Dead);
        assert_eq!(read(&[(3, "Z"), (20, "2")]).life, Life::Headless);
        assert!(read(&[(9, "2129984")]).kernel);
        assert!(!read(&[(51, "61")]).bare);
        // Its program has not begun: nothing can be said of its environment.
        assert!(!read(&[(26, "0")]).bare);
        let text = line(&[]);
        for end in 0..text.len() - 5 {
            assert!(Stat::parse(&text[..end]).is_none_or(|stat| stat.life == Life::Alive));
        }
    }

    #[test]
    fn a_name_may_be_any_bytes() {
        for name in [&b"sh"[..], b"\xff\xc3", b") S 1 (", b"a\nb", b""] {
            let stat = Stat::parse(&named(name, &[])).expect("it is one");
            assert_eq!((stat.name.as_slice(), stat.parent), (name, 7));
        }
        assert!(Stat::parse(b"").is_none() && Stat::parse(b")(").is_none());
    }

    #[test]
    fn of_itself() {
        let me = getpid();
        let Environment::Whole(bytes) = environment(me) else { panic!("it has one") };
        assert_eq!(bytes, fs::read("/proc/self/environ").expect("it can be read"));
        assert_eq!(Stat::of(me).map(|stat| stat.life), Some(Life::Alive));
        assert!(everybody().expect("they can be listed").contains(&me));
        assert_eq!(check(), Ok(()));
        let parent = std::os::unix::process::parent_id();
        assert_eq!(ancestors().and_then(|above| above.first().copied()), Some(parent));
        assert_eq!(tracer(me), None);
        let name = fs::read("/proc/self/comm").expect("it can be read");
        assert_eq!(program_name(std::process::id()).as_deref(), name.strip_suffix(b"\n"));
    }

    /// Whatever begins after a moment was noted is not taken for older.
    #[test]
    fn nothing_is_older_than_the_moment_before_it() {
        for _ in 0..200 {
            let before = Ticks::now();
            let mut child = std::process::Command::new("/bin/true").spawn().expect("there is one");
            let began = Stat::of(Pid::from_child(&child)).map(|stat| stat.began);
            child.wait().expect("it ends");
            assert!(began >= Some(before) && began <= Some(Ticks::now()), "{before:?} {began:?}");
        }
        assert!(Stat::of(Pid::INIT).is_none_or(|stat| stat.began < Ticks::now()));
    }
}
