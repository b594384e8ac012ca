#!/usr/bin/python3 -I
"""Judges over two pipes: draws a case, asks, looks at the answer, and only then draws the next."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import proofhouse_harness as harness

rng = harness.rng()
judge = harness.Judge()
dialogue = harness.Dialogue()
for number in range(40):
    for name, draw in cases.KINDS.items():
        given, right = draw(rng)
        answer = dialogue.ask(given)
        said = "no answer" if answer is None else answer[:16].hex()
        judge.check(name, cases.is_right(name, right, answer), f"question {number}: {said}")
sys.exit(judge.finish("judge.tap"))
