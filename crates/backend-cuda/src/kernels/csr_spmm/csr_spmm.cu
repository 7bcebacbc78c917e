// C = alpha * A * B + beta * C, A in CSR: a warp per row, after casperSPARSE (section III).
//
// The work is a list of items, each a run of entries of one row. What bounds a product where rows differ
// in length is the longest run of entries that one warp goes through, for it can wait for a few rows of B
// at a time only. So long items are shared out:
//
// - the longest, first, among the warps of a block, which add up their sums in shared memory; rows that
//   are too long even for that come in pieces, whose sums go to `partials`, and the block that stores the
//   last of them adds them up
// - those well above the mean, then, to a warp each
// - the rest to teams of 2^i lanes, up to the whole warp.
//
// Rows without entries are no items. They come last, several to a warp, which only stores.
//
// A team multiplies the entries of an item by a tile of B's columns. LANES of its lanes lie across the tile; where
// the tile is narrow, the team's other lanes take other entries, and their sums are added at the end. Up to
// eight lanes across read each entry themselves. More stage entries for each other in shared memory, as many as the team has
// lanes; so do those that wait for one row of B at a time. All sums are added in an order that the items alone decide.
//
// Where rows are short and the tile is as wide as a warp, a warp takes several of the rest.
//
// Where all rows are of much the same length there is no list of items, and teams take rows in their order:
// rows.cuh. What was measured of them stands in teams.rs.
//
// There are two binaries for each value type. The first reads rows of B in vectors of 16 bytes. With IN_PARTS, which is
// how many values a vector has, the second reads them in loads of 2 to 8 bytes: see access.cuh.
//
// With EPILOGUE, a bias and an activation are applied to each element as it is stored. With AGGREGATE, C is made
// of what the products of a row come to instead of their sum. No warp takes several rows then.
//
// Blocks are numbered so that all rows come before the next panel, which is a tile of columns or, where a
// caller says so, several.
#include "csr_spmm/items.cuh"
#include "csr_spmm/params.cuh"
#include "csr_spmm/rows.cuh"
#include "shared/entry.cuh"
#ifndef AGGREGATE
#include "csr_spmm/runs.cuh"
#endif

// Whether this binary reads B in parts of vectors. No variable, so that nothing of it is left in binaries.
#ifdef IN_PARTS
enum : bool { kInParts = true };
#else
enum : bool { kInParts = false };
#endif

// Blocks of a multiprocessor, which say how many registers there are; zero is no number to aim at. Items
// fare better, narrow ones by up to a seventh, with as few registers as the assembler then takes, which are
// too few only where a lane has a tile to itself.
// An epilogue takes registers, and with one there are fewer blocks; so do a comparison and complex factors.
constexpr u32 kBlocksOfRuns =
    kIsComplex ? (sizeof(Stored) == 16 ? 4 : 5) : (sizeof(Stored) == 2 ? 5 : 6) - (kHasEpilogue ? 2 : 0);
// Rows of B that are read in parts of vectors take more loads, and these more registers.
template <u32 LANES, u32 COLUMNS>
constexpr u32 kBlocksOfItems = kInParts && COLUMNS > kVector     ? (sizeof(Stored) == 4 ? 6 : 3)
                               : kInParts && sizeof(Stored) == 2 ? (COLUMNS < kVector ? 6 : 5)
                               : kHasEpilogue                    ? 5
                               : kIsGreatest                     ? 5
                               : kIsComplex          ? (LANES == 1 || sizeof(Stored) == 16 ? 5 : 6)
                               : LANES == 1          ? 7
                               : sizeof(Stored) == 2 ? 6
                                                     : 0;

#define CSR_SPMM(NAME, ACCESS, LANES, COLUMNS)                                      \
    ENTRY_POINT(csr_spmm_##NAME, kThreads, kBlocksOfItems<LANES, COLUMNS>)          \
    (const __grid_constant__ Params p) {                                            \
        __shared__ Staging staging;                                                 \
        multiply_items<ACCESS, LANES, COLUMNS>(p, staging);                         \
    }

#define CSR_SPMM_RUNS(NAME, COLUMNS)                                                \
    ENTRY_POINT(csr_spmm_##NAME, kThreads, kBlocksOfRuns)                           \
    (const __grid_constant__ Params p) {                                            \
        __shared__ Staging staging;                                                 \
        if (is_run(p)) {                                                            \
            multiply_run<COLUMNS>(p, staging);                                      \
        } else {                                                                    \
            multiply_items<Vectors, kWarpSize, COLUMNS>(p, staging);                \
        }                                                                           \
    }

// Threads of a block at most: half as many for few lanes across a tile, for many vectors of rows of B that a lane waits for
// at a time, and in parts of vectors. And blocks of a multiprocessor that there are registers for then.
template <class Access, u32 LOADS>
constexpr u32 kThreadsOfRows = LOADS > 4 || Access::kLanes < 8 || kInParts ? 256 : 512;
template <class Access>
constexpr u32 kBlocksInParts =
    Access::kColumns >= kVector && Access::kBytes == 2                           ? 2
    : Access::kColumns >= kVector && sizeof(Stored) == 2 && Access::kBytes < 8   ? 3
    : Access::kLanes < 8 || kHasEpilogue || kAggregates || kIsComplex            ? 3
                                                                                 : 4;
template <class Access>
constexpr u32 kBlocksOfFewLanes =
    (Access::kLanes == 1 && (kIsComplex || kHasEpilogue || kAggregates || sizeof(Stored) == 8)) ||
            sizeof(Stored) == 2 || sizeof(Stored) == 16 || (kHasEpilogue && sizeof(Stored) == 8) ||
            (kIsGreatest && Access::kLanes == 2 && sizeof(Stored) == 4)
        ? 2
    : Access::kLanes > 1 && sizeof(Stored) == 8 && !kIsComplex ? 3
                                                : 4;
template <class Access, u32 LOADS>
constexpr u32 kBlocksOfRows =
    kInParts             ? kBlocksInParts<Access>
    : Access::kLanes < 8 ? kBlocksOfFewLanes<Access>
    : (kHasEpilogue && sizeof(Stored) == 8) ||
            ((kHasEpilogue || kIsGreatest) && LOADS <= 4 && sizeof(Stored) == 2)
        ? 1
        : 2;

#define CSR_SPMM_ROWS_OF(NAME, ACCESS, LANES, DEPTH, COLUMNS, LOADS)                \
    ENTRY_POINT(csr_spmm_##NAME, (kThreadsOfRows<ACCESS<LANES, COLUMNS>, LOADS>),   \
                (kBlocksOfRows<ACCESS<LANES, COLUMNS>, LOADS>))                     \
    (const __grid_constant__ Params p) {                                            \
        extern __shared__ ptx::Vector16 dynamic[];                                  \
        multiply_rows<ACCESS, LANES, DEPTH, COLUMNS>(p, reinterpret_cast<Entry*>(dynamic)); \
    }
#define CSR_SPMM_ROWS(NAME, ACCESS, LANES, DEPTH, VECTORS) \
    CSR_SPMM_ROWS_OF(NAME, ACCESS, LANES, DEPTH, VECTORS * kVector, DEPTH * VECTORS)

#ifndef IN_PARTS
CSR_SPMM_ROWS(rows_1x4, Vectors, 1, 4, 1)
CSR_SPMM_ROWS(rows_2x4, Vectors, 2, 4, 1)
CSR_SPMM_ROWS(rows_4x4, Vectors, 4, 4, 1)
CSR_SPMM_ROWS(rows_8x4, Vectors, 8, 4, 1)
CSR_SPMM_ROWS(rows_16x4, Vectors, 16, 4, 1)
CSR_SPMM_ROWS(rows_32x4, Vectors, 32, 4, 1)
CSR_SPMM_ROWS(rows_8x8, Vectors, 8, 8, 1)
CSR_SPMM_ROWS(rows_16x8, Vectors, 16, 8, 1)
CSR_SPMM_ROWS(rows_32x8, Vectors, 32, 8, 1)
CSR_SPMM_ROWS(rows_32x4x2, Vectors, 32, 4, 2)
#ifndef AGGREGATE
CSR_SPMM_RUNS(runs_32x1, kVector)
CSR_SPMM_RUNS(runs_32x2, 2 * kVector)
#endif
CSR_SPMM(vectors_1x1, Vectors, 1, kVector)
CSR_SPMM(vectors_2x1, Vectors, 2, kVector)
CSR_SPMM(vectors_4x1, Vectors, 4, kVector)
CSR_SPMM(vectors_8x1, Vectors, 8, kVector)
CSR_SPMM(vectors_16x1, Vectors, 16, kVector)
CSR_SPMM(vectors_32x1, Vectors, 32, kVector)
CSR_SPMM(vectors_32x2, Vectors, 32, 2 * kVector)
#else
// A number of 16 bytes is a vector, however its columns lie: a single column is read so.
#if !defined(COMPLEX) || COMPLEX < 64
CSR_SPMM_ROWS_OF(rows_column, Whole, 1, 4, 1, 4)
CSR_SPMM_ROWS(rows_words_1x4, Words, 1, 4, 1)
CSR_SPMM_ROWS(rows_words_2x4, Words, 2, 4, 1)
CSR_SPMM_ROWS(rows_words_4x4, Words, 4, 4, 1)
CSR_SPMM_ROWS(rows_words_8x4, Words, 8, 4, 1)
CSR_SPMM_ROWS(rows_words_16x4, Words, 16, 4, 1)
CSR_SPMM_ROWS(rows_words_32x4, Words, 32, 4, 1)
CSR_SPMM(elements_column, Elements, 1, 1)
#endif
// Values of up to 4 bytes.
#if IN_PARTS >= 4
CSR_SPMM_ROWS_OF(rows_pair, Whole, 1, 4, 2, 4)
CSR_SPMM(elements_pair, Elements, 1, 2)
CSR_SPMM(pair, Whole, 1, 2)
CSR_SPMM_ROWS(rows_word_pairs_1x4, WordPairs, 1, 4, 1)
CSR_SPMM_ROWS(rows_word_pairs_2x4, WordPairs, 2, 4, 1)
CSR_SPMM_ROWS(rows_word_pairs_4x4, WordPairs, 4, 4, 1)
CSR_SPMM_ROWS(rows_word_pairs_8x4, WordPairs, 8, 4, 1)
CSR_SPMM_ROWS(rows_word_pairs_16x4, WordPairs, 16, 4, 1)
CSR_SPMM_ROWS(rows_word_pairs_32x4, WordPairs, 32, 4, 1)
CSR_SPMM(word_pairs_1x1, WordPairs, 1, kVector)
CSR_SPMM(word_pairs_2x1, WordPairs, 2, kVector)
CSR_SPMM(word_pairs_4x1, WordPairs, 4, kVector)
CSR_SPMM(word_pairs_8x1, WordPairs, 8, kVector)
CSR_SPMM(word_pairs_16x1, WordPairs, 16, kVector)
CSR_SPMM(word_pairs_32x1, WordPairs, 32, kVector)
CSR_SPMM(word_pairs_32x2, WordPairs, 32, 2 * kVector)
#endif
// Values of 2 bytes.
#if IN_PARTS >= 8
CSR_SPMM_ROWS_OF(rows_quad, Whole, 1, 4, 4, 4)
CSR_SPMM_ROWS_OF(rows_halves_quad, Halves, 1, 4, 4, 4)
CSR_SPMM_ROWS(rows_halves_1x4, Halves, 1, 4, 1)
CSR_SPMM_ROWS(rows_halves_2x4, Halves, 2, 4, 1)
CSR_SPMM_ROWS(rows_halves_4x4, Halves, 4, 4, 1)
CSR_SPMM_ROWS(rows_halves_8x4, Halves, 8, 4, 1)
CSR_SPMM_ROWS(rows_halves_16x4, Halves, 16, 4, 1)
CSR_SPMM_ROWS(rows_halves_32x4, Halves, 32, 4, 1)
CSR_SPMM(elements_quad, Elements, 1, 4)
CSR_SPMM(quad, Whole, 1, 4)
CSR_SPMM(words_2x1, Words, 2, kVector)
CSR_SPMM(words_4x1, Words, 4, kVector)
CSR_SPMM(words_8x1, Words, 8, kVector)
CSR_SPMM(words_16x1, Words, 16, kVector)
CSR_SPMM(words_32x1, Words, 32, kVector)
CSR_SPMM(words_32x2, Words, 32, 2 * kVector)
#endif
CSR_SPMM(elements_1x1, Elements, 1, kVector)
CSR_SPMM(elements_2x1, Elements, 2, kVector)
CSR_SPMM(elements_4x1, Elements, 4, kVector)
CSR_SPMM(elements_8x1, Elements, 8, kVector)
CSR_SPMM(elements_16x1, Elements, 16, kVector)
CSR_SPMM(elements_32x1, Elements, 32, kVector)
CSR_SPMM(elements_32x2, Elements, 32, 2 * kVector)
#endif

#if !defined(AGGREGATE) && !defined(IN_PARTS)
// C = beta * C: the product for alpha = 0, which reads neither A nor B.
ENTRY_POINT(csr_scale, 256)(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    const Acc beta = beta_of(p);
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.m * p.n; i += threads) {
        const u64 row = i / p.n;
        const u64 column = i % p.n;
        OfC* at = static_cast<OfC*>(p.c) + row * p.c_row_stride + column * p.c_col_stride;
        put(at, p.last(beta == Acc(0) ? Acc(0) : scale(beta, widened(*at)), row, column));
    }
}
#endif
