#!/usr/bin/env python3
"""Runs girih's commands on small files that claim or hold much, and says what memory and time they took.

    tools/attack/hostile.py GIRIH [SECONDS]        60 s are a hang if not given

It needs Python 3.9 and Linux. A command must end by itself with success or a code from 1 to 6 and one line, in memory
and time within LIMITS, which are those of SECURITY.md. A row tells the file, its bytes, packed and unpacked, and what its
commands took at most beyond what `girih --version` takes.
"""
import gzip
import io
import os
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

MIB = 1 << 20
# What a command may take beyond `girih --version`: MiB and so many bytes for each byte of the file; seconds and so many
# nanoseconds for each byte of the file, unpacked where it is packed.
LIMITS = {
    "text": (128, 140, 5, 500),
    "packed": (128, 140, 5, 100),
    # As many rows as are taken for granted, 2^24: 40 bytes for each.
    "rows": (640, 140, 10, 500),
    "plan": (16, 4, 5, 500),
}
HEAD = b"%%MatrixMarket matrix coordinate real general\n"


def npy(dtype, shape, data=b""):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def npz(method=zipfile.ZIP_STORED, **arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in arrays.items():
            archive.writestr(name + ".npy", content)
    return out.getvalue()


def csr(shape, indptr, indices, data, method=zipfile.ZIP_STORED):
    return npz(method, format=npy("|S3", "()", b"csr"), shape=npy("<i8", "(2,)", struct.pack("<2q", *shape)),
               indptr=indptr, indices=indices, data=data)


def bomb(mib, unit=b"\n"):
    """A gzip member of so many MiB, made piece by piece."""
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = unit * (MIB // len(unit))
    return b"".join([pack.compress(HEAD)] + [pack.compress(piece) for _ in range(mib)] + [pack.flush()])


def i4(*numbers):
    return struct.pack("<%di" % len(numbers), *numbers)


PATTERN = HEAD.replace(b"real", b"pattern")
TWO = npy("<f4", "(2,)", struct.pack("<2f", 1, 2))


def zeros():
    return npy("<i4", "(%d,)" % (64 * MIB), bytes(256 * MIB))


# Names, kinds, bytes when unpacked if they are packed, and what makes them.
FILES = [
    ("columns.mtx", "text", None,
     lambda: HEAD + b"2 268435456 2\n1 1 1\n2 268435456 2\n"),
    ("most-columns.mtx", "text", None,
     lambda: HEAD + b"2 4294967295 2\n1 1 1\n2 4294967295 2\n"),
    ("rows.mtx", "rows", None,
     lambda: HEAD + b"16777216 16777216 2\n1 1 1\n16777216 16777216 2\n"),
    ("claims-entries.mtx", "text", None,
     lambda: HEAD + b"1000000 1000000 900000000000\n1 1 1\n"),
    ("claims-rows.mtx", "text", None,
     lambda: HEAD + b"4000000000 5 1\n1 1 1\n"),
    ("claims-symmetric.mtx", "text", None,
     lambda: HEAD.replace(b"general", b"symmetric") + b"9999999 9999999 99999999\n1 1 1\n"),
    ("claims-array.mtx", "text", None,
     lambda: HEAD.replace(b"coordinate", b"array") + b"100000000 100000000\n1\n"),
    ("numbers.mtx", "text", None,
     lambda: HEAD + b"3 3 1\n1 1 " + b"9" * 300000 + b"e" + b"9" * 300000 + b"\n"),
    ("one-line.mtx", "text", None,
     lambda: HEAD + b"1" * (4 * MIB)),
    ("comments.mtx", "text", None,
     lambda: HEAD + b"%\n" * (2 * MIB) + b"1 1 1\n1 1 1\n"),
    ("blank-lines.mtx", "text", None,
     lambda: HEAD + b"3 3 1\n" + b"\n" * (4 * MIB) + b"1 1 1\n"),
    ("one-element.mtx", "text", None,
     lambda: PATTERN + b"1 1 1000000\n" + b"1 1\n" * 1000000),
    ("shortest-entries.mtx", "text", None,
     lambda: PATTERN + b"9 9 1000000\n" + b"".join(
     b"%d %d\n" % (i % 9 + 1, i // 9 % 9 + 1) for i in range(1000000))),
    ("one-row.mtx", "text", None,
     lambda: PATTERN + b"9 99999 90000\n" + b"".join(b"1 %d\n" % i for i in range(1, 90001))),
    ("newlines.mtx.gz", "packed", 128 * MIB,
     lambda: bomb(128)),
    ("comment.mtx.gz", "packed", 128 * MIB,
     lambda: bomb(128, b"%" * 64)),
    ("again.mtx.gz", "packed", 64 * MIB,
     lambda: gzip.compress(bomb(64))),
    ("claims.smtx", "text", None,
     lambda: b"16777216, 16777216, 9000000000\n0 1\n0\n"),
    ("long.smtx", "text", None,
     lambda: b"3, 3, 3\n" + b"0 " * (2 * MIB) + b"\n0 1 2\n"),
    ("claims.npz", "text", None,
     lambda: csr((2, 2), npy("<i4", "(3,)", i4(0, 1, 2)), npy("<i4", "(900000000000,)", i4(0, 1)), TWO)),
    ("rows.npz", "text", None,
     lambda: csr((2**40, 2), npy("<i8", "(1099511627777,)"), npy("<i4", "(2,)", i4(0, 1)), TWO)),
    ("falls.npz", "text", None,
     lambda: csr((2, 2), npy("<i4", "(3,)", i4(0, 2000000000, 2)), npy("<i4", "(2,)", i4(0, 1)), TWO)),
    ("zeros.npz", "packed", 256 * MIB,
     lambda: csr((2, 2), npy("<i4", "(3,)", i4(0, 1, 2)), zeros(), TWO, zipfile.ZIP_DEFLATED)),
    ("zeros.npz.gz", "packed", 256 * MIB,
     lambda: gzip.compress(npz(zipfile.ZIP_DEFLATED, other=zeros()), 9)),
]


def make(path, content):
    """Makes a file in a process of its own: what this one holds counts for the commands that it starts."""
    child = os.fork()
    if child == 0:
        with open(path, "wb") as file:
            file.write(content())
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("%s cannot be made" % path)


def run(command, limit):
    """Seconds, the most resident KiB, the exit code and the lines of standard error."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL)
        while True:
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begin > limit:
                child.kill()
            time.sleep(0.002)
        seconds = time.monotonic() - begin
        child.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = [line for line in said.read().decode(errors="replace").splitlines() if not line.startswith("note: ")]
    return seconds, used.ru_maxrss, code, lines


def main():
    girih, limit = os.path.realpath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60
    os.environ.update(RAYON_NUM_THREADS=os.environ.get("RAYON_NUM_THREADS", "2"), RUST_BACKTRACE="1")
    base = min(run([girih, "--version"], limit)[1] for _ in range(3))
    tried, wrong, worst = 0, 0, {}
    print("| file | bytes | unpacked | most MB | most s | exit codes |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")

        def attack(name, kind, path, unpacked, commands):
            nonlocal tried, wrong
            size = os.path.getsize(path)
            most, slowest, codes = 0, 0.0, []
            for command in commands:
                seconds, resident, code, lines = run([girih] + command, limit)
                tried, taken = tried + 1, max(resident - base, 0) << 10
                most, slowest = max(most, taken), max(slowest, seconds)
                codes.append(code)
                mib, each, least, nanos = LIMITS[kind]
                faults = []
                if taken > mib * MIB + each * size:
                    faults.append("%d MB" % (taken // 10**6))
                if seconds > least + nanos * unpacked / 1e9:
                    faults.append("%.1f s" % seconds)
                if not 0 <= code <= 6 or code and len(lines) != 1 or any("panicked" in line for line in lines):
                    faults.append("exit code %d, %d lines" % (code, len(lines)))
                if faults:
                    wrong += 1
                    what = " ".join(command).replace(work + "/", "")
                    print("WRONG: %s of %s: %s" % (what, name, ", ".join(faults)))
            row = (name, size, unpacked, most / 1e6, slowest, " ".join(map(str, codes)))
            print("| %s | %d | %d | %.1f | %.2f | %s |" % row, flush=True)
            worst[kind] = tuple(map(max, worst.get(kind, (0, 0)), (most / 1e6, slowest)))

        for name, kind, unpacked, content in FILES:
            path = os.path.join(work, name)
            make(path, content)
            attack(name, kind, path, unpacked or os.path.getsize(path), [
                ["inspect", path], ["reorder", path, "--by", "rcm"], ["reorder", path, "--by", "window"],
                ["convert", path, "-o", out + ".mtx"]] + [
                ["plan", path, "-o", out + ".girih"] + options.split() for options in (
                    "", "--reorder rcm", "--format wcsr --window 16", "--format bcsr --block 8", "--format bmat")])
            os.remove(path)
        # Plans of few bytes and many rows, which were made for who accepts them.
        matrix = os.path.join(work, "hypersparse.mtx")
        for rows in (2**25, 5 * 10**7):
            with open(matrix, "wb") as file:
                file.write(HEAD + b"%d 3 2\n1 1 1\n%d 3 2\n" % (rows, rows))
            for form in ("csr", "wcsr"):
                plan = os.path.join(work, "%s-%d.girih" % (form, rows))
                made = run([girih, "plan", matrix, "--allow-hypersparse", "--format", form, "-o", plan], limit)
                if made[2] != 0 or os.path.getsize(plan) > 64 * MIB:
                    continue
                attack(os.path.basename(plan), "plan", plan, os.path.getsize(plan), [
                    ["inspect", plan], ["verify", plan], ["reorder", plan, "--by", "rcm"],
                    ["spmm", plan, "--random", "1", "--verify"]])
                os.remove(plan)
    for kind, (memory, seconds) in worst.items():
        print("%s: at most %.0f MB beyond the program's own, %.1f s" % (kind, memory, seconds))
    print("%d runs, %d wrong" % (tried, wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
