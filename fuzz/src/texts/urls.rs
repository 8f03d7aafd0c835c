//! Where a table is.

use ternlease::{LeaseManager, Limits, Options};

use crate::config::{Config, without_password};

/// What begins with `etcd:`. No secret is in any text.
pub fn etcd(text: &str) {
    let url = if text.starts_with("etcd:") { text.to_owned() } else { format!("etcd://{text}") };
    match Config::parse(&url) {
        Ok(config) => {
            assert!(!config.endpoints.is_empty() && !config.name.is_empty());
            for endpoint in &config.endpoints {
                let port = endpoint.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                assert!(port.is_some_and(|port| port != 0), "{endpoint}");
            }
            if config.login.is_some() {
                // Whatever the password is, the same is told.
                let rest = &url["etcd://".len()..];
                let (authority, name) = rest.split_once('/').expect("a name");
                let (login, servers) = authority.rsplit_once('@').expect("a login");
                let (user, _) = login.split_once(':').expect("a password");
                let other = format!("etcd://{user}:another%20one@{servers}/{name}");
                let told = format!("{:?} {}", config.login, without_password(&url));
                let told_of_other = format!(
                    "{:?} {}",
                    Config::parse(&other).expect("well written").login,
                    without_password(&other)
                );
                assert_eq!(told, told_of_other);
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

/// Any. Only tables of this process are made: others would leave files behind.
pub fn any(text: &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let rest = text.strip_prefix("host:");
    // Without a URL the pool of the machine is opened.
    if text.is_empty()
        || rest.is_some_and(|rest| rest.starts_with('/') || rest.chars().all(is_name))
    {
        return;
    }
    let limits = Limits { leases: 4, tickets: 4, resources: 4, history: 4 };
    match LeaseManager::open_with(text, Options::real().limits(limits)) {
        Ok(_) => assert_eq!(text, "process:"),
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}
