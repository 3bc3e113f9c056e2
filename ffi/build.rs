//! Names the shared library for the dynamic linker, and makes it small.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The number is the ABI's: it rises when a program built for an older header can no longer run.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfencehold.so.0");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
        // A host that unloads its plugins must not take the code away from under our threads and fork handlers.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    if links_with_lld() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}

/// Whether the linker is the toolchain's own, as it is by default on this one target: it can fold functions that came out
/// the same, a twentieth of the library.
fn links_with_lld() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).as_deref() == Ok(value);
    is("TARGET", "x86_64-unknown-linux-gnu")
        && std::env::var_os("RUSTC_LINKER").is_none()
        && std::env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| !flags.contains("link"))
}
