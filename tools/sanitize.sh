#!/bin/bash
# Runs tests with AddressSanitizer, by the compiler that builds everything else. The standard library has no checks of
# its own. Kernels are compiled once more, which takes longer than without.
#
#     tools/sanitize.sh [CRATE...]      without any, those of matrices, orders, plans and products
#
# Left out are the CUDA backend, whose kernels the emulator runs and checks access by access; the command line, whose
# tests run another program; and examples in documentation.
set -eu
cd "$(dirname "$0")/.."
crates=("$@")
[ $# -gt 0 ] || crates=(girih-{parallel,formats,reorder,planner,backend,simd,backend-cpu} girih)
triple=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=address" CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize"
# What asks for more memory than there is gets an error and not a report.
export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
cargo test --target "$triple" "${crates[@]/#/--package=}" --lib --tests --no-fail-fast
