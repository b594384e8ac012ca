#!/usr/bin/python3 -I
"""gen.py [KIND…]: draws one case a call, of the given kinds (all) in turn."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import proofhouse_harness as harness

kinds = sys.argv[1:] or list(cases.KINDS)
rng = harness.rng()
inputs, expected = [], []
for call in range(harness.calls(60)):
    kind = kinds[call % len(kinds)]
    given, right = cases.KINDS[kind](rng)
    inputs.append(given)
    expected.append(kind.encode() + b"\0" + right)
harness.write_frames("in/calls.bin", inputs)
harness.write_frames("expected/answers.bin", expected)
