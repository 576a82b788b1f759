//! Everything in this crate that the compiler cannot check: the few calls that neither the standard
//! library nor `rustix` offers safely. Each block says why it is sound; each function is safe to call.

#![expect(unsafe_code, reason = "the one module for calls that have no safe wrapper")]

use std::ffi::{c_char, c_int, c_uint};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::ending::Exit;
use crate::image::Image;

/// Every signal, those of the C library itself included, which sigfillset leaves out and posix_spawn
/// would then pass on as ignored.
fn full_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: a set is an array of integers, one bit a signal: all bits set is a valid one.
    unsafe {
        ptr::write_bytes(set.as_mut_ptr(), 0xFF, 1);
        set.assume_init()
    }
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the whole set it is given and has no other effect.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// posix_spawn and its helpers return the error instead of setting errno.
fn check(code: c_int) -> Result<(), Errno> {
    if code == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(code)) }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> Result<Self, Errno> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: init writes the whole object when it returns 0, and only then is it read.
        unsafe {
            check(libc::posix_spawn_file_actions_init(raw.as_mut_ptr()))?;
            Ok(Self(raw.assume_init()))
        }
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: the object was initialised in `new` and is destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> Result<Self, Errno> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: init writes the whole object when it returns 0, and only then is it read.
        unsafe {
            check(libc::posix_spawnattr_init(raw.as_mut_ptr()))?;
            Ok(Self(raw.assume_init()))
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the object was initialised in `new` and is destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}

/// Starts a program in a session of its own, in the directory `dir`, with `stdio` as its only
/// descriptors, every signal at its default and none blocked. Does not copy the caller's page tables.
///
/// The descriptors must be numbered 3 or higher ([`crate::pipes`] sees to that): a lower one would be
/// overwritten before it is used.
pub(crate) fn spawn(image: &Image, dir: BorrowedFd<'_>, stdio: [BorrowedFd<'_>; 3]) -> Result<Pid, Errno> {
    const FLAGS: c_int =
        libc::POSIX_SPAWN_SETSID as c_int | libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;

    let mut actions = Actions::new()?;
    let mut attributes = Attributes::new()?;
    let (path, argv, envp) = image.pointers();
    let mut pid: libc::pid_t = 0;
    // SAFETY: the two objects are initialised and exclusively borrowed. `path` points to a terminated
    // string and `argv` and `envp` to null-terminated lists of such, all inside or built from `image`,
    // which outlives the call; posix_spawn only reads them (the pointers are `*mut` for C's history).
    // The descriptors are open for the length of the call, as they are borrowed.
    unsafe {
        check(libc::posix_spawnattr_setflags(&mut attributes.0, FLAGS as libc::c_short))?;
        check(libc::posix_spawnattr_setsigdefault(&mut attributes.0, &full_set()))?;
        check(libc::posix_spawnattr_setsigmask(&mut attributes.0, &empty_set()))?;
        check(libc::posix_spawn_file_actions_addfchdir_np(&mut actions.0, dir.as_raw_fd()))?;
        for (target, fd) in (0..).zip(stdio) {
            check(libc::posix_spawn_file_actions_adddup2(&mut actions.0, fd.as_raw_fd(), target))?;
        }
        check(libc::posix_spawn_file_actions_addclosefrom_np(&mut actions.0, 3))?;
        check(libc::posix_spawn(
            &mut pid,
            path,
            &actions.0,
            &attributes.0,
            argv.as_ptr().cast::<*mut c_char>(),
            envp.as_ptr().cast::<*mut c_char>(),
        ))?;
    }
    Pid::from_raw(pid).ok_or(Errno::SRCH)
}

/// Sends a signal to the process group that the process behind `pidfd` leads or led. The group is named
/// by the kernel's own object, not by a number, so a recycled number is never hit, even after the
/// leader was reaped. `EINVAL` before Linux 6.9.
pub(crate) fn signal_group(pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    const PIDFD_SIGNAL_PROCESS_GROUP: c_uint = 1 << 2;
    // SAFETY: the call takes plain numbers and a null `siginfo_t`, which it documents as allowed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal.as_raw(),
            ptr::null_mut::<libc::siginfo_t>(),
            PIDFD_SIGNAL_PROCESS_GROUP,
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Whether the process behind `pidfd` has not been reaped yet (it may be a zombie).
pub(crate) fn unreaped(pidfd: BorrowedFd<'_>) -> bool {
    // SAFETY: as in `signal_group`; signal 0 only asks whether the process is there.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            0,
            ptr::null_mut::<libc::siginfo_t>(),
            0 as c_uint,
        )
    };
    result == 0 || last_errno() == Errno::PERM
}

/// How the process behind `pidfd` ended, where somebody else has reaped it already. The kernel keeps
/// that since 6.15; before, and while the process has not been reaped, there is no answer.
pub(crate) fn exit_of_reaped(pidfd: BorrowedFd<'_>) -> Option<Exit> {
    /// `struct pidfd_info` as of its first version with an exit code.
    #[repr(C)]
    #[derive(Default)]
    struct PidfdInfo {
        mask: u64,
        cgroupid: u64,
        ids: [u32; 11],
        exit_code: i32,
    }
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    // _IOWR(0xFF, 11, struct pidfd_info)
    const PIDFD_GET_INFO: libc::Ioctl =
        (3 << 30) | ((size_of::<PidfdInfo>() as libc::Ioctl) << 16) | (0xFF << 8) | 11;

    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the request's number carries the size of the structure, which the kernel will not exceed,
    // and the structure is plain integers: any content is valid.
    let result = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, &mut info) };
    if result != 0 || info.mask & PIDFD_INFO_EXIT == 0 {
        return None;
    }
    let raw = info.exit_code;
    if libc::WIFEXITED(raw) {
        Some(Exit::Code(libc::WEXITSTATUS(raw)))
    } else if libc::WIFSIGNALED(raw) {
        Some(Exit::Signal(libc::WTERMSIG(raw)))
    } else {
        None
    }
}

/// Forks the calling process; `None` in the child. The caller has made sure that there is one thread.
pub(crate) fn fork() -> Result<Option<Pid>, Errno> {
    // SAFETY: with a single thread nothing (locks, allocator) can be left half-way in the child, which
    // is the danger of fork. `Keeper::fork` refuses to come here otherwise.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Ends the process at once: no destructors, no exit handlers, no flushing of inherited buffers.
pub(crate) fn exit_now(code: c_int) -> ! {
    // SAFETY: _exit has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}

/// Makes a process that was forked or started into a keeper's: no descriptor from `from` upwards, no
/// signal blocked, each at its default, except those that would end it by mistake. A keeper ends with
/// its lifeline; a stray TERM or HUP must not take it before its work is done.
///
/// The process must own nothing that still uses those descriptors.
pub(crate) fn become_keeper_process(from: RawFd) {
    const IGNORED: [c_int; 7] = [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGPIPE,
        libc::SIGUSR1,
        libc::SIGUSR2,
    ];
    const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
    // SAFETY: close_range takes plain numbers; the keeper's side holds no object for descriptors from
    // `from` on. The dispositions set are constants, so no handler runs; setting one that cannot be
    // set is refused without effect. The mask is a valid set.
    unsafe {
        libc::syscall(libc::SYS_close_range, from as c_uint, c_uint::MAX, 0 as c_uint);
        for signal in 1..=64 {
            // The runtime's own handlers for faults stay: they only report.
            if FAULTS.contains(&signal) {
                continue;
            }
            let action = if IGNORED.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::signal(signal, action);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &empty_set(), ptr::null_mut());
    }
}

/// Moves a descriptor to a number, whatever was open there. Only in a keeper's process, before it holds
/// anything else.
pub(crate) fn move_to(fd: &OwnedFd, number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: dup3 takes plain numbers. What `number` named before belongs to objects that are never used
    // or dropped again: the process serves and then ends without running destructors.
    if unsafe { libc::dup3(fd.as_raw_fd(), number, libc::O_CLOEXEC) } == -1 {
        return Err(last_errno());
    }
    // SAFETY: just opened, and nobody else takes it for theirs.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// While this lives, writing to a pipe that nobody reads any more fails with EPIPE in this thread and
/// raises nothing, whatever the embedding program made of SIGPIPE.
pub(crate) struct QuietPipes {
    before: libc::sigset_t,
    was_pending: bool,
    // The mask belongs to the thread.
    _here: PhantomData<*const ()>,
}

impl QuietPipes {
    pub(crate) fn new() -> Self {
        let mut before = MaybeUninit::uninit();
        let pipe = pipe_set();
        // SAFETY: both sets are valid, and pthread_sigmask writes the whole old one; with a valid `how`
        // it cannot fail.
        let before = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, before.as_mut_ptr());
            before.assume_init()
        };
        Self { before, was_pending: pipe_pending(), _here: PhantomData }
    }
}

impl Drop for QuietPipes {
    fn drop(&mut self) {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: valid sets and a valid time. One that was pending before is the host's own; one that
        // has come since is ours and is taken away before the old mask would deliver it.
        unsafe {
            if !self.was_pending && pipe_pending() {
                libc::sigtimedwait(&pipe_set(), ptr::null_mut(), &now);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut());
        }
    }
}

fn pipe_set() -> libc::sigset_t {
    let mut set = empty_set();
    // SAFETY: the set is initialised and SIGPIPE is a valid signal.
    unsafe { libc::sigaddset(&mut set, libc::SIGPIPE) };
    set
}

fn pipe_pending() -> bool {
    let mut set = empty_set();
    // SAFETY: the set is initialised; sigpending overwrites it, sigismember reads it.
    unsafe {
        libc::sigpending(&mut set);
        libc::sigismember(&set, libc::SIGPIPE) == 1
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
