"""The cases of the judge: inputs of each function of tally, and what is right."""

import math
import struct


def _frame(kind, payload):
    return kind.encode().ljust(8, b"\0") + payload


def _whole(rng):
    return [rng.randint(-(2**31), 2**31 - 1) for _ in range(rng.randint(0, 300))]


def sum_case(rng):
    values = _whole(rng)
    return _frame("s", struct.pack(f"<{len(values)}i", *values)), struct.pack("<q", sum(values))


def hash_case(rng):
    data = rng.randbytes(rng.randint(0, 400))
    state = 2166136261
    for byte in data:
        state = (state ^ byte) * 16777619 & 0xFFFFFFFF
    return _frame("h", data), struct.pack("<I", state)


def sort_case(rng):
    values = _whole(rng)
    count = len(values)
    return (
        _frame("o", struct.pack(f"<{count}i", *values)),
        struct.pack(f"<{count}i", *sorted(values)),
    )


def mean_case(rng):
    scale = 10.0 ** rng.randint(-3, 9)
    values = [rng.uniform(-scale, scale) for _ in range(rng.randint(1, 200))]
    right = math.fsum(values) / len(values)
    # The second value is how far an answer may be away.
    return (
        _frame("m", struct.pack(f"<{len(values)}d", *values)),
        struct.pack("<dd", right, 1e-13 * scale),
    )


def power_case(rng):
    modulus = rng.randint(2, 2**62)
    exponent = rng.randint(2**60, 2**63)
    bases = [rng.randint(0, 2**63) for _ in range(36)]
    right = sum(pow(base, exponent, modulus) for base in bases) % 2**64
    return (
        _frame("p", struct.pack(f"<{2 + len(bases)}Q", exponent, modulus, *bases)),
        struct.pack("<Q", right),
    )


KINDS = {
    "Sum": sum_case,
    "Hash": hash_case,
    "Sort": sort_case,
    "Mean": mean_case,
    "PowerSum": power_case,
}


def is_right(name, right, answer):
    if name != "Mean":
        return answer == right
    if answer is None or len(answer) != 8:
        return False
    want, allowed = struct.unpack("<dd", right)
    # Written so that a NaN is never near enough.
    return abs(struct.unpack("<d", answer)[0] - want) <= allowed
