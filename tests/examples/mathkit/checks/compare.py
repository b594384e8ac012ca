#!/usr/bin/python3 -I
"""Judges a harness's answers against those that gen.py worked out.

    compare.py EXPECTED_DIR RESULTS_DIR

writes judge.tap with one test a function, and ends with 0 if all passed, else with 1. The
results come from the judged change: whatever they hold, they can only fail to match.
"""

import math
import os
import sys

MAX_RESULT_BYTES = 4 << 20
MAX_SHOWN = 160


def read_expected(directory):
    with open(os.path.join(directory, "answers.txt")) as file:
        for line in file:
            number, function, *values = line.split()
            yield number, function, values


def read_results(directory):
    """number -> list of values as text; a number given twice counts as not answered."""
    try:
        with open(os.path.join(directory, "results.txt"), "rb") as file:
            text = file.read(MAX_RESULT_BYTES).decode("ascii", "replace")
    except OSError as error:
        print(f"no results: {error.strerror}", file=sys.stderr)
        return {}
    results = {}
    for line in text.splitlines():
        number, *values = line.split() or [""]
        results[number] = None if number in results else values
    return results


def matches(wanted, got):
    """Whether one value, as text, is right; a NaN or an infinity never is."""
    reference, _, allowed = wanted.partition("~")
    if not allowed:
        return got == reference
    try:
        distance = abs(float.fromhex(got) - float.fromhex(reference))
    except (ValueError, OverflowError):
        return False
    return math.isfinite(distance) and distance <= float.fromhex(allowed)


def readable(text):
    """A value for people: reals in decimal, anything odd in bounded printable ASCII."""
    try:
        if text.lstrip("-").startswith("0x"):
            return repr(float.fromhex(text))
    except (ValueError, OverflowError):
        pass
    return "".join(c if c.isalnum() or c in "+-." else "?" for c in text[:40])


def first_difference(number, wanted, got):
    """None if the case is right, else a sentence."""
    if got is None:
        return f"case {number} was not answered"
    if len(got) != len(wanted):
        return f"case {number}: {len(got)} values where {len(wanted)} were expected"
    for want, have in zip(wanted, got):
        if not matches(want, have):
            reference = readable(want.partition("~")[0])
            return f"case {number}: expected {reference}, got {readable(have)}"
    return None


def judge(expected, results):
    """function -> [cases, wrong cases, first difference]"""
    verdicts = {}
    for number, function, values in expected:
        verdict = verdicts.setdefault(function, [0, 0, None])
        difference = first_difference(number, values, results.get(number))
        verdict[0] += 1
        verdict[1] += difference is not None
        verdict[2] = verdict[2] or difference
    return verdicts


def main():
    verdicts = judge(read_expected(sys.argv[1]), read_results(sys.argv[2]))
    with open("judge.tap", "w") as tap:
        print("TAP version 13", file=tap)
        print(f"1..{len(verdicts)}", file=tap)
        for index, (function, verdict) in enumerate(sorted(verdicts.items()), 1):
            cases, wrong, difference = verdict
            print("not ok" if wrong else "ok", index, "-", function, file=tap)
            if wrong:
                message = f"{wrong} of {cases} cases wrong; {difference}"[:MAX_SHOWN]
                print(f"  ---\n  message: '{message}'\n  ...", file=tap)
                print(f"{function}: {message}", file=sys.stderr)
    return 1 if any(wrong for _, wrong, _ in verdicts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
