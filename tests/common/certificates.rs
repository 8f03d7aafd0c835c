//! Certificates for tests, made by openssl.
#![allow(dead_code)] // Not every test needs all of it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// An authority, and what it has certified: `server.pem` with `server.key` for `server.test`, and `client.pem` with `client.key`. All goes with it.
pub struct Authority(PathBuf);

impl Authority {
    /// `None`, and a line that says why, if there is no openssl here.
    pub fn new() -> Option<Authority> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if Command::new("openssl").arg("version").output().is_err() {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "openssl is missing");
            println!("skipped: openssl, which makes certificates, is missing");
            return None;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tern-authority-{}-{count}", std::process::id());
        let authority = Authority(std::env::temp_dir().join(name));
        let _ = std::fs::remove_dir_all(&authority.0);
        std::fs::create_dir_all(&authority.0).unwrap();
        authority.run(&["req", "-x509", "-subj", "/CN=authority"], "ca", "ca.pem");
        for (name, uses) in [("server", "serverAuth,clientAuth"), ("client", "clientAuth")] {
            let text = format!("subjectAltName=DNS:{name}.test\nextendedKeyUsage={uses}\n");
            std::fs::write(authority.file("extensions"), text).unwrap();
            authority.run(&["req", "-subj", &format!("/CN={name}")], name, "request");
            authority.openssl(&[
                &["x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key"][..],
                &["-CAcreateserial", "-extfile", "extensions", "-out", &format!("{name}.pem")],
            ]);
        }
        Some(authority)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a new key with this name, and what is asked for with it.
    fn run(&self, words: &[&str], key: &str, out: &str) {
        let key = format!("{key}.key");
        let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        self.openssl(&[words, &["-keyout", &key, "-out", out], &new_key]);
    }

    fn openssl(&self, words: &[&[&str]]) {
        let output = Command::new("openssl").args(words.concat()).current_dir(&self.0).output();
        let output = output.expect("openssl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
