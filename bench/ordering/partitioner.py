"""Packed columns and seconds of mt-kahypar, for the tables of `cargo run --example windows`.

    python -m pip install numpy scipy mtkahypar
    python bench/ordering/partitioner.py OUT.tsv [--threads 2] [--heights 64,16] FILE.mtx.gz ...

Rows are vertices, columns with two entries or more are nets, the objective is the connectivity, and no
part may have more rows than a window. Some 3 % more parts than full windows give the partitioner room.
A line for each height and matrix: height, name, packed columns, seconds of the partitioner with the
construction of its hypergraph; separated by tabs.
"""

import argparse
import math
import pathlib
import time

import mtkahypar
import numpy as np
import scipy.io
import scipy.sparse

SPARE_PARTS = 1 / 32


def packed_columns(matrix, part):
    window = np.repeat(part.astype(np.int64), np.diff(matrix.indptr))
    return np.unique(window * matrix.shape[1] + matrix.indices).size


def partition(library, matrix, height):
    rows = matrix.shape[0]
    parts = max(2, math.ceil(rows * (1 + SPARE_PARTS) / height))
    presets = mtkahypar.PresetType
    context = library.context_from_preset(presets.LARGE_K if parts > 64 else presets.DEFAULT)
    imbalance = max(height * parts / rows - 1 - 1e-6, 1e-3)
    context.set_partitioning_parameters(parts, imbalance, mtkahypar.Objective.KM1)
    context.logging = False
    columns = matrix.tocsc()
    columns.sort_indices()
    bounds = zip(columns.indptr[:-1], columns.indptr[1:])
    nets = [columns.indices[begin:end].tolist() for begin, end in bounds if end - begin > 1]
    graph = library.create_hypergraph(context, rows, len(nets), nets)
    return np.array(graph.partition(context).get_partition())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--heights", default="64,16")
    args = parser.parse_args()
    library = mtkahypar.initialize(args.threads)
    with args.out.open("w") as out:
        for height in map(int, args.heights.split(",")):
            for file in args.files:
                matrix = scipy.sparse.csr_matrix(scipy.io.mmread(file))
                mtkahypar.set_seed(1)
                start = time.perf_counter()
                part = partition(library, matrix, height)
                seconds = time.perf_counter() - start
                name = file.name.split(".mtx")[0]
                packed = packed_columns(matrix, part)
                print(height, name, packed, f"{seconds:.2f}", sep="\t", file=out, flush=True)


if __name__ == "__main__":
    main()
