"""Calls that charge a library for its product, and for as little as can be of what Python does.

To take an array's address takes numpy a microsecond, to convert arguments or to set a number of threads
about as long: together a quarter of the shortest products.
"""

import ctypes as ct
import functools


def bound(function, *arguments):
    """The call of a C function whose `argtypes` are set, its arguments converted once."""
    pairs = zip(function.argtypes, arguments, strict=True)
    converted = [x if isinstance(x, ct.Structure) else kind(x) for kind, x in pairs]
    return functools.partial(function, *converted)


class Setting:
    """What a library is told before a call, where it is not what it was told before the last."""

    def __init__(self, tell):
        self.tell, self.told = tell, None

    def be(self, value):
        if value != self.told:
            self.tell(value)
            self.told = value
