//! Servers that ask who one is: by password and by certificate.

use std::path::PathBuf;
use std::process::Command;

use super::servers::Certificates;
use super::*;

/// Calls by which users and their rights are made.
macro_rules! administration {
    ($($name:ident { $($field:ident: $type:ty = $kind:tt $tag:literal),* }, $path:literal;)*) => {
        $(#[derive(Clone, PartialEq, Message)]
        struct $name {
            $(#[prost($kind, tag = $tag)] $field: $type,)*
        }
        impl Call for $name {
            type Answer = Nothing;
            const PATH: &'static str = concat!("/etcdserverpb.Auth/", $path);
        })*
    };
}

administration! {
    UserAdd { name: String = string "1", password: String = string "2" }, "UserAdd";
    UserGrantRole { user: String = string "1", role: String = string "2" }, "UserGrantRole";
    RoleAdd { name: String = string "1" }, "RoleAdd";
    AuthEnable {}, "AuthEnable";
}

#[derive(Clone, PartialEq, Message)]
struct RoleGrantPermission {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    permission: Option<Permission>,
}

#[derive(Clone, PartialEq, Message)]
struct Permission {
    /// 2: to read and to write.
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    range_end: Vec<u8>,
}

impl Call for RoleGrantPermission {
    type Answer = Nothing;
    const PATH: &'static str = "/etcdserverpb.Auth/RoleGrantPermission";
}

/// Lets nobody in but `root`, and `worker` to keys that begin with `own/`.
fn lock_up(engine: &Engine) {
    for (user, role) in [("root", "root"), ("worker", "work")] {
        let password = format!("{user}-secret");
        call(engine, UserAdd { name: user.into(), password }).unwrap();
        call(engine, RoleAdd { name: role.into() }).unwrap();
        call(engine, UserGrantRole { user: user.into(), role: role.into() }).unwrap();
    }
    let (key, range_end) = Keys::Prefix(b"own/".to_vec()).bounds();
    let permission = Some(Permission { kind: 2, key, range_end });
    call(engine, RoleGrantPermission { name: "work".into(), permission }).unwrap();
    call(engine, AuthEnable {}).unwrap();
}

#[test]
fn a_password_opens_everything_that_it_should() {
    let Some(mut etcd) = Etcd::start() else { return };
    let before = engine_of(&etcd);
    lock_up(&before);
    let outcome = before.txn(always(vec![put("own/a", "1")]), LONG);
    assert!(matches!(outcome, Err(EngineError::Unauthenticated(_))), "{outcome:?}");

    let url = |login: &str| format!("etcd://{login}@{}/test?timeout=10", etcd.authority());
    for wrong in ["worker:wrong-secret", "nobody:worker-secret"] {
        let error = Engine::connect(&Config::of(&url(wrong))).unwrap_err();
        assert!(matches!(error, EngineError::Unauthenticated(_)), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }

    let engine = Engine::connect(&Config::of(&url("worker:worker-secret"))).unwrap();
    assert!(!format!("{engine:?}").contains("secret"));
    let (tell, changes) = listening();
    let _watch = engine.watch(Keys::Prefix(b"own/".to_vec()), 1, tell).unwrap();
    let (tell, session_news) = listening();
    let session = engine.session(Duration::from_secs(3), tell).unwrap();
    let key = b"own/held".to_vec();
    let held = Op::Put { key, value: vec![], lease: session.id(), previous: false };
    engine.txn(always(vec![put("own/a", "1"), held]), LONG).unwrap();
    assert!(matches!(next(&changes), WatchEvent::Changed { .. }));
    let outcome = engine.txn(always(vec![put("other/a", "1")]), LONG);
    assert!(matches!(outcome, Err(EngineError::Unauthenticated(_))), "{outcome:?}");

    // A server that starts again has forgotten to whom it gave tokens.
    etcd.restart(0);
    until("a transaction is done", || engine.txn(always(vec![put("own/a", "2")]), LONG).ok());
    loop {
        match next(&changes) {
            WatchEvent::Changed { .. } => break,
            WatchEvent::Lost { .. } | WatchEvent::Back => {}
            other => panic!("{other:?}"),
        }
    }
    let renewed = session.deadline() + 3_000_000;
    until("the session is kept", || Some(()).filter(|()| session.deadline() > renewed));
    assert!(session_news.try_iter().all(|news| news != SessionNews::Lost));
    session.revoke().unwrap();
}

#[test]
fn a_password_that_nobody_asks_for_does_no_harm() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://worker:worker-secret@{}/test?timeout=10", etcd.authority());
    let engine = Engine::connect(&Config::of(&url)).unwrap();
    engine.txn(always(vec![put("own/a", "1")]), LONG).unwrap();
    // And is there when somebody begins to ask.
    lock_up(&engine_of(&etcd));
    engine.txn(always(vec![put("own/a", "2")]), LONG).unwrap();
}

/// An authority, and what it has certified: a server and a client.
struct Authority(PathBuf);

impl Authority {
    fn new() -> Authority {
        let name = format!("tern-certificates-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let authority = Authority(directory);
        let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let run = |words: &[&str]| {
            let output = Command::new("openssl").args(words).current_dir(&authority.0).output();
            let output = output.expect("openssl makes certificates");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        let own = ["req", "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"];
        run(&[&own[..], &new_key[..]].concat());
        for (name, uses) in [("server", "serverAuth,clientAuth"), ("client", "clientAuth")] {
            let text = format!("subjectAltName=DNS:{name}.test\nextendedKeyUsage={uses}\n");
            std::fs::write(authority.0.join("extensions"), text).unwrap();
            let (key, request, pem) =
                (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
            let subject = format!("/CN={name}");
            let ask = ["req", "-subj", &subject, "-keyout", &key, "-out", &request];
            run(&[&ask[..], &new_key[..]].concat());
            let sign = ["x509", "-req", "-in", &request, "-CA", "ca.pem", "-CAkey", "ca.key"];
            let rest = ["-CAcreateserial", "-extfile", "extensions", "-out", &pem];
            run(&[&sign[..], &rest[..]].concat());
        }
        authority
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_certificate_opens_a_protected_connection() {
    if Command::new("openssl").arg("version").output().is_err() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "openssl is missing");
        return println!("skipped: openssl, which makes certificates, is missing");
    }
    let authority = Authority::new();
    let certificates = Certificates {
        ca: authority.file("ca.pem"),
        certificate: authority.file("server.pem"),
        key: authority.file("server.key"),
    };
    let Some(etcd) = Etcd::start_with_tls(certificates) else { return };
    let file = |name: &str| authority.file(name).display().to_string();
    let connect = |query: &str| {
        let url = format!("etcd://{}/test?timeout=3{query}", etcd.authority());
        Engine::connect(&Config::of(&url))
    };
    let ca = format!("&ca={}", file("ca.pem"));
    let own = format!("&cert={}&key={}", file("client.pem"), file("client.key"));
    let engine = connect(&format!("{ca}{own}&server_name=server.test")).unwrap();
    engine.txn(always(vec![put("a", "1")]), LONG).unwrap();
    assert_eq!(get(&engine, "a").as_deref(), Some("1"));

    for (query, words) in [
        (format!("{ca}{own}"), &["certificate", "name"][..]),
        (format!("{ca}{own}&server_name=other.test"), &["certificate", "other.test"]),
        (format!("{ca}&server_name=server.test"), &[""]),
        (format!("{own}&server_name=server.test"), &["certificate"]),
        (String::new(), &[""]),
        ("&ca=/no/such/file".to_owned(), &["/no/such/file"]),
        (format!("&ca={}", file("client.key")), &[""]),
    ] {
        match connect(&query) {
            Err(EngineError::Refused(why)) => {
                assert!(words.iter().all(|word| why.contains(word)), "{query}: {why}");
            }
            other => panic!("{query}: {other:?}"),
        }
    }
}
