#!/bin/bash
# Builds the `girih` command that is given to others, in two folders of different names, and compares the files.
#
#     tools/supply/reproduce.sh [OUT]      OUT: where the command goes, if both are the same
#
# The sources are those of the last commit. Paths of sources and of cargo's folder are taken out of the program, so
# that only the sources, the lock file, the compiler, the linker and the triple decide its bytes. It takes two whole
# builds with link-time optimization; GIRIH_OPT_LEVEL=0 compares a quick build instead.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cargo_home=${CARGO_HOME:-$HOME/.cargo}
[ -z "${GIRIH_OPT_LEVEL:-}" ] || export CARGO_PROFILE_DIST_OPT_LEVEL=$GIRIH_OPT_LEVEL CARGO_PROFILE_DIST_LTO=off
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0
for folder in a a-longer/name; do
    mkdir -p "$work/$folder"
    git archive "$commit" | tar -x -C "$work/$folder"
    (
        cd "$work/$folder"
        # Cargo's own way to pass flags: the separator may not stand in a path.
        separator=$'\x1f'
        CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$PWD=girih${separator}--remap-path-prefix=$cargo_home=cargo"
        export CARGO_ENCODED_RUSTFLAGS
        cargo build --profile dist --package girih-cli --locked --quiet
    )
    mv "$work/$folder/target/dist/girih" "$work/$(basename "$folder").girih"
    rm -rf "${work:?}/$folder/target"
done
sha256sum "$work/a.girih" "$work/name.girih" | sed "s|$work/||"
cmp "$work/a.girih" "$work/name.girih" || { echo "the two builds differ"; exit 1; }
if grep -aqF "$work" "$work/a.girih" || grep -aqF "$cargo_home" "$work/a.girih"; then
    echo "the program names folders of this machine"
    exit 1
fi
echo "both builds are the same, $(stat -c %s "$work/a.girih") bytes, by $(rustc --version)"
[ $# = 0 ] || cp "$work/a.girih" "$1"
