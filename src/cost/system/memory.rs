//! How much memory this process may use: what the machine has, and what the groups that it is in allow.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Roots, line, number};

/// Memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cost) struct Memory {
    pub total: u64,
    pub available: u64,
}

pub(super) fn read(roots: &Roots) -> Memory {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let machine = Memory { total: system.total_memory(), available: system.available_memory() };
    limited(machine, roots)
}

/// The least that the machine or any group around this process leaves.
fn limited(machine: Memory, roots: &Roots) -> Memory {
    groups(roots).into_iter().filter_map(|group| group.left()).fold(machine, |least, group| {
        Memory {
            total: least.total.min(group.total),
            available: least.available.min(group.available),
        }
    })
}

/// A group of processes with a limit, in one of the two ways in which kernels tell of it.
struct Group {
    directory: PathBuf,
    names: [&'static str; 3],
}

/// Limit, use, and what of the use can be taken back at once.
const OLD: [&str; 3] = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
const NEW: [&str; 3] = ["memory.max", "memory.current", "inactive_file"];

impl Group {
    fn left(&self) -> Option<Memory> {
        let [limit, used, inactive] = self.names;
        // `max`, in which there is no number, is no limit.
        let total: u64 = number(&self.directory.join(limit))?;
        let used: u64 = number(&self.directory.join(used)).unwrap_or(0);
        let statistics = line(&self.directory.join("memory.stat")).unwrap_or_default();
        let taken_back = statistics
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(name, _)| *name == inactive)
            .and_then(|(_, bytes)| bytes.parse().ok())
            .unwrap_or(0);
        let available = total.saturating_sub(used.saturating_sub(taken_back));
        Some(Memory { total, available })
    }
}

/// The groups that this process is in, each with all around it.
fn groups(roots: &Roots) -> Vec<Group> {
    let mounted = roots.sys.join("fs/cgroup");
    let text = fs::read_to_string(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (root, names) = match controllers {
            "" if mounted.join("unified").is_dir() => (mounted.join("unified"), NEW),
            "" => (mounted.clone(), NEW),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mounted.join("memory"), OLD)
            }
            _ => continue,
        };
        let within = Path::new(path.trim_start_matches('/'));
        // In a container the path may be one of outside; the root is there always.
        for ancestor in within.ancestors() {
            found.push(Group { directory: root.join(ancestor), names });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::Files;

    const MACHINE: Memory = Memory { total: 16_000, available: 12_000 };

    #[test]
    fn the_tightest_group_counts_in_the_new_way() {
        let files = Files::new("cgroup2");
        let roots = files.roots();
        assert_eq!(limited(MACHINE, &roots), MACHINE, "no groups at all");
        files.write("proc/self/cgroup", "0::/a/b\n");
        files.write("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(limited(MACHINE, &roots), MACHINE, "a group without a limit");
        files.write("sys/fs/cgroup/a/memory.max", "5000\n");
        files.write("sys/fs/cgroup/a/memory.current", "4000\n");
        files.write("sys/fs/cgroup/a/memory.stat", "anon 1000\ninactive_file 2500\nfile 9\n");
        assert_eq!(limited(MACHINE, &roots), Memory { total: 5000, available: 3500 });
        files.write("sys/fs/cgroup/a/b/memory.max", "2000\n");
        files.write("sys/fs/cgroup/a/b/memory.current", "2500\n");
        assert_eq!(limited(MACHINE, &roots), Memory { total: 2000, available: 0 });
    }

    #[test]
    fn the_old_way_and_paths_of_outside_are_understood() {
        let files = Files::new("cgroup1");
        files.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/outside/of/here\n0::/\n");
        files.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");
        files.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
        files.write(
            "sys/fs/cgroup/memory/memory.stat",
            "inactive_file 1\ntotal_inactive_file 400\n",
        );
        let expected = Memory { total: 3000, available: 2400 };
        assert_eq!(limited(MACHINE, &files.roots()), expected);
        files.write("proc/self/cgroup", "nonsense\n::::\n");
        assert_eq!(limited(MACHINE, &files.roots()), MACHINE);
    }
}
