#!/bin/bash
# The compiler of the fuzz targets, which cargo calls with the one that it would have called. Packages whose branches
# say nothing that ours do not say of an input get no counters of coverage: hashes, threads, numbers, kernels, and
# parsers and writers of TOML, JSON and ZIP. They have AddressSanitizer.
set -eu
name= before=
for argument; do
    [ "$before" != --crate-name ] || name=$argument
    before=$argument
done
case $name in
    girih_simd | xxhash_rust | half | rayon* | crossbeam* | ndarray | num_* | matrixmultiply | bytemuck* | zerocopy* | \
        libc | toml* | winnow | serde* | zmij | itoa | ryu | memchr | hashbrown | indexmap | equivalent | zip | flate2 | \
        miniz_oxide | zlib_rs | crc32fast | adler2 | simd_adler32)
        arguments=()
        for argument; do
            case $argument in
                -Cpasses=sancov-module | -Cllvm-args=-sanitizer-coverage-*) ;;
                *) arguments+=("$argument") ;;
            esac
        done
        exec "${arguments[@]}"
        ;;
    *) exec "$@" ;;
esac
