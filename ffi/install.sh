#!/usr/bin/env bash
# Builds the library in the release profile and installs it, the headers, a pkg-config file and a CMake package.
# The installed tree can be moved. DESTDIR stages it, as usual.
#
# usage: ffi/install.sh [PREFIX]      PREFIX: /usr/local if not given
set -euo pipefail
if (($# > 1)) || [[ ${1-} == -* ]]; then
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 2
fi
prefix=${1:-/usr/local}
[[ $prefix == /* ]] || prefix=$PWD/$prefix
root=${DESTDIR-}$prefix
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
abi=$(sed -n 's/.*-soname,libfencehold\.so\.\([0-9]*\).*/\1/p' ffi/build.rs)

# Small is what matters here, so all of it is optimised as one; not together with the kind that Rust programs link, for
# which cargo optimises across nothing.
cargo rustc --quiet --release --config 'profile.release.lto="fat"' --package fencehold-ffi --lib --crate-type cdylib,staticlib
built=$CARGO_TARGET_DIR/release

mkdir -p "$root/lib/pkgconfig" "$root/lib/cmake/fencehold" "$root/include/fencehold"
install -m 755 "$built/libfencehold_ffi.so" "$root/lib/libfencehold.so.$version"
strip --strip-unneeded "$root/lib/libfencehold.so.$version"
ln -sfn "libfencehold.so.$version" "$root/lib/libfencehold.so.$abi"
ln -sfn "libfencehold.so.$abi" "$root/lib/libfencehold.so"

# One object in which everything but fh_ is local: a program may have its own copy of whatever else is inside.
object=$(mktemp -d)
trap 'rm -rf "$object"' EXIT
exported=$object/exported
nm --dynamic --defined-only "$built/libfencehold_ffi.so" | awk '$3 ~ /^fh_/ { print $3 }' >"$exported"
# --undefined keeps what is exported, and --gc-sections only what that needs.
sed 's/^/--undefined=/' "$exported" >"$object/keep"
ld --relocatable --gc-sections "@$object/keep" -o "$object/all.o" "$built/libfencehold_ffi.a"
objcopy --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --keep-global-symbols="$exported" "$object/all.o" "$object/fencehold.o"
rm -f "$root/lib/libfencehold.a"
ar rcs "$root/lib/libfencehold.a" "$object/fencehold.o"
chmod 644 "$root/lib/libfencehold.a"

install -m 644 include/fencehold.h include/fencehold.hpp "$root/include"
install -m 644 include/fencehold/*.hpp "$root/include/fencehold"

cat >"$root/lib/pkgconfig/fencehold.pc" <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: fencehold
Description: Leases with fencing tokens: locks and semaphores across processes, machines and languages
Version: $version
Libs: -L\${libdir} -lfencehold
Libs.private: -lpthread -ldl -lm
Cflags: -I\${includedir}
END

install -m 644 bindings/cpp/cmake/fencehold-config.cmake "$root/lib/cmake/fencehold"
cat >"$root/lib/cmake/fencehold/fencehold-config-version.cmake" <<END
set(PACKAGE_VERSION "$version")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
# An older request of the same major version is served.
if(PACKAGE_FIND_VERSION_MAJOR STREQUAL "${version%%.*}" AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(NOT CMAKE_SIZEOF_VOID_P STREQUAL "" AND NOT CMAKE_SIZEOF_VOID_P EQUAL $(($(getconf LONG_BIT) / 8)))
    set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
END
echo "fencehold $version is installed in $prefix"
