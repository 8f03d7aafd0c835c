//! Which versions of etcd can be relied on.

/// Why a server of this version is not used; `None` if it is.
///
/// Before 3.5.28 and 3.6.9, a server that was stopped for a while could answer with what is no longer true, and anyone could
/// revoke or renew leases of others.
pub(super) fn objection(version: &str) -> Option<String> {
    let mut numbers = version.splitn(3, '.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse::<u32>().ok()
    });
    let mut number = || numbers.next().flatten();
    let (Some(major), Some(minor), Some(patch)) = (number(), number(), number()) else {
        return Some(format!("its version, {version:?}, makes no sense"));
    };
    let least = if (major, minor) == (3, 6) { (3, 6, 9) } else { (3, 5, 28) };
    let too_old = (major, minor, patch) < least;
    too_old.then(|| format!("etcd {version} has known flaws; 3.5.28, 3.6.9 or newer is needed"))
}

#[cfg(test)]
mod tests {
    use super::objection;

    #[test]
    fn old_ones_are_refused() {
        for good in ["3.5.28", "3.5.33", "3.6.9", "3.6.16", "3.7.0", "3.7.0-rc.0", "4.0.0"] {
            assert_eq!(objection(good), None);
        }
        for bad in ["3.4.99", "3.5.27", "3.6.0", "3.6.8", "2.9.9", "", "3.6", "new"] {
            assert!(objection(bad).is_some_and(|why| why.contains(bad)), "{bad}");
        }
    }
}
