//! The actor of the commands of this process. See [`Actor`](crate::Actor).

use crate::table::Actor;

/// The actor of a table on this machine: the real user and the process.
pub(super) fn of_process() -> Actor {
    #[cfg(target_os = "linux")]
    let principal = super::real_user();
    // Only tables of one process exist here, and one process is one principal.
    #[cfg(not(target_os = "linux"))]
    let principal = 0;
    Actor { principal, process: std::process::id() }
}

/// The principal of a process in a cluster: one number for each pair of node and etcd user. Never
/// 0, which is the principal that may transfer all leases.
#[cfg(feature = "cluster")]
pub(super) fn cluster_principal(node: &str, user: Option<&str>) -> u32 {
    // FNV-1a: the same number in every build and on every machine.
    let bytes = node.bytes().chain([0]).chain(user.unwrap_or_default().bytes());
    let hash = bytes
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.max(1)
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::cluster_principal;

    #[test]
    fn principals_differ_by_node_and_by_user() {
        let principal = cluster_principal("node1", Some("ann"));
        assert_eq!(cluster_principal("node1", Some("ann")), principal);
        for (node, user) in [("node2", Some("ann")), ("node1", Some("bob")), ("node1", None)] {
            assert_ne!(cluster_principal(node, user), principal, "{node} {user:?}");
        }
    }
}
