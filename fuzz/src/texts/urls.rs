//! Where a table is.

use ternlease::{LeaseManager, Limits, Options};

use crate::config::{Config, without_password};

/// What begins with `etcd:`. No secret is in any text.
pub fn etcd(text: &str) {
    let url = if text.starts_with("etcd:") { text.to_owned() } else { format!("etcd://{text}") };
    let shown = without_password(&url);
    match Config::parse(&url) {
        Ok(config) => {
            assert!(!config.endpoints.is_empty() && !config.name.is_empty());
            for endpoint in &config.endpoints {
                let port = endpoint.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                assert!(port.is_some_and(|port| port != 0), "{endpoint}");
            }
            if let Some(login) = &config.login {
                let secret = login.password.reveal();
                let before_the_servers = shown.rsplit_once('@').map_or("", |(before, _)| before);
                let told = format!("{login:?} {before_the_servers}");
                // Short ones may be part of something else.
                let is_known = secret.len() < 4 || login.user.contains(secret);
                assert!(is_known || !told.contains(secret), "{told}");
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

/// Any. Only tables of this process are made: others would leave files behind.
pub fn any(text: &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let rest = text.strip_prefix("host:");
    if rest.is_some_and(|rest| rest.starts_with('/') || rest.chars().all(is_name)) {
        return;
    }
    let limits = Limits { leases: 4, tickets: 4, resources: 4, history: 4 };
    match LeaseManager::open_with(text, Options::real().limits(limits)) {
        Ok(_) => assert_eq!(text, "process:"),
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}
