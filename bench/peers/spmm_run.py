"""Calling runners by turns: pinned threads, adaptive repetitions, and what else ran meanwhile."""

import os
import resource
import time

SAMPLE = 0.004  # seconds that a sample takes at least, unless 50 calls take less
LONG = 0.02  # seconds of a call, beyond which caches need no call before the measured one
HOPELESS = 3.0  # times as slow as another peer, seen in two rounds: not called again


def tasks():
    return set(os.listdir("/proc/self/task"))


class Pins:
    """Keeps the calling thread and the workers of every library on processors of their own.

    A worker inherits the processors of the thread that started it, so the calling thread is pinned
    only while nothing starts, and workers that appear are pinned then.
    """

    def __init__(self, wanted):
        self.cpus = sorted(os.sched_getaffinity(0)) if wanted else []
        self.known = tasks() if wanted else set()

    def new_workers(self):
        """Pins workers that are new, past the processor of the caller, who works with them."""
        if not self.cpus or tasks() <= self.known:
            return
        time.sleep(0.002)  # threads that have ended may still be listed
        now = tasks()
        for i, task in enumerate(sorted(now - self.known, key=int)):
            cpu = self.cpus[(i + 1) % len(self.cpus)]
            try:
                os.sched_setaffinity(int(task), {cpu})
            except ProcessLookupError:
                pass
        self.known = now

    def __enter__(self):
        if self.cpus:
            os.sched_setaffinity(0, {self.cpus[0]})

    def __exit__(self, *_):
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)


def measure(runners, reps, seconds, pins):
    """Times of each runner `(name, threads)`, in at least 3 rounds and at most `reps`, or as many
    as fit in `seconds`; of runners without a chance, in 2."""
    times = {key: [] for key in runners}
    start = time.perf_counter()
    with pins:
        for rep in range(reps):
            if rep >= 3 and time.perf_counter() - start > seconds:
                break
            for key, call in runners.items():
                if rep >= 2 and hopeless(key, times):
                    continue
                begin = time.perf_counter()
                call()
                first = time.perf_counter() - begin
                # Libraries end workers and start others, on the processor of the caller.
                pins.new_workers()
                if first > LONG:
                    times[key].append(first)
                    continue
                once = min([first, *times[key]])
                count = max(1, min(50, int(SAMPLE / once)))
                begin = time.perf_counter()
                for _ in range(count):
                    call()
                times[key].append((time.perf_counter() - begin) / count)
    return times


def is_peer(name):
    """Whether it is another library's product."""
    return name not in ("reading", "moving") and not name.startswith("girih")


def hopeless(key, times):
    """Whether another peer of as many threads or fewer is that much faster."""
    if not is_peer(key[0]):
        return False
    peers = (k for k in times if is_peer(k[0]) and k[1] <= key[1])
    return min(times[key]) > HOPELESS * min(min(times[k]) for k in peers)


class Load:
    """The share of the processors that other programs use."""

    def __enter__(self):
        self.before = time.perf_counter(), busy(), own()
        return self

    def __exit__(self, *_):
        wall, machine, process = self.before
        wall = time.perf_counter() - wall
        other = (busy() - machine - (own() - process)) / (wall * os.cpu_count())
        self.other = max(other, 0.0)


def busy():
    """Processor seconds that the machine has used, by /proc/stat."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, *_ = map(int, stat.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
