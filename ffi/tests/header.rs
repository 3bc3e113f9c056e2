//! `include/fencehold.h` is what cbindgen makes of this crate.
//!
//! `FENCEHOLD_BLESS=1 cargo test -p fencehold-ffi --test header` rewrites it.

use std::path::Path;

fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let version = env!("CARGO_PKG_VERSION");
    let part = |text: &str| text.parse::<u32>().expect("a number");
    let (major, minor, patch) = (
        part(env!("CARGO_PKG_VERSION_MAJOR")),
        part(env!("CARGO_PKG_VERSION_MINOR")),
        part(env!("CARGO_PKG_VERSION_PATCH")),
    );
    let number = major * 1_000_000 + minor * 1_000 + patch;
    let macros = config.after_includes.take().expect("macros");
    config.after_includes = Some(
        macros
            .replace("@MAJOR@", &major.to_string())
            .replace("@MINOR@", &minor.to_string())
            .replace("@PATCH@", &patch.to_string())
            .replace("@VERSION@", version)
            .replace("@NUMBER@", &number.to_string()),
    );
    let mut builder = cbindgen::Builder::new().with_config(config);
    // Not lib.rs: it would bring in all of them a second time.
    for noun in ["status", "text", "log", "error", "info", "client", "cancel", "lock", "txn", "kv"] {
        builder = builder.with_src(root.join(format!("src/{noun}.rs")));
    }
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("text")
}

#[test]
fn the_header_is_what_the_source_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/fencehold.h");
    let now = generated();
    if std::env::var_os("FENCEHOLD_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("include/");
        std::fs::write(&path, &now).expect("fencehold.h");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == now,
        "include/fencehold.h is not what the source says; FENCEHOLD_BLESS=1 cargo test -p fencehold-ffi --test header"
    );
}
