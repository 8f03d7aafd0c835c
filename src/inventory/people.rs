//! Whose a process is: for words to people, never to decide anything by.

use std::fs;
use std::path::PathBuf;

/// Who runs what on this machine.
#[derive(Debug)]
pub(crate) struct People {
    proc: PathBuf,
    passwd: PathBuf,
}

impl People {
    pub fn of_this_machine() -> Self {
        Self::at("/proc".into(), "/etc/passwd".into())
    }

    /// As files say that are like those.
    pub fn at(proc: PathBuf, passwd: PathBuf) -> Self {
        People { proc, passwd }
    }

    /// Whose process it is, and its program; each where that can be seen.
    ///
    /// Drivers count pids outside of all containers. Inside of one, that pid is another process or none, so that nothing is said of it.
    pub fn of(&self, pid: u32) -> (Option<String>, Option<String>) {
        if self.is_inside_a_container() {
            return (None, None);
        }
        let place = self.proc.join(pid.to_string());
        let user = fs::read_to_string(place.join("status")).ok().and_then(|status| {
            let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            let id = ids.split_ascii_whitespace().next()?;
            Some(self.name_of(id).unwrap_or_else(|| id.to_owned()))
        });
        let command = fs::read(place.join("comm")).ok().map(|name| {
            let name = String::from_utf8_lossy(&name);
            name.trim_end_matches('\n').to_owned()
        });
        (user, command.filter(|name| !name.is_empty()))
    }

    fn is_inside_a_container(&self) -> bool {
        // The number that the kernel gives to the first name space of pids.
        const FIRST: &str = "pid:[4026531836]";
        fs::read_link(self.proc.join("self/ns/pid")).is_ok_and(|name| name.as_os_str() != FIRST)
    }

    fn name_of(&self, id: &str) -> Option<String> {
        let people = fs::read(&self.passwd).ok()?;
        String::from_utf8_lossy(&people).lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)? == id && !name.is_empty()).then(|| name.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A directory of its own, gone at the end.
    struct Files(PathBuf);

    impl Files {
        fn new(name: &str) -> Self {
            let place = format!("ternlease-process-{}-{name}", std::process::id());
            let files = Files(std::env::temp_dir().join(place));
            files.write(
                "passwd",
                "root:x:0:0::/root:/bin/sh\nbroken line\nalice:x:1001:1001::/:/bin/sh\n",
            );
            files
        }

        fn write(&self, file: &str, text: impl AsRef<[u8]>) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn people(&self) -> People {
            People::at(self.0.clone(), self.0.join("passwd"))
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn names_user_and_program() {
        let files = Files::new("names");
        files.write("42/status", "Name:\tpython\nUid:\t1001\t0\t0\t0\nGid:\t5\t5\t5\t5\n");
        files.write("42/comm", "python3\n");
        assert_eq!(files.people().of(42), (some("alice"), some("python3")));
    }

    #[test]
    fn a_user_without_a_name_is_a_number() {
        let files = Files::new("number");
        files.write("42/status", "Uid:\t777\t777\t777\t777\n");
        assert_eq!(files.people().of(42), (some("777"), None));
    }

    #[test]
    fn what_cannot_be_seen_is_unknown() {
        let files = Files::new("unknown");
        files.write("42/status", "nothing of use\n");
        files.write("42/comm", "\n");
        assert_eq!(files.people().of(42), (None, None));
        assert_eq!(files.people().of(43), (None, None));
        let nowhere = People::at("/no/such/place".into(), "/no/such/file".into());
        assert_eq!(nowhere.of(1), (None, None));
    }

    #[test]
    fn odd_bytes_do_no_harm() {
        let files = Files::new("bytes");
        files.write("passwd", b"\xff:x:7:\n::\n");
        files.write("42/status", "Uid:\t7\n");
        files.write("42/comm", b"a\xffb\n");
        assert_eq!(files.people().of(42), (some("\u{fffd}"), some("a\u{fffd}b")));
    }

    #[cfg(unix)]
    #[test]
    fn inside_a_container_a_pid_names_nobody() {
        let files = Files::new("container");
        files.write("42/status", "Uid:\t1001\n");
        fs::create_dir_all(files.0.join("self/ns")).unwrap();
        let link = files.0.join("self/ns/pid");
        std::os::unix::fs::symlink(Path::new("pid:[4026531836]"), &link).unwrap();
        assert_eq!(files.people().of(42).0, some("alice"));
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(Path::new("pid:[4026532001]"), &link).unwrap();
        assert_eq!(files.people().of(42), (None, None));
    }
}
