#!/bin/bash
# Runs tests with a sanitizer. Kernels are compiled once more, which takes half an hour of a processor.
#
#     tools/sanitize.sh address [CRATE...] [-- TESTS]    accesses outside of memory, or after it was freed
#     tools/sanitize.sh thread [CRATE...] [-- TESTS]     accesses by two threads that nothing orders
#
# Without crates it takes those of matrices, orders, plans and products. Left out are the CUDA backend, whose kernels
# the emulator runs and checks access by access; the command line, whose tests run another program; and examples in
# documentation. TESTS are names of tests, or flags of their programs. With GIRIH_PACK=FOLDER programs are built and put
# there, and `tools/apart.py` runs them on many processors, also on a machine without Rust.
#
# Threads get large stacks: frames are many times as large, and the compiler puts no probes into them, so that one that
# is too large writes over the next thread's stack. No tool sees all. AddressSanitizer misses gathers of AVX-512;
# ThreadSanitizer misses accesses of more than 16 bytes, so that of the CPU's kernels it sees the portable ones.
#
# For addresses the compiler that builds everything else is enough. The standard library then has no checks of its own.
#
# For threads the standard library is built too, since locks that the sanitizer doesn't see would look like none. That
# takes the compiler's sources: `rustup component add rust-src`, or Debian's package `rust-src` beside its `rustc`, for
# which `clang` and `libclang-rt-dev` bring the sanitizer. It knows no fences: crossbeam, through which rayon's threads
# pass work, does without when it sees the flag. `tools/races.txt` lists what is not reported, with reasons, by names of
# functions, which `llvm-symbolizer` finds (Debian: `llvm`). Four threads run tests, also on fewer processors.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-}
case $kind in address | thread) shift ;; *)
    sed -n '4,5s/^#  *//p' "$0" >&2
    exit 2
    ;;
esac
crates=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    crates+=("$1")
    shift
done
[ ${#crates[@]} -gt 0 ] || crates=(girih-{parallel,formats,reorder,planner,backend,simd,backend-cpu} girih)
triple=$(rustc -vV | sed -n 's/^host: //p')
libraries=$(rustc --print sysroot)/lib/rustlib
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=$kind" CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize-$kind"
export RUST_MIN_STACK="${RUST_MIN_STACK:-67108864}"
arguments=(--target "$triple" --config 'profile.dev.package.girih-simd.opt-level=2')
run=()
if [ "$kind" = address ]; then
    # What asks for more memory than there is gets an error and not a report.
    export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
    export LSAN_OPTIONS="suppressions=$PWD/tools/leaks.txt:print_suppressions=0:${LSAN_OPTIONS:-}"
else
    [ -d "$libraries/src/rust/library" ] || { echo "rust-src is missing: see the head of $0" >&2; exit 2; }
    arguments+=(-Zbuild-std)
    command -v llvm-symbolizer >/dev/null || { echo "llvm-symbolizer is missing: see the head of $0" >&2; exit 2; }
    if ! compgen -G "$libraries/$triple/lib/librustc-*_rt.tsan.a" >/dev/null; then
        RUSTFLAGS+=" -Zexternal-clangrt -Clinker=clang -Clink-arg=-fsanitize=thread"
    fi
    export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-4}"
    export TSAN_OPTIONS="suppressions=$PWD/tools/races.txt:${TSAN_OPTIONS:-}"
    # Its shadow of the address space has gaps where random addresses may fall.
    run=(setarch -R)
fi
command=(cargo test "${arguments[@]}" "${crates[@]/#/--package=}" --lib --tests --no-fail-fast)
if [ -n "${GIRIH_PACK:-}" ]; then
    tools/apart.py pack "$GIRIH_PACK" "${command[@]}"
    [ ${#run[@]} = 0 ] || echo "${run[@]}" >"$GIRIH_PACK/run"
else
    "${run[@]}" "${command[@]}" "$@"
fi
