#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# adr.pl - decisions can be found: each `ADR n` and `adr/nnnn` in the repository names a page of docs/adr, the index
# lists each page with its title, and each number below the highest one is a page or is listed as a former number.
# `adr.pl FILE...` reads references of those files only.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Find;

my $bad = 0;

sub complain {
    print STDERR "@_\n";
    $bad++;
}

sub slurp {
    open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# Number -> title, by the first line of each page. A file's name begins with its number.
my (%title, %name);
for my $path (glob 'docs/adr/[0-9]*.md') {
    my ($name, $of_name) = $path =~ m{/((\d{4})-[^/]+)$} or complain("$path: a page is called NNNN-title.md"), next;
    my ($n, $title) = slurp($path) =~ /\A# (\d+)\. (.+)\n/ or complain("$path: does not begin with '# N. Title'"), next;
    complain("$path: its heading has number $n") if $n != $of_name;
    @title{$n} = $title;
    $name{$n} = $name;
}
die "adr: found no page in docs/adr\n" unless %title;

# The index: pages are in its first table, former numbers in its second one.
my ($pages, $former) = split /^## Former numbers$/m, slurp('docs/adr/README.md');
my (%listed, %moved);
$listed{$1} = [$2, $3] while $pages =~ /^\| \[(\d+)\]\(([^)]+)\) \| (.+?) \|/mg;
$moved{$1} = 1 while ($former // '') =~ /^\| (\d+) \| .+\]\(/mg;
for my $n (sort { $a <=> $b } keys %title) {
    my $row = $listed{$n};
    complain("docs/adr/README.md: does not list $name{$n}"), next unless $row;
    complain("docs/adr/README.md: $n is called '$title{$n}' in $name{$n}") if $row->[1] ne $title{$n} or $row->[0] ne $name{$n};
    complain("docs/adr/README.md: $n is a page and a former number") if $moved{$n};
}
my ($highest) = sort { $b <=> $a } keys %title, keys %moved;
for my $n (1 .. $highest) {
    next if $title{$n} or $moved{$n} or $n == 34;    # there never was a 34
    complain("docs/adr/README.md: what became of $n?");
}

# References. The index names former numbers; changelogs of former releases stay as they were published.
sub look_at {
    my ($path) = @_;
    my $text = slurp($path);
    complain("$path: [ADR $1] leads to $2") while $text =~ m{\[ADR (\d+)\]\((?:[^)]*/)?(\d{4})-}g and $1 != $2;
    while ($text =~ m{\bADRs?\s+(?:[*#/-]+\s+)?(\d+)\b|\badr/(\d{4})\b}g) {
        my $n = 0 + ($1 // $2);
        next if $title{$n};
        my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
        complain("$path:$line: ADR $n: " . ($moved{$n} ? 'docs/adr/README.md says where that is now' : 'no such page'));
    }
}

my $file_n = 0;
if (@ARGV) {
    look_at($_), $file_n++ for @ARGV;
} else {
    find({no_chdir => 1, wanted => sub {
        return $File::Find::prune = 1 if m{/(node_modules|corpus|fixtures)$};
        return unless -f and -T and not m{^docs/adr/README\.md$|^tests/lint/adr\.pl$};
        look_at($_), $file_n++;
    }}, glob('*.md'), grep { -e } qw(dev cmake CMakeLists.txt deploy docs k8s lua packaging services shared tests));
}
exit 1 if $bad;
print "adr: looked at $file_n files and " . keys(%title) . " pages, no finding\n";
