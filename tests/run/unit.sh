# SPDX-License-Identifier: MIT
#
# unit.sh - programs with cmocka, run by ctest.

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
    ctest --test-dir build/dev -j "$CORES" --timeout 300 -R "^${1:-.*}\$" --output-on-failure || true
    cp build/dev/Testing/Temporary/LastTest.log $log 2>/dev/null || : >$log
    ok=$(sum $log '^\[  PASSED  \] ([0-9]+) test\(s\)\..*')
    list_unit $log >$OUT/unit.failures
    cat $OUT/unit.failures >>"$FAILURES"
    bad=$(grep -c '^unit: ' $OUT/unit.failures || true)
    [ $((ok + bad)) -gt 0 ] || fail "unit: no test found"
    count "$ok" "$bad"
}
