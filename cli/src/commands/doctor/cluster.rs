//! The etcd of a pool that machines share, and the log that it stores.

use std::time::Duration;

use ternlease::{ClusterInfo, Error};

use super::finding::Finding;
use crate::text::units::duration;
use crate::view::words::count;

/// A read that takes longer is slow: each command takes at least one such request.
const SLOW: Duration = Duration::from_millis(100);
/// Clocks that differ by more are not set by a time service.
const SKEW: Duration = Duration::from_secs(1);
/// etcd that compacts every 10 minutes keeps fewer revisions under any load.
const MANY_REVISIONS: u64 = 1_000_000;
/// A snapshot is written after some hundred entries.
const LONG_LOG: u64 = 10_000;

/// Everything about etcd and the log.
pub fn examine(info: Result<ClusterInfo, Error>) -> Vec<Finding> {
    let info = match info {
        Ok(info) => info,
        Err(error) => {
            let next = "see the log of etcd, and `etcdctl endpoint health`";
            return vec![Finding::bad("etcd", format!("etcd does not answer: {error}"), next)];
        }
    };
    let mut findings = vec![answer(&info)];
    findings.extend(info.etcd_problems.iter().map(|problem| wrong(problem)));
    findings.extend([size(&info), revisions(&info), clocks(&info), log(&info)]);
    let words = format!("{} of the pool", count(info.processes as usize, "session"));
    findings.push(Finding::ok("sessions", words));
    findings
}

fn answer(info: &ClusterInfo) -> Finding {
    let millis = info.read_time.as_secs_f64() * 1e3;
    let words = format!("etcd {} answers a read in {millis:.1} ms", info.etcd_version);
    match info.read_time > SLOW {
        true => {
            Finding::warn("etcd", words, "check its disks (`etcdctl check perf`) and the network")
        }
        false => Finding::ok("etcd", words),
    }
}

fn wrong(problem: &str) -> Finding {
    let next = match problem.contains("NOSPACE") {
        true => "compact, `etcdctl defrag`, then `etcdctl alarm disarm`",
        false => "see the log of etcd",
    };
    Finding::bad("etcd", format!("etcd reports: {problem}"), next)
}

fn size(info: &ClusterInfo) -> Finding {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let size = format!("the database of etcd has {:.1} MB", megabytes(info.database_bytes));
    let Some(quota) = info.database_quota_bytes else { return Finding::ok("size", size) };
    let words = format!("{size} of at most {:.1} MB", megabytes(quota));
    match info.database_bytes > quota / 5 * 4 {
        true => Finding::warn(
            "size",
            words,
            "at the limit etcd accepts no writes: compact, then `etcdctl defrag`, or raise \
             --quota-backend-bytes",
        ),
        false => Finding::ok("size", words),
    }
}

fn revisions(info: &ClusterInfo) -> Finding {
    let words = format!("etcd keeps {}", count(info.revisions as usize, "revision"));
    match info.revisions > MANY_REVISIONS {
        true => Finding::warn(
            "revisions",
            format!("{words}: it may not compact by itself"),
            "start etcd with --auto-compaction-mode periodic --auto-compaction-retention 10m",
        ),
        false => Finding::ok("revisions", words),
    }
}

fn clocks(info: &ClusterInfo) -> Finding {
    match info.clock_difference {
        difference if difference > SKEW => Finding::warn(
            "clocks",
            format!("the clocks of machines differ by at least {}", duration(difference)),
            "let a time service (NTP) set the clocks of all machines",
        ),
        _ => Finding::ok("clocks", "no difference between the clocks of machines is seen"),
    }
}

fn log(info: &ClusterInfo) -> Finding {
    let words = format!(
        "entries of the log: {} so far, {} after the snapshot, {} stored",
        info.entries, info.entries_since_snapshot, info.stored_entries
    );
    match info.stored_entries.max(info.entries_since_snapshot) > LONG_LOG {
        true => Finding::warn(
            "log",
            format!("{words}: no process truncates the log"),
            "see the rights of its users in etcd, and the etcd findings above",
        ),
        false => Finding::ok("log", words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Level;

    fn levels(change: impl FnOnce(&mut ClusterInfo)) -> Vec<(&'static str, Level)> {
        let mut info = ClusterInfo::default();
        info.database_quota_bytes = Some(1000);
        change(&mut info);
        let findings = examine(Ok(info)).into_iter();
        let found = findings.filter(|finding| finding.level != Level::Ok);
        found.map(|finding| (finding.topic, finding.level)).collect()
    }

    #[test]
    fn each_limit_has_a_finding() {
        assert_eq!(levels(|_| {}), []);
        assert_eq!(levels(|info| info.read_time = SLOW * 2), [("etcd", Level::Warn)]);
        assert_eq!(levels(|info| info.database_bytes = 801), [("size", Level::Warn)]);
        assert_eq!(levels(|info| info.revisions = 2_000_000), [("revisions", Level::Warn)]);
        assert_eq!(levels(|info| info.clock_difference = SKEW * 2), [("clocks", Level::Warn)]);
        assert_eq!(levels(|info| info.stored_entries = 20_000), [("log", Level::Warn)]);
        let alarm = "memberID:1 alarm:NOSPACE ".to_owned();
        assert_eq!(levels(|info| info.etcd_problems.push(alarm)), [("etcd", Level::Bad)]);
        assert_eq!(examine(Err(Error::Unavailable))[0].level, Level::Bad);
    }
}
