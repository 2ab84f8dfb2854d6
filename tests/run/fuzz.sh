# SPDX-License-Identifier: MIT
#
# fuzz.sh - fuzz targets, built by clang.

readonly FUZZ_SECONDS=3

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
                fail "fuzz target $name; its input is var/fuzz/$name-*" \
                    "$(grep -E 'runtime error: |ERROR: |SUMMARY: |^Base64: | in .* /.*/(shared|services|tests)/' "$OUT/fuzz-$name.log" || tail -n 2 "$OUT/fuzz-$name.log")"
            fi
            pids=("${pids[@]:1}")
        done
    done
}
