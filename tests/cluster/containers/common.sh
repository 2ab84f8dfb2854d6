# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# common.sh - what scripts of the group `containers` share; they source it, and it changes to the top of the checkout.
# A script says in `what` what it shows next, and calls `ok [DETAIL]` when that is shown. It ends at the first command that
# fails, with `not ok - what`. Before it sources this, it may define
#   show_state   prints what there is to see if something failed
#   clean_up     removes what the script started, and nothing else; it is called in any case
# A command that fails in one of them does not end it.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../.."

# Exits 3 where this cannot run, as the script then does. Not in `eval "$(...)"`, which would hide that.
containers_environment=$(tests/cluster/containers/podman.sh env)
eval "$containers_environment"

# shellcheck disable=SC2034
readonly clients=tests/cluster/containers/clients.mjs
# A folder for this run. `until_true` leaves in $work/out what its command printed last, which is shown after a failure.
work=$(mktemp -d)
readonly work
what="it starts"

# Settings of the one who runs this are not this cluster's.
while read -r name; do unset "$name"; done < <(compgen -v | grep '^PARLEY_' | grep -v '^PARLEY_TEST_')

ok() { echo "ok - $what${1:+ ($1)}"; }

finish() {
    local status=$?
    trap - EXIT
    [ $status -ne 3 ] || status=1 # which would count as skipped
    if [ $status -ne 0 ]; then
        echo "not ok - $what"
        tail -n 5 "$work/out" 2>/dev/null || true
        if declare -F show_state >/dev/null; then show_state || true; fi
    fi
    if declare -F clean_up >/dev/null; then clean_up || true; fi
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# until_true SECONDS COMMAND...
until_true() {
    local seconds=$1 end=$((SECONDS + $1))
    shift
    until "$@" >"$work/out" 2>&1; do
        [ $SECONDS -lt $end ] || {
            echo "waited $seconds s in vain for: $*" >>"$work/out"
            return 1
        }
        sleep 0.2
    done
}

# `!` alone does not end a script whose command succeeds.
not() { ! "$@"; }

# says PATTERN COMMAND...: not by a pipe into grep -q, which ends at the first match, and the command then by SIGPIPE.
says() {
    "${@:2}" >"$work/said" 2>&1 || true
    grep -q -- "$1" "$work/said"
}

# Prints a free port. Another process may take it in between, and then what listens there fails with a line that says so.
free_port() { node -e "const s=require('net').createServer().listen(0,'127.0.0.1',()=>{console.log(s.address().port);s.close()})"; }

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# start_load URL [retry], end_load: clients in the background (clients.mjs), as the user whose secret is in $work/User_1,
# until `end_load`, which fails if a promise was not kept. Its figures are in $work/load.out.
start_load() {
    rm -f "$work/stop"
    node "$clients" load "$1" User_1 "$work/User_1" "$work/stop" "${@:2}" >"$work/load.out" 2>&1 &
    load=$!
}
end_load() {
    local status=0
    touch "$work/stop"
    wait "$load" || status=$?
    load=
    cp "$work/load.out" "$work/out"
    return $status
}
# Of a script that ended while they run.
kill_load() { [ -z "${load:-}" ] || kill "$load" 2>/dev/null || true; }
