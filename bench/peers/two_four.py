"""cuSPARSELt beside nothing but itself: 2:4 products as PyTorch calls them, timed by events.

    python3 two_four.py [MxKxN] [f16|bf16]

Half of A's values are zeros, two in every four. B is k x n, C is m x n in A's value type, both row-major.
The algorithm is the fastest of those that cuSPARSELt's own search finds. C is compared with the dense product.
Run `dense_ladder two-four MxKxN` of girih-backend-cuda on the same device in the same session.
"""

import statistics
import sys

import torch


def main():
    m, k, n = map(int, (sys.argv[1] if len(sys.argv) > 1 else "4096x8192x8192").split("x"))
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[sys.argv[2] if len(sys.argv) > 2 else "f16"]
    torch.manual_seed(0)
    a = torch.rand(m, k, device="cuda") * 2 - 1
    keep = torch.rand(m, k // 4, 4, device="cuda").argsort(-1).reshape(m, k) < 2
    a = (a * keep).to(dtype)
    b = (torch.rand(k, n, device="cuda") * 2 - 1).to(dtype)
    packed = torch._cslt_compress(a)
    found = torch._cslt_sparse_mm_search(packed, b)
    product = lambda: torch._cslt_sparse_mm(packed, b, alg_id=found)
    c, expected = product(), a @ b
    error = (c.float() - expected.float()).abs().max().item()
    assert error < 0.05 * k**0.5, f"C is wrong by {error}"
    dense = lambda: torch.matmul(a, b)
    times = {"cuSPARSELt": [], "dense, cuBLAS": []}
    for _ in range(13):
        for name, call in (("cuSPARSELt", product), ("dense, cuBLAS", dense)):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(10):
                call()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) / 10 * 1e3)
    for name, all_of in times.items():
        median = statistics.median(all_of[1:])
        print(f"{name:14} {median:9.1f} us  least {min(all_of):9.1f}  {2 * m * k * n / median / 1e6:7.1f} TFLOP/s of the dense product")
    print(f"algorithm {found}, largest difference {error:.4f}")


main()
