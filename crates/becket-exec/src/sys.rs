//! Everything in this crate that the compiler cannot check: the few calls that neither the standard
//! library nor `rustix` offers safely. Each block says why it is sound; each function is safe to call.

#![expect(unsafe_code, reason = "the one module for calls that have no safe wrapper")]

pub(crate) mod last_words;

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::io::{Errno, fcntl_dupfd_cloexec, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use crate::ending::Exit;
use crate::image::Image;

/// A signal set as the kernel takes it: one bit a signal, those of the C library itself included, which
/// its own functions leave out.
type KernelSet = u64;

/// A kernel's `sigaction` that means the default, on every architecture: all zero, and large enough.
const DEFAULT_ACTION: [u64; 8] = [0; 8];

/// What the new process does between its start and its program. Lives in the parent's frame.
struct Plan<'a> {
    path: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    dir: BorrowedFd<'a>,
    stdio: [BorrowedFd<'a>; 3],
    /// Why it did not come to the program.
    error: Cell<c_int>,
}

/// Starts a program in a session of its own, in the directory `dir`, with `stdio` as its only
/// descriptors, every signal at its default and none blocked. Returns its number, and a descriptor for
/// it that was made with it: whoever else reaps it meanwhile, that names no other process.
///
/// Like posix_spawn it shares the caller's memory until the program is executed, so that starting does
/// not get slower as that grows. posix_spawn itself gives no such descriptor before glibc 2.39: in a
/// program that ignores SIGCHLD one short-lived job in ten was gone before it could be had.
///
/// The descriptors must be numbered 3 or higher ([`crate::pipes`] sees to that): a lower one would be
/// overwritten before it is used.
pub(crate) fn spawn(
    image: &Image,
    dir: BorrowedFd<'_>,
    stdio: [BorrowedFd<'_>; 3],
) -> Result<(Pid, OwnedFd), Errno> {
    /// Bytes, in units that keep a stack aligned. The child calls a handful of system calls.
    const STACK: usize = 32 * 1024 / size_of::<u128>();
    const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;

    let (path, argv, envp) = image.pointers();
    let plan = Plan { path, argv: argv.as_ptr(), envp: envp.as_ptr(), dir, stdio, error: Cell::new(0) };
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK);
    let mut pidfd: c_int = -1;

    let before = set_mask(KernelSet::MAX);
    // SAFETY: the child runs `enter` on a stack of its own, in this process's memory. CLONE_VFORK keeps
    // this thread from going on until the child has executed a program or ended, so the stack, the plan
    // and what it points to outlive it, and nobody else uses them; all signals are blocked, so no
    // handler of this program runs in the child. CLONE_PIDFD writes one descriptor to `pidfd`.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        libc::clone(enter, top, FLAGS, (&raw const plan).cast_mut().cast(), &raw mut pidfd)
    };
    let failed = last_errno();
    set_mask(before);

    let pid = Pid::from_raw(pid.max(0)).ok_or(failed)?;
    // SAFETY: clone succeeded, so this is a new descriptor that belongs to nobody else.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    if plan.error.get() != 0 {
        // It has ended already; in a host that reaps everything somebody else may have been here first.
        let _ = retry_on_intr(|| waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED));
        return Err(Errno::from_raw_os_error(plan.error.get()));
    }
    // The program runs: where there is no room for another number it has to do with this one.
    let lifted = if pidfd.as_raw_fd() > 2 { None } else { fcntl_dupfd_cloexec(&pidfd, 3).ok() };
    Ok((pid, lifted.unwrap_or(pidfd)))
}

/// The new process. It shares its parent's memory and must not touch what other threads use: system
/// calls only, no allocation, no locks, nothing that panics.
extern "C" fn enter(plan: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes its plan, which it keeps alive and does not touch meanwhile. Every call is a
    // plain system call on numbers, on constants, or on the plan's strings; errno is the parent thread's,
    // which stands still.
    unsafe {
        let plan = &*plan.cast_const().cast::<Plan<'_>>();
        for signal in 1..=64 {
            // Refused for KILL and STOP, which have no other.
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal as c_int,
                DEFAULT_ACTION.as_ptr(),
                ptr::null_mut::<c_void>(),
                size_of::<KernelSet>(),
            );
        }
        let [stdin, stdout, stderr] = plan.stdio;
        let ready = libc::setsid() != -1
            && libc::fchdir(plan.dir.as_raw_fd()) == 0
            && libc::dup2(stdin.as_raw_fd(), 0) == 0
            && libc::dup2(stdout.as_raw_fd(), 1) == 1
            && libc::dup2(stderr.as_raw_fd(), 2) == 2
            && libc::syscall(libc::SYS_close_range, 3 as c_uint, c_uint::MAX, 0 as c_uint) == 0;
        if ready {
            set_mask(0);
            libc::execve(plan.path, plan.argv, plan.envp);
        }
        plan.error.set(*libc::__errno_location());
        libc::_exit(127)
    }
}

/// Sets the calling thread's mask and returns the one before.
fn set_mask(mask: KernelSet) -> KernelSet {
    let mut before: KernelSet = 0;
    // SAFETY: two sets of the size that is passed; with a valid `how` it cannot fail.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            size_of::<KernelSet>(),
        );
    }
    before
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

/// Makes failed writes errors, where these signals would end the process: to a pipe that nobody reads any more,
/// and beyond the limit on a file's size.
pub(crate) fn ignore_failed_writes() {
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        // SAFETY: both are constants, and ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The unit in which `/proc` tells times.
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: asks for a constant.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100)
}

/// A clock of the kernel's that tells this process to go on at each of its beats, also while somebody has stopped it.
/// Only in a keeper's process, where CONT does nothing else and ends no call early but a wait.
pub(crate) struct Heartbeat(c_int);

impl Heartbeat {
    /// It stands still. `None` where the system has no room for it.
    pub(crate) fn new() -> Option<Self> {
        let mut timer: c_int = 0;
        // SAFETY: plain integers of which all zero is valid; the one call reads the event and writes the timer's number.
        let made = unsafe {
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGCONT;
            libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer)
        };
        (made == 0).then_some(Self(timer))
    }

    /// Zero stops it.
    pub(crate) fn beat(&self, every: Duration) {
        let every = libc::timespec {
            tv_sec: every.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: every.subsec_nanos().into(),
        };
        let times = libc::itimerspec { it_interval: every, it_value: every };
        let none = ptr::null_mut::<libc::itimerspec>();
        // SAFETY: one structure that outlives the call, and a timer of this process's own.
        unsafe { libc::syscall(libc::SYS_timer_settime, self.0, 0 as c_int, &raw const times, none) };
    }
}

/// A signal that is caught is not one that the kernel forgets, as it does with a timer's since Linux 6.13.
extern "C" fn go_on(_: c_int) {}

/// Makes a process that was forked or started into a keeper's: no descriptor from `from` upwards, no
/// signal blocked, each at its default, except those that would end it by mistake, and CONT, which is caught
/// ([`Heartbeat`]). A keeper ends with its lifeline; a stray TERM or HUP must not take it before its work is done.
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
    let caught: extern "C" fn(c_int) = go_on;
    // SAFETY: close_range takes plain numbers; the keeper's side holds no object for descriptors from
    // `from` on. The dispositions set are constants and a handler that does nothing; setting one that cannot be
    // set is refused without effect. The mask is a valid set.
    unsafe {
        libc::syscall(libc::SYS_close_range, from as c_uint, c_uint::MAX, 0 as c_uint);
        for signal in (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
            let action = match signal {
                libc::SIGCONT => caught as libc::sighandler_t,
                _ if IGNORED.contains(&signal) => libc::SIG_IGN,
                _ => libc::SIG_DFL,
            };
            libc::signal(signal, action);
        }
    }
    set_mask(0);
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

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the whole set it is given and has no other effect.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
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
