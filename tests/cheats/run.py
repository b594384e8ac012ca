#!/usr/bin/python3 -I
"""Tries cheating and honest changes on a small project, on a real server.

    run.py --programs DIR [--all] [--only PREFIX…] [--keep]

cases/*.patch: what each change is, which gate has to refuse it in which words, and how far that
gate can be trusted (README.md). Prints a table and, last,

    cheats: N refused, missed 0; honest: N passed, falsely accused 0

Exit status 0 if nothing was missed and nobody accused, else 1; 2 where the server does not work.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
HARNESS = os.path.join(HERE, "..", "examples", "harness")
SERVE_USER = 938_003  # belongs to nobody; below the ids that executors lend to sandboxes
PATIENCE_S = 900
# An outside clock tells the truth if it is that near; a report lies that says so much less.
TRUTH = 0.15
LIE = 0.7


class Case:
    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".patch")
        with open(path, encoding="utf-8") as file:
            head, self.patch = file.read().split("\n\n", 1)
        self.head = dict(line.split(": ", 1) for line in head.splitlines())

    def __getattr__(self, key):
        return self.head.get(key.capitalize(), "")


def read_cases(arguments):
    folder = os.path.join(HERE, "cases")
    cases = [Case(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
    if arguments.only:
        return [case for case in cases if case.name.startswith(tuple(arguments.only))]
    return [case for case in cases if case.subset or not arguments.subset]


class Server:
    """A real `proofhouse serve` with everything below one folder."""

    def __init__(self, programs, place):
        self.programs, self.place = programs, place
        os.chmod(place, 0o711)
        for name, owner, mode in (("data", SERVE_USER, 0o711), ("run", 0, 0o755)):
            os.mkdir(os.path.join(place, name))
            os.chown(os.path.join(place, name), owner, owner)
            os.chmod(os.path.join(place, name), mode)
        config = os.path.join(place, "config.yaml")
        with open(config, "w") as file:
            file.write(f"listen: 127.0.0.1:0\ndata: {place}/data\nuser: {SERVE_USER}\n")
        self.log = open(os.path.join(place, "serve.log"), "wb")
        self.process = subprocess.Popen(
            [os.path.join(programs, "proofhouse"), "serve", "--config", config],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR": place + "/run"},
            stdout=self.log, stderr=self.log, cwd="/", start_new_session=True)
        self.url = self._wait_until_ready()
        with open(place + "/data/admin.token") as file:
            self.token = file.read().strip()

    def _wait_until_ready(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with open(self.place + "/run/proofhouse/default.json") as file:
                    url = json.load(file)["url"]
                urllib.request.urlopen(url + "/readyz", timeout=5).read()
                if os.path.exists(self.place + "/data/admin.token"):
                    return url
            except (OSError, ValueError, KeyError):
                pass
            time.sleep(0.05)
        raise SystemExit("the server is not ready:\n" + self.tail())

    def tail(self):
        with open(self.place + "/serve.log", errors="replace") as file:
            return file.read()[-3000:]

    def call(self, method, path, body=None, token=None, timeout=90):
        request = urllib.request.Request(
            self.url + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + (token or self.token),
                     "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def must(self, method, path, body=None):
        status, answer = self.call(method, path, body)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {answer}\n{self.tail()}")
        return answer

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def git(place, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c",
         "safe.directory=*", *arguments],
        cwd=place, check=True, stdout=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_SYSTEM": "/dev/null"})


def make_project(server, policy):
    """A repository of the sample with one of its policies, registered under that policy's name."""
    checkout = os.path.join(server.place, "checkout." + policy)
    shutil.copytree(os.path.join(HERE, "project"), checkout)
    for name in ("proofhouse_harness.h", "proofhouse_harness.py"):
        shutil.copy(os.path.join(HARNESS, name), os.path.join(checkout, "checks", name))
    if policy != "tally":  # the repository's own policy
        shutil.copy(os.path.join(checkout, policy + ".yaml"), checkout + "/proofhouse.yaml")
    git(checkout, "init", "-q", "-b", "main", ".")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "Start the sample")
    bare = os.path.join(server.place, policy + ".git")
    git(checkout, "clone", "-q", "--bare", ".", bare)
    for folder, _, files in os.walk(bare):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, SERVE_USER, SERVE_USER)
    server.must("POST", "/v1/projects",
                {"name": policy, "repository": bare, "target": "refs/heads/main"})


def make_author(server):
    server.must("POST", "/v1/principals", {"name": "ada"})
    server.must("POST", "/v1/grants", {"principal": "ada", "project": "*", "role": "agent"})
    return server.must("POST", "/v1/tokens",
                       {"principal": "ada", "lifetime_seconds": 7200})["token"]


def judge(server, token, case):
    """Posts the change, waits for its end (or for owners), and gives the task."""
    # What only an owner may let land is posted to land, to see that it does not; of the rest the
    # verdict is what counts.
    intent = "promote" if "owners" in case.expect else "verify"
    body = {"project": case.policy, "change": {"patch": case.patch}, "intent": intent,
            "title": case.name}
    if case.removes:
        body["claims"] = {"removes": [case.removes]}
    for _ in range(20):
        status, task = server.call("POST", "/v1/tasks", body, token)
        if status != 503:
            break
        time.sleep(1)
    if status != 202:
        return {"state": "refused", "verdict": "", "reason": {"text": f"POST: {status} {task}"}}
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        _, task = server.call("GET", f"/v1/tasks/{task['id']}", token=token)
        if task["state"] in ("done", "awaiting_approval"):
            break
        time.sleep(0.2)
    if task["state"] != "done":
        server.call("DELETE", f"/v1/tasks/{task['id']}", token=token)
    return task


def ratio_of(gate):
    """The greatest ratio that a benchmark gate found, as a number."""
    found = [reason["figures"]["ratio_ppm"] / 1e6 for reason in gate["reasons"]
             if "ratio_ppm" in reason.get("figures", {}) and "odd" not in reason["text"]]
    return max(found, default=0.0)


def complaints(case, task):
    """What is not as the case says; empty: all is."""
    gates = {gate["name"]: gate for gate in task.get("gates", [])}
    wrong = []
    for name in case.fooled.split():
        status = gates.get(name, {"status": "absent"})["status"]
        if status != "passed":
            wrong.append(f"{name} was not deceived ({status})")
    if case.expect in ("accepted", "honest-owners"):
        if task["verdict"] != "accepted":
            wrong.append(f"{task['verdict']}: {task['reason']['text']}")
        elif task.get("assurance") != case.assurance:
            wrong.append(f"assurance {task.get('assurance')}")
    if case.expect == "accepted" and task.get("guarded"):
        wrong.append(f"guarded: {task['guarded']}")
    if "owners" in case.expect:
        if case.words not in task.get("guarded", []):
            wrong.append(f"{case.words} is not guarded: {task.get('guarded')}")
        if task["state"] != "awaiting_approval" or task["approvals"]["owners_needed"] < 1:
            wrong.append(f"{task['state']}: no owner is asked")
    if case.expect in ("rejected", "inconclusive"):
        gate = gates.get(case.gate, {"status": "absent", "reasons": [], "assurance": ""})
        texts = [reason["text"] for reason in gate["reasons"]]
        status = "failed" if case.expect == "rejected" else "inconclusive"
        if task["verdict"] != case.expect:
            wrong.append(f"verdict {task['verdict']}: {task['reason']['text']}")
        elif gate["status"] != status:
            wrong.append(f"{case.gate} {gate['status']}: {task['reason']['text']}")
        elif not any(case.words in text for text in texts):
            wrong.append(f"said in other words: {texts[:2]}")
        elif gate["assurance"] != case.assurance:
            wrong.append(f"{case.gate} is {gate['assurance']}")
    if case.expect == "clocks":
        reported, truth = ratio_of(gates["claimed"]), ratio_of(gates["speed"])
        case.head["Figures"] = f"reported {reported:.2f}x, outside {truth:.2f}x"
        if not 0 < reported < LIE:
            wrong.append(f"its own benchmark says {reported:.2f}x")
        if abs(truth - 1) > TRUTH:
            wrong.append(f"the outside clock says {truth:.2f}x, not 1.00x")
    return wrong


def what_happened(case, task):
    if case.expect == "clocks":
        return case.figures
    if "owners" in case.expect:
        return "waits for owners: " + ", ".join(task.get("guarded", []))[:60]
    return (task.get("reason") or {}).get("text", "")[:78]


def run(server, arguments, cases):
    for policy in sorted({case.policy for case in cases}):
        make_project(server, policy)
    token = make_author(server)
    missed = accused = refused = passed = 0
    print(f"{'case':34} {'row':4} {'caught by':9} {'assurance':15} {'fooled':8} what was said")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for case, task in zip(cases, pool.map(lambda case: judge(server, token, case), cases)):
            is_honest = case.expect in ("accepted", "honest-owners")
            wrong = complaints(case, task)
            print(f"{case.name:34} {case.row or 'ok':4} {case.gate or '-':9} {case.assurance:15} "
                  f"{case.fooled or '-':8} {what_happened(case, task)}", flush=True)
            for text in wrong:
                print(f"    WRONG: {text}")
            if is_honest:
                accused, passed = accused + bool(wrong), passed + (not wrong)
            else:
                missed, refused = missed + bool(wrong), refused + (not wrong)
    print(f"cheats: {refused} refused, missed {missed}; "
          f"honest: {passed} passed, falsely accused {accused}")
    return 1 if missed or accused else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of proofhouse and its programs")
    parser.add_argument("--subset", action="store_true",
                        default=os.environ.get("PROOFHOUSE_CHEATS") != "all",
                        help="the cases marked Subset alone (unless PROOFHOUSE_CHEATS is all)")
    parser.add_argument("--all", action="store_false", dest="subset", help="every case")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name begins so")
    parser.add_argument("--keep", action="store_true", help="leave the server's folder in place")
    arguments = parser.parse_args()
    cases = read_cases(arguments)
    place = tempfile.mkdtemp(prefix="proofhouse-cheats-")
    server = None
    begin = time.monotonic()
    try:
        server = Server(arguments.programs, place)
        status = run(server, arguments, cases)
    finally:
        if server is not None:
            server.stop()
        if arguments.keep:
            print("kept:", place, file=sys.stderr)
        else:
            shutil.rmtree(place, ignore_errors=True)
    print(f"{len(cases)} changes in {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
