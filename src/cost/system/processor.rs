//! What the processor is.

use std::fs;
use std::path::Path;

use super::{Roots, line};

/// The processor, and what distinguishes it from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cost) struct Processor {
    pub cores_physical: u32,
    pub cores_logical: u32,
    /// Threads that this process may run at one time: fewer, if it is bound to some or has only a share.
    pub cores_usable: u32,
    pub mhz: u32,
    pub name: String,
    /// The largest cache, in bytes; 0 if nobody says.
    pub cache: u64,
    /// All that its rates depend on, in words.
    pub identity: String,
}

pub(super) fn read(roots: &Roots) -> Processor {
    let mut system = sysinfo::System::new();
    system.refresh_cpu_frequency();
    let first = system.cpus().first();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let logical = count(system.cpus().len());
    Processor {
        cores_physical: sysinfo::System::physical_core_count().map_or(logical, count),
        cores_logical: logical,
        cores_usable: std::thread::available_parallelism().map_or(1, |n| count(n.get())),
        mhz: first.map_or(0, |cpu| u32::try_from(cpu.frequency()).unwrap_or(0)),
        name: first.map_or_else(String::new, |cpu| cpu.brand().trim().to_owned()),
        cache: largest_cache(&roots.sys),
        identity: identity(&roots.proc),
    }
}

fn largest_cache(sys: &Path) -> u64 {
    let caches = fs::read_dir(sys.join("devices/system/cpu/cpu0/cache"));
    let size = |path: &Path| -> Option<u64> {
        let text = line(&path.join("size"))?;
        match text.strip_suffix('M') {
            Some(mebibytes) => mebibytes.parse::<u64>().ok()?.checked_mul(1 << 20),
            None => text.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1 << 10),
        }
    };
    let sizes = caches.into_iter().flatten().flatten().filter_map(|entry| size(&entry.path()));
    sizes.max().unwrap_or(0)
}

/// What the first processor says of itself, but for what changes while it runs; and the kernel.
fn identity(proc: &Path) -> String {
    const LASTING: [&str; 7] =
        ["vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags"];
    let text = fs::read_to_string(proc.join("cpuinfo")).unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    let mut identity: String = first
        .lines()
        .filter(|line| line.split_once(':').is_some_and(|(key, _)| LASTING.contains(&key.trim())))
        .map(|line| format!("{line}\n"))
        .collect();
    identity.push_str(&line(&proc.join("sys/kernel/osrelease")).unwrap_or_default());
    identity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::Files;

    #[test]
    fn what_changes_while_it_runs_is_no_part_of_its_identity() {
        let files = Files::new("cpuinfo");
        let first =
            "processor\t: 0\nvendor_id\t: X\nmodel\t: 1\ncpu MHz\t: 2000\nflags\t: fpu avx2\n";
        files.write("proc/cpuinfo", &format!("{first}\nprocessor\t: 1\nmodel\t: 9\n"));
        files.write("proc/sys/kernel/osrelease", "6.1.0\n");
        let proc = files.root().join("proc");
        let before = identity(&proc);
        assert!(before.contains("avx2") && before.ends_with("6.1.0"));
        assert!(!before.contains("MHz") && !before.contains("model\t: 9"), "{before}");
        files.write("proc/cpuinfo", &first.replace("2000", "3000"));
        assert_eq!(identity(&proc), before);
    }

    #[test]
    fn the_largest_cache_is_found() {
        let files = Files::new("caches");
        assert_eq!(largest_cache(files.root()), 0);
        for (index, size) in ["32K", "1024K", "32M", "?"].iter().enumerate() {
            files.write(&format!("devices/system/cpu/cpu0/cache/index{index}/size"), size);
        }
        assert_eq!(largest_cache(files.root()), 32 << 20);
    }
}
