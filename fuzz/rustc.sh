#!/bin/bash
# The compiler of the fuzz targets, which cargo calls with the one that it would have called. Packages whose branches
# say nothing of an input get no counters of coverage: hashes, threads, numbers and kernels. They have AddressSanitizer.
set -eu
name= before=
for argument; do
    [ "$before" != --crate-name ] || name=$argument
    before=$argument
done
case $name in
    girih_simd | xxhash_rust | half | rayon* | crossbeam* | ndarray | num_* | matrixmultiply | bytemuck* | zerocopy* | libc)
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
