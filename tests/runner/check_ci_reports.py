"""Reads reports of `proofhouse check` as strangers do: SARIF by its public schema, JUnit by a
parser that CI tools use.

    check_ci_reports.py SCHEMA SARIF JUNIT

SCHEMA is OASIS's JSON schema of SARIF 2.1.0. Prints what is wrong, a line each; exit status 1 if
anything is.
"""

import json
import sys

import jsonschema
import junitparser


def sarif_problems(schema_path: str, report_path: str) -> list[str]:
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    validator_class = jsonschema.validators.validator_for(schema)
    validator = validator_class(schema, format_checker=jsonschema.FormatChecker())
    return [
        f"SARIF /{'/'.join(str(part) for part in error.absolute_path)}: {error.message}"
        for error in validator.iter_errors(report)
    ]


def junit_problems(report_path: str) -> list[str]:
    suites = junitparser.JUnitXml.fromfile(report_path)
    problems = []
    for suite in suites:
        results = [result for case in suite for result in case.result]
        counted = {
            "tests": sum(1 for _ in suite),
            "failures": sum(isinstance(result, junitparser.Failure) for result in results),
            "errors": sum(isinstance(result, junitparser.Error) for result in results),
            "skipped": sum(isinstance(result, junitparser.Skipped) for result in results),
        }
        for name, count in counted.items():
            if getattr(suite, name) != count:
                problems.append(
                    f"JUnit suite {suite.name}: {name} is {getattr(suite, name)}, "
                    f"its cases say {count}"
                )
    return problems


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    schema, sarif, junit = sys.argv[1:]
    problems = sarif_problems(schema, sarif) + junit_problems(junit)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
