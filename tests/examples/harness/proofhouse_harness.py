"""What a project needs to make inputs for its judged code and to judge the answers.

One module, Python's own library only. Copy it into a guarded folder of your project, beside
proofhouse_harness.h, which runs the code between the two. Start your scripts with
`#!/usr/bin/python3 -I` and add their own folder to the path, so that nothing else is imported.

    gen.py    rng = proofhouse_harness.rng()
              write_frames("in/calls.bin", inputs); write_frames("expected/answers.bin", right)
    judge.py  judge = Judge(); judge.check("sum", answer == right, "expected 3, got 4")
              sys.exit(judge.finish("judge.tap"))

A frame is its length as 4 bytes, lowest first, and so many bytes. Whatever the answers hold, reading
them cannot fail: what is cut, missing or too much is None, or counted.
"""

import os
import random
import struct
import sys

MAX_FRAME = 64 << 20


def rng():
    """A generator of the run's own seed, which is drawn after the builds."""
    return random.Random(os.environ["PROOFHOUSE_SEED"])


def calls(default):
    """How many calls the run is for: $PROOFHOUSE_CALLS, where the policy says `calls`."""
    return int(os.environ.get("PROOFHOUSE_CALLS", default))


def write_frames(path, frames):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        for frame in frames:
            file.write(struct.pack("<I", len(frame)))
            file.write(frame)


def read_frames(path, limit=256 << 20):
    """All whole frames of a file, at most `limit` bytes; none where there is no such file."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit)
    except OSError:
        return []
    frames, at = [], 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        if at + 4 + length > len(data):
            break
        frames.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return frames


class Judge:
    """Collects what was right and wrong by test, and writes it as TAP."""

    def __init__(self):
        self._tests = {}

    def check(self, test, is_right, message=""):
        counts = self._tests.setdefault(test, [0, 0, ""])
        counts[0] += 1
        if not is_right:
            counts[1] += 1
            counts[2] = counts[2] or message

    def finish(self, path):
        """Writes the report; 0 if everything was right and anything was judged, else 1."""
        with open(path, "w") as tap:
            print(f"TAP version 13\n1..{len(self._tests)}", file=tap)
            for number, (test, (tried, wrong, message)) in enumerate(sorted(self._tests.items()), 1):
                print("not ok" if wrong else "ok", number, "-", test, file=tap)
                if wrong:
                    text = f"{wrong} of {tried} answers wrong; {printable(message)}"
                    print(f"  ---\n  message: '{text}'\n  ...", file=tap)
                    print(f"{test}: {text}", file=sys.stderr)
        return 0 if self._tests and not any(wrong for _, wrong, _ in self._tests.values()) else 1


class Dialogue:
    """The judge's end of a step with `interact: true`: its code reads what we print."""

    def __init__(self):
        self._out = os.fdopen(os.dup(1), "wb")
        self._in = os.fdopen(os.dup(0), "rb")
        # What is printed from here on is log, not a question.
        os.dup2(2, 1)

    def ask(self, frame):
        """The answer to one question, or None when there is none any more."""
        try:
            self._out.write(struct.pack("<I", len(frame)) + frame)
            self._out.flush()
            header = self._in.read(4)
            if len(header) < 4:
                return None
            (length,) = struct.unpack("<I", header)
            answer = self._in.read(length) if length <= MAX_FRAME else b""
        except BrokenPipeError:
            return None
        return answer if len(answer) == length else None


def printable(text, most=160):
    """Text for a report: what came from the judged code is no markup of anything."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " .,;:+-_()") else "?" for c in text)[:most]
