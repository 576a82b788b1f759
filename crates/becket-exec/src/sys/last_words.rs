//! What is said by a signal's handler when nothing else can be said any more.

use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::time::Duration;

use crate::program::LastWords;

/// Time is up, and what ends a process for a fault of its own: no memory is left (the standard library aborts), the stack
/// is used up, a limit on processor time, a broken file behind mapped memory.
const SIGNALS: [c_int; 8] = [
    libc::SIGALRM,
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGSYS,
    libc::SIGXCPU,
];

/// What else ends a process unless it is prepared: somebody sends it. Where whoever started this one has it ignored (a
/// terminal that hangs up, as under `nohup`), it stays so.
const SENT: [c_int; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTRAP,
    libc::SIGSTKFLT,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
];

/// Bytes of the handler's own stack: the usual one may be what is used up.
const STACK: usize = 64 * 1024;

/// What is to be said, if anything. What stood here once is never freed: a handler may be reading it.
static WORDS: AtomicPtr<LastWords> = AtomicPtr::new(ptr::null_mut());

/// The process whose words they are: one that was forked from it, and has not gone its own way yet, must not say them too.
static SPEAKER: AtomicI32 = AtomicI32::new(0);

/// Has these words said, and the process ended, when one of the signals comes; ALRM comes after that time.
pub(crate) fn set(words: LastWords, after: Option<Duration>) {
    let stack = Box::leak(Box::<[u8]>::new_uninit_slice(STACK));
    SPEAKER.store(std::process::id().cast_signed(), Ordering::Release);
    WORDS.store(Box::into_raw(Box::new(words)), Ordering::Release);
    let handler: extern "C" fn(c_int) = speak;
    // SAFETY: the stack lives for ever and nobody else uses it. The handler makes system calls only. Each structure is
    // one that the C library takes with all zero, and filled as it says.
    unsafe {
        let own = libc::stack_t { ss_sp: stack.as_mut_ptr().cast::<c_void>(), ss_flags: 0, ss_size: STACK };
        libc::sigaltstack(&raw const own, ptr::null_mut());
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_ONSTACK;
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(all.as_mut_ptr());
        for signal in SIGNALS.into_iter().chain(SENT) {
            let mut before: libc::sigaction = zeroed();
            libc::sigaction(signal, &raw const action, &raw mut before);
            if before.sa_sigaction == libc::SIG_IGN && SENT.contains(&signal) {
                libc::sigaction(signal, &raw const before, ptr::null_mut());
            }
            libc::sigaddset(all.as_mut_ptr(), signal);
        }
        // Whoever started this process may have blocked them.
        libc::sigprocmask(libc::SIG_UNBLOCK, all.as_ptr(), ptr::null_mut());
    }
    if let Some(after) = after {
        start_clock(after.max(Duration::from_millis(1)));
    }
}

/// Has nothing said any more.
pub(crate) fn forget() {
    WORDS.store(ptr::null_mut(), Ordering::Release);
    start_clock(Duration::ZERO);
}

/// Zero stops it. It is not inherited by a fork.
fn start_clock(after: Duration) {
    let value = libc::timeval {
        tv_sec: after.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_usec: after.subsec_micros().into(),
    };
    let once = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
    // SAFETY: one structure that outlives the call.
    unsafe {
        libc::setitimer(libc::ITIMER_REAL, &raw const once, ptr::null_mut());
    }
}

/// Says the words and ends the process. Where there are none a fault does what it does by default, as it comes again at once,
/// and what is sent does nothing.
extern "C" fn speak(signal: c_int) {
    // SAFETY: system calls only; what stands in `WORDS` was put there whole and is never freed.
    unsafe {
        let mine = libc::getpid() == SPEAKER.load(Ordering::Acquire);
        let words = if mine { WORDS.swap(ptr::null_mut(), Ordering::AcqRel) } else { ptr::null_mut() };
        let Some(words) = words.as_ref() else {
            // Who sends one while the answer is being written would have it torn: only a fault ends the process now.
            if SIGNALS.contains(&signal) && signal != libc::SIGALRM {
                libc::signal(signal, libc::SIG_DFL);
            }
            return;
        };
        let heard = write_all(1, &words.stdout);
        write_all(2, &words.stderr);
        libc::_exit(if heard { words.exit } else { words.exit_unheard }.into());
    }
}

/// Whether all of it was taken.
fn write_all(fd: c_int, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: the bytes are there for the whole call.
        let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(count @ 1..) => bytes = bytes.get(count..).unwrap_or_default(),
            _ => return false,
        }
    }
    true
}
