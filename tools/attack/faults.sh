#!/bin/bash
# Makes the system fail girih's commands and says how they end: calls that fail one by one, calls that move a few
# bytes, are interrupted, or tell a jumping time; kill -9; two writers of one file; maps of files that are cut.
#
#     tools/attack/faults.sh GIRIH MATRIX [ROUNDS]           40 rounds of what is random if not given
#
# It needs a C compiler (cc). A command must end well with its output whole, or with a code from 1 to 6, one line
# and the output as it was before. A table says what was tried, how often, and how it ended.
set -u
here=$(cd "$(dirname "$0")" && pwd)
girih=$(realpath "$1") matrix=$(realpath "$2") rounds=${3:-40}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O1 -Wall -shared -fPIC -o "$work/shim.so" "$here/shim.c" -ldl || { echo "no C compiler (cc)"; exit 2; }
export RAYON_NUM_THREADS=${RAYON_NUM_THREADS:-2} RUST_BACKTRACE=1 GIRIH_CACHE=$work/cache
unset GIRIH_FAULT GIRIH_FAULT_AT GIRIH_FAULT_ON GIRIH_FAULT_LOG
mkdir "$work/out"
cd "$work" || exit 2
cp "$matrix" "m.${matrix#*.}"
m=m.${matrix#*.}
{ "$girih" plan "$m" -o p.girih --format wcsr --window 16 && "$girih" convert "$m" -o m.npz &&
    "$girih" plan "$m" -o csr.girih --format csr; } >said 2>&1 || { cat said; exit 2; }

# What is attacked: a name, the output that it writes, and the command.
commands=(
    "plan|out/o.girih|plan $m -o out/o.girih --format bmat"
    "plan --save-layout|out/o.girih|plan m.npz -o out/o.girih --format csr --save-layout"
    "reorder|out/o.npy|reorder $m --by rcm -o out/o.npy"
    "convert to npz|out/o.npz|convert $m -o out/o.npz"
    "convert to mtx.gz|out/o.mtx.gz|convert m.npz -o out/o.mtx.gz"
    "spmm|out/o.npy|spmm p.girih --random 16 -o out/o.npy"
    "spmm --mmap|out/o.npy|spmm p.girih --random 16 --mmap -o out/o.npy"
    "verify|-|verify p.girih --against $m"
)
tried=0 well=0 refused=0 wrong=0 killed=0
declare -a rows

complain() {
    wrong=$((wrong + 1))
    echo "WRONG: $1"
    [ ! -s err ] || sed 's/^/    /' err | head -5 | cut -c1-200
}

# Judges how a command ended: its name, its output, its exit code.
judge() {
    local name=$1 out=$2 code=$3 left
    tried=$((tried + 1))
    left=$(find out . -maxdepth 1 -name '.girih-*' | wc -l)
    [ "$left" = 0 ] || { complain "$name: a temporary file is left (exit $code)"; rm -rf out/.girih-* .girih-*; }
    if [ "$code" = 0 ]; then
        well=$((well + 1))
        [ "$out" = - ] || cmp -s "$out" "good" || complain "$name: success, and another output"
    elif [ "$code" -ge 1 ] && [ "$code" -le 6 ]; then
        refused=$((refused + 1))
        [ "$(grep -cv '^note: ' err)" = 1 ] && ! grep -q 'bug\|panicked' err || complain "$name: exit $code, not by one line"
        # The report is printed once the output is there.
        [ "$out" = - ] || cmp -s "$out" before || { grep -q 'standard output' err && cmp -s "$out" good; } ||
            complain "$name: exit $code, and its output has changed"
    else
        complain "$name: exit $code"
    fi
}

row() {
    rows+=("| $1 | $tried | $well | $refused | $killed | $wrong |")
    total_wrong=$((${total_wrong:-0} + wrong))
    tried=0 well=0 refused=0 wrong=0 killed=0
}

echo "the output as it was before" >before

# What a command gives without faults.
prepare() {
    IFS='|' read -r name out command <<<"$1"
    rm -rf out && mkdir out
    # shellcheck disable=SC2086
    "$girih" $command >said 2>err || { cat err; exit 2; }
    [ "$out" = - ] || { mv "$out" good && cp before "$out"; }
}

# Runs a command with the shim, and judges it.
faulty() {
    [ "$out" = - ] || cp before "$out"
    rm -f hits
    # shellcheck disable=SC2086
    env "$@" GIRIH_FAULT_LOG="$work/hits" LD_PRELOAD="$work/shim.so" timeout -s KILL 60 "$girih" $command >said 2>err
    judge "$name, $*" "$out" $?
}

for kind in enospc "enospc and all after" eio-write eio-read eio-sync eio-rename eio-open; do
    for attacked in "${commands[@]}"; do
        prepare "$attacked"
        at=1
        while :; do
            on=()
            [ "${kind#*all}" = "$kind" ] || on=(GIRIH_FAULT_ON=1)
            faulty GIRIH_FAULT="${kind%% *}" GIRIH_FAULT_AT=$at "${on[@]}"
            # The command makes fewer such calls.
            [ -s hits ] || { tried=$((tried - 1)); well=$((well - 1)); break; }
            at=$((at < 12 ? at + 1 : at + at / 4))
        done
    done
    row "$kind, at each call in turn"
done
for kind in short eintr clock; do
    for attacked in "${commands[@]}"; do
        prepare "$attacked"
        for ((i = 0; i < 1 + rounds / 20; i++)); do
            before_well=$well
            faulty GIRIH_FAULT=$kind
            [ "$well" -gt "$before_well" ] || complain "$name, $kind: it did not end well"
            [ -s hits ] || complain "$name, $kind: the shim was not called"
        done
    done
    row "$kind, at every call"
done

# kill -9 at random moments: the output is the old one or the new one, and the next command tidies up.
for attacked in "${commands[@]}"; do
    prepare "$attacked"
    [ "$out" != - ] || continue
    begin=$(date +%s%N)
    # shellcheck disable=SC2086
    "$girih" $command >said 2>err
    took=$((($(date +%s%N) - begin) / 1000000 + 1))
    for ((i = 0; i < rounds; i++)); do
        cp before "$out"
        # shellcheck disable=SC2086
        "$girih" $command >said 2>err &
        pid=$!
        sleep "$(printf '0.%03d' $((RANDOM % took % 1000)))"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        tried=$((tried + 1))
        if cmp -s "$out" before; then killed=$((killed + 1)); elif cmp -s "$out" good; then well=$((well + 1)); else
            complain "$name, kill -9: the output is neither the old nor the new one"
        fi
    done
    # shellcheck disable=SC2086
    "$girih" $command >said 2>err || complain "$name: after kill -9"
    # Folders that have no owner yet, or no more, hold nothing and stay for an hour.
    left=$(find out -maxdepth 1 -name '.girih-*' | wc -l)
    empty=$(find out -maxdepth 1 -name '.girih-*' -type d -empty | wc -l)
    unlocked=$(find out -mindepth 2 -maxdepth 2 -name .owner-to-be | wc -l)
    [ "$left" = $((empty + unlocked)) ] || complain "$name: temporary files stay after kill -9 and another command"
    [ "$left" = 0 ] || echo "note: $name: of $rounds killed commands $left left a folder that holds nothing"
done
row "kill -9 at random moments"

# Two writers of one file: it is the one's or the other's.
for pair in "plan $m -o out/o.girih --format csr|plan $m -o out/o.girih --format bmat" \
    "convert $m -o out/o.npz|convert $m -o out/o.npz --prune-zeros" \
    "spmm p.girih --random 16 -o out/o.npy|spmm p.girih --random 16 --seed 9 -o out/o.npy"; do
    IFS='|' read -r one other <<<"$pair"
    out=$(grep -o 'out/[^ ]*' <<<"$one")
    rm -rf out && mkdir out
    # shellcheck disable=SC2086
    { "$girih" $one && mv "$out" first && "$girih" $other && mv "$out" second; } >said 2>err || { cat err; exit 2; }
    for ((i = 0; i < rounds; i++)); do
        # shellcheck disable=SC2086
        "$girih" $one >said 2>err &
        a=$!
        # shellcheck disable=SC2086
        "$girih" $other >said2 2>err2
        b=$?
        wait $a
        a=$?
        tried=$((tried + 1))
        if [ $a = 0 ] && [ $b = 0 ] && { cmp -s "$out" first || cmp -s "$out" second; }; then well=$((well + 1)); else
            complain "two writers of $out: exits $a and $b"
        fi
    done
    [ "$(find out -maxdepth 1 -name '.girih-*' | wc -l)" = 0 ] || complain "two writers: temporary files are left"
done
row "two writers of one file"

# A mapped plan that is cut or written over at a random moment.
begin=$(date +%s%N)
"$girih" spmm csr.girih --random 64 --mmap >said 2>err
took=$((($(date +%s%N) - begin) / 1000000 + 1))
for ((i = 0; i < 2 * rounds; i++)); do
    cp csr.girih cut.girih
    "$girih" spmm cut.girih --random 64 --mmap >said 2>err &
    pid=$!
    sleep "$(printf '0.%03d' $((RANDOM % took % 1000)))"
    truncate -s $((RANDOM % 3 * 4096)) cut.girih
    wait $pid
    code=$?
    tried=$((tried + 1))
    if [ $code = 0 ]; then well=$((well + 1)); elif [ "$(grep -cv '^note: ' err)" = 1 ] && ! grep -q 'bug\|panicked' err; then
        case $code in
            1 | 3) refused=$((refused + 1)) ;;
            135) killed=$((killed + 1)) ;;
            *) complain "a mapped plan was cut: exit $code" ;;
        esac
    else complain "a mapped plan was cut: exit $code"; fi
done
row "cut of a mapped plan"

echo
echo "| tried | runs | ended well | refused by one line | killed, output as before | wrong |"
echo "|---|---|---|---|---|---|"
printf '%s\n' "${rows[@]}"
[ "$total_wrong" = 0 ]
