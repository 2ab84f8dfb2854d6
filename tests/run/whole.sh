# SPDX-License-Identifier: MIT
#
# whole.sh - all groups, some of them side by side.

# What runs side by side when all groups run, after the builds, which occupy all cores. Most tests wait for most of their
# time (leases, processes that start, deadlines), and one lane works while another waits. The first two lanes take about
# as long. Fuzz targets use what is left.
readonly LANES=("cluster shards workflow bots" "http documents lua servers tls" "lint unit fuzz")
# Whole runs only: files in which a test failed while others ran beside them run once more, alone, unless there are more
# than so many. Two cores that do everything at once may starve a process for seconds. What passes then does not fail the
# run and is listed as unsteady, with what it said: it depends on the machine's load, which is a fault to mend.
readonly AGAIN_MAX=4

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
    wait
}

# run_lane GROUPS...: one after another, in a process of its own, whose counts are in a file at its end. The output of
# each group is printed as a whole.
run_lane() {
    local group name=$1
    passed=0 failed=0 skipped=0
    for group; do
        [ "$group" != fuzz ] || renice -n 10 $BASHPID >/dev/null
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
    run_timed builds build_all
    [ -n "$built" ] || return 0
    trap 'trap - INT TERM; end_children $$; exit 130' INT TERM
    # In groups of processes of their own: otherwise they, and all that tests start, would ignore SIGINT.
    set -m
    for lane in "${LANES[@]}"; do
        # shellcheck disable=SC2086
        (set +m && run_lane $lane) </dev/null &
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
