#!/bin/sh
# SPDX-License-Identifier: MIT
# ready.sh: waits until what docker-compose.yml starts answers, and prints lines to paste, as ./dev up does.
set -eu
url=http://127.0.0.1:${PARLEY_PORT:-8080}
tries=0
# /ask is answered by other nodes than /readyz, and from the handbook, once it is there.
until curl -fsS -o /dev/null http://nginx:8080/readyz 2>/dev/null &&
    curl -fsS http://nginx:8080/ask -d '{"question":"What happens when an engine dies?"}' 2>/dev/null | grep -q '"sources":\[{'; do
    tries=$((tries + 1))
    [ $tries -lt 120 ] || {
        echo "ready: it does not answer after two minutes; docker compose logs says why" >&2
        exit 1
    }
    sleep 1
done
topic=first-steps-$(od -An -v -tx1 -N3 /dev/urandom | tr -d ' \n')
sign='docker compose exec -T node1 parley sign --user User_1 --secret-file /keys/nodes/secrets/User_1'
cat <<TEXT

Parley answers at $url

Chat in a browser: sign in at $url/app/ as User_1. Its secret is among the accounts, see below.

Ask the handbook, as anybody may, and get an answer that names its sources:

  curl -sw '\\n' $url/ask -d '{"question":"What happens when an engine dies?"}'

Read the handbook, where these sources lead to: $url/handbook

Put a question into the queue as User_1, and wait for the answer of an engine:

  curl -sw '\\n' "\$($sign '$url/api/add-query?Wait=60')" -d '{"Topic":"$topic","User":"User_1","Query":"How long does a lease last?"}'

Run a workflow of models, SQL and, where a model says no, you:

  docker compose exec node2 parley workflow run --url http://nginx:8080 --user User_1 --secret-file /keys/nodes/secrets/User_1 RULE 'run Show patterns'

The accounts, with the secrets that were made for them:

  docker compose exec node1 cat /keys/nodes/accounts.yaml

docker compose logs -f follows what happens, docker compose down stops it all, and .env explains every setting, also how to
answer with a model of yours. With podman-compose, write \`podman exec ${COMPOSE_PROJECT_NAME:-FOLDER}_node1_1\` instead of
\`docker compose exec -T node1\`.
TEXT
