#!/usr/bin/python3 -I
"""judge.py EXPECTED OUT: one test a function, right only if every answer is."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import proofhouse_harness as harness

expected = harness.read_frames(sys.argv[1] + "/answers.bin")
answers = harness.read_frames(sys.argv[2] + "/answers.bin")
judge = harness.Judge()
for number, frame in enumerate(expected):
    name, right = frame.split(b"\0", 1)
    answer = answers[number] if number < len(answers) else None
    judge.check(
        name.decode(),
        cases.is_right(name.decode(), right, answer),
        f"call {number} was not answered" if answer is None else f"call {number}: {answer[:16].hex()}",
    )
if len(answers) > len(expected):
    judge.check("Answers", False, f"{len(answers)} answers to {len(expected)} calls")
sys.exit(judge.finish("judge.tap"))
