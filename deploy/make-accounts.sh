#!/bin/sh
# SPDX-License-Identifier: MIT
# make-accounts.sh FOLDER: one account per role, with random secrets, in FOLDER/accounts.yaml; FOLDER/secrets/NAME holds what
# --secret-file takes. What is there already is kept. Several may run at once: the first one wins.
set -eu
folder=${1:?usage: make-accounts.sh FOLDER}
[ ! -e "$folder/accounts.yaml" ] || exit 0
umask 077
mkdir -p "$folder"
new=$(mktemp -d "$folder/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
accounts='Frontend_1:frontend User_1:user Inference_1:engine Operator_1:operator'
mkdir "$new/secrets"
for account in $accounts; do
    od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n' >"$new/secrets/${account%:*}"
done
# All secrets at once, unless there are some already: then every process writes the same accounts.
mv -T "$new/secrets" "$folder/secrets" 2>/dev/null || true
echo 'accounts:' >"$new/accounts.yaml"
for account in $accounts; do
    name=${account%:*} role=${account#*:}
    printf '  %s: {secret: "%s", role: %s}\n' "$name" "$(cat "$folder/secrets/$name")" "$role" >>"$new/accounts.yaml"
done
mv "$new/accounts.yaml" "$folder/accounts.yaml"
