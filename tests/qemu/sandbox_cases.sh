#!/usr/bin/env bash
# Programs with one misdeed each, through `proofhouse sandbox run`; every one must end as the
# design says, in time, and leave nothing behind.
#
#   sandbox_cases.sh GUESTS-DIR SLACK-SECONDS
#
# `proofhouse` is found in PATH; GUESTS-DIR holds the programs of tests/guests. SLACK (at least 1)
# is what a slow machine may take beyond a case's limit; the wall limit of a command that is to end
# by itself or by another limit grows with it. Prints TAP; exit status 1 if a case failed. Runs on
# the host and, by qemu_test, on a machine with nothing but cgroup v2.
set -uo pipefail

readonly guests=$1 slack=$2
# Of commands that are to end before it.
readonly ample=$((2 + slack))s
failures=0 number=0

# Everything of a sandbox that can be seen from outside: groups, mounts, guests that run as one of
# the user ids that sandboxes are given (from 939524096 on).
traces() {
  {
    find /sys/fs/cgroup -type d -name 'proofhouse*' 2> /dev/null
    grep -o '/[^ ]*proofhouse[^ ]*/attempts[^ ]*' /proc/self/mountinfo
    ps -eo uid=,pid=,comm= | awk -v folder="$guests" \
      '$1 >= 939524096 && system("test -e " folder "/" $3) == 0 { print "process", $2, $3 }'
  } | sort -u
}

# run_case NAME WALL SECONDS FILTER COMMAND…: the jq FILTER must hold for what sandbox run --json
# prints, after at most SECONDS and the slack.
run_case() {
  local name=$1 wall=$2 seconds=$3 filter=$4 before answer started took left why=""
  shift 4
  before=$(traces)
  started=$(date +%s%N)
  answer=$(proofhouse sandbox run --json --memory 128M --wall "$wall" --pids 64 \
    --workspace "$guests" -- "$@" 2> /tmp/sandbox_cases.err < /dev/null) ||
    why="sandbox run ended with $?: $(tail -n 3 /tmp/sandbox_cases.err)"
  took=$((($(date +%s%N) - started) / 1000000))

  if [[ -z $why ]] && ! jq -e "$filter" > /dev/null 2>&1 <<< "$answer"; then
    why="not $filter: $(jq -c 'del(.output)' <<< "$answer" 2>&1 | cut -c1-600)"
  fi
  if [[ -z $why ]] && ((took > (seconds + slack) * 1000)); then
    why="took $took ms"
  fi
  # Empty network namespaces and groups go a moment after the last process.
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=$(comm -13 <(echo "$before") <(traces))
    [[ -z $left ]] && break
    sleep 0.3
  done
  [[ -z $left ]] || why+=" left behind: $left"

  number=$((number + 1))
  if [[ -z $why ]]; then
    echo "ok $number - $name ($took ms)"
  else
    echo "not ok $number - $name: $why"
    failures=$((failures + 1))
  fi
}

run_case "a plain command exits" "$ample" 1 '.outcome == {"kind": "exited", "code": 0}' /bin/true
run_case "an exit code is told" "$ample" 1 '.outcome == {"kind": "exited", "code": 7}' \
  /workspace/end_with code 7
run_case "a signal is told" "$ample" 1 '.outcome == {"kind": "signalled", "signal": 11}' \
  /workspace/end_with signal 11
run_case "a memory hog is killed" "$ample" 3 \
  '.outcome == {"kind": "killed", "limit": "memory"} and
   ([.limits_hit[].limit] | index("memory") != null)' /workspace/hog_memory
run_case "a fork bomb is held by the limit of processes" "$ample" 3 \
  '(.outcome.kind == "exited" or .outcome == {"kind": "timed_out", "limit": "wall"}) and
   ([.limits_hit[].limit] | index("pids") != null)' /workspace/fork_bomb
run_case "a sleeper with an orphan in its own session times out" 3s 3 \
  '.outcome == {"kind": "timed_out", "limit": "wall"} and
   ([.limits_hit[].limit] | index("wall") != null)' /workspace/orphan 60
run_case "a child that holds standard output does not delay the end" "$ample" 1 \
  '.outcome == {"kind": "exited", "code": 0} and (.output.head | contains("before the end"))' \
  /workspace/hold_stdout
run_case "an endless printer is ended" "$ample" 3 \
  '(.outcome == {"kind": "killed", "limit": "output"} or
    .outcome == {"kind": "timed_out", "limit": "wall"}) and
   ([.limits_hit[].limit] | index("output") != null or index("wall") != null)' \
  /workspace/print_forever
run_case "a deaf program times out" 3s 3 \
  '.outcome == {"kind": "timed_out", "limit": "wall"}' /workspace/ignore_signals

echo "1..$number"
exit $((failures > 0))
