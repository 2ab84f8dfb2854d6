#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Every kind of key that a script in lua/ names has a row in docs/redis-keys.md, and one in services/backup/kinds.c,
# which says whether a backup copies it, rebuilds it or leaves it out.
use strict;
use warnings;
use File::Find;

# What follows the prefix of a shard in a script, up to the first colon.
my $named = qr{(?:\bP|\bprefix)\s*\.\.\s*'([a-z][a-z_]*)};
# Channels: nothing is stored under their names.
my %channels = (node => 1);

sub slurp {
    open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# Returns what is missing for a kind of key.
sub faults {
    my ($word, $page, $kinds) = @_;
    my @faults;
    push @faults, 'has no row in docs/redis-keys.md' unless $page =~ /`\Q$word\E[`:]/;
    push @faults, 'has no row in services/backup/kinds.c' unless $channels{$word} or $kinds =~ /\{"\Q$word\E",/;
    return @faults;
}

die "keys: the check itself is broken\n"
    if faults('t', '| `t:<topic>` |', '{"t", KIND_TOPIC}') or faults('node', '`node:<id>`', '')
    or faults('x', '`xy`', '{"xy", KIND_TOPIC}') != 2 or "P .. 'open:' .. model" !~ $named;

my ($page, $kinds) = (slurp('docs/redis-keys.md'), slurp('services/backup/kinds.c'));
my (%where, $bad);
find({no_chdir => 1, wanted => sub {
    return unless /\.lua$/;
    my $path = $_;
    my $text = slurp($path);
    push @{$where{$1}}, $path while $text =~ /$named/g;
}}, 'lua');
die "keys: found no key to look at\n" unless %where;
for my $word (sort keys %where) {
    for my $fault (faults($word, $page, $kinds)) {
        print STDERR "$where{$word}[0]: the key $word $fault\n";
        $bad++;
    }
}
exit 1 if $bad;
printf "keys: looked at %d kinds of keys, no finding\n", scalar keys %where;
