#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh - what `./dev test` and `./dev fuzz` run. Groups: unit (cmocka under ctest), lua, http,
# documents, workflow, bots and cluster (Node's own test runner), shards (these five again on four shards, most on two
# servers and with the build that ships), servers (lua and documents again on Redis 8, lua on Valkey 8, which has no
# vector sets, as the installed Redis has none), tls (some files again over HTTPS), fuzz (every target for FUZZ_SECONDS), lint
# (tests/lint), and, only where it is named, containers (scripts that run what people install, with podman). The last
# line is `N passed, N failed`, summed over all, and the failures are listed once more above it: who
# sees only the end of the output can read what failed. A group that finds no test counts as one
# failure, so that an empty run can never look green.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly GROUPS_ALL="lint unit lua http documents workflow bots cluster shards servers tls fuzz"
# The groups that run again on the other servers, see tests/servers.sh.
readonly -A ON_SERVERS=([redis8]="lua documents" [valkey8]="lua")
# What verbs cost takes minutes to measure. Valkey differs from the installed Redis in nothing that would change it.
readonly NOT_ON_VALKEY=tests/lua/cost.test.mjs
# Those that run again on four shards. Not lua: a script acts on one shard, and how many there are is an argument of its
# turn, which its tests name. The random models of several shards run on two and four in any case.
readonly ON_SHARDS="http documents workflow bots cluster"
# The files that run again with nodes that serve HTTPS: what depends on how a node reads and writes its connections.
readonly ON_TLS="http/add_wait http/bad_http http/sse http/strangers http/strangers_memory http/strangers_streams http/waits
    cluster/client_leaves cluster/next_leaves bots/room_socket workflow/websocket
    documents/indexing_socket"
readonly FUZZ_SECONDS=6
# What runs side by side when all groups run, after lint, the builds and unit, which occupy all cores. Most files of
# Node's tests wait for most of their time (leases, processes that start, deadlines), and one lane works while another
# waits. Both lanes take about as long. Fuzz targets use what is left.
readonly LANES=("cluster shards bots tls" "http documents workflow lua servers" "fuzz")
# No group may hang: past this many seconds it is interrupted and counts as failed.
readonly GROUP_SECONDS=900
# Nor may a script that runs containers; the first one builds the base images and the image of Parley.
readonly CONTAINERS_SECONDS=3600
readonly OUT=build/test
# What failed: a title with its group on a line, and below it the first lines of its error, indented. Tests run this
# script as well, so each run has a file of its own.
export FAILURES=$PWD/$OUT/failures.$$
readonly FAILURES FAILURES_LINES=60 ERROR_LINES=6 ERROR_COLUMNS=160
# Of `--name PATTERN`: tests of Node's runner whose names do not match are passed over.
name_pattern=
CORES=$(nproc)
# Files of Node's tests at once, in each lane.
JOBS=$((2 * CORES))
fuzz_jobs=$CORES
passed=0 failed=0 skipped=0
# Whole runs only: files in which a test failed while others ran beside them run once more, alone, unless there are more
# than so many. Two cores that do everything at once may starve a process for seconds. What passes then does not fail the
# run and is listed as unsteady, with what it said: it depends on the machine's load, which is a fault to mend.
readonly AGAIN_MAX=4
# The presets that are built already, with all that tests run of them.
built=

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }

count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# fail TITLE [LINES]: one failure. LINES say why, the first ones are listed at the end.
fail() {
    say "FAILED: $1"
    count 0 1
    list "$@"
}

list() {
    say "$1"
    grep -v '^[[:space:]]*$' <<<"${2:-}" | head -n $ERROR_LINES | cut -c "1-$ERROR_COLUMNS" | sed 's/^/    /' || true
} >>"$FAILURES"

# Prints the list of failures: whole, or with fewer lines of each error, or at last only the first titles.
show_failures() {
    [ -s "$FAILURES" ] || return 0
    heading "failures"
    awk -v most=$FAILURES_LINES '
        { line[NR] = $0; below = /^    / ? below + 1 : 0; depth[NR] = below; per[below]++; deepest = below > deepest ? below : deepest }
        END {
            for (keep = deepest; keep >= 0; keep--) {
                n = 0
                for (i = 0; i <= keep; i++) n += per[i]
                if (n <= most) break
            }
            for (i = 1; i <= NR; i++) {
                if (depth[i] > (keep < 0 ? 0 : keep)) continue
                if (++shown < most || n <= most) print line[i]
            }
            if (n > most) print "and " shown - most + 1 " more"
        }' "$FAILURES"
}

# build PRESET [TARGET...]
build() {
    [[ " $built " != *" $1 "* ]] || return 0
    ./dev build "$@" >"$OUT/build-$1.log" 2>&1 && return
    tail -n 40 "$OUT/build-$1.log"
    fail "the build ($1)" "$(grep -E 'error|undefined reference|^CMake Error|^dev: ' "$OUT/build-$1.log" || tail -n $ERROR_LINES "$OUT/build-$1.log")"
    return 1
}

# What these files run, and nothing else: the program under test, which scripts in tests/lua do without, and what
# ships, for tests that measure memory. PARLEY_BIN stands for both.
build_programs() {
    local file needs_program=no
    if [ -n "${PARLEY_BIN:-}" ]; then
        [ -x "$PARLEY_BIN" ] || {
            fail "PARLEY_BIN names no program: $PARLEY_BIN"
            return 1
        }
        return 0
    fi
    for file; do
        case $file in tests/lua/*) ;; *) needs_program=yes ;; esac
    done
    [ $needs_program = no ] || build dev parley || return 1
    if grep -q '\bRELEASE_BIN\b' "$@" /dev/null; then build release parley || return 1; fi
}

# Sums up the N of all lines in FILE that match the pattern, in which N is the first group.
sum() { sed -nE "s/$2/\\1/p" "$1" | awk '{ n += $1 } END { print n + 0 }'; }

# Lists the failures of ctest's LOG: of a program each test that cmocka says failed, with what it found; or the
# program itself, if it died (a sanitizer, an assertion) or took too long, with the line that says so.
list_unit() {
    awk -v most=$ERROR_LINES -v columns=$ERROR_COLUMNS '
        function add(text) { if (n++ < most && text != "") found = found "    " substr(text, 1, columns - 4) "\n" }
        function title(name) { print "unit: tests/unit/" program ".c" (name == "" ? "" : ": " name); printf "%s", found; listed++ }
        function reset() { found = ""; n = 0 }
        /^[0-9]+\/[0-9]+ Testing: / { program = $3; listed = 0; last = ""; reset() }
        /^\[ RUN      \] / { last = $4; reset() }
        /^\[==========\] [0-9]+ test\(s\) run/ { is_over = 1 }
        /^\[==========\] Running/ { is_over = 0 }
        /^\[  ERROR   \] |^\[   LINE   \] / { sub(/^\[[A-Z ]*\] (--- )?/, ""); add($0); next }
        /runtime error: |^SUMMARY: |ERROR: [A-Za-z]*Sanitizer|[Aa]ssertion/ { add($0) }
        /^\[  FAILED  \] / && !is_over { title($4); reset() }
        /^Test time = / { if (listed == 0) add((last == "" ? "no test began" : "ended in " last) ", after " $4 " s") }
        /^Test Failed\.$/ { if (listed == 0) title("") }' "$1"
}

# cmocka says how many tests passed; of a program that died it says nothing, so what is listed counts.
# run_unit [PROGRAM]
run_unit() {
    local log=$OUT/unit.log ok bad
    heading "unit"
    if [ $# -gt 0 ] && [ ! -f "tests/unit/$1.c" ]; then
        fail "there is no tests/unit/$1.c"
        return 0
    fi
    build dev "$@" || return 0
    ctest --test-dir build/dev -j "$CORES" --timeout 120 -R "^${1:-.*}\$" --output-on-failure || true
    cp build/dev/Testing/Temporary/LastTest.log $log 2>/dev/null || : >$log
    ok=$(sum $log '^\[  PASSED  \] ([0-9]+) test\(s\)\..*')
    list_unit $log >$OUT/unit.failures
    cat $OUT/unit.failures >>"$FAILURES"
    bad=$(grep -c '^unit: ' $OUT/unit.failures || true)
    [ $((ok + bad)) -gt 0 ] || fail "unit: no test found"
    count "$ok" "$bad"
}

# run_node NAME FILES...: one run of Node's test runner.
run_node() {
    local name=$1 counts=$OUT/$1.counts ok bad skip status=0 flags=()
    shift
    heading "$name ($# files)"
    if [ ! -f "${1:-}" ]; then
        fail "$name: no test found"
        return 0
    fi
    ! node --help | grep -q -e --test-concurrency || flags+=("--test-concurrency=$JOBS")
    [ -z "$name_pattern" ] || flags+=(--test-name-pattern="$name_pattern")
    case ${PARLEY_TEST_TLS:-} in
    '') ;;
    1) local -x PARLEY_TEST_TLS NODE_EXTRA_CA_CERTS && PARLEY_TEST_TLS=$(tests/tls.sh) && NODE_EXTRA_CA_CERTS=$PARLEY_TEST_TLS/ca.pem ;;
    *) local -x NODE_EXTRA_CA_CERTS=$PARLEY_TEST_TLS/ca.pem ;;
    esac
    rm -f "$counts" "$OUT/$name.failed"
    FAILURES_GROUP=$name FAILED_FILES=$PWD/$OUT/$name.failed timeout -s INT -k 20 $GROUP_SECONDS \
        node --require ./tests/note_failure.cjs --test "${flags[@]}" \
        --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=./tests/count.mjs --test-reporter-destination="$counts" "$@" || status=$?
    if ! read -r ok bad skip <"$counts"; then
        fail "$name: the runner did not finish (status $status)"
        return 0
    fi
    [ "$bad" -gt 0 ] || [ $status -eq 0 ] || fail "$name: the runner ended with status $status"
    count "$ok" "$bad"
    skipped=$((skipped + skip))
    [ "$bad" -eq 0 ] || [ ! -f "$OUT/$name.failed" ] ||
        sed "s,^,$name $bad ${PARLEY_TEST_SHARDS:-1} ${PARLEY_TEST_SERVERS:-1} ${PARLEY_BIN:--} ${PARLEY_TEST_REDIS:--} ," "$OUT/$name.failed" >>$OUT/again
}

run_node_group() {
    local files
    mapfile -t files < <(find "tests/$1" -name '*.test.mjs' 2>/dev/null | sort)
    build_programs "${files[@]}" || return 0
    # Not while tests run beside it. What is wrong, the test that needs it says.
    [ "$1" != cluster ] || tests/former.sh >/dev/null 2>&1 || true
    run_node "$1" "${files[@]}"
}

# On four shards. Files whose clusters say themselves how many they have (ownShards) are what they were. Nodes run under
# sanitizers in all other groups, and here in cluster; the rest runs what is shipped, and on two servers.
run_shards() {
    local group files
    for group in $ON_SHARDS; do
        mapfile -t files < <(find "tests/$group" -name '*.test.mjs' -exec grep -L '^ownShards()' {} + 2>/dev/null | sort)
        build_programs "${files[@]}" || return 0
        if [ "$group" = cluster ]; then
            PARLEY_TEST_SHARDS=4 run_node "shards-$group" "${files[@]}"
        else
            [ -n "${PARLEY_BIN:-}" ] || build release parley || return 0
            PARLEY_TEST_SHARDS=4 PARLEY_TEST_SERVERS=2 PARLEY_BIN=${PARLEY_BIN:-build/release/parley} run_node "shards-$group" "${files[@]}"
        fi
    done
}

run_tls() {
    local names files
    read -r -d '' -a names <<<"$ON_TLS" || true
    files=("${names[@]/#/tests/}")
    files=("${files[@]/%/.test.mjs}")
    build_programs "${files[@]}" || return 0
    PARLEY_TEST_TLS=$(tests/tls.sh) run_node tls "${files[@]}"
}

# What depends on the server's kind runs on each of the others too.
run_servers() {
    local server path files group status except
    for server in redis8 valkey8; do
        files=() status=0 except=
        [ $server != valkey8 ] || except=$NOT_ON_VALKEY
        for group in ${ON_SERVERS[$server]}; do
            mapfile -t -O ${#files[@]} files < <(find "tests/$group" -name '*.test.mjs' ! -path "$except" | sort)
        done
        path=$(tests/servers.sh $server) || status=$?
        build_programs "${files[@]}" || return 0
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
        "$target" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="var/fuzz/$name-" "$work" $seeds >"$OUT/fuzz-$name.log" 2>&1
}

fuzz_report() {
    local name=$1 log=$OUT/fuzz-$1.log
    say "  $name: $(sum "$log" '^stat::number_of_executed_units: *([0-9]+)') inputs, ok"
}

# run_fuzz SECONDS [NAME]: all targets, some at a time.
run_fuzz() {
    local seconds=$1 only=${2:-*} target name targets=() pids=() i
    heading "fuzz ($seconds s each)"
    for target in tests/fuzz/fuzz_${only#fuzz_}.c; do
        [ -f "$target" ] && targets+=("build/fuzz/$(basename "$target" .c)")
    done
    [ ${#targets[@]} -gt 0 ] || {
        fail "fuzz: there is no tests/fuzz/fuzz_${only#fuzz_}.c"
        return 0
    }
    build fuzz "${targets[@]##*/}" || return 0
    for ((i = 0; i < ${#targets[@]}; i += fuzz_jobs)); do
        pids=()
        for target in "${targets[@]:i:fuzz_jobs}"; do
            fuzz_one "$target" "$seconds" &
            pids+=($!)
        done
        for target in "${targets[@]:i:fuzz_jobs}"; do
            name=$(basename "$target") name=${name#fuzz_}
            if wait "${pids[0]}"; then
                fuzz_report "$name"
                count 1 0
            else
                tail -n 40 "$OUT/fuzz-$name.log"
                fail "fuzz target $name; its input is var/fuzz/$name-*" \
                    "$(grep -E 'runtime error: |ERROR: |SUMMARY: |^Base64: | in .* /.*/(shared|services|tests)/' "$OUT/fuzz-$name.log" || tail -n 2 "$OUT/fuzz-$name.log")"
            fi
            pids=("${pids[@]:1}")
        done
    done
}

run_lint() {
    local check log=$OUT/lint.log
    heading "lint"
    for check in $(tests/lint/run.sh --quick); do
        if ! tests/lint/run.sh "$check" >$log 2>&1; then
            fail "lint: $check" "$(<$log)"
        elif grep -q "^$check: skipped" $log; then
            skipped=$((skipped + 1))
        else
            count 1 0
        fi
        cat $log
    done
}

# run_containers SCRIPTS...: each prints `ok - what it showed`, ends at the first thing that is wrong, with `not ok - what`
# and what it found on the lines below, and exits 3 with a line that says why where it cannot run.
run_containers() {
    local script name log status
    heading "containers"
    for script; do
        if [ ! -f "$script" ]; then
            fail "containers: there is no $script"
            continue
        fi
        name=$(basename "$script" .test.sh) status=0
        log=$OUT/containers-$name.log
        timeout -s TERM -k 60 $CONTAINERS_SECONDS "$script" 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
        count "$(grep -c '^ok - ' "$log" || true)" 0
        if [ "$status" -eq 3 ]; then
            skipped=$((skipped + 1))
        elif [ "$status" -ne 0 ]; then
            fail "containers: $script: $(sed -n 's/^not ok - //p' "$log" | head -n 1)" \
                "$(sed '1,/^not ok - /d' "$log" | grep . || tail -n $ERROR_LINES "$log")"
        elif ! grep -q '^ok - ' "$log"; then
            fail "containers: $script showed nothing"
        fi
    done
}

run_one() {
    local what=${1%/}
    [ ! -d "$what" ] || what=${what#tests/}
    case $what in
    lint) run_lint ;;
    unit) run_unit ;;
    containers | tests/cluster/containers) run_containers tests/cluster/containers/*.test.sh ;;
    *.test.sh) run_containers "$what" ;;
    fuzz) run_fuzz $FUZZ_SECONDS ;;
    shards) run_shards ;;
    servers) run_servers ;;
    tls) run_tls ;;
    tests/fuzz/fuzz_*.c | fuzz_*) run_fuzz $FUZZ_SECONDS "$(basename "$what" .c)" ;;
    tests/unit/test_*.c | test_*) run_unit "$(basename "$what" .c)" ;;
    *.mjs)
        if [ -f "$what" ]; then
            build_programs "$what" && run_node "$(basename "$what" .test.mjs)" "$what"
        else
            fail "there is no file $what"
        fi
        ;;
    *)
        if [ -d "tests/$what" ]; then
            run_node_group "$what"
        else
            fail "$what is neither a group ($GROUPS_ALL containers) nor a test file"
        fi
        ;;
    esac
}

# run_timed NAME COMMAND...: notes how long it took.
run_timed() {
    local began=$SECONDS
    "${@:2}"
    echo "$1 $((SECONDS - began)) s" >>$OUT/seconds
}

# All that several groups run. Servers come from Debian's packages meanwhile; what is wrong, their group says.
build_all() {
    heading "builds"
    { tests/servers.sh redis8 && tests/servers.sh valkey8; } >/dev/null 2>&1 &
    if build dev && build release parley; then built="dev release"; fi
    tests/former.sh >/dev/null 2>&1 || true
    wait
}

# run_lane GROUPS...: one after another, in a process of its own, whose counts are in a file at its end. The output of
# each group is printed as a whole.
run_lane() {
    local group name=$1
    passed=0 failed=0 skipped=0
    for group; do
        run_timed "$group" run_one "$group" >"$OUT/group-$group.log" 2>&1
        flock $OUT/output.lock cat "$OUT/group-$group.log"
    done
    echo "$passed $failed $skipped" >"$OUT/lane-$name.counts"
}

# Ends what a process started, and what that started. Lanes have no terminal, so nothing else ends them.
end_children() {
    local child children
    read -ra children < <(cat /proc/"$1"/task/*/children 2>/dev/null) || true
    for child in "${children[@]}"; do
        end_children "$child"
        kill "$child" 2>/dev/null || true
    done
}

# entries NAME: the lines of FAILURES that are of that group, or all others with -v.
entries() {
    awk -v prefix="${*: -1}: " -v others="$(($# - 1))" '
        !/^    / { is_of = index($0, prefix) == 1 }
        is_of != others' "$FAILURES"
}

# What $OUT/again lists: a group, its failures, the numbers of shards and servers, the program (-: build/dev), the server
# (-: the installed one), a file.
run_again() {
    local groups group bad n shards servers bin server file steady
    mv $OUT/again $OUT/again.files
    [ "$(wc -l <$OUT/again.files)" -le $AGAIN_MAX ] || return 0
    mapfile -t groups < <(cut -d' ' -f1 $OUT/again.files | sort -u)
    for group in "${groups[@]}"; do
        steady=yes
        while read -r _ n shards servers bin server file; do
            bad=$n
            heading "$group once more: $file"
            [ "$server" != - ] || server=
            [ "$bin" != - ] || bin=
            PARLEY_TEST_SHARDS=$shards PARLEY_TEST_SERVERS=$servers PARLEY_BIN=$bin PARLEY_TEST_REDIS=$server timeout -s INT -k 20 $GROUP_SECONDS \
                node --test --test-reporter=spec "$file" </dev/null || steady=no
        done < <(grep "^$group " $OUT/again.files)
        [ $steady = yes ] || continue
        entries "$group" >>$OUT/unsteady
        entries -v "$group" >"$FAILURES.rest"
        mv "$FAILURES.rest" "$FAILURES"
        count "$bad" -"$bad"
    done
}

run_all() {
    local lane ok bad skip
    : >$OUT/seconds
    rm -f $OUT/lane-*.counts $OUT/again $OUT/unsteady
    run_timed lint run_lint
    run_timed builds build_all
    [ -n "$built" ] || return 0
    run_timed unit run_unit
    trap 'trap - INT TERM; end_children $$; exit 130' INT TERM
    # In groups of processes of their own: otherwise they, and all that tests start, would ignore SIGINT.
    set -m
    for lane in "${LANES[@]}"; do
        # shellcheck disable=SC2086
        if [ "$lane" = fuzz ]; then
            (set +m && fuzz_jobs=$(((CORES + 1) / 2)) && renice -n 10 $BASHPID >/dev/null && run_lane $lane) </dev/null &
        else
            (set +m && run_lane $lane) </dev/null &
        fi
    done
    set +m
    wait
    for lane in "${LANES[@]}"; do
        if ! read -r ok bad skip <"$OUT/lane-${lane%% *}.counts"; then
            fail "the groups $lane did not end"
            continue
        fi
        count "$ok" "$bad"
        skipped=$((skipped + skip))
    done 2>/dev/null
    [ ! -f $OUT/again ] || run_timed again run_again
    if [ -s $OUT/unsteady ]; then
        heading "unsteady: failed beside others, passed alone"
        cat $OUT/unsteady
    fi
    say
    say "took $SECONDS s: $(paste -sd, $OUT/seconds | sed 's/,/, /g')"
}

main() {
    local what
    mkdir -p $OUT
    : >"$FAILURES"
    rm -f $OUT/again
    case ${1:-} in
    --fuzz) # [NAME] [SECONDS], in either order
        local name='*' seconds=60
        shift
        for what in "$@"; do
            case $what in *[!0-9]*) name=$what ;; *) seconds=$what ;; esac
        done
        run_fuzz "$seconds" "$name"
        ;;
    '') run_all ;;
    *)
        while [ $# -gt 0 ]; do
            case $1 in
            --name)
                name_pattern=${2:?"--name needs a pattern"}
                shift
                ;;
            *) run_one "${1#./}" ;;
            esac
            shift
        done
        ;;
    esac
    say
    [ $((passed + failed)) -gt 0 ] || say "no test has a name that matches '$name_pattern'"
    show_failures
    [ $skipped -eq 0 ] || say "$skipped skipped"
    rm -f "$FAILURES"
    say "$passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
}

main "$@"
