"""Sums up ctest's JUnit files: `summary.py FILE...`.

Lists what failed and what was skipped and why, then, as the last line,
`tests: N ran, F failed, S skipped`; `ran` counts no skips. Exit status 1 if a case failed, a
file is missing, or nothing ran at all.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case):
    """The text after GoogleTest's "Skipped" line, or why ctest did not run the case."""
    output = case.findtext("system-out") or ""
    match = re.search(r": Skipped\n(.*?)\n", output)
    if match and match.group(1).strip():
        return match.group(1).strip()
    skipped = case.find("skipped")
    return skipped.get("message", "disabled") if skipped is not None else "disabled"


def is_skip(case):
    """True for a case that was meant not to run. One that failed before it skipped, or that only
    printed another program's "[  SKIPPED ]" before it failed, looks the same to ctest."""
    if case.get("status") == "disabled":
        return True
    skipped = case.find("skipped")
    if skipped is None or "SKIP_REGULAR_EXPRESSION" not in skipped.get("message", ""):
        return False
    return "\n[  FAILED  ] " not in (case.findtext("system-out") or "")


def main(paths):
    ran, failed, skipped = 0, [], []
    for path in paths:
        try:
            cases = ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError) as error:
            failed.append(f"{path}: {error}")
            continue
        for case in cases:
            status, name = case.get("status"), case.get("name")
            if status == "run":
                ran += 1
            elif status == "fail":
                ran += 1
                failed.append(name)
            elif is_skip(case):
                skipped.append((name, skip_reason(case)))
            else:
                # A test binary that is not built, or a failure that looks like a skip.
                ran += 1
                failed.append(name)
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}", file=sys.stderr)
    for name in failed:
        print(f"failed: {name}", file=sys.stderr)
    print(f"tests: {ran} ran, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
