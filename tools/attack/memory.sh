#!/bin/bash
# Runs girih's commands within address spaces of every size, and lists the runs that end otherwise than
# they should: by success, or by exit code 1 with one line. A run that takes 60 s counts as a hang.
#
#     tools/attack/memory.sh GIRIH MATRIX [FROM TO STEP]      sizes in MiB, 40 to 400 by 40 if not given
set -u
girih=$1 matrix=$2 from=${3:-40} to=${4:-400} step=${5:-40}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
export RAYON_NUM_THREADS=${RAYON_NUM_THREADS:-2} RUST_BACKTRACE=1
"$girih" plan "$matrix" -o "$work/csr.girih" --format csr >"$work/out" 2>&1 || { cat "$work/out"; exit 2; }
"$girih" plan "$matrix" -o "$work/wcsr.girih" --format wcsr --window 16 >"$work/out" 2>&1
"$girih" convert "$matrix" -o "$work/a.npz" >"$work/out" 2>&1
commands=(
    "inspect $matrix"
    "inspect $work/a.npz --reorder rcm"
    "plan $matrix -o $work/p.girih"
    "plan $matrix -o $work/p.girih --format bcsr --block 8"
    "plan $matrix -o $work/p.girih --reorder rcm --format wcsr"
    "plan $matrix -o $work/p.girih --format csr --save-layout"
    "plan $matrix -o $work/p.girih --reorder window --format bmat"
    "reorder $matrix --by rcm"
    "reorder $matrix --by window"
    "convert $matrix -o $work/b.npz"
    "convert $work/a.npz -o $work/b.mtx"
    "spmm $work/csr.girih --random 32"
    "spmm $work/csr.girih --random 8 --verify"
    "spmm $work/csr.girih --random 32 --mmap"
    "spmm $work/wcsr.girih --random 32 --backend reference"
    "spmm $matrix --random 16 --format csr -o $work/c.npy"
    "verify $work/csr.girih --against $matrix"
    "verify $work/wcsr.girih"
    "bench $matrix --n 8 --format csr,wcsr --seconds 0.01"
)
runs=0 refused=0 wrong=0
for ((mib = from; mib <= to; mib += step)); do
    for command in "${commands[@]}"; do
        runs=$((runs + 1))
        # shellcheck disable=SC2086
        (ulimit -v $((mib << 10)) && exec timeout 60 "$girih" $command) >"$work/out" 2>"$work/err"
        code=$?
        lines=$(grep -cv '^note: ' "$work/err")
        case $code in
            0) continue ;;
            1) refused=$((refused + 1)); [ "$lines" = 1 ] && ! grep -q 'bug\|panicked' "$work/err" && continue ;;
        esac
        wrong=$((wrong + 1))
        echo "$mib MiB, exit $code: ${command//$work\//}"
        sed 's/^/    /' "$work/err" | head -${LINES_SHOWN:-4} | cut -c1-220
    done
done
left=$(find "$work" "$(dirname "$work")" -maxdepth 1 -name '.girih-*' -user "$(id -u)" 2>"$work/err" | wc -l)
echo "$runs runs, $refused refused memory, $wrong of them wrong, $left temporary folders left"
[ "$wrong" = 0 ]
