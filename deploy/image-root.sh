#!/bin/sh
# SPDX-License-Identifier: MIT
# image-root.sh ROOT PACKAGE...: copies into ROOT the files of these packages, which are installed, and of those that they
# depend on, and nothing else: no package manager, no documentation but the copyrights. What an image scanner reads is
# there, in /var/lib/dpkg/status.d. For the last stage of the Dockerfile.
set -eu
root=${1:?usage: image-root.sh ROOT PACKAGE...}
shift
# What others depend on for the time of their installation, or for what Parley does not use: pictures of pages.
without='debconf openssl perl-base dpkg ucf sensible-utils init-system-helpers fonts-dejavu-core libx11-data'

closure() {
    dpkg-query -W -f '${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n' | awk -F '\t' -v roots="$*" -v without="$without" '
        # The name in "name:any (>= 1)".
        function name(text) { sub(/^ +/, "", text); sub(/[ :(].*/, "", text); return text }
        {
            needs[$1] = $3
            n = split($2, provided, ",")
            for (i = 1; i <= n; i++) by[name(provided[i])] = $1
        }
        END {
            n = split(without, words, " ")
            for (i = 1; i <= n; i++) seen[words[i]] = 1
            last = split(roots, queue, " ")
            for (i = 1; i <= last; i++) seen[queue[i]] = 1
            for (first = 1; first <= last; first++) {
                if (!(queue[first] in needs)) { print queue[first] " is not installed" >"/dev/stderr"; exit 1 }
                print queue[first]
                n = split(needs[queue[first]], groups, ",")
                for (i = 1; i <= n; i++) {
                    m = split(groups[i], choices, "|")
                    for (j = 1; j <= m; j++) {
                        found = name(choices[j])
                        if (!(found in needs)) found = by[found]
                        if (found == "") continue
                        if (!(found in seen)) { seen[found] = 1; queue[++last] = found }
                        break
                    }
                }
            }
        }'
}

packages=$(closure "$@")
mkdir -p "$root/var/lib/dpkg/status.d"
for folder in bin sbin lib lib64; do
    mkdir -p "$root/usr/$folder"
    ln -s "usr/$folder" "$root/$folder"
done
for package in $packages; do
    dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
    dpkg-query -L "$package"
done | sort -u | grep -vE '^/\.$|^/(bin|sbin|lib|lib64)$' | sed -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,' |
    grep -vE '^/usr/share/(man|info|locale|lintian|bug|zoneinfo|bash-completion)/|^/usr/share/doc/[^/]*/[^/]*' >/tmp/files
# Those that dpkg was configured not to unpack are not there.
while read -r file; do
    if [ -e "$file" ] || [ -L "$file" ]; then echo "${file#/}"; fi
done </tmp/files >/tmp/files.there
# Made by scripts of packages, or by us.
{
    printf '%s\n' etc/passwd etc/group etc/nsswitch.conf etc/ssl/certs etc/ssl/certs/ca-certificates.crt
    (cd / && find etc/ssl/certs -type l)
    for package in $packages; do
        file=usr/share/doc/$package/copyright
        [ ! -e "/$file" ] || echo "$file"
    done
} >>/tmp/files.there
tar -C / --no-recursion -T /tmp/files.there -c | tar -C "$root" -x
mkdir -p "$root/tmp" "$root/run" "$root/proc" "$root/sys" "$root/dev"
chmod 1777 "$root/tmp"
ldconfig -r "$root"
# What cannot find a library says so here and not on somebody's machine.
loader=$(cd "$root" && find usr/lib usr/lib64 -name "ld-linux*.so.*" | head -n 1)
for program in "$root"/usr/bin/* "$root"/usr/local/bin/*; do
    [ -x "$program" ] || continue
    missing=$(chroot "$root" "/$loader" --list "${program#"$root"}" 2>/dev/null | grep 'not found' || true)
    [ -z "$missing" ] || {
        echo "image-root.sh: ${program#"$root"} lacks $missing" >&2
        exit 1
    }
done
