//! Reading what a dialect asks for: without following what must not be followed, without blocking on what is not a
//! file, and only once, so that what is hashed is what is parsed and what runs.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::Arc;

pub use becket_core::place::absolute;
use becket_core::place::{self, Entry, Found, Links, Place, Refusal, What};
use becket_core::scope::Scope;
use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FsWord, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, fstat, fstatfs,
    lstat, open, openat2, statat,
};
use rustix::io::Errno;

/// How often a file that changes while it is read is read again.
const TRIES: usize = 3;

/// Most names of a folder that are looked at.
const MOST_NAMES: usize = 100_000;

/// Most bytes that are read of the files of one folder. More only costs every event time.
const FOLDER_BYTES: u64 = 16 << 20;

/// What is at a place. A relative path is refused: it would be read from wherever the process stands, which may
/// be somebody else's checkout.
pub(crate) fn read(place: &Place) -> Found {
    Reader::default().look(place)
}

/// Reads several places; a directory that confines more than one of them is opened once. Most of what dialects ask for is
/// nowhere, and whole directories of it are missing together: each is asked for once.
#[derive(Default)]
pub(crate) struct Reader<'a> {
    roots: Vec<(String, Result<OwnedFd, Errno>)>,
    /// Directories and files that were asked for, and whether nothing at all was there.
    asked: Vec<(String, bool)>,
    /// Files that links lead into its workspace are told.
    scope: Option<&'a Scope>,
}

impl<'a> Reader<'a> {
    /// A reader that tells of files in the scope's workspace.
    pub(crate) fn within(scope: &'a Scope) -> Self {
        Self { scope: Some(scope), ..Self::default() }
    }

    /// As [`read`].
    pub(crate) fn read(&mut self, place: &Place) -> Found {
        match way_to(place) {
            Some(way) if self.is_missing(way) => Found::Missing,
            _ => self.look(place),
        }
    }

    /// Whether nothing is at a path, not even a link. Whatever else is wrong there is told when it is opened.
    fn is_missing(&mut self, path: &str) -> bool {
        if let Some((_, is_missing)) = self.asked.iter().find(|(asked, _)| asked == path) {
            return *is_missing;
        }
        let is_missing = matches!(lstat(path), Err(Errno::NOENT));
        self.asked.push((path.to_owned(), is_missing));
        is_missing
    }

    fn look(&mut self, place: &Place) -> Found {
        if !place.path.is_absolute() {
            let why = "it is not an absolute path; set HOME to one".to_owned();
            return Found::Refused(Refusal::Io(why));
        }
        match place.what {
            What::File => settle(self.file(place, &place.path)),
            What::Folder { endings, most } => settle(self.folder(place, endings, most)),
        }
    }

    fn root(&mut self, path: &Utf8Path) -> Result<&OwnedFd, Errno> {
        let known = self.roots.iter().position(|(known, _)| known == path.as_str());
        let at = known.unwrap_or_else(|| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.roots.push((path.to_string(), open(path.as_std_path(), flags, Mode::empty())));
            self.roots.len() - 1
        });
        self.roots[at].1.as_ref().map_err(|errno| *errno)
    }

    /// `None` where nothing is there.
    fn opened(&mut self, place: &Place, path: &Utf8Path, flags: OFlags) -> Result<Option<OwnedFd>, Refusal> {
        // Without NONBLOCK opening a FIFO would wait for a writer.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match &place.links {
            Links::Follow => open(path.as_std_path(), flags, Mode::empty()),
            Links::Refuse { below } => self.confined(below, path, flags, ResolveFlags::NO_SYMLINKS),
            Links::Beneath { root } => self.confined(root, path, flags, ResolveFlags::empty()),
        };
        match (opened, &place.links) {
            (Ok(fd), _) => Ok(Some(fd)),
            (Err(Errno::NOENT), Links::Follow) => match lstat(path.as_std_path()) {
                Err(_) => Ok(None),
                // What is there now may have come after it was not.
                Ok(now) => match open(path.as_std_path(), flags, Mode::empty()) {
                    Ok(fd) => Ok(Some(fd)),
                    Err(Errno::NOENT) if FileType::from_raw_mode(now.st_mode) != FileType::Symlink => {
                        Ok(None)
                    }
                    Err(Errno::NOENT) => Err(Refusal::Io("it is a link that leads nowhere".to_owned())),
                    Err(errno) => Err(Refusal::Io(errno.to_string())),
                },
            },
            (Err(Errno::NOENT), _) => Ok(None),
            (Err(Errno::NOTDIR), Links::Follow | Links::Beneath { .. }) => {
                let itself = if flags.contains(OFlags::DIRECTORY) { "it, or " } else { "" };
                Err(Refusal::Io(format!("{itself}something above it is not a directory")))
            }
            // Something that is no directory stands where one must be: a link's stand-in, or a link itself.
            (Err(Errno::LOOP | Errno::NOTDIR), Links::Refuse { .. }) => Err(Refusal::Link),
            (Err(Errno::XDEV), _) => Err(Refusal::Escapes),
            (Err(Errno::NXIO), _) => Err(Refusal::NotRegular),
            (Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)), _) => {
                Err(Refusal::NoRoom(errno.to_string()))
            }
            (Err(errno), _) => Err(Refusal::Io(errno.to_string())),
        }
    }

    fn confined(
        &mut self,
        root: &Utf8Path,
        path: &Utf8Path,
        flags: OFlags,
        links: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        let inside = path.strip_prefix(root).map_err(|_| Errno::XDEV)?;
        open_inside(self.root(root)?, inside, flags, Mode::empty(), links)
    }

    fn file(&mut self, place: &Place, path: &Utf8Path) -> Result<Found, Refusal> {
        for _ in 0..TRIES {
            let Some(fd) = self.opened(place, path, OFlags::RDONLY)? else { return Ok(Found::Missing) };
            if let Some(file) = read_once(fd, place.limit, self.scope)? {
                return Ok(Found::File(file));
            }
        }
        Err(Refusal::Changing)
    }

    fn folder(&mut self, place: &Place, endings: &[&str], most: usize) -> Result<Found, Refusal> {
        let Some(fd) = self.opened(place, &place.path, OFlags::RDONLY | OFlags::DIRECTORY)? else {
            return Ok(Found::Missing);
        };
        let mut names = Vec::new();
        let mut more = false;
        let io = |errno: Errno| Refusal::Io(errno.to_string());
        let mut directory = Dir::new(fd).map_err(io)?;
        while let Some(entry) = directory.read() {
            let entry = entry.map_err(io)?;
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = statat(directory.fd().map_err(io)?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                kind = stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
            }
            if kind == FileType::Directory {
                continue;
            }
            let name = entry.file_name().to_bytes();
            if names.len() == MOST_NAMES {
                more = true;
                break;
            }
            names.push(name.to_vec());
        }
        names.sort();
        let mut taken = (0, 0);
        let mut bytes = 0;
        let mut entries = Vec::new();
        for name in names {
            let wanted = endings.iter().any(|ending| name.ends_with(ending.as_bytes()));
            let count = if wanted { &mut taken.0 } else { &mut taken.1 };
            if *count == most {
                more |= wanted;
                continue;
            }
            *count += 1;
            let Ok(name) = std::str::from_utf8(&name) else {
                let quoted = text::quote_of(&name);
                let name = quoted[1..quoted.len() - 1].to_owned();
                entries.push(Entry { name, found: wanted.then_some(Found::Refused(Refusal::Name)) });
                continue;
            };
            let found = wanted.then(|| match bytes {
                0..=FOLDER_BYTES => settle(self.file(place, &place.path.join(name))),
                _ => Found::Refused(Refusal::Crowded(FOLDER_BYTES)),
            });
            bytes += found.as_ref().and_then(Found::file).map_or(0, |file| file.bytes.len() as u64);
            entries.push(Entry { name: name.to_owned(), found });
        }
        Ok(Found::Folder { entries, more })
    }
}

/// What most often is missing of a place, together with others: the directory that a file stands in, or, below a directory
/// that confines it, the first step. `None` where that cannot be told.
fn way_to(place: &Place) -> Option<&str> {
    let path = place.path.as_str();
    if !path.starts_with('/') {
        return None;
    }
    let (Links::Refuse { below: root } | Links::Beneath { root }) = &place.links else {
        return place.path.parent().map(Utf8Path::as_str);
    };
    let inside = path.strip_prefix(root.as_str().trim_end_matches('/'))?.strip_prefix('/')?;
    let rest = inside.split_once('/').map_or(0, |(_, rest)| rest.len() + 1);
    Some(&path[..path.len() - rest])
}

/// Opens a path below a directory without leaving it.
fn open_inside(
    root: &OwnedFd,
    inside: &Utf8Path,
    flags: OFlags,
    mode: Mode,
    links: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | links;
    // The kernel gives EAGAIN when the tree moved under a lookup that must not leave it.
    loop {
        match openat2(root, inside.as_std_path(), flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Old kernels have no such call, and some sandboxes forbid it.
            Err(Errno::NOSYS | Errno::PERM) => return step_by_step(root, inside, flags, mode),
            result => return result,
        }
    }
}

/// Opens a file below a directory for reading and appending, created (mode 0600) where it is missing. No link below the
/// directory is followed.
///
/// # Errors
/// It cannot be opened, or it is no regular file that could be believed.
pub(crate) fn open_own(root: &Utf8Path, inside: &Utf8Path) -> Result<File, Refusal> {
    let io = |errno: Errno| Refusal::Io(errno.to_string());
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(root.as_std_path(), directory, Mode::empty()).map_err(io)?;
    // Without NONBLOCK opening a FIFO could wait.
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    let opened = open_inside(&root, inside, flags, mode, ResolveFlags::NO_SYMLINKS);
    let file = opened.map_err(|errno| match errno {
        Errno::LOOP | Errno::NOTDIR => Refusal::Link,
        Errno::ISDIR | Errno::NXIO => Refusal::NotRegular,
        errno => io(errno),
    })?;
    let stat = fstat(&file).map_err(io)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Refusal::NotRegular);
    }
    match distrust(&stat) {
        Some(why) => Err(Refusal::Io(why)),
        None => Ok(file.into()),
    }
}

/// Opens a path below a directory without following any link, one step after the other: stricter than the system's own
/// way, which follows links that stay inside where those may.
fn step_by_step(root: &OwnedFd, inside: &Utf8Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut names = inside.components().peekable();
    let mut directory: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let camino::Utf8Component::Normal(name) = name else { return Err(Errno::XDEV) };
        let is_last = names.peek().is_none();
        let how = if is_last { flags } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC };
        let above = directory.as_ref().unwrap_or(root);
        let opened = rustix::fs::openat(above, name, how | OFlags::NOFOLLOW, mode)?;
        if is_last {
            return Ok(opened);
        }
        directory = Some(opened);
    }
    Err(Errno::ISDIR)
}

fn settle(result: Result<Found, Refusal>) -> Found {
    result.unwrap_or_else(Found::Refused)
}

/// The file's bytes; `None` if it changed meanwhile.
fn read_once(fd: OwnedFd, limit: u64, scope: Option<&Scope>) -> Result<Option<place::File>, Refusal> {
    let io = |error: &dyn std::fmt::Display| Refusal::Io(error.to_string());
    let before = fstat(&fd).map_err(|error| io(&error))?;
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Err(Refusal::NotRegular);
    }
    if is_of_kernel(&fd) {
        return Err(Refusal::OfKernel);
    }
    let mut file = File::from(fd);
    let size = u64::try_from(before.st_size).unwrap_or(0).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(|error| io(&error))?;
    if bytes.len() as u64 > limit {
        return Err(Refusal::TooLarge(limit));
    }
    let after = fstat(file.as_fd()).map_err(|error| io(&error))?;
    if changed(&before, &after) || bytes.len() as u64 != u64::try_from(after.st_size).unwrap_or(0) {
        return Ok(None);
    }
    Ok(Some(place::File {
        bytes: Arc::from(bytes),
        modified_ms: after
            .st_mtime
            .saturating_mul(1000)
            .saturating_add(after.st_mtime_nsec.cast_signed() / 1_000_000),
        unsafe_store: distrust(&after).or_else(|| planted(&file, scope?)),
    }))
}

/// File systems whose files look regular and hold nothing: the kernel answers each read, if it wants to, or waits.
const OF_KERNEL: [FsWord; 7] = [
    PROC_SUPER_MAGIC,
    0x6265_6572, // sysfs
    0x7472_6163, // tracefs
    0x6462_6720, // debugfs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x6367_7270, // cgroup2
];

/// Whether an open file stands in such a file system; nothing of it is read then.
pub(crate) fn is_of_kernel(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|system| OF_KERNEL.contains(&system.f_type))
}

fn changed(before: &Stat, after: &Stat) -> bool {
    let print =
        |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
    print(before) != print(after)
}

/// Why a file must not be believed as a store of approvals.
pub(crate) fn distrust(stat: &Stat) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user && stat.st_uid != 0 {
        return Some(format!("it belongs to user {}, not to you", stat.st_uid));
    }
    // A group that is the user's own, as many systems make one for each user, is nobody else.
    let group = stat.st_mode & 0o020 != 0 && stat.st_gid != rustix::process::getegid().as_raw();
    (group || stat.st_mode & 0o002 != 0).then(|| "others may write it (`chmod go-w` mends that)".to_owned())
}

/// Whether links led to a file in the workspace.
fn planted(file: &File, scope: &Scope) -> Option<String> {
    let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let real = Utf8PathBuf::from_path_buf(real).ok()?;
    scope
        .is_planted(&real)
        .then(|| "it leads into the workspace, so whoever writes there could have planted it".to_owned())
}

/// Whether anything is at an absolute path, links followed.
pub(crate) fn exists(path: &Utf8Path) -> bool {
    path.is_absolute()
        && rustix::fs::accessat(CWD, path.as_std_path(), rustix::fs::Access::EXISTS, AtFlags::empty()).is_ok()
}

/// A path with links resolved; itself where it cannot be.
pub(crate) fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn temporary() -> (tempfile::TempDir, Utf8PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        (directory, path)
    }

    #[test]
    fn what_is_no_file_is_refused_without_blocking() {
        let (_keep, root) = temporary();
        fs::create_dir(root.join("directory")).unwrap();
        rustix::fs::mknodat(CWD, root.join("fifo").as_std_path(), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::write(root.join("large"), "123").unwrap();
        fs::write(root.join("file"), "12").unwrap();
        let of = |name: &str| read(&Place::file(root.join(name), 2));
        assert_eq!(of("none"), Found::Missing);
        assert_eq!(of("directory"), Found::Refused(Refusal::NotRegular));
        assert_eq!(of("fifo"), Found::Refused(Refusal::NotRegular));
        assert_eq!(of("large"), Found::Refused(Refusal::TooLarge(2)));
        assert_eq!(of("file").file().unwrap().bytes.as_ref(), b"12");
        assert!(matches!(of("file/below"), Found::Refused(Refusal::Io(_))));
        symlink("nowhere", root.join("dangling")).unwrap();
        assert!(matches!(of("dangling"), Found::Refused(Refusal::Io(_))));
    }

    #[test]
    fn what_the_kernel_makes_up_is_no_file() {
        let (_keep, root) = temporary();
        for told in
            ["/proc/version", "/proc/kmsg", "/sys/kernel/uevent_seqnum", "/sys/kernel/tracing/trace_pipe"]
        {
            // Some are not there in a container, or not for everybody.
            if File::open(told).is_err() {
                continue;
            }
            let link = root.join("link");
            symlink(told, &link).unwrap();
            assert_eq!(read(&Place::file(&link, 9)), Found::Refused(Refusal::OfKernel), "{told}");
            let error = crate::others::read(&link, 9).unwrap_err().to_string();
            assert!(error.contains("something that the kernel tells"), "{error}");
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn links_are_followed_only_where_they_may() {
        let (_keep, root) = temporary();
        fs::create_dir(root.join("in")).unwrap();
        fs::write(root.join("in/file"), "x").unwrap();
        fs::write(root.join("out"), "x").unwrap();
        symlink("file", root.join("in/inner")).unwrap();
        symlink("../out", root.join("in/outer")).unwrap();
        symlink(root.join("in"), root.join("linked")).unwrap();
        let of = |path: &str, links: Links| read(&Place { links, ..Place::file(root.join(path), 9) });
        let beneath = || Links::Beneath { root: root.join("in") };
        assert!(of("in/inner", beneath()).file().is_some());
        assert_eq!(of("in/outer", beneath()), Found::Refused(Refusal::Escapes));
        let refuse = || Links::Refuse { below: root.clone() };
        assert!(of("in/file", refuse()).file().is_some());
        assert_eq!(of("in/inner", refuse()), Found::Refused(Refusal::Link));
        assert_eq!(of("linked/file", refuse()), Found::Refused(Refusal::Link));
        assert_eq!(of("out/file", refuse()), Found::Refused(Refusal::Link));
        assert!(of("in/outer", Links::Follow).file().is_some());
    }

    #[test]
    fn without_the_systems_own_way_no_link_is_followed_at_all() {
        let (_keep, root) = temporary();
        fs::create_dir_all(root.join("in/deep")).unwrap();
        fs::write(root.join("in/deep/file"), "x").unwrap();
        symlink("deep", root.join("in/linked")).unwrap();
        symlink("file", root.join("in/deep/inner")).unwrap();
        let directory = open(root.as_std_path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let of = |path: &str| step_by_step(&directory, path.into(), OFlags::RDONLY, Mode::empty()).map(drop);
        assert_eq!(of("in/deep/file"), Ok(()));
        assert_eq!(of("in/deep/none"), Err(Errno::NOENT));
        assert_eq!(of("in/deep/inner"), Err(Errno::LOOP));
        assert_eq!(of("in/linked/file"), Err(Errno::NOTDIR));
        assert_eq!(of("../x"), Err(Errno::XDEV));
    }

    #[test]
    fn a_file_that_comes_while_it_is_looked_for_is_no_link() {
        let (_keep, root) = temporary();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let path = root.join("comes");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    fs::write(&path, "x").unwrap();
                    fs::remove_file(&path).unwrap();
                }
            });
            let all_fine =
                (0..20_000).all(|_| !matches!(read(&Place::file(&path, 9)), Found::Refused(Refusal::Io(_))));
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(all_fine);
        });
    }

    #[test]
    fn a_folder_is_read_in_byte_order_and_other_files_push_none_out() {
        let (_keep, root) = temporary();
        for name in ["b.yaml", "a.yaml", "0.txt", "1.txt", "c.yaml"] {
            fs::write(root.join(name), name).unwrap();
        }
        let what = What::Folder { endings: &[".yaml"], most: 2 };
        let Found::Folder { entries, more } = read(&Place { what, ..Place::file(root, 99) }) else {
            panic!()
        };
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((names, more), (vec!["0.txt", "1.txt", "a.yaml", "b.yaml"], true));
        assert!(entries[0].found.is_none() && entries[2].found.is_some());
    }

    #[test]
    fn a_name_that_is_no_text_is_told() {
        use std::os::unix::ffi::OsStrExt as _;
        let (_keep, root) = temporary();
        for name in [&b"a\xff.yaml"[..], b"b\xff.txt", b"c.yaml"] {
            fs::write(root.as_std_path().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
        }
        let what = What::Folder { endings: &[".yaml"], most: 9 };
        let Found::Folder { entries, .. } = read(&Place { what, ..Place::file(root, 99) }) else { panic!() };
        let entry = |at: usize| (entries[at].name.as_str(), entries[at].found.as_ref());
        assert_eq!(entry(0), ("a\\xff.yaml", Some(&Found::Refused(Refusal::Name))));
        assert_eq!(entry(1), ("b\\xff.txt", None));
        assert!(entries[2].found.as_ref().unwrap().file().is_some());
    }

    #[test]
    fn directories_are_none_of_a_folders_files() {
        let (_keep, root) = temporary();
        fs::create_dir_all(root.join("folder/a.yaml")).unwrap();
        fs::write(root.join("folder/b.yaml"), "").unwrap();
        symlink("a.yaml", root.join("folder/c.yaml")).unwrap();
        let what = What::Folder { endings: &[".yaml"], most: 2 };
        let links = Links::Beneath { root: root.clone() };
        let of = |path: &str| read(&Place { what, links: links.clone(), ..Place::file(root.join(path), 9) });
        let Found::Folder { entries, more } = of("folder") else { panic!() };
        assert_eq!((entries.len(), more), (2, false));
        assert!(entries[0].found.as_ref().unwrap().file().is_some());
        assert_eq!(entries[1].found, Some(Found::Refused(Refusal::NotRegular)));
        // A file in a folder's place, or above it, is no missing folder.
        for path in ["folder/b.yaml", "folder/b.yaml/below"] {
            let told = Found::Refused(Refusal::Io("it, or something above it is not a directory".to_owned()));
            assert_eq!(of(path), told, "{path}");
        }
        assert_eq!(of("none"), Found::Missing);
    }

    #[test]
    fn a_folder_of_large_files_is_read_to_its_bound() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        for number in 0..8 {
            let file = File::create(root.join(format!("{number}.yaml"))).unwrap();
            file.set_len(4 << 20).unwrap();
        }
        let what = What::Folder { endings: &[".yaml"], most: 100 };
        let Found::Folder { entries, .. } = read(&Place { what, ..Place::file(root, 5 << 20) }) else {
            panic!()
        };
        let read = entries.iter().filter(|entry| entry.found.as_ref().is_some_and(|f| f.file().is_some()));
        assert_eq!((entries.len(), read.count()), (8, 5));
        assert_eq!(entries[7].found, Some(Found::Refused(Refusal::Crowded(FOLDER_BYTES))));
    }

    #[test]
    fn what_is_asked_for_on_the_way_is_above_the_place_and_inside_what_confines_it() {
        let way =
            |path: &str, links: Links| way_to(&Place { links, ..Place::file(path, 9) }).map(str::to_owned);
        let beneath = |root: &str| Links::Beneath { root: root.into() };
        let some = |path: &str| Some(path.to_owned());
        assert_eq!(way("/h/.celeste/hooks.json", Links::Follow), some("/h/.celeste"));
        assert_eq!(way("/hooks.json", Links::Follow), some("/"));
        assert_eq!(way("/w/.celeste/a/b.md", beneath("/w")), some("/w/.celeste"));
        assert_eq!(way("/w/.grimoire", beneath("/w")), some("/w/.grimoire"));
        assert_eq!(way("/.celeste/x", beneath("/")), some("/.celeste"));
        for (path, root) in [("/wider/x", "/w"), ("/w", "/w"), ("relative/x", "relative"), ("/other/x", "/w")]
        {
            assert_eq!(way(path, beneath(root)), None, "{path} {root}");
        }
    }

    #[test]
    fn places_that_are_missing_together_are_no_more_than_missing() {
        let (_keep, root) = temporary();
        symlink("nowhere", root.join("dangling")).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        let beneath = || Links::Beneath { root: root.clone() };
        let refuse = || Links::Refuse { below: root.clone() };
        for links in [beneath(), refuse(), Links::Follow] {
            let mut reader = Reader::default();
            for path in ["none", "none/a", "none/b", "none/a/c"] {
                let place = Place { links: links.clone(), ..Place::file(root.join(path), 9) };
                assert_eq!(reader.read(&place), Found::Missing, "{path} {links:?}");
            }
            // Whatever does stand in the way is told as if nothing had been asked before.
            for path in ["dangling", "dangling/a", "file/a", "file"] {
                let place = Place { links: links.clone(), ..Place::file(root.join(path), 9) };
                assert_eq!(reader.read(&place), read(&place), "{path} {links:?}");
            }
        }
    }

    #[test]
    fn a_file_that_others_may_write_is_no_store() {
        let (_keep, root) = temporary();
        let path = root.join("store");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&Place::file(&path, 9)).file().unwrap().unsafe_store, None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(read(&Place::file(&path, 9)).file().unwrap().unsafe_store.is_some());
    }
}
