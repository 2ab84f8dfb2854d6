# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# compose.sh - what scripts share that run docker-compose.yml by podman-compose. They set PROJECT and SERVICES, source this
# (and with it common.sh), and may define show_more, which prints what there is to see besides if something failed.
: "${PROJECT:?}" "${SERVICES:?}"

# podman-compose gives these names to containers.
name_of() { echo "${PROJECT}_$1_1"; }
compose() { podman-compose -p "$PROJECT" "$@" >>"$work/compose.log" 2>&1; }
inside() { podman exec "$(name_of "$1")" "${@:2}"; }
# Without systemd nothing runs health checks by itself, so they are run here.
is_healthy() { podman healthcheck run "$(name_of "$1")"; }
has_ended() { [ "$(podman inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$(name_of "$1")")" = "exited 0" ]; }
client() { node "$clients" "$1" "$url" User_1 "$work/User_1" "${@:2}" >"$work/out" 2>&1; }
is_loaded() { [ "$(podman logs --since "$1" "$(name_of nginx)" 2>/dev/null | grep -c 'add-query.* 200 ')" -gt 20 ]; }

show_state() {
    local name
    for name in $SERVICES; do
        echo "== $name: $(podman inspect -f '{{.State.Status}}, restarts {{.RestartCount}}' "$(name_of "$name")" 2>/dev/null || echo not there)"
        podman logs --tail 15 "$(name_of "$name")" 2>&1 | cut -c 1-300 || true
    done
    if declare -F show_more >/dev/null; then show_more || true; fi
    echo "== podman-compose"
    grep -iE 'error' "$work/compose.log" 2>/dev/null | grep -v systemd | tail -n 5 | cut -c 1-500 || true
}
clean_up() {
    local names
    kill_load
    names=$(podman ps -aq --filter "label=io.podman.compose.project=$PROJECT" 2>/dev/null) || true
    # shellcheck disable=SC2086
    [ -z "$names" ] || podman rm -f -v -t 0 $names >/dev/null 2>&1 || true
    podman network rm -f "${PROJECT}_default" >/dev/null 2>&1 || true
    podman volume ls -q --filter "label=io.podman.compose.project=$PROJECT" 2>/dev/null | xargs -r podman volume rm -f >/dev/null 2>&1 || true
}
# shellcheck source=tests/cluster/containers/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

unset COMPOSE_PROFILES COMPOSE_FILE
PARLEY_PORT=$(free_port)
export PARLEY_PORT
# shellcheck disable=SC2034
readonly url=http://127.0.0.1:$PARLEY_PORT
