#!/bin/bash
# Compiles the kernels for ARM and runs the CPU backend's tests on an emulated machine, weekly or after a change of
# crates/simd/src/isa/neon.rs.
#
#     tools/aarch64.sh [ARGUMENTS OF cargo test]
#
# It needs a linker and QEMU's user mode (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user), and a
# standard library for the target: `rustup target add aarch64-unknown-linux-gnu`, or else `rust-src` of the same
# compiler, of which one is built (Debian's rustc has it as a package). With GIRIH_PACK=FOLDER programs are built and
# put there. Put QEMU (Debian's is linked statically) and the target's `lib` beside them, `./qemu-aarch64 -L .` into
# FOLDER/run, and `tools/apart.py` runs them on many processors, also on a machine without Rust.
set -eu
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
build=()
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
    export RUSTC_BOOTSTRAP=1
    build=(-Zbuild-std)
fi
command=(cargo test "${build[@]}" --target "$target" --package girih-simd --package girih-backend-cpu --lib --tests)
if [ -n "${GIRIH_PACK:-}" ]; then
    OBJCOPY=aarch64-linux-gnu-objcopy exec tools/apart.py pack "$GIRIH_PACK" "${command[@]}"
fi
"${command[@]}" "$@"
