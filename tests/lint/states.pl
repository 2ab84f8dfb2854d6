#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# A state moves only through its table (shared/base/sm.h): a file that takes a value of an enum whose name ends in
# `state` writes no member with it, except as what sm_move returns or in an initializer.
use strict;
use warnings;
use File::Find;

sub text_of {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# Values of `enum state`, `enum poll_state`...
sub states {
    my ($text) = @_;
    my @values;
    while ($text =~ /\benum (?:\w+_)?state\s*\{(.*?)\}/sg) {
        (my $list = $1) =~ s{/\*.*?\*/}{}sg;
        push @values, $list =~ /\b([A-Z][A-Z0-9_]*)\b/g;
    }
    return @values;
}

sub faults {
    my ($text, @values) = @_;
    my $value = join '|', @values;
    my @faults;
    while (@values and $text =~ /(?:->|\.)\w+ = (?:\w[^;=]* \? [^;]*)?\b($value)\b/g) {
        my ($at, $name) = ($-[0], $1);
        my $line = substr($text, rindex($text, "\n", $at) + 1);
        next if $line =~ /^[^\n]*[{,]\s*\.\w+ = / or $line =~ /^\s*\.\w+ = /;
        push @faults, [1 + (substr($text, 0, $at) =~ tr/\n//), $name];
    }
    return @faults;
}

my @own = states("enum conn_state { CONN_DOWN, /* of A_B */\n CONN_UP };\nenum kind { KIND_A };");
"@own" eq 'CONN_DOWN CONN_UP' or die "states: its own test: read @own\n";
for ('conn->state = CONN_UP;', 'op.at = CONN_DOWN;', 'c->state = is_up ? CONN_UP : CONN_DOWN;') {
    faults($_, @own) or die "states: its own test: passes $_\n";
}
for ('if (conn->state == CONN_UP) a = 1;', '*c = (struct conn){.state = CONN_UP};', 'move(conn, CONN_UP);',
     'bool is_up = conn->state == CONN_UP;', 'c->is_up = c->state == CONN_UP;') {
    die "states: its own test: refuses $_\n" if faults($_, @own);
}

my (%text, @values);
find({no_chdir => 1, wanted => sub { $text{$_} = text_of($_) if /\.[ch]$/ }}, 'services', 'shared');
push @values, states($_) for values %text;
@values or die "states: found no state to look for\n";
my $bad = 0;
for my $path (sort keys %text) {
    for (faults($text{$path}, @values)) {
        print STDERR "$path:$_->[0]: $_->[1] is set without its table: use sm_move (shared/base/sm.h)\n";
        $bad++;
    }
}
exit 1 if $bad;
print "states: looked at ", scalar(keys %text), " files, no finding\n";
