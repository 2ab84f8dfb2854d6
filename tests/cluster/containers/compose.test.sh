#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# compose.test.sh - docker-compose.yml from nothing, by podman and podman-compose: builds the image, starts everything, asks,
# streams, opens a WebSocket through nginx, ends a node by SIGKILL, and restarts all nodes one by one under load. Run by
# `./dev test containers`. What it prints is what tests/run.sh counts.
set -euo pipefail

readonly PROJECT=parleytest$$
readonly NODES="node1 node2 node3"
readonly SERVICES="setup redis $NODES indexer nginx engine handbook ready"
readonly IMAGE_BYTES_MAX=120000000

show_more() {
    echo "== what nginx could not have answered"
    podman logs "$(name_of nginx)" 2>/dev/null | grep -E '" 50[0-9] ' | tail -n 10 || true
}
# shellcheck source=tests/cluster/containers/compose.sh
. "$(dirname "${BASH_SOURCE[0]}")/compose.sh"

secret() { inside node1 cat "/keys/nodes/secrets/$1"; }

what="base images are made of Debian's packages"
tests/cluster/containers/podman.sh images
ok

what="the image is built"
compose build setup
ok

what="the image is smaller than $((IMAGE_BYTES_MAX / 1000000)) MB"
bytes=$(podman image inspect -f '{{.Size}}' parley:0.1.0)
[ "$bytes" -lt $IMAGE_BYTES_MAX ]
ok "$((bytes / 1000000)) MB"

what="the image has no package manager, no compiler and no set-user-id program"
[ -z "$(podman run --rm --entrypoint sh parley:0.1.0 -c 'command -v apt dpkg perl cc')" ]
[ -z "$(podman run --rm --entrypoint find -u 0 parley:0.1.0 / -xdev -perm /6000 -type f 2>/dev/null || true)" ]
ok

what="podman-compose starts everything, and the last container prints lines to paste"
# By name: this version of podman-compose knows no profiles, and would start those as well.
# shellcheck disable=SC2086
compose up -d $SERVICES
until_true 180 has_ended ready
podman logs "$(name_of ready)" >"$work/lines" 2>&1
grep -q "^Parley answers at $url" "$work/lines"
ok

what="each health check passes"
for name in redis $NODES indexer nginx; do until_true 60 is_healthy "$name"; done
ok

what="secrets are files that only those read who need them"
secret User_1 >"$work/User_1"
secret Operator_1 >"$work/Operator_1"
[ "$(inside engine sh -c 'ls /keys')" = engine ]
[ "$(inside node1 stat -c '%U %a' /keys/nodes/accounts.yaml)" = "parley 600" ]
for name in $SERVICES; do podman inspect "$(name_of "$name")"; done >"$work/inspected"
not grep -qF -e "$(<"$work/User_1")" -e "$(inside node1 cat /keys/store/redis-password)" "$work/inspected"
ok

what="Redis refuses whoever has no password, and its user parley what it does not need"
says NOAUTH inside redis redis-cli get parley:x
says NOPERM inside redis redis-cli --no-auth-warning --user health --pass any get parley:x
says WRONGPASS inside redis redis-cli --no-auth-warning --user default --pass any ping
says NOPERM inside redis redis-cli --no-auth-warning --user parley -a "$(inside node1 cat /keys/store/redis-password)" flushall
ok

what="nodes run as user 10001, with a read-only root and without capabilities"
[ "$(inside node1 id -u)" = 10001 ]
not inside node1 sh -c 'echo >/usr/local/x' 2>/dev/null
inside node1 grep -q '^CapEff:[[:space:]]0*$' /proc/1/status
inside node1 grep -q '^NoNewPrivs:[[:space:]]1$' /proc/1/status
ok

# The lines as they are printed, except that a tool for people stands for another one.
paste_line() { grep -F -- "$1" "$work/lines" | sed "s/docker compose exec -T \(node[0-9]\)/podman exec ${PROJECT}_\1_1/; s/^ *//"; }

what="the first line to paste asks the handbook"
bash -c "$(paste_line /ask)" >"$work/out" 2>&1
grep -q '"sources":\[{' "$work/out"
ok

what="the second line to paste puts a question into the queue, and an engine answers"
bash -c "$(paste_line add-query)" >"$work/out" 2>&1
grep -q '"Answer":\["' "$work/out"
ok

what="an answer streams through nginx"
client stream
ok "$(tail -n 1 "$work/out")"

what="a WebSocket works through nginx"
client socket
grep -q '^message Hello$' "$work/out"
ok

what="every service answers through nginx"
for path in / /handbook /openapi.yaml /health; do curl -fsS -o /dev/null "$url$path"; done
for path in /api/docs /api/workflows /api/rooms /api/bots /api/me; do
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$url$path")" = 401 ] || { echo "$path" >"$work/out"; exit 1; }
done
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/metrics")" = 404 ]
ok

what="an upload is indexed by the indexer"
signed() { inside node1 parley sign --user User_1 --secret-file /keys/nodes/secrets/User_1 "$@"; }
printf '# Lighthouses\n\nThe keeper of Fastnet counts 37 puffins.\n' >"$work/lighthouse.md"
curl -fsS "$(signed --method POST "$url/api/docs/upload")" -F "file=@$work/lighthouse.md" >"$work/out" 2>&1
finds_it() { says '37 puffins' curl -fsS "$(signed --method POST "$url/api/rag/retrieve")" -d '{"query":"How many puffins are at Fastnet?"}'; }
until_true 60 finds_it
ok

# is_used NODE SINCE: nginx sends requests for each of its services to a node, at the address that it has now, and gets
# answers. Before that, the next node must not stop. Each upstream finds the new address by itself.
is_used() {
    local address paths path
    address=$(podman inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$(name_of "$1")")
    case $1 in
    node1) paths='add-query docs' ;;
    node2) paths='add-query workflows' ;;
    node3) paths='docs workflows' ;;
    esac
    podman logs --since "$2" "$(name_of nginx)" >"$work/nginx.log" 2>/dev/null
    for path in $paths; do
        [ "$(grep -c "/api/$path HTTP/1.1\" 200 .* ${address//./\\.}:8080 " "$work/nginx.log")" -gt 5 ] || return 1
    done
}

what="all nodes restart one by one under load, and no request fails"
start_load "$url"
until_true 60 is_loaded "$(now)"
for name in $NODES; do
    podman restart -t 30 "$(name_of "$name")" >>"$work/compose.log" 2>&1
    at=$(now)
    until_true 60 is_healthy "$name"
    until_true 60 is_used "$name" "$at"
done
until_true 60 is_loaded "$(now)"
end_load
ok "$(head -n 1 "$work/load.out")"

what="a node that is killed starts again, and clients that retry lose nothing"
start_load "$url" retry
until_true 60 is_loaded "$(now)"
for name in node1 node2; do
    before=$(podman inspect -f '{{.State.Pid}}' "$(name_of "$name")")
    at=$(now)
    kill -KILL "$before"
    is_another() { [ "$(podman inspect -f '{{.State.Running}}' "$(name_of "$name")")" = true ] && [ "$(podman inspect -f '{{.State.Pid}}' "$(name_of "$name")")" != "$before" ]; }
    until_true 60 is_another
    until_true 60 is_healthy "$name"
    until_true 60 is_used "$name" "$at"
done
until_true 60 is_loaded "$(now)"
end_load
ok "$(head -n 1 "$work/load.out")"

what="everything stops and starts again with the same accounts and data"
podman stop -t 30 -a --filter "label=io.podman.compose.project=$PROJECT" >>"$work/compose.log" 2>&1 ||
    for name in engine nginx indexer $NODES redis; do podman stop -t 30 "$(name_of "$name")" >>"$work/compose.log" 2>&1; done
for name in setup redis $NODES indexer nginx engine; do podman start "$(name_of "$name")" >>"$work/compose.log" 2>&1; done
for name in redis $NODES indexer nginx; do until_true 60 is_healthy "$name"; done
[ "$(secret User_1)" = "$(<"$work/User_1")" ]
until_true 60 finds_it
client stream
ok
