#!/usr/bin/env bash
# Takes the CUDA backend's tests and benchmark to a machine with a GPU and without Rust.
#
#   bench/cuda/run.sh pack FOLDER     where Rust is: builds, and puts binaries and this script there
#   FOLDER/run.sh test [RESULTS]      where the GPU is: tests, and compute-sanitizer if it is there
#   FOLDER/run.sh bench [RESULTS]     where the GPU is: times products, each verified
#
# Results go to RESULTS, or else to ./results. CUDA's libraries are looked for in the folders that
# GIRIH_CUDA_LIBRARIES lists, in NVIDIA's Python wheels and under /usr/local/cuda.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
action=${1:-}

pack() {
    local folder=$1
    cd "$here/../.."
    mkdir -p "$folder"
    cargo build --release --package girih-cli
    cp target/release/girih "$folder/girih"
    # The test binaries' paths are in cargo's messages, one JSON object on each line.
    cargo test --no-run --package girih-backend-cuda --message-format json |
        sed -n 's/.*"name":"\(conformance\|device\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
        while read -r name executable; do cp "$executable" "$folder/$name"; done
    strip --strip-debug "$folder/girih" "$folder/conformance" "$folder/device"
    cp "$here/run.sh" "$folder/run.sh"
    ls -l "$folder"
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

tests() {
    prepare "$@"
    step "conformance"
    "$here/conformance" 2>&1 | tee "$results/conformance.txt"
    step "operands on the device"
    "$here/device" --test-threads 1 2>&1 | tee "$results/device.txt"
    if command -v compute-sanitizer >/dev/null; then
        for tool in memcheck racecheck synccheck; do
            step "compute-sanitizer $tool"
            compute-sanitizer --tool "$tool" --error-exitcode 1 \
                "$here/device" timed_products what_does_not_fit 2>&1 |
                tee "$results/$tool.txt" | tail -5
        done
    else
        echo "no compute-sanitizer here"
    fi
}

bench() {
    prepare "$@"
    step "kernels"
    "$here/girih" kernels build | tee "$results/kernels.txt"
    step "f32"
    "$here/girih" bench --backend cuda --format csr --n 8,32,128,512,1024 --memory-limit 16GiB \
        --seconds 0.2 --output "$results/csr-f32.json"
    step "other value types"
    "$here/girih" bench uniform rmat fem --backend cuda --format csr --n 128,512 \
        --dtype f16,bf16,f64 --seconds 0.1 --output "$results/csr-other.json"
}

case $action in
    pack) pack "$(mkdir -p "$2" && cd "$2" && pwd)" ;;
    test) tests "${@:2}" ;;
    bench) bench "${@:2}" ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
