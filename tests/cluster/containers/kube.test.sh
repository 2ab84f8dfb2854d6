#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# kube.test.sh - the pods of k8s/overlays/dev, built by kustomize and run by `podman kube play`: their probes and security
# contexts, questions, a Secret that changes, a rolling update under load, pods that are killed and pods that are replaced.
# kube_convert.mjs lists what podman cannot take, and so what is not shown here. Run by `./dev test containers`.
set -euo pipefail

readonly PROJECT=parleykube$$

show_state() {
    local name
    for name in $(podman ps -a --format '{{.Names}}' --filter "name=^$PROJECT-" | sort); do
        echo "== ${name#"$PROJECT"-}: $(podman inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$name")"
        podman logs --tail 10 "$name" 2>&1 | cut -c 1-300 || true
    done
    echo "== what nginx could not have answered"
    podman logs "$PROJECT-ingress" 2>&1 | grep -E '" 50[0-9] |emerg' | tail -n 10 || true
}
clean_up() {
    kill_load
    podman rm -f -t 0 "$PROJECT-ingress" >/dev/null 2>&1 || true
    podman pod ls -q --filter "label=project=$PROJECT" 2>/dev/null | xargs -r podman pod rm -f -t 0 >/dev/null 2>&1 || true
    podman volume ls -q --filter "name=^$PROJECT-" 2>/dev/null | xargs -r podman volume rm -f >/dev/null 2>&1 || true
    podman network rm -f "$PROJECT" >/dev/null 2>&1 || true
}
# shellcheck source=tests/cluster/containers/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

kube() { node tests/cluster/containers/kube_play.mjs "$PROJECT" "$work/kube" "$@"; }
inside() { podman exec "$(kube container "$1")" "${@:2}"; }
mkdir -m 755 "$work/kube"
chmod 755 "$work"

what="kustomize builds the overlay"
kustomize=$(tests/servers.sh kustomize)
# With shorter leases, so that what a killed engine held is soon asked again.
mkdir "$work/overlay"
cat >"$work/overlay/kustomization.yaml" <<TEXT
resources: [$(realpath --relative-to="$work/overlay" k8s/overlays/dev)]
configMapGenerator:
  - {name: parley-node, namespace: parley-dev, behavior: merge, literals: [PARLEY_LEASE_SECONDS=20]}
TEXT
"$kustomize" build "$work/overlay" >"$work/kube/manifests.yaml"
pods=$(kube pods)
ok "$(wc -w <<<"$pods") pods"

what="base images and the image of the Dockerfile are there"
tests/cluster/containers/podman.sh images
podman build -q -t localhost/parley:0.1.0 . >"$work/out" 2>&1
ok

what="all pods start, in any order, and are ready"
podman network create "$PROJECT" >/dev/null
for id in $pods; do kube play "$id"; done
for id in $pods; do kube ready "$id"; done
ok

what="probes of the manifests pass, at each pod's own address"
for id in $pods; do
    [[ $id != parley-engine-* ]] || continue # it listens nowhere
    for kind in startup liveness readiness; do kube probe "$id" $kind; done
done
ok

what="security contexts hold: users, no capabilities, a root and mounts that are read-only, limits"
for id in $pods; do kube check "$id"; done
ok

what="Redis refuses whoever has no password, and no process shows it"
says NOAUTH inside parley-redis-0 redis-cli -h parley-redis get parley:x
says WRONGPASS inside parley-redis-0 redis-cli -h parley-redis --no-auth-warning -a wrong ping
# shellcheck disable=SC2016
says PONG inside parley-redis-0 sh -c 'REDISCLI_AUTH=$(cat /etc/parley/redis/password) redis-cli ping'
for id in $pods; do
    podman inspect "$(kube container "$id")"
    inside "$id" sh -c 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ'
done >"$work/seen" 2>/dev/null
not grep -qa -e dev-only-redis -e dev-only-user -e dev-only-engine "$work/seen"
ok

# Signed as k8s/README.md says; `kubectl exec` there is `podman exec` here.
broker=parley-broker-0
sign() {
    printf '%s' "${secret:-dev-only-user}" |
        podman exec -i "$(kube container "$broker")" parley sign --user "${user:-User_1}" --secret-file /dev/stdin --method POST "$1"
}
what="a question to the broker's Service is answered by the engine's pod"
inside parley-documents-0 curl -fsS "$(sign 'http://parley-broker:8080/api/add-query?Wait=60')" \
    -d '{"Topic":"first-steps","User":"User_1","Query":"How long does a lease last?"}' >"$work/out" 2>&1
grep -q '"Answer":\["[^"]*150 seconds' "$work/out"
ok

what="the Ingress's paths lead to pods of each service"
resolver=$(podman network inspect "$PROJECT" | sed -nE 's/.*"gateway": "([^"]+)".*/\1/p')
kube ingress "$resolver" >"$work/kube/nginx.conf"
podman run -d --name "$PROJECT-ingress" --network "$PROJECT" --read-only --tmpfs /tmp -v "$work/kube/nginx.conf:/etc/parley/nginx.conf:ro" \
    "$(sed -nE 's/^ *image: (.*nginx.*)/\1/p' docker-compose.yml)" nginx -c /etc/parley/nginx.conf -e /dev/stderr -g 'daemon off;' >"$work/out"
address=$(podman inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$PROJECT-ingress")
readonly url=http://$address:8080
until_true 30 curl -fsS "$url/readyz"
for path in / /handbook /openapi.yaml /health; do curl -fsS -o /dev/null "$url$path"; done
for path in /api/docs /api/workflows /api/rooms /api/bots /api/me; do
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$url$path")" = 401 ] || { echo "$path" >"$work/out"; exit 1; }
done
ok

what="an upload to the documents' pod is indexed by the indexer's pod, and found"
printf '# Lighthouses\n\nThe keeper of Fastnet counts 37 puffins.\n' >"$work/lighthouse.md"
curl -fsS "$(sign "$url/api/docs/upload")" -F "file=@$work/lighthouse.md" >"$work/out" 2>&1
finds_it() { says '37 puffins' curl -fsS "$(sign "$url/api/rag/retrieve")" -d '{"query":"How many puffins are at Fastnet?"}'; }
until_true 60 finds_it
ok

what="an answer streams, and a WebSocket works"
printf dev-only-user >"$work/User_1"
node "$clients" stream "$url" User_1 "$work/User_1" >"$work/out" 2>&1
tokens=$(tail -n 1 "$work/out")
node "$clients" socket "$url" User_1 "$work/User_1" >"$work/out" 2>&1
grep -q '^message Hello$' "$work/out"
ok "$tokens"

what="nodes read a Secret that has changed, without a restart"
is_signed_in() { curl -fsS -o /dev/null "$(user=Inspector_1 secret=dev-only-inspector sign "$url/api/login")"; }
not is_signed_in 2>/dev/null
{ cat k8s/overlays/dev/secrets/accounts.yaml; echo '  Inspector_1: {secret: "dev-only-inspector", role: user}'; } >"$work/accounts.yaml"
kube secret parley-accounts accounts.yaml "$work/accounts.yaml"
until_true 30 is_signed_in
ok

is_loaded() { [ "$(podman logs --since "$1" "$PROJECT-ingress" 2>/dev/null | grep -c 'add-query" 200 ')" -gt 20 ]; }
# replace OLD NEW: as a Deployment with maxSurge 1 and maxUnavailable 0.
replace() {
    kube play "$2"
    kube ready "$2"
    kube stop "$1" >>"$work/stops"
    kube remove "$1" >/dev/null
}
what="a rolling update of every Deployment under load: no request fails, and each old pod ends by itself within its grace period"
start_load "$url"
until_true 60 is_loaded "$(now)"
replace parley-broker-0 parley-broker-2
replace parley-broker-1 parley-broker-3
for name in documents conversations indexer engine; do replace "parley-$name-0" "parley-$name-1"; done
until_true 60 is_loaded "$(now)"
end_load
ok "$(head -n 1 "$work/load.out"); $(paste -sd, "$work/stops")"

broker=parley-broker-2
pods="parley-broker-2 parley-broker-3 parley-documents-1 parley-conversations-1 parley-indexer-1 parley-engine-1 parley-redis-0"
what="what is killed starts again by its restart policy, and clients that retry lose nothing"
start_load "$url" retry
until_true 60 is_loaded "$(now)"
for id in $pods; do
    name=$(kube container "$id")
    before=$(podman inspect -f '{{.State.Pid}}' "$name")
    kill -KILL "$before"
    is_another() { [ "$(podman inspect -f '{{.State.Running}}' "$name")" = true ] && [ "$(podman inspect -f '{{.State.Pid}}' "$name")" != "$before" ]; }
    until_true 60 is_another
    kube ready "$id"
done
until_true 60 is_loaded "$(now)"
end_load
ok "$(head -n 1 "$work/load.out")"

what="pods that are removed at once, also that of Redis, are replaced by others, and nothing that was acknowledged is lost"
start_load "$url" retry
until_true 60 is_loaded "$(now)"
kube remove parley-redis-0 >/dev/null
kube play parley-redis-0
kube ready parley-redis-0
for id in $pods; do
    [ "$id" != parley-redis-0 ] || continue
    kube remove "$id" >/dev/null
    kube play "$id"
    kube ready "$id"
done
until_true 60 is_loaded "$(now)"
end_load
finds_it
ok "$(head -n 1 "$work/load.out")"

what="each pod ends by SIGTERM, by itself and with status 0, within its grace period; Redis too"
: >"$work/stops"
for id in $pods; do kube stop "$id" >>"$work/stops" 2>"$work/out"; done
ok "$(paste -sd, "$work/stops")"
