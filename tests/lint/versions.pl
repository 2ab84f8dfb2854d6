#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# versions.pl - the version is in CMakeLists.txt, and wherever else somebody reads or pastes it: it is the same in all
# places, and CHANGELOG.md begins with it and names the data version.
#   versions.pl             the check
#   versions.pl --print     prints the version
#   versions.pl --set X.Y.Z writes another version into all places, and begins its section of CHANGELOG.md
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Find;

my $number = qr/\d+\.\d+\.\d+/;
# What is before a version, in which files. Each kind of place must be found, or its pattern has become blind.
my @places = (
    ['project(parley VERSION ...)', qr/^project\(parley VERSION /m, qr/^CMakeLists\.txt$/],
    ['an image parley:...', qr/\bparley:/, qr/./],
    ['a package parley_...', qr/\bparley_/, qr/\.md$/],
    ['the label image.version', qr/image\.version="/, qr/^Dockerfile$/],
    ['newTag of an overlay', qr/newTag: /, qr/^k8s\/.*\.yaml$/],
    ['"this Parley (...)" in a page', qr/\bthis Parley \(/, qr/\.md$/],
);

sub slurp {
    open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

sub spew {
    open(my $out, '>', $_[0]) or die "$_[0]: $!\n";
    print $out $_[1];
    close($out) or die "$_[0]: $!\n";
}

# Not what was written about a certain version.
sub files {
    my @files;
    find({no_chdir => 1, wanted => sub {
        return $File::Find::prune = 1 if m{^(?:docs/history|docs/adr)$|/node_modules$};
        push @files, s{^\./}{}r if -f and m{(?:\.(?:md|ya?ml|sh|mjs)|/Dockerfile|/CMakeLists\.txt)$};
    }}, grep { -e } qw(CMakeLists.txt Dockerfile docker-compose.yml README.md CONTRIBUTING.md deploy docs k8s packaging tests));
    return sort @files;
}

# Calls $each with the file, the line, the version there and the place, and writes what it returns instead, if anything.
sub walk {
    my ($each) = @_;
    my (%found, $file_n);
    for my $path (files()) {
        $file_n++;
        my $text = my $was = slurp($path);
        for (@places) {
            my ($name, $before, $where) = @$_;
            next if $path !~ $where;
            $text =~ s{($before)($number)}{ $found{$name}++; $1 . ($each->($path, 1 + (substr($text, 0, $-[2]) =~ tr/\n//), $2, $name) // $2) }ge;
        }
        spew($path, $text) if $text ne $was;
    }
    $found{$$_[0]} or die "versions: found no place for $$_[0]\n" for @places;
    return $file_n;
}

my ($version) = slurp('CMakeLists.txt') =~ /^project\(parley VERSION ($number)/m or die "versions: CMakeLists.txt has no version\n";
my $wish = shift // '';
if ($wish eq '--print') {
    print "$version\n";
} elsif ($wish eq '--set') {
    my $next = shift // '';
    $next =~ /^$number$/ or die "versions: --set takes a version such as 0.2.0, not '$next'\n";
    my $n = 0;
    walk(sub { $n++; $next });
    my $changes = slurp('CHANGELOG.md');
    $changes =~ s/^(?=## )/## $next (not released yet)\n\n/m unless $changes =~ /^## \Q$next\E /m;
    spew('CHANGELOG.md', $changes);
    print "versions: wrote $next to $n places; write into CHANGELOG.md what it brings\n";
} elsif ($wish eq '') {
    my $bad = 0;
    my $complain = sub { print STDERR "@_\n"; $bad++; return };
    my $file_n = walk(sub {
        my ($path, $line, $there, $name) = @_;
        $complain->("$path:$line: $name has $there; CMakeLists.txt has $version") if $there ne $version;
        return;
    });
    my ($section) = slurp('CHANGELOG.md') =~ /^## (.*?)(?=^## |\z)/ms or die "versions: CHANGELOG.md has no section\n";
    my ($data) = slurp('shared/redis/data_version.h') =~ /\bDATA_VERSION = (\d+)/ or die "versions: no DATA_VERSION\n";
    $complain->("CHANGELOG.md: its first section is not of $version, which CMakeLists.txt has") if $section !~ /^\Q$version\E /;
    $complain->("CHANGELOG.md: its first section does not say [data version](...) $data, which data_version.h has")
        if $section !~ /\[data\s+version\]\([^)]*\) $data\b/;
    exit 1 if $bad;
    print "versions: looked at $file_n files, no finding\n";
} else {
    die "usage: versions.pl [--print | --set X.Y.Z]\n";
}
