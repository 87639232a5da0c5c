//! Regular files: read, replaced at once or not at all, or added to. Floor 4: doors.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Opens a file to be read, if it has an end and can be read twice: a device or a pipe may not.
pub fn regular(path: &Path) -> io::Result<File> {
    let kind = path.metadata()?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

/// When a file was last changed, since the Unix epoch; `None` if the system does not tell.
pub fn changed(there: &Metadata) -> Option<Duration> {
    let at = there.modified().ok()?;
    at.duration_since(SystemTime::UNIX_EPOCH).ok()
}

/// The file beside another that has this ending.
pub fn path_with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Puts a new file in the place of another: it is there whole, on the disk, or not at all. Rights, owner and
/// the links that lead to it stay, as far as the system allows.
///
/// It is written as `PATH.new`; what a killed program has left there is replaced.
pub fn replaced(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
    let real = match fs::canonicalize(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => path.to_owned(),
        real => real?,
    };
    let new = path_with(&real, ".new");
    match fs::remove_file(&new) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .append(true)
        .create_new(true)
        .open(&new)?;
    let done = keep_rights(&real, &file)
        .and_then(|()| write(&mut file))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, &real));
    if done.is_err() {
        // The failure is told; what is left is replaced the next time.
        let _ = fs::remove_file(&new);
    }
    done.map(|()| file)
}

fn keep_rights(old: &Path, new: &File) -> io::Result<()> {
    let Ok(there) = old.metadata() else {
        return Ok(());
    };
    // Only root may give a file away.
    let _ = fchown(new, Some(there.uid()), Some(there.gid()));
    new.set_permissions(there.permissions())
}

/// Opens a regular file to add to it, and makes it if there is none. What else may be there has no end, or
/// leads elsewhere.
pub fn added(path: &Path) -> io::Result<File> {
    if path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other("it is no regular file"));
    }
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_rights_and_through_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        // What a killed program has left.
        fs::write(path_with(&real, ".new"), "half").unwrap();
        replaced(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(real.metadata().unwrap().mode() & 0o777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_written_whole_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let failed = replaced(&path, |_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_a_regular_file_is_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        assert!(added(&link).is_err() && added(folder.path()).is_err());
        added(&folder.path().join("new")).unwrap();
    }
}
