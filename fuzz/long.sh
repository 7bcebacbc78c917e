#!/bin/bash
# Fuzzes with targets that are built, on many processors, and writes what each ran to artifacts/counts.tsv:
# processors, seconds, executions, coverage (edges), files of the corpus, and inputs that made it stop.
#
#     fuzz/long.sh BINARIES PROCESSORS SECONDS [TARGET...]
#
# BINARIES is the folder that fuzz/run.sh builds into, or a copy of it. The folder of this script, with its seeds,
# may be copied too: no compiler and no network are needed. Targets share the processors; if there are more targets
# than processors, they share the time. A target that is named twice gets two shares: slow ones need more. What is
# found goes to artifacts/TARGET, what is new to corpus/TARGET.
set -eu
binaries=$(cd "$1" && pwd) processors=$2 seconds=$3
shift 3
cd "$(dirname "$0")"
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(ls seeds)
mkdir -p artifacts
# Freed memory is kept from use for the next few inputs, without the stacks of who allocated it: run what was found
# again for those. No stack frame is kept, since Rust returns no reference to one. With both, and files of inputs in
# memory, plans are twice as fast (1553 a second of a processor beside 793).
export ASAN_OPTIONS="quarantine_size_mb=8:malloc_context_size=0:detect_stack_use_after_return=0:${ASAN_OPTIONS:-}"
[ ! -d /dev/shm ] || export TMPDIR=/dev/shm
logs=artifacts/logs
rm -rf "$logs"
mkdir -p "$logs"

# Runs a target until a time, again after each input that made it stop. Without entropic schedules a target executes
# about twice as much in a processor's second (ptx: 3946 beside 1974 of 5000 runs).
# What other processors found is read every half minute: a corpus may have ten thousand files.
run() {
    local target=$1 job=$2 until=$3 round=0 left dictionary=()
    [ ! -e "$target.dict" ] || dictionary=(-dict="$target.dict")
    while left=$((until - SECONDS)) && [ "$left" -gt 0 ]; do
        "$binaries/$target" "corpus/$target" "seeds/$target" "${dictionary[@]}" \
            -max_total_time="$left" -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=20 -max_len=4096 -reload=30 \
            -entropic=0 \
            -artifact_prefix="artifacts/$target/" -print_final_stats=1 \
            >"$logs/$target.$job.$round" 2>&1 || true
        round=$((round + 1))
    done
}

for target in "${targets[@]}"; do
    mkdir -p "corpus/$target" "artifacts/$target"
done
n=${#targets[@]} begin=$SECONDS
for ((job = 0; job < processors; job++)); do
    (
        if [ "$processors" -ge "$n" ]; then
            run "${targets[job % n]}" "$job" $((begin + seconds))
        else
            mine=$(((n - job + processors - 1) / processors))
            for ((i = 0; i < mine; i++)); do
                run "${targets[job + i * processors]}" "$job" $((begin + seconds * (i + 1) / mine))
            done
        fi
    ) &
done
wait
{
    printf 'target\truns\tseconds\texecutions\tedges\tcorpus\tfound\n'
    printf '%s\n' "${targets[@]}" | sort -u | while read -r target; do
        cat "$logs/$target".* 2>/dev/null | awk -v target="$target" \
            -v corpus="$(find "corpus/$target" -type f | wc -l)" -v found="$(find "artifacts/$target" -type f | wc -l)" '
            # A run that stops early has no statistics, but has said how far it was.
            function end() { sum += executions; executions = 0 }
            /^INFO: Seed:/ { end(); runs++ }
            /^#[0-9]+/ { executions = substr($1, 2) + 0 }
            / cov: [0-9]+/ { match($0, / cov: [0-9]+/); n = substr($0, RSTART + 6, RLENGTH - 6) + 0; if (n > edges) edges = n }
            /^Done [0-9]+ runs in [0-9]+ second/ { seconds += $5 }
            END { end(); printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", target, runs, seconds, sum, edges, corpus, found }'
    done
} | tee artifacts/counts.tsv
# Whatever was found is named, and makes the command fail.
! find artifacts -mindepth 2 -type f -not -path "$logs/*" | grep .
