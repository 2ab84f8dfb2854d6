#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh - what `./dev test` and `./dev fuzz` run. Groups: unit (cmocka under ctest), lua, http,
# documents, workflow, bots and cluster (Node's own test runner), shards (these five again on four shards, most on two
# servers and with the build that ships), servers (lua and documents again on Redis 8, lua on Valkey 8, which has no
# vector sets, as the installed Redis has none), tls (some files again over HTTPS, and Redis over TLS), fuzz (every target for
# FUZZ_SECONDS), lint
# (tests/lint), and, only where it is named, containers (scripts that run what people install, with podman). The last
# line is `N passed, N failed`, summed over all, and the failures are listed once more above it: who
# sees only the end of the output can read what failed. A group that finds no test counts as one
# failure, so that an empty run can never look green.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly GROUPS_ALL="lint unit lua http documents workflow bots cluster shards servers tls fuzz"
# No group may hang: past this many seconds it is interrupted and counts as failed.
readonly GROUP_SECONDS=1500
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
passed=0 failed=0 skipped=0
# The presets that are built already, with all that tests run of them.
built=

# shellcheck source=tests/run/unit.sh
. tests/run/unit.sh
# shellcheck source=tests/run/node.sh
. tests/run/node.sh
# shellcheck source=tests/run/fuzz.sh
. tests/run/fuzz.sh
# shellcheck source=tests/run/containers.sh
. tests/run/containers.sh
# shellcheck source=tests/run/whole.sh
. tests/run/whole.sh

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

# Sums up the N of all lines in FILE that match the pattern, in which N is the first group.
sum() { sed -nE "s/$2/\\1/p" "$1" | awk '{ n += $1 } END { print n + 0 }'; }

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
