#!/bin/bash
# Shows Proofhouse at its main job, on a copy of mathkit: six changes are posted over HTTP, two
# are good and land once a second principal has approved them, four are refused.
#
#   demo.sh [--bin DIR] [--keep]
#
# --bin DIR   where the programs are (default: build/release/bin of this source tree)
# --keep      leave the data directory and the server's log, and say where they are
#
# Starts `proofhouse serve` on a free loopback port with an empty data directory and stops it at
# the end. Progress on stderr; on stdout the receipts and the table. Ends with 0 only if all six
# came out as they must. Needs root, for the sandboxes; else starts itself again by sudo.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
readonly here
readonly SERVE_UID=938001  # belongs to nobody: serve needs no account
readonly READY_SECONDS=30
readonly TASK_SECONDS=300
bin=$here/../../build/release/bin
keep=no

say() { printf '== %s\n' "$*" >&2; }
die() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

arguments=("$@")
while (($# > 0)); do
  case $1 in
    --bin) bin=${2:?--bin needs a directory} && shift 2 ;;
    --keep) keep=yes && shift ;;
    *) die "unknown argument: $1 (see the head of $0)" ;;
  esac
done
if ((EUID != 0)); then
  command -v sudo > /dev/null || die "sandboxes need root, and there is no sudo"
  exec sudo -- "$here/demo.sh" "${arguments[@]}"
fi
for program in proofhouse attempt jail ingest reader; do
  [[ -x $bin/$program ]] || die "no $bin/$program; ./dev build makes it"
done
bin=$(cd "$bin" && pwd)
PATH=$bin:$PATH

# ---- a place of its own -----------------------------------------------------------------------

started=$SECONDS
place=$(mktemp -d "${TMPDIR:-/tmp}/proofhouse-demo.XXXXXX")
chmod 0711 "$place"  # serve's user passes through, and no one else looks in
readonly place repository=$place/mathkit.git
mkdir -m 0700 "$place/tokens" "$place/run" "$place/tasks"
serve_pid=

stop() {
  local code=$?
  trap - EXIT INT TERM
  if [[ -n $serve_pid ]] && kill -TERM "$serve_pid" 2> /dev/null; then
    for _ in {1..100}; do
      kill -0 "$serve_pid" 2> /dev/null || break
      sleep 0.1
    done
    kill -KILL "$serve_pid" 2> /dev/null || true
    wait "$serve_pid" 2> /dev/null || true
  fi
  if ((code != 0)) && [[ -s $place/serve.log ]]; then
    say "the end of the server's log:"
    tail -n 30 "$place/serve.log" >&2
  fi
  if [[ $keep == yes ]]; then
    say "kept: $place"
  else
    rm -rf "$place"
  fi
  exit "$code"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# git, on repositories that belong to serve's user, and without anybody's own configuration.
demo_git() {
  GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git -c safe.directory='*' \
    -c user.name=mathkit -c user.email=mathkit@example.invalid "$@"
}

make_repository() {
  cp -r "$here/mathkit" "$place/checkout"
  rm -rf "$place/checkout/build"
  demo_git init -q -b main "$place/checkout"
  demo_git -C "$place/checkout" add -A
  demo_git -C "$place/checkout" commit -q -m "Start mathkit"
  demo_git clone -q --bare "$place/checkout" "$repository"
  chown -R "$SERVE_UID:$SERVE_UID" "$repository"
}

tip() { demo_git --git-dir="$repository" rev-parse "refs/heads/main${1:-}"; }

# ---- the server -------------------------------------------------------------------------------

free_port() {
  python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

start_server() {
  install -d -o "$SERVE_UID" -g "$SERVE_UID" -m 0700 "$place/data"
  cat > "$place/config.yaml" << END
listen: 127.0.0.1:$1
data: $place/data
user: $SERVE_UID
END
  XDG_RUNTIME_DIR=$place/run proofhouse serve --config "$place/config.yaml" \
    > "$place/serve.log" 2>&1 < /dev/null &
  serve_pid=$!
  local deadline=$((SECONDS + READY_SECONDS))
  until curl -sf -o /dev/null "$PROOFHOUSE_URL/readyz"; do
    kill -0 "$serve_pid" 2> /dev/null || die "serve ended before it was ready"
    if ((SECONDS > deadline)); then
      die "not ready after $READY_SECONDS s: $(curl -s "$PROOFHOUSE_URL/readyz" || true)"
    fi
    sleep 0.1
  done
}

# as NAME COMMAND...: the CLI with the token of NAME.
as() {
  local name=$1
  shift
  PROOFHOUSE_TOKEN_FILE=$place/tokens/$name proofhouse "$@"
}

# make_principal NAME ROLE...: a principal of mathkit with these roles, and its token.
make_principal() {
  local name=$1 role
  local roles=()
  shift
  for role in "$@"; do
    roles+=(--role "$role")
  done
  # A token that others may read is refused.
  (umask 077 && as admin token create "$name" --project mathkit "${roles[@]}" \
    > "$place/tokens/$name")
}

# ---- tasks ------------------------------------------------------------------------------------

# What stands for a case, in the order of the table.
readonly CASES=(a b c d e f)
declare -rA PATCHES=(
  [a]=a-faster-multiply [b]=b-broken-median [c]=c-slower-erfc
  [d]=d-lcm-with-test [e]=e-early-exit [f]=f-narrow-mod-pow)
declare -rA TITLES=(
  [a]="Multiply matrices row by row" [b]="Simplify the median" [c]="Add levels to erfc"
  [d]="Add lcm, with its tests" [e]="Tidy the mean" [f]="Multiply in 64 bits")
declare -A ids

# request OUT METHOD PATH [CURL-ARGUMENT...]: as ada; prints the HTTP status.
request() {
  local out=$1 method=$2 path=$3
  shift 3
  : > "$out"
  curl -s -o "$out" -w '%{http_code}' --max-time 60 -X "$method" \
    -H "Authorization: Bearer $(< "$place/tokens/ada")" "$@" "$PROOFHOUSE_URL$path" || true
}

post() {
  local letter=$1
  local body=$place/tasks/$letter.post answer=$place/tasks/$letter.json status
  jq -n --rawfile patch "$here/changes/${PATCHES[$letter]}.patch" --arg title "${TITLES[$letter]}" \
    '{project: "mathkit", change: {$patch}, intent: "promote", $title}' > "$body"
  status=$(request "$answer" POST /v1/tasks -H 'Content-Type: application/json' \
    --data-binary "@$body")
  [[ $status == 202 ]] || die "($letter): POST answered $status: $(head -c 2000 "$answer" || true)"
  ids[$letter]=$(jq -r .id "$answer")
  say "($letter) ${TITLES[$letter]}: ${ids[$letter]}"
}

# field LETTER JQ-FILTER: of what the task last answered, in printable ASCII.
field() { jq -r "$2 // \"\" | tostring | gsub(\"[^ -~]+\"; \" \")" "$place/tasks/$1.json"; }

# settle LETTER STATE...: waits until the task is in one of the states, or done.
settle() {
  local letter=$1 answer=$place/tasks/$1.json status etag=
  local deadline=$((SECONDS + TASK_SECONDS))
  shift
  while :; do
    status=$(request "$answer.new" GET "/v1/tasks/${ids[$letter]}?wait=30" -D "$answer.head" \
      ${etag:+-H "If-None-Match: $etag"})
    case $status in
      200)
        mv "$answer.new" "$answer"
        etag=$(sed -n 's/^[Ee][Tt]ag: *\([^\r]*\)\r*$/\1/p' "$answer.head")
        [[ " $* done " == *" $(field "$letter" .state) "* ]] && return
        ;;
      304 | 000 | 5*) ;;
      *) die "($letter): GET answered $status: $(head -c 2000 "$answer.new" || true)" ;;
    esac
    ((SECONDS < deadline)) \
      || die "($letter): still $(field "$letter" .state) after $TASK_SECONDS s"
    sleep 0.2
  done
}

# land LETTER: rex, who is not its author, approves what was judged; then it lands.
land() {
  local letter=$1 before
  settle "$letter" awaiting_approval
  [[ $(field "$letter" .state) == awaiting_approval ]] || return 0
  before=$(tip)
  [[ $before == "$(field "$letter" .base.commit)" ]] || die "($letter): landed before approval"
  as rex approve "${ids[$letter]}" --commit "$(field "$letter" .candidate.commit)" --yes >&2 \
    || die "($letter): the approval was not taken"
  settle "$letter"
}

# ---- what must come out -----------------------------------------------------------------------

wrong=0
# must LETTER WHAT CONDITION...: the condition is a command.
must() {
  local letter=$1 what=$2
  shift 2
  "$@" && return
  printf 'demo: (%s) is not as it must be: %s\n' "$letter" "$what" >&2
  wrong=1
}

holds() { jq -e "$2" "$place/tasks/$1.json" > /dev/null; }

# Right after the task ended: the branch's tip is the very commit and tree that were tested.
must_have_landed() {
  local letter=$1
  must "$letter" "accepted" holds "$letter" '.verdict == "accepted" and .state == "done"'
  must "$letter" "promoted" holds "$letter" '.promotion.new == .candidate.commit'
  must "$letter" "the tip is the tested commit" \
    test "$(tip)" = "$(field "$letter" .candidate.commit)"
  must "$letter" "the tip has the tested tree" \
    test "$(tip '^{tree}')" = "$(field "$letter" .candidate.tree)"
  must "$letter" "approved by rex" \
    holds "$letter" '.principal == "ada" and any(.approvals.given[]; .by == "rex")'
}

must_be_refused() {
  local letter=$1 gate=$2 words=$3
  must "$letter" "rejected, not promoted" \
    holds "$letter" '.verdict == "rejected" and .state == "done" and .promotion == null'
  must "$letter" "refused by gate $gate" \
    holds "$letter" "any(.gates[]; .name == \"$gate\" and .status == \"failed\")"
  must "$letter" "the words name $words" grep -qE "$words" <<< "$(words "$letter")"
}

# words LETTER: one line, for people.
words() {
  local letter=$1
  if [[ $(field "$letter" .verdict) == accepted ]]; then
    field "$letter" '"tip is \(.candidate.commit[:12]), the tested commit; approved by "
      + ([.approvals.given[]? | select(.decision | startswith("approve")) | .by] | join(", "))
      + (if (.guarded | length) > 0 then "; guarded: " + (.guarded | join(", ")) else "" end)'
  else
    field "$letter" .reason.text
  fi
}

print_table() {
  local letter promoted class
  printf '\n%-4s %-12s %-13s %-10s %s\n' case verdict promotion class words
  for letter in "${CASES[@]}"; do
    promoted="not promoted"
    holds "$letter" '.promotion.new != null' && promoted=promoted
    class=$(field "$letter" .failure_class)
    printf '%-4s %-12s %-13s %-10s %s\n' "($letter)" "$(field "$letter" .verdict)" "$promoted" \
      "${class:--}" "$(words "$letter")"
  done
}

# ---- the show ---------------------------------------------------------------------------------

port=$(free_port)
export PROOFHOUSE_URL=http://127.0.0.1:$port
unset PROOFHOUSE_TOKEN
make_repository
say "starting the server on $PROOFHOUSE_URL"
start_server "$port"
cp "$place/data/admin.token" "$place/tokens/admin"
as admin project add mathkit --repo "$repository" --target refs/heads/main >&2
make_principal ada agent
make_principal rex reviewer owner

# (d) is posted once (a) has landed, so that it is judged on the tip that it lands on.
for letter in a b c e f; do
  post "$letter"
done
land a
must_have_landed a
post d
for letter in b c e f; do
  settle "$letter"
done
land d
must_have_landed d

must a "nothing guarded" holds a '.guarded == []'
must d "its new test is guarded" holds d '.guarded == ["tests/lcm_test.cc"]'
must d "it stands on (a)" test "$(tip '^')" = "$(field a .candidate.commit)"
must_be_refused b tests 'Statistics.MedianOfAnEvenCountIsTheMeanOfTheMiddleTwo'
must_be_refused c speed 'BM_Erfc is 1\.[0-9]+x \(interval [0-9.]+ [0-9.]+, .*tolerance 10%'
must_be_refused e tests 'report'
must e "refused for want of a report" holds e '.failure_class == "report"'
must_be_refused f judged 'mod_pow|is_prime'
must f "its visible tests pass" holds f 'any(.gates[]; .name == "tests" and .status == "passed")'

for letter in a d; do
  printf '\nreceipt of (%s), %s\n' "$letter" "${ids[$letter]}"
  jq '.promotion | .receipt = (.receipt | if type == "string" then fromjson else . end)' \
    "$place/tasks/$letter.json"
done
print_table
printf '\n%s s after the build\n' $((SECONDS - started))
exit $wrong
