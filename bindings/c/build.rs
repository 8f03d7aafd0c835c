//! Gives the shared library its name, and makes it stay loaded.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let number = |part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
        // Before 1.0 each minor version may break what was there before.
        let version = match number("MAJOR").as_str() {
            "0" => format!("0.{}", number("MINOR")),
            major => major.to_owned(),
        };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libternlease.so.{version}");
        // Threads may still be inside, or have values of thread-local variables to drop, when a program calls dlclose.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
