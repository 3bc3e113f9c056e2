//! Names the shared library for the dynamic linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The number is the ABI's: it rises when a program built for an older header can no longer run.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfencehold.so.0");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
        // A host that unloads its plugins must not take the code away from under our threads and fork handlers.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
