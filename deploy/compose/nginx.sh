#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx.sh: starts nginx with deploy/nginx.conf, which takes the name server of this container from /tmp. Only the
# first one: nginx asks all that it knows in turn, and the others do not know the names of containers.
set -eu
server=$(awk '$1 == "nameserver" { print $2 ~ /:/ ? "[" $2 "]" : $2; exit }' /etc/resolv.conf)
echo "resolver ${server:-127.0.0.11} valid=1s ipv6=off;" >/tmp/resolver.conf
exec nginx -c /etc/parley/nginx.conf -e /dev/stderr -g 'daemon off;'
