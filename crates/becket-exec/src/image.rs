//! A program with its arguments and environment, in the one flat form in which they are started and
//! sent to a keeper.

use std::ffi::{OsStr, c_char};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use rustix::fs::{Access, AtFlags, FileType, accessat, statat};

use crate::job::Job;
use crate::mark::{MARK, Mark};
use crate::start::StartError;

/// The path, then the arguments, then the environment, each ended by a NUL. No NUL is inside of one.
pub(crate) struct Image {
    block: Vec<u8>,
    args: usize,
    vars: usize,
}

impl Image {
    /// `path` is what is executed, `job.program` stays the program's name for itself.
    pub(crate) fn new(job: &Job, path: &Path, mark: &Mark) -> Result<Self, StartError> {
        let size: usize = job.args.iter().map(|arg| arg.len() + 1).sum::<usize>()
            + job.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>()
            + path.as_os_str().len() * 2
            + 64;
        let mut block = Vec::with_capacity(size);
        put(&mut block, [path.as_os_str()], || "the program".into())?;
        put(&mut block, [job.program.as_os_str()], || "the program".into())?;
        for (index, arg) in job.args.iter().enumerate() {
            put(&mut block, [arg.as_os_str()], || format!("argument {}", index + 1))?;
        }
        let mut vars = 1;
        for (name, value) in job.env.iter().filter(|(name, _)| name != MARK) {
            let parts = [name.as_os_str(), OsStr::new("="), value.as_os_str()];
            put(&mut block, parts, || format!("the variable {}", name.display()))?;
            vars += 1;
        }
        block.extend_from_slice(mark.assignment().as_bytes());
        block.push(0);
        Ok(Self { block, args: job.args.len() + 1, vars })
    }

    /// A program with arguments, and this process's own environment.
    pub(crate) fn inheriting(program: &Path, args: &[std::ffi::OsString]) -> Result<Self, StartError> {
        let mut block = Vec::new();
        put(&mut block, [program.as_os_str()], || "the program".into())?;
        put(&mut block, [program.as_os_str()], || "the program".into())?;
        for (index, arg) in args.iter().enumerate() {
            put(&mut block, [arg.as_os_str()], || format!("argument {}", index + 1))?;
        }
        let mut vars = 0;
        for (name, value) in std::env::vars_os() {
            put(&mut block, [name.as_os_str(), OsStr::new("="), value.as_os_str()], String::new)?;
            vars += 1;
        }
        Ok(Self { block, args: args.len() + 1, vars })
    }

    /// From what a socket brought; `None` if the counts do not fit the block.
    pub(crate) fn from_block(block: Vec<u8>, args: usize, vars: usize) -> Option<Self> {
        let strings = block.iter().filter(|byte| **byte == 0).count();
        let fits = block.last() == Some(&0) && args.checked_add(vars)?.checked_add(1)? == strings;
        fits.then_some(Self { block, args, vars })
    }

    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    pub(crate) fn args(&self) -> usize {
        self.args
    }

    pub(crate) fn vars(&self) -> usize {
        self.vars
    }

    /// The path and the two null-terminated lists, as the system wants them. They point into `self`.
    pub(crate) fn pointers(&self) -> (*const c_char, Vec<*const c_char>, Vec<*const c_char>) {
        let mut strings = self.block.split_inclusive(|byte| *byte == 0).map(|s| s.as_ptr().cast::<c_char>());
        let path = strings.next().unwrap_or(ptr::null());
        let mut argv: Vec<_> = strings.by_ref().take(self.args).collect();
        argv.push(ptr::null());
        let mut envp: Vec<_> = strings.collect();
        envp.push(ptr::null());
        (path, argv, envp)
    }
}

fn put<const N: usize>(
    block: &mut Vec<u8>,
    parts: [&OsStr; N],
    what: impl FnOnce() -> String,
) -> Result<(), StartError> {
    if parts.iter().any(|part| part.as_bytes().contains(&0)) {
        return Err(StartError::Nul(what()));
    }
    for part in parts {
        block.extend_from_slice(part.as_bytes());
    }
    block.push(0);
    Ok(())
}

/// Where the job's program is: itself if it is a path, else the first executable file of that name in an absolute
/// entry of the job's own `PATH`. The system's lookup would use the embedding program's, and would run what lies in
/// the working directory where an entry is empty or relative.
pub(crate) fn locate(job: &Job, dir: BorrowedFd<'_>) -> Result<PathBuf, StartError> {
    let program = job.program.as_os_str();
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let path = job.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    if program.is_empty() || program.as_bytes().contains(&0) {
        return Err(StartError::NotFound(program.into()));
    }
    let mut error = StartError::NotOnPath(program.into());
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(program);
        let Ok(stat) = statat(dir, &candidate, AtFlags::empty()) else { continue };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            continue;
        }
        if accessat(dir, &candidate, Access::EXEC_OK, AtFlags::empty()).is_ok() {
            return Ok(candidate);
        }
        error = StartError::Denied(candidate);
    }
    Err(error)
}
