# SPDX-License-Identifier: MIT
#
# containers.sh - scripts that run what people install, in containers.

# No script may hang; the first one builds the base images and the image of Parley.
readonly CONTAINERS_SECONDS=3600

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
