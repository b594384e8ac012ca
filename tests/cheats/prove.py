#!/usr/bin/python3 -I
"""`policy prove` on a sample of its own size: tests/examples/mathkit.

    prove.py --programs DIR

Its own policy has to catch every saboteur; with CTest's report alone an early exit has to pass;
without its benchmark gate (one line) the slow-down has to. Takes minutes. Exit status 0 if so,
else 1.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MATHKIT = os.path.join(HERE, "..", "examples", "mathkit")
CTEST_ALONE = """version: 1
subject: [src/**, include/**, docs/**]
limits: {cpus: 1, memory: 1GiB, disk: 512MiB, wall: 3m, idle: 2m, total: 15m}
steps:
  build: {run: cmake -S . -B build -G Ninja && cmake --build build}
  test:
    needs: [build]
    run: ctest --test-dir build --output-junit ../report.xml
    report: {ctest-junit: report.xml}
gates:
  tests: {kind: tests, steps: [test]}
"""


def make_repository(place):
    checkout = os.path.join(place, "mathkit")
    shutil.copytree(MATHKIT, checkout)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for arguments in (["init", "-q", "-b", "main", "."], ["add", "-A"],
                      ["commit", "-q", "-m", "Start the sample"]):
        subprocess.run(["git", *identity, *arguments], cwd=checkout, check=True)
    return checkout


def prove(programs, place, checkout, policy=None, only=()):
    """The exit code, and how each saboteur ended."""
    program = os.path.join(programs, "proofhouse")
    command = [program, "policy", "prove", "--json", "--repo", checkout]
    if policy is not None:
        path = os.path.join(place, "policy.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(policy)
        command += ["--policy", path]
    for name in only:
        command += ["--only", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                               "XDG_CACHE_HOME": os.path.join(place, "cache")})
    rows = json.loads(done.stdout or "{}").get("saboteurs", [])
    for row in rows:
        print(f"{row['saboteur']:18} {row['end']:14} {row['gate']:8} {row['assurance']:14} "
              f"{row['words'][:70]}", flush=True)
    print(f"exit {done.returncode}\n", flush=True)
    return done.returncode, {row["saboteur"]: row["end"] for row in rows}


def without_benchmark_gate():
    with open(os.path.join(MATHKIT, "proofhouse.yaml"), encoding="utf-8") as file:
        return "".join(line for line in file if "kind: benchmark" not in line)


def run(programs, place):
    checkout = make_repository(place)
    code, ends = prove(programs, place, checkout)
    wrong = [name for name, end in ends.items() if end not in ("caught", "not applicable")]
    if code != 0 or wrong or list(ends.values()).count("caught") < 12:
        print("WRONG: mathkit's own policy has to catch every saboteur:", wrong)
        return 1
    for policy, saboteur in ((CTEST_ALONE, "early exit"), (without_benchmark_gate(), "slow-down")):
        code, ends = prove(programs, place, checkout, policy, [saboteur])
        if code != 1 or ends.get(saboteur) != "passes" or ends.get("broken function") != "caught":
            print(f"WRONG: {saboteur} has to pass, and nothing else")
            return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of proofhouse and its programs")
    arguments = parser.parse_args()
    place = tempfile.mkdtemp(prefix="proofhouse-prove-")
    try:
        return run(arguments.programs, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
