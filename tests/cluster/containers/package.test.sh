#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# package.test.sh - the Debian package in a bare Debian 12 with systemd as its first process and Redis from Debian: apt brings
# what it depends on, units start, restart and reload node and engine with everything that these do, an upgrade keeps
# settings, and a purge leaves nothing. Run by `./dev test containers`. What it prints is what tests/run.sh counts.
set -euo pipefail

readonly CONTAINER=parleypackage$$
readonly IMAGE=localhost/parley-test-systemd:bookworm
# Of systemd-analyze security, in tenths: 0 is confined as far as possible, 100 not at all.
readonly EXPOSURE_MAX=20

inside() { podman exec "$CONTAINER" "$@"; }
show_state() {
    inside systemctl --no-pager --failed || true
    inside journalctl --no-pager -n 10 -u redis-server | cut -c 1-300 || true
    inside journalctl --no-pager -n 40 -u parley -u parley-engine | cut -c 1-300 || true
    tail -n 15 "$work/apt.log" 2>/dev/null || true
}
clean_up() { podman rm -f -v -t 0 "$CONTAINER" >/dev/null 2>&1 || true; }
# shellcheck source=tests/cluster/containers/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

apt() { inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" >>"$work/apt.log" 2>&1; }
# In the container's network, with programs of this machine.
there() { nsenter -t "$pid" -n -- "$@"; }
get() { there curl -fsS --max-time 60 "$@"; }
signed() { inside parley sign --user User_1 --secret-file /etc/parley/secrets/User_1 "$@"; }
main_pid() { inside systemctl show -P MainPID "$1"; }
answers() { get -o /dev/null http://127.0.0.1:8080/readyz; }
asks() {
    get "$(signed --method POST 'http://127.0.0.1:8080/api/add-query?Wait=60')" \
        -d "{\"Topic\":\"$1\",\"User\":\"User_1\",\"Query\":\"How long does a lease last?\"}" >"$work/out"
    grep -q '"Answer":\["' "$work/out"
}
# What a package may leave behind: every file with its kind, owner and mode, and users and groups. Not what others write.
there_is() {
    inside find / -xdev \( -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/redis -o -path /var/lib/systemd \
        -o -path '/var/lib/dpkg/*-old' -o -path /root -o -path /tmp -o -path /var/tmp \) -prune \
        -o -printf '%p %y %u %g %m\n' | sort
    inside sort /etc/passwd /etc/group
}

# The package is for the release that it was built on.
# shellcheck source=/dev/null
if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" != bookworm ]; then
    echo "package: this builds packages of another release, which Debian 12 cannot install"
    trap - EXIT
    exit 3
fi

what="a base image is made of Debian 12 and systemd"
tests/cluster/containers/podman.sh images
if ! podman image exists "$IMAGE"; then
    # Manual pages are left out of slim images, but not of machines.
    podman build -q -t "$IMAGE" - >>"$work/out" 2>&1 <<'TEXT'
FROM docker.io/library/debian:bookworm-slim
RUN rm /etc/dpkg/dpkg.cfg.d/slim && apt-get -q update && \
    DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install systemd systemd-sysv dbus
CMD ["/sbin/init"]
TEXT
fi
ok

what="the package is built"
./dev package >"$work/out" 2>&1
deb=$(ls build/package/parley_*.deb)
ok "$(($(stat -c %s "$deb") / 1000)) kB"

what="systemd starts"
# So that units get file systems and users of their own, as on a machine.
podman run -d --name "$CONTAINER" --systemd=always --cap-add SYS_ADMIN,SYS_PTRACE "$IMAGE" >>"$work/out" 2>&1
pid=$(podman inspect -f '{{.State.Pid}}' "$CONTAINER")
until_true 60 says running inside systemctl is-system-running
podman cp "$deb" "$CONTAINER:/root/parley.deb"
apt update
ok

what="apt installs the package and everything it depends on"
not inside sh -c 'command -v pdftotext' >/dev/null
apt install /root/parley.deb
version=$(inside parley version)
inside sh -c 'command -v pdftotext' >/dev/null
ok "$(grep -c '^Setting up' "$work/apt.log") packages, $version"

what="the installation starts nothing, and makes accounts that only root and the service may read"
[ "$(inside systemctl is-enabled parley parley-engine | sort -u)" = disabled ]
[ "$(inside systemctl is-active parley parley-engine | sort -u)" = inactive ]
[ "$(inside stat -c '%U %G %a' /etc/parley/accounts.yaml /etc/parley/secrets/User_1 | sort -u)" = "root parley 640" ]
not inside setpriv --reuid=nobody --clear-groups cat /etc/parley/secrets/User_1 2>/dev/null
ok

what="a package that never ran leaves nothing after a purge"
apt purge parley
apt install redis-server
there_is >"$work/before"
not grep -i parley "$work/before" >"$work/out"
ok

what="its units and manual pages have no faults"
apt install /root/parley.deb
inside systemd-analyze verify --man=no /lib/systemd/system/parley.service /lib/systemd/system/parley-engine.service >"$work/out" 2>&1
[ ! -s "$work/out" ]
inside sh -c 'ls /usr/share/man/man1/parley*.1.gz' | grep -c . >"$work/out"
[ "$(<"$work/out")" -gt 15 ]
ok

what="systemctl start returns when the node is ready"
inside systemctl enable -q --now parley
answers
ok

what="a question gets an answer of the engine"
inside systemctl enable -q --now parley-engine
asks first
ok

what="the units leave a node and an engine nothing but their sockets and their state"
for unit in parley parley-engine; do
    process=$(main_pid $unit)
    inside cat "/proc/$process/status" >"$work/status"
    inside cat "/proc/$process/mountinfo" >"$work/mounts"
    grep -q '^CapEff:[[:space:]]0*$' "$work/status"
    grep -q '^NoNewPrivs:[[:space:]]1$' "$work/status"
    grep -q '^Seccomp:[[:space:]]2$' "$work/status"
    [ "$(inside stat -c %U "/proc/$process")" = parley ]
    awk '$5 == "/" && $6 ~ /^ro/' "$work/mounts" | grep -q .
    awk '$5 == "/var/lib/'$unit'" && $6 ~ /^rw/' "$work/mounts" | grep -q .
    inside systemd-analyze security --no-pager --threshold=$EXPOSURE_MAX $unit >"$work/out"
    exposure="${exposure:+$exposure, }$(sed -n 's/.*exposure level for \(.*\)\.service: \([0-9.]*\).*/\1 \2/p' "$work/out")"
done
ok "exposure $exposure of 10"

what="documents are uploaded, read in confined processes and found"
cat >"$work/files.mjs" <<TEXT
import { writeFileSync } from 'node:fs';
import { makeDocx, makePdf } from '$PWD/tests/support/indexing.mjs';
writeFileSync('$work/puffins.pdf', Buffer.from(makePdf(3, (page, i) => i === 3 ? 'The keeper of Fastnet counts 37 puffins.' : 'Nothing of note on page ' + page), 'latin1'));
writeFileSync('$work/gannets.docx', makeDocx(['The keeper of Skellig counts 59 gannets.']));
TEXT
node "$work/files.mjs"
finds() {
    says "$1" get "$(signed --method POST http://127.0.0.1:8080/api/rag/retrieve)" -d "{\"query\":\"$2\"}"
}
for file in puffins.pdf gannets.docx; do
    get "$(signed --method POST http://127.0.0.1:8080/api/docs/upload)" -F "file=@$work/$file" >"$work/out"
done
until_true 60 finds '37 puffins' 'How many puffins are at Fastnet?'
until_true 60 finds '59 gannets' 'How many gannets are at Skellig?'
# What the kernel lacks is missing without a unit, too.
podman cp "$work/puffins.pdf" "$CONTAINER:/root/puffins.pdf"
inside parley extract /root/puffins.pdf >"$work/plain" 2>&1
inside journalctl --no-pager -o cat -u parley >"$work/journal"
without() { grep -o 'document readers run without.*' "$1" | sort || true; }
[ "$(without "$work/journal")" = "$(without "$work/plain")" ]
ok "$(without "$work/plain")"

what="a workflow runs SQL on a database in the state of the unit"
inside parley workflow run --user User_1 --secret-file /etc/parley/secrets/User_1 --approve RULE 'run Show patterns' >"$work/out"
grep -q 'tool.executeSQL *yes' "$work/out"
[ "$(inside stat -c '%U %a' /var/lib/parley/workflow.db)" = "parley 600" ]
ok

what="a node that is killed is started again, and the journal has its logs"
before=$(main_pid parley)
inside sh -c "kill -KILL $before"
is_another() { [ "$(main_pid parley)" != "$before" ] && [ "$(main_pid parley)" != 0 ] && answers; }
until_true 60 is_another
asks killed
inside journalctl --no-pager -u parley >"$work/journal"
grep -q 'code=killed, status=9/KILL' "$work/journal"
[ "$(grep -c 'info  serving' "$work/journal")" -ge 2 ]
ok

what="a node whose threads hang is ended by systemd's watchdog and started again"
inside sh -c 'mkdir -p /run/systemd/system/parley.service.d && printf "[Service]\nWatchdogSec=5\n" >/run/systemd/system/parley.service.d/test.conf'
inside systemctl daemon-reload
inside systemctl restart parley
before=$(main_pid parley)
case $(uname -m) in aarch64) ptrace=117 ;; *) ptrace=101 ;; esac
# PTRACE_SEIZE and PTRACE_INTERRUPT: all but the main thread stand still, until this ends or they do.
podman exec -d "$CONTAINER" perl -e 'for my $thread (grep { $_ != $ARGV[0] } map { m{(\d+)$} } glob "/proc/$ARGV[0]/task/*") {
    syscall($ARGV[1], 0x4206, $thread, 0, 0); syscall($ARGV[1], 0x4207, $thread, 0, 0) } sleep 30' "$before" $ptrace >/dev/null
until_true 60 is_another
says 'Watchdog timeout' inside journalctl --no-pager -o cat -u parley
inside rm -r /run/systemd/system/parley.service.d
inside systemctl daemon-reload
inside systemctl restart parley
ok

what="systemctl reload serves the new certificate from the same process"
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
        -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
    inside install -d -o root -g parley -m 750 /etc/parley/tls
    for file in key cert; do
        podman cp "$work/$file.pem" "$CONTAINER:/etc/parley/tls/$file.new"
        inside sh -c "chown root:parley /etc/parley/tls/$file.new && chmod 640 /etc/parley/tls/$file.new"
    done
    inside sh -c 'cd /etc/parley/tls && mv key.new key.pem && mv cert.new cert.pem'
}
serves() { says "CN *= *$1\$" there sh -c 'openssl s_client -connect 127.0.0.1:8443 </dev/null | openssl x509 -noout -subject'; }
certificate first.example
inside sh -c 'sed -i "s/^#tls-/tls-/" /etc/parley/node.yaml && echo "tls-listen: 127.0.0.1:8443" >>/etc/parley/node.yaml'
inside systemctl restart parley
until_true 20 serves first.example
before=$(main_pid parley)
certificate second.example
inside systemctl reload parley
until_true 20 serves second.example
[ "$(main_pid parley)" = "$before" ]
ok

what="an account that is added by root may log in at once"
inside parley account --accounts /etc/parley/accounts.yaml add User_2 --role user --secret-file /root/User_2 >"$work/out" 2>&1
[ "$(inside stat -c '%U %G %a' /etc/parley/accounts.yaml)" = "root parley 640" ]
is_known() { get -o /dev/null "$(inside parley sign --user User_2 --secret-file /root/User_2 http://127.0.0.1:8080/api/me)"; }
until_true 20 is_known
ok

what="a stop drains, and is no failure"
inside systemctl stop parley
inside journalctl --no-pager -o cat -u parley -n 10 >"$work/journal"
grep -q 'info  stopped' "$work/journal"
[ "$(inside systemctl show -P Result parley)" = success ]
inside systemctl start parley
ok

what="an upgrade keeps settings and accounts, and restarts what runs"
dpkg-deb -R "$deb" "$work/next"
sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
dpkg-deb -b --root-owner-group "$work/next" "$work/next.deb" >/dev/null
podman cp "$work/next.deb" "$CONTAINER:/root/next.deb"
before=$(main_pid parley)
inside sh -c 'sha256sum /etc/parley/*.yaml /etc/parley/secrets/*' >"$work/settings"
apt install /root/next.deb
inside sh -c 'sha256sum /etc/parley/*.yaml /etc/parley/secrets/*' | diff "$work/settings" - >"$work/out"
until_true 20 is_another
serves second.example
asks upgraded
ok "$(inside dpkg-query -W parley | cut -f2)"

what="a removal stops what runs, and keeps settings and accounts"
apt remove parley
not says '^parley$' inside sh -c 'cat /proc/[0-9]*/comm'
inside sh -c 'sha256sum /etc/parley/*.yaml /etc/parley/secrets/*' | diff "$work/settings" - >"$work/out"
[ ! -e "$(podman mount "$CONTAINER")/usr/bin/parley" ]
podman unmount "$CONTAINER" >/dev/null
ok

what="installed again, it continues with them"
apt install /root/parley.deb
inside systemctl start parley parley-engine
asks again
ok

what="a purge leaves nothing"
apt purge parley
there_is >"$work/after"
diff "$work/before" "$work/after" >"$work/out"
not inside systemctl cat parley >/dev/null 2>&1
ok "$(grep -c . "$work/after") files, users and groups are as before"
