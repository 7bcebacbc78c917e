#!/bin/bash
# Fuzzes the targets, one after the other, with AddressSanitizer, and says how many inputs each ran.
#
#     fuzz/run.sh SECONDS [TARGET...]
#
# It does what `cargo fuzz run` does, without that tool: a stable compiler, one job, and limits on memory.
set -eu
cd "$(dirname "$0")"
seconds=$1
shift
targets=("$@")
[ $# -gt 0 ] || targets=(matrix_market npz npy smtx plan)
triple=$(rustc -vV | sed -n 's/^host: //p')
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$coverage --cfg fuzzing -Zsanitizer=address" RUSTDOCFLAGS= \
    cargo build --release --target "$triple" --bins
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target" "artifacts/$target" "seeds/$target"
    echo "== $target"
    RAYON_NUM_THREADS=1 "target/$triple/release/$target" "corpus/$target" "seeds/$target" \
        -max_total_time="$seconds" -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=20 -max_len=4096 \
        -artifact_prefix="artifacts/$target/" -print_final_stats=1 2>&1 |
        tee "artifacts/$target.log" | grep -E '^stat::|ERROR|SUMMARY|panicked|cov:.*DONE' || true
done
