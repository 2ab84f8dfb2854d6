#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes rules.yaml from deploy/monitoring/alerts.yml: kustomize reads nothing outside its own folder.
set -eu
cd "$(dirname "$0")"
{
    printf '# Written by rules.sh from deploy/monitoring/alerts.yml.\n'
    printf 'apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: parley\nspec:\n'
    sed -n '/^groups:/,$p' ../../../deploy/monitoring/alerts.yml | sed '/./s/^/  /'
} >rules.yaml
