#!/bin/bash
# Builds the targets with AddressSanitizer, fuzzes them one after the other, and says what each ran.
#
#     fuzz/run.sh SECONDS [TARGET...]        each of the targets for so long; 0 builds alone
#
# It does what `cargo fuzz run` does, without that tool: a stable compiler, and limits on memory. It needs a C++
# compiler. `fuzz/long.sh` runs what this has built on many processors, also on a machine without Rust: the targets
# hold the C++ library where there is one to link, and may be stripped. With GIRIH_FUZZ_COMPARES=0 compares are not
# traced: targets whose inputs are changes of what is right need none, and execute more. With that, and with what rustc.sh
# leaves out, a processor executes of plan 3622 a second and not 1473, of orders 2868 and not 1354, of device 6869 and not
# 3552, of npz 5474 and not 4005, of lowered 2473 and not 988.
set -eu
cd "$(dirname "$0")"
seconds=$1
shift
triple=$(rustc -vV | sed -n 's/^host: //p')
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-pc-table"
[ "${GIRIH_FUZZ_COMPARES:-1}" = 0 ] || coverage="$coverage -Cllvm-args=-sanitizer-coverage-trace-compares"
library=$("${CXX:-c++}" -print-file-name=libstdc++.a)
if [ -f "$library" ]; then
    export CXXSTDLIB=static=stdc++
    coverage="$coverage -L native=$(dirname "$library")"
fi
RUSTC_BOOTSTRAP=1 RUSTC_WRAPPER=$PWD/rustc.sh RUSTFLAGS="$coverage --cfg fuzzing -Zsanitizer=address" RUSTDOCFLAGS= \
    cargo build ${GIRIH_JOBS:+-j$GIRIH_JOBS} --release --target "$triple" --bins
[ "$seconds" != 0 ] || exit 0
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(ls seeds)
exec ./long.sh "target/$triple/release" 1 $((seconds * ${#targets[@]})) "${targets[@]}"
