#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh - what `./dev test` and `./dev fuzz` run. Groups: unit (cmocka under ctest), lua, http,
# documents and cluster (Node's own test runner), shards (http, documents and cluster again on four
# shards), servers (lua and documents again on Redis 8, lua on Valkey 8, which has no vector sets, as
# the installed Redis has none), fuzz (every target for FUZZ_SECONDS), lint (tests/lint). The last
# line is `N passed, N failed`, summed over all; a group that finds no test counts as one failure,
# so that an empty run can never look green.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly GROUPS_ALL="lint unit lua http documents cluster shards servers fuzz"
# The groups that run again on the other servers, see tests/servers.sh.
readonly -A ON_SERVERS=([redis8]="lua documents" [valkey8]="lua")
# Those that run again on four shards. Not lua: a script acts on one shard, and how many there are is an argument of its
# turn, which its tests name. The random models of several shards run on two and four in any case.
readonly ON_SHARDS="http documents cluster"
readonly FUZZ_SECONDS=6
# No group may hang: past this many seconds it is interrupted and counts as failed.
readonly GROUP_SECONDS=900
readonly OUT=build/test
CORES=$(nproc)
# Files of Node's tests at once: they wait for leases, processes and deadlines for most of their time.
JOBS=$((2 * CORES))
passed=0 failed=0 skipped=0

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }

count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

fail() {
    say "FAILED: $*"
    count 0 1
}

build() { ./dev build "$1" >"$OUT/build-$1.log" 2>&1 || {
    tail -n 40 "$OUT/build-$1.log"
    fail "the build ($1)"
    return 1
}; }

# What Node's tests run: what they try, and what ships, for those that measure memory.
build_programs() { build dev && build release; }

# Sums up the N of all lines in FILE that match the pattern, in which N is the first group.
sum() { sed -nE "s/$2/\\1/p" "$1" | awk '{ n += $1 } END { print n + 0 }'; }

# cmocka says how many tests passed; a program that died (a sanitizer, an assertion) says nothing, so
# ctest's own count of failed programs is the least.
run_unit() {
    local log=$OUT/unit.log pattern=${1:-.} ok bad broken
    heading "unit"
    build dev || return 0
    ctest --test-dir build/dev -j "$CORES" --timeout 120 -R "$pattern" --output-on-failure || true
    cp build/dev/Testing/Temporary/LastTest.log $log 2>/dev/null || : >$log
    ok=$(sum $log '^\[  PASSED  \] ([0-9]+) test\(s\)\..*')
    bad=$(sum $log '^\[  FAILED  \] ([0-9]+) test\(s\).*')
    broken=$(grep -c '^Test Failed\.$' $log || true)
    [ "$bad" -ge "$broken" ] || bad=$broken
    [ $((ok + bad)) -gt 0 ] || fail "unit: no test found"
    count "$ok" "$bad"
}

# run_node NAME FILES...: one run of Node's test runner.
run_node() {
    local name=$1 counts=$OUT/$1.counts ok bad skip status=0 parallel=
    shift
    heading "$name ($# files)"
    if [ ! -f "${1:-}" ]; then
        fail "$name: no test found"
        return 0
    fi
    node --help | grep -q -e --test-concurrency && parallel=--test-concurrency=$JOBS
    rm -f "$counts"
    # shellcheck disable=SC2086
    timeout -s INT -k 20 $GROUP_SECONDS node --test $parallel \
        --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=./tests/count.mjs --test-reporter-destination="$counts" "$@" || status=$?
    if ! read -r ok bad skip <"$counts"; then
        fail "$name: the runner did not finish (status $status)"
        return 0
    fi
    [ "$bad" -gt 0 ] || [ $status -eq 0 ] || fail "$name: the runner ended with status $status"
    count "$ok" "$bad"
    skipped=$((skipped + skip))
}

run_node_group() {
    local files
    build_programs || return 0
    # Not while tests run beside it. What is wrong, the test that needs it says.
    [ "$1" != cluster ] || tests/former.sh >/dev/null 2>&1 || true
    mapfile -t files < <(find "tests/$1" -name '*.test.mjs' 2>/dev/null | sort)
    run_node "$1" "${files[@]}"
}

# On four shards. Files whose clusters say themselves how many they have (ownShards) are what they were.
run_shards() {
    local group files
    build_programs || return 0
    for group in $ON_SHARDS; do
        mapfile -t files < <(find "tests/$group" -name '*.test.mjs' -exec grep -L '^ownShards()' {} + | sort)
        PARLEY_TEST_SHARDS=4 run_node "shards-$group" "${files[@]}"
    done
}

# What depends on the server's kind runs on each of the others too.
run_servers() {
    local server path files group status
    build dev || return 0
    for server in redis8 valkey8; do
        files=() status=0
        for group in ${ON_SERVERS[$server]}; do
            mapfile -t -O ${#files[@]} files < <(find "tests/$group" -name '*.test.mjs' | sort)
        done
        path=$(tests/servers.sh $server) || status=$?
        if [ $status -eq 3 ]; then
            skipped=$((skipped + ${#files[@]}))
        elif [ $status -ne 0 ]; then
            fail "$server cannot be fetched"
        else
            PARLEY_TEST_REDIS=$path run_node "$server" "${files[@]}"
        fi
    done
}

# One fuzz target for some seconds. What it finds new stays in build/fuzz/corpus, what crashes it
# goes to var/fuzz/NAME-*.
fuzz_one() {
    local target=$1 seconds=$2 name work seeds
    name=$(basename "$target") name=${name#fuzz_}
    work=build/fuzz/corpus/$name
    seeds=tests/fuzz/corpus/$name
    mkdir -p "$work" var/fuzz
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086
    UBSAN_OPTIONS=print_stacktrace=1 \
        "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="var/fuzz/$name-" "$work" $seeds >"$OUT/fuzz-$name.log" 2>&1
}

fuzz_report() {
    local name=$1 log=$OUT/fuzz-$1.log
    say "  $name: $(sum "$log" '^stat::number_of_executed_units: *([0-9]+)') inputs, ok"
}

# run_fuzz SECONDS [NAME]: all targets, as many at a time as there are cores.
run_fuzz() {
    local seconds=$1 only=${2:-*} target name targets=() pids=() i
    heading "fuzz ($seconds s each)"
    build fuzz || return 0
    for target in tests/fuzz/fuzz_${only#fuzz_}.c; do
        [ -f "$target" ] && targets+=("build/fuzz/$(basename "$target" .c)")
    done
    [ ${#targets[@]} -gt 0 ] || {
        fail "fuzz: no target found"
        return 0
    }
    for ((i = 0; i < ${#targets[@]}; i += CORES)); do
        pids=()
        for target in "${targets[@]:i:CORES}"; do
            fuzz_one "$target" "$seconds" &
            pids+=($!)
        done
        for target in "${targets[@]:i:CORES}"; do
            name=$(basename "$target") name=${name#fuzz_}
            if wait "${pids[0]}"; then
                fuzz_report "$name"
                count 1 0
            else
                tail -n 40 "$OUT/fuzz-$name.log"
                fail "fuzz target $name; its input is var/fuzz/$name-*"
            fi
            pids=("${pids[@]:1}")
        done
    done
}

run_lint() {
    local check
    heading "lint"
    for check in format boundaries headers lua_headers verbs lua_patterns buffers text links settings; do
        if tests/lint/run.sh $check; then count 1 0; else fail "lint: $check"; fi
    done
}

run_one() {
    local what=${1%/}
    [ ! -d "$what" ] || what=${what#tests/}
    case $what in
    lint) run_lint ;;
    unit) run_unit ;;
    fuzz) run_fuzz $FUZZ_SECONDS ;;
    shards) run_shards ;;
    servers) run_servers ;;
    tests/fuzz/fuzz_*.c | fuzz_*) run_fuzz $FUZZ_SECONDS "$(basename "$what" .c)" ;;
    tests/unit/test_*.c | test_*) run_unit "^$(basename "$what" .c)\$" ;;
    *.mjs) build_programs && run_node "$(basename "$what" .test.mjs)" "$what" ;;
    *)
        if [ -d "tests/$what" ]; then
            run_node_group "$what"
        else
            fail "$what is neither a group ($GROUPS_ALL) nor a test file"
        fi
        ;;
    esac
}

main() {
    local what
    mkdir -p $OUT
    case ${1:-} in
    --fuzz) # [NAME] [SECONDS], in either order
        local name='*' seconds=60
        shift
        for what in "$@"; do
            case $what in *[!0-9]*) name=$what ;; *) seconds=$what ;; esac
        done
        run_fuzz "$seconds" "$name"
        ;;
    *)
        # shellcheck disable=SC2086
        [ $# -gt 0 ] || set -- $GROUPS_ALL
        for what in "$@"; do run_one "${what#./}"; done
        ;;
    esac
    say
    [ $skipped -eq 0 ] || say "$skipped skipped"
    say "$passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
}

main "$@"
