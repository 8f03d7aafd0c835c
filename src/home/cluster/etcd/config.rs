//! What a URL says about a cluster: which servers, which name, who one is, and how long to wait.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A password that a URL does not have to contain.
const PASSWORD_VARIABLE: &str = "TERNLEASE_ETCD_PASSWORD";

/// Where etcd listens, if nothing else is said.
const USUAL_PORT: u16 = 2379;

/// Everything that the engine needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// `host:port` of each server, in the order of the URL.
    pub endpoints: Vec<String>,
    /// What is shared, among all that is in the cluster.
    pub name: String,
    pub login: Option<Login>,
    pub tls: Option<Tls>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long a process is taken to live after it was last heard of.
    pub session_ttl: Duration,
    /// A member of its own, also if another home of this process has one.
    pub own_member: bool,
}

/// Who one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub user: String,
    pub password: Secret,
}

/// How connections are protected. Files are read when the engine connects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// Whom to trust; those whom the system trusts, if nothing is said.
    pub ca: Option<PathBuf>,
    /// Who one is, and the proof of it.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the certificate of the servers, if it is not the one in the URL.
    pub server_name: Option<String>,
}

/// Text that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What is wrong with a URL. Words of ours only: any part of the URL might turn out to be a piece of a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfigError(pub &'static str);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads `etcd://[user[:password]@]host[:port][,host[:port]...]/NAME[?key=value[&key=value...]]`.
    pub fn parse(url: &str) -> Result<Config, ConfigError> {
        Self::parse_with(url, std::env::var(PASSWORD_VARIABLE).ok())
    }

    /// As [`Self::parse`], with the password that the environment has.
    fn parse_with(url: &str, kept_password: Option<String>) -> Result<Config, ConfigError> {
        let rest = url.strip_prefix("etcd://").ok_or(ConfigError("it begins with `etcd://`"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, name) = rest.split_once('/').ok_or(ConfigError(
            "a name is missing after the servers, as in `etcd://host:2379/NAME`; `/`, `?` and `@` in a password are written as %2F, %3F and %40",
        ))?;
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(Login::parse(login, kept_password)?), hosts),
            None => (None, authority),
        };
        let mut config = Config {
            endpoints: hosts.split(',').map(endpoint).collect::<Result<_, _>>()?,
            name: checked_name(name)?,
            login,
            tls: None,
            timeout: Duration::from_secs(5),
            session_ttl: Duration::from_secs(60),
            own_member: false,
        };
        config.take_query(query)?;
        Ok(config)
    }

    fn take_query(&mut self, query: &str) -> Result<(), ConfigError> {
        let mut given = Vec::new();
        let mut tls: Option<Tls> = None;
        let (mut certificate, mut key) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (word, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decoded(value)?;
            match word {
                "session_ttl" => self.session_ttl = seconds(&value)?,
                "timeout" => self.timeout = seconds(&value)?,
                "member" if value == "own" => self.own_member = true,
                "member" => return Err(ConfigError("`member` can only be `own`")),
                "tls" if value == "1" => drop(tls.get_or_insert_default()),
                "tls" => return Err(ConfigError("`tls` can only be 1")),
                "ca" => tls.get_or_insert_default().ca = Some(path(&value)?),
                "cert" => certificate = Some(path(&value)?),
                "key" => key = Some(path(&value)?),
                "server_name" if value.is_empty() => {
                    return Err(ConfigError("`server_name` is empty"));
                }
                "server_name" => tls.get_or_insert_default().server_name = Some(value),
                _ => {
                    return Err(ConfigError(
                        "after `?` it takes `session_ttl`, `timeout`, `member`, `tls`, `ca`, `cert`, `key` and `server_name`",
                    ));
                }
            }
            if given.contains(&word) {
                return Err(ConfigError("something is said twice after `?`"));
            }
            given.push(word);
        }
        match (certificate, key) {
            (None, None) => {}
            (Some(certificate), Some(key)) => {
                tls.get_or_insert_default().identity = Some((certificate, key));
            }
            _ => return Err(ConfigError("`cert` and `key` go together")),
        }
        self.tls = tls;
        Ok(())
    }
}

impl Login {
    fn parse(text: &str, kept_password: Option<String>) -> Result<Login, ConfigError> {
        let (user, password) = match text.split_once(':') {
            Some((user, password)) => (user, Some(percent_decoded(password)?)),
            None => (text, kept_password),
        };
        let user = percent_decoded(user)?;
        let missing = ConfigError(
            "a user needs a password, in the URL or in the environment variable TERNLEASE_ETCD_PASSWORD",
        );
        match password.filter(|password| !password.is_empty()) {
            _ if user.is_empty() => Err(ConfigError("a user is missing before `@`")),
            Some(password) => Ok(Login { user, password: Secret(password) }),
            None => Err(missing),
        }
    }
}

/// A URL that can be shown: its password is not in it.
pub(crate) fn without_password(url: &str) -> String {
    // Whatever may be part of a password that is not well written is left out.
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            let (login, rest) = (&url[scheme + 3..at], &url[at..]);
            match login.split_once(':') {
                Some((user, _)) => format!("{}{user}:…{rest}", &url[..scheme + 3]),
                None => url.to_owned(),
            }
        }
        _ => url.to_owned(),
    }
}

fn endpoint(text: &str) -> Result<String, ConfigError> {
    const WRONG: ConfigError = ConfigError(
        "servers are given as `host:port`, with commas between them; an address of IPv6 is in brackets",
    );
    let inside = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let (host, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((address, rest)) if address.parse::<std::net::Ipv6Addr>().is_ok() => {
            (format!("[{address}]"), rest)
        }
        Some(_) => return Err(WRONG),
        None => {
            let end = text.find(':').unwrap_or(text.len());
            (text[..end].to_owned(), &text[end..])
        }
    };
    if host.is_empty() || !host.starts_with('[') && !host.chars().all(inside) {
        return Err(WRONG);
    }
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => USUAL_PORT,
        Some(port) => port.parse().ok().filter(|&port| port != 0).ok_or(WRONG)?,
        None => return Err(WRONG),
    };
    Ok(format!("{host}:{port}"))
}

fn checked_name(name: &str) -> Result<String, ConfigError> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match name.len() {
        1..=128 if name.chars().all(inside) => Ok(name.to_owned()),
        _ => Err(ConfigError("a name has 1 to 128 letters, digits, `-`, `.` or `_`")),
    }
}

fn seconds(text: &str) -> Result<Duration, ConfigError> {
    match text.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err(ConfigError("a time is a whole number of seconds, 1 to 86400")),
    }
}

fn path(text: &str) -> Result<PathBuf, ConfigError> {
    match text.is_empty() {
        true => Err(ConfigError("the path of a file is empty")),
        false => Ok(text.into()),
    }
}

fn percent_decoded(text: &str) -> Result<String, ConfigError> {
    const WRONG: ConfigError = ConfigError("`%` is followed by two hexadecimal digits");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| (digit as char).to_digit(16)).ok_or(WRONG);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(bytes).map_err(|_| ConfigError("what `%` stands for is not UTF-8"))
}

#[cfg(test)]
impl Config {
    /// A configuration for a test.
    pub fn of(url: &str) -> Config {
        Self::parse_with(url, None).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Config, ConfigError> {
        Config::parse_with(url, None)
    }

    #[test]
    fn the_short_form() {
        let config = parse("etcd://node1/team-a").unwrap();
        assert_eq!(config.endpoints, ["node1:2379"]);
        assert_eq!(config.name, "team-a");
        assert_eq!((config.login, config.tls), (None, None));
        assert_eq!(config.timeout, Duration::from_secs(5));
        assert_eq!(config.session_ttl, Duration::from_secs(60));
    }

    #[test]
    fn the_long_form() {
        let url = "etcd://u%40x:p%3Aw@a:1,10.0.0.1:2,[::1]:3,[fe80::1]/x?session_ttl=10&timeout=2&ca=%2Fc%20a&cert=c&key=k&server_name=n";
        let config = parse(url).unwrap();
        assert_eq!(config.endpoints, ["a:1", "10.0.0.1:2", "[::1]:3", "[fe80::1]:2379"]);
        let login = config.login.unwrap();
        assert_eq!((login.user.as_str(), login.password.reveal()), ("u@x", "p:w"));
        assert_eq!((config.timeout.as_secs(), config.session_ttl.as_secs()), (2, 10));
        let tls = Tls {
            ca: Some("/c a".into()),
            identity: Some(("c".into(), "k".into())),
            server_name: Some("n".into()),
        };
        assert_eq!(config.tls, Some(tls));
        assert_eq!(parse("etcd://a/x?tls=1").unwrap().tls, Some(Tls::default()));
    }

    #[test]
    fn a_password_may_be_in_the_environment() {
        let kept = || Some("hidden".to_owned());
        let config = Config::parse_with("etcd://u@a/x", kept()).unwrap();
        assert_eq!(config.login.unwrap().password.reveal(), "hidden");
        let config = Config::parse_with("etcd://u:given@a/x", kept()).unwrap();
        assert_eq!(config.login.unwrap().password.reveal(), "given");
        assert!(parse("etcd://u@a/x").unwrap_err().0.contains("TERNLEASE_ETCD_PASSWORD"));
        assert_eq!(Config::parse_with("etcd://a/x", kept()).unwrap().login, None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (url, word) in [
            ("http://a/x", "etcd://"),
            ("etcd://a", "name is missing"),
            ("etcd://a/", "a name has"),
            ("etcd://a/x/y", "a name has"),
            ("etcd:///x", "host:port"),
            ("etcd://a,,b/x", "host:port"),
            ("etcd://a:0/x", "host:port"),
            ("etcd://a:99999/x", "host:port"),
            ("etcd://[::1/x", "host:port"),
            ("etcd://[::1]9/x", "host:port"),
            ("etcd://a b/x", "host:port"),
            ("etcd://@a/x", "user is missing"),
            ("etcd://u:@a/x", "password"),
            ("etcd://u:%4@a/x", "hexadecimal"),
            ("etcd://u:%ff@a/x", "UTF-8"),
            ("etcd://a/x?timeout=0", "seconds"),
            ("etcd://a/x?session_ttl=1.5", "seconds"),
            ("etcd://a/x?tls=no", "`tls`"),
            ("etcd://a/x?ca=", "empty"),
            ("etcd://a/x?cert=c", "go together"),
            ("etcd://a/x?timeout=1&timeout=1", "twice"),
            ("etcd://a/x?colour=red", "it takes"),
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.0.contains(word), "{url}: {error}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let url = "etcd://u:hunter2@a/x";
        let shown = format!("{:?} {}", parse(url).unwrap(), without_password(url));
        assert!(!shown.contains("hunter") && shown.contains("etcd://u:…@a/x"), "{shown}");
        // Not even a piece of one that is not well written.
        for url in [
            "etcd://u:hunter/hunter@a/x",
            "etcd://u:hunter?hunter@a/x",
            "etcd://u:hunter@hunter@a/x",
            "etcd://u:hunter,hunter@a:b/x",
            "etcd://u:hunter%zz@a/x",
            "etcd://u:hunter2@a/x?hunter=hunter",
        ] {
            let error = parse(url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!error.contains("hunter"), "{error}");
            let shown = without_password(url).replace("?hunter=hunter", "");
            assert!(!shown.contains("hunter"), "{shown}");
        }
        assert_eq!(without_password("etcd://u@a/x"), "etcd://u@a/x");
        assert_eq!(without_password("process:"), "process:");
    }
}
