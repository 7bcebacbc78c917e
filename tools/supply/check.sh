#!/bin/bash
# The supply chain, by the tools at hand: says what each has checked, and what none has.
#
#     tools/supply/check.sh
#
# tests/supply.rs checks packages, licences and bincode without any tool. cargo-deny (crates.io) checks the rest of
# deny.toml. It fetches advisories, unless GIRIH_ADVISORIES names a folder that holds a copy of their database, as
# cargo-deny keeps one (advisory-db-*, a git repository); without network and copy, advisories are left out.
set -eu
cd "$(dirname "$0")/../.."
msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
active=$(rustc --version | cut -d' ' -f2)
case $active in
    "$msrv" | "$msrv".*) echo "Rust $msrv, the oldest that is supported: it is what builds here" ;;
    *)
        if command -v rustup >/dev/null && rustup toolchain list | grep -q "^$msrv"; then
            echo "Rust $msrv, the oldest that is supported, beside $active:"
            cargo +"$msrv" check --workspace --all-targets --locked --quiet
        else
            echo "Rust $msrv, the oldest that is supported, is not installed: clippy::incompatible_msrv alone checks"
        fi
        ;;
esac
if ! cargo deny --version 2>/dev/null; then
    echo "cargo-deny is not installed: tests/supply.rs checks packages and licences, nothing checks advisories"
    exit 0
fi
config=$PWD/deny.toml
if [ -n "${GIRIH_ADVISORIES:-}" ]; then
    config=$(mktemp)
    trap 'rm "$config"' EXIT
    sed "s|^\[advisories\]|&\ndb-path = \"$GIRIH_ADVISORIES\"|" deny.toml >"$config"
fi
# One list is for all workspaces: not every entry is met in each.
check=(check --hide-inclusion-graph)
for lint in advisory-not-detected license-exception-not-encountered unmatched-skip unnecessary-skip; do
    check+=(--allow "$lint")
done
for manifest in Cargo.toml bench/peers/rust/Cargo.toml fuzz/Cargo.toml tools/{models,ptx-emu}/Cargo.toml; do
    echo "== $manifest"
    deny=(cargo deny --manifest-path "$manifest" --config "$config" --locked)
    "${deny[@]}" "${check[@]}" bans licenses sources
    if [ -n "${GIRIH_ADVISORIES:-}" ]; then
        "${deny[@]}" --offline "${check[@]}" advisories
    elif "${deny[@]}" fetch db 2>/dev/null; then
        "${deny[@]}" --offline "${check[@]}" advisories
    else
        echo "advisories cannot be fetched and GIRIH_ADVISORIES names no copy: they are not checked"
    fi
done
