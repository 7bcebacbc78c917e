#!/usr/bin/env bash
# Takes the CUDA backend's tests and benchmarks to a machine with a GPU and without Rust.
#
#   bench/cuda/run.sh pack FOLDER [MATRIX...]   where Rust is: builds, and puts binaries, matrix files and
#                                               this script there
#   FOLDER/run.sh test [RESULTS]                where the GPU is: the conformance of every format, operands
#                                               on the device, NVIDIA's libraries, and compute-sanitizer on
#                                               a small case of every kernel, if it is there
#   FOLDER/run.sh bench [RESULTS]               where the GPU is: products beside cuSPARSE and cuBLASLt,
#                                               each verified
#   FOLDER/run.sh csr|wcsr|bmat|bcsr|two_four [RESULTS]
#                                               a part of the benchmark, for machines lent by the minute
#   FOLDER/run.sh layouts [RESULTS]             every layout of CSR on the matrices that came along, in f32
#   FOLDER/run.sh dense [RESULTS]               the ladder of the dense kernel beside cuBLASLt
#   FOLDER/run.sh ablation [RESULTS]            the steps of the papers' kernels beside their figures
#   FOLDER/run.sh all [RESULTS]                 tests and benchmark: the whole record
#
# Results go to RESULTS, or else to ./results. CUDA's libraries are looked for in the folders that
# GIRIH_CUDA_LIBRARIES lists, in NVIDIA's Python wheels and under /usr/local/cuda. SECONDS_PER_CASE is how
# long each case is timed, as the suites say if it is not set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
action=${1:-}

# The tests of the crate that need a device.
suites=(conformance device libraries)

pack() {
    local folder=$1
    shift
    local matrices=("$@")
    mkdir -p "$folder/matrices"
    [ ${#matrices[@]} = 0 ] || cp "${matrices[@]}" "$folder/matrices/"
    cd "$here/../.."
    cargo build --release --package girih-cli
    cargo build --release --package girih-cuda-libraries --example dense_ladder
    cp "${CARGO_TARGET_DIR:-target}/release/examples/dense_ladder" "$folder/dense_ladder"
    cp "${CARGO_TARGET_DIR:-target}/release/girih" "$folder/girih"
    cargo build --release --package girih-cuda-libraries --example csr_layouts
    cp "${CARGO_TARGET_DIR:-target}/release/examples/csr_layouts" "$folder/csr_layouts"
    # The test binaries' paths are in cargo's messages, one JSON object on each line.
    cargo test --no-run --package girih-backend-cuda --package girih-cuda-libraries --message-format json |
        sed -n 's/.*"name":"\([a-z]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
        while read -r name executable; do
            [[ " ${suites[*]} " != *" $name "* ]] || cp "$executable" "$folder/$name"
        done
    strip --strip-debug "$folder/girih" "$folder/csr_layouts" "$folder/dense_ladder" "${suites[@]/#/$folder/}"
    cp "$here/run.sh" "$folder/run.sh"
    cp -r "$here/../suites" "$folder/"
    ls -l "$folder" "$folder/matrices"
}

# The folders of NVIDIA's wheels, of any Python that is the default here.
wheels() {
    python3 - 2>/dev/null <<'PYTHON' || true
import glob, site, sys
places = set(site.getsitepackages() + [site.getusersitepackages()] + sys.path)
print(":".join(lib for place in places for lib in glob.glob(place + "/nvidia/c*/lib")))
PYTHON
}

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

prepare() {
    results=${1:-results}
    mkdir -p "$results"
    local found
    found=$(wheels)
    export GIRIH_CUDA_LIBRARIES=${GIRIH_CUDA_LIBRARIES:-${found:+$found:}/usr/local/cuda/lib64}
    export GIRIH_CACHE=${GIRIH_CACHE:-/tmp/girih-cache} GIRIH_EXPECT_GPU=1
    step "machine"
    {
        nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem --format=csv ||
            echo "no nvidia-smi here"
        "$here/girih" backends
    } | tee "$results/machine.txt"
}

# Runs on after a failure, so that one run tells of all of them, and fails in the end.
failed=0
check() {
    local log=$1
    shift
    "$@" > "$log" 2>&1 || { failed=1; echo "FAILED: $*"; }
    grep -E '^test result|FAILED|panicked|ERROR SUMMARY|RACECHECK SUMMARY' "$log" || tail -5 "$log"
}

tests() {
    for suite in "${suites[@]}"; do
        step "$suite"
        check "$results/$suite.txt" "$here/$suite" --test-threads 4
    done
    PATH=$PATH:/usr/local/cuda/bin
    if ! command -v compute-sanitizer >/dev/null; then
        echo "no compute-sanitizer here"
        return
    fi
    # A product of every kernel in every value type, small enough to be followed access by access.
    for tool in memcheck racecheck synccheck; do
        step "compute-sanitizer $tool"
        check "$results/$tool.txt" compute-sanitizer --tool "$tool" --error-exitcode 1 \
            "$here/device" --test-threads 1 every_kernel timed_products what_does_not_fit
    done
}

# girih bench with a suite and further arguments, to a record in JSON and to tables as text.
record() {
    local name=$1 suite=$2
    shift 2
    step "$name"
    "$here/girih" bench --suite "$here/suites/$suite.toml" "$@" --memory-limit 64GiB \
        ${SECONDS_PER_CASE:+--seconds "$SECONDS_PER_CASE"} --output "$results/$name.json" \
        > "$results/$name.txt" 2>"$results/$name.log" ||
        { failed=1; echo "FAILED: $name"; tail -5 "$results/$name.log"; }
    sed -n '/^cuda: how many/,/^$/p' "$results/$name.txt"
}

# All kernels compiled before anything is timed, and the matrices that came along.
start_bench() {
    step "kernels"
    "$here/girih" kernels build | tee "$results/kernels.txt"
    files=()
    [ -z "$(ls "$here/matrices")" ] || files=("$here"/matrices/*)
}

# CSR beside all of cuSPARSE's algorithms: the generated classes, wide and tall, and matrices as they are.
bench_csr() {
    record csr-f32 csr-cuda
    [ ${#files[@]} = 0 ] || record csr-matrices csr-matrices-cuda "${files[@]}"
    record csr-other csr-types-cuda
}

# Windows of columns in TF32 beside Blocked-ELL and CSR.
bench_wcsr() {
    record wcsr-tf32 wcsr-cuda uniform rmat fem blocks laplacian "${files[@]}"
}

# Bitmask tiles in TF32 beside windows and CSR.
bench_bmat() {
    record bmat-tf32 bmat-cuda uniform rmat fem blocks laplacian "${files[@]}"
}

# Weights pruned in blocks beside the dense product.
bench_bcsr() {
    local share
    # Minutes each, for the oracle.
    for share in 99 95 90 80; do
        record "bcsr-bf16-$share" bcsr-cuda "blocks:$share"
    done
    record dense dense-cuda
}

# What the tables of csr_spmm are tuned by.
layouts() {
    step "layouts of CSR"
    "$here/csr_layouts" --n "${COLUMNS_OF_B:-8,32,128,512,1024}" "$here"/matrices/* \
        > "$results/csr-layouts.tsv" 2>"$results/csr-layouts.log" ||
        { failed=1; echo "FAILED: layouts"; tail -5 "$results/csr-layouts.log"; }
    wc -l "$results/csr-layouts.tsv"
}

# 2:4 on sparse tensor cores beside the dense product, at the size of Croqtile's worklog and of a cube.
bench_two_four() {
    record two-four two-four:4096x8192 two-four:8192x8192 --backend cuda,cublas \
        --format two-four,two-four:e4m3/row --dtype f16,bf16 --n 8192
    record two-four-narrow two-four:4096x8192 --backend cuda,cublas --format two-four --dtype f16 \
        --n 64,256,1024
}

# The dense kernel, rung by rung.
ladder() {
    step "dense ladder"
    check "$results/dense-ladder.txt" "$here/dense_ladder" bf16 f16 f32
    cat "$results/dense-ladder.txt"
}

# The ladders of the papers, each to a record of its own.
ablation() {
    local ladder
    for ladder in asyncsparse tiles voltrix croqtile-f16 croqtile-e4m3 article; do
        step "ablation: $ladder"
        "$here/girih" ablation "$ladder" --output "$results/ablation-$ladder.json" \
            ${SECONDS_PER_CASE:+--seconds "$SECONDS_PER_CASE"} \
            > "$results/ablation-$ladder.txt" 2>"$results/ablation-$ladder.log" ||
            { failed=1; echo "FAILED: ablation $ladder"; tail -5 "$results/ablation-$ladder.log"; }
        cat "$results/ablation-$ladder.txt"
    done
}

bench() { start_bench && bench_csr && bench_wcsr && bench_bmat && bench_bcsr && bench_two_four; }

case $action in
    pack) pack "$(mkdir -p "$2" && cd "$2" && pwd)" "${@:3}" ;;
    test) prepare "${@:2}" && tests ;;
    bench) prepare "${@:2}" && bench ;;
    csr | wcsr | bmat | bcsr | two_four) prepare "${@:2}" && start_bench && "bench_$action" ;;
    dense) prepare "${@:2}" && ladder ;;
    ablation) prepare "${@:2}" && ablation ;;
    layouts) prepare "${@:2}" && layouts ;;
    all) prepare "${@:2}" && tests && bench ;;
    *) sed -n '2,20s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
exit "$failed"
