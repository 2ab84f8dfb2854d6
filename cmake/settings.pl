#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# settings.pl NAME... - looks for variables PARLEY_* of the environment that nobody takes: neither one of the NAMEs nor a
# setting of `parley`, whose options are rows in the sources. Prints a line for each: its name, and the nearest one, if
# there is one. It needs no build, and of Perl only what every Debian and Ubuntu has.
use strict;
use warnings;

my %is_known = map { $_ => 1 } @ARGV, 'PARLEY_CONFIG';
for my $file (glob('{shared,services}/*/*.c {shared,services}/*/*/*.c')) {
    open(my $in, '<:raw', $file) or next;
    local $/;
    my $text = <$in>;
    $is_known{'PARLEY_' . uc($1 =~ tr/-/_/r)} = 1 while $text =~ /\.name = "([a-z0-9-]+)",\s*\.kind = CONFIG_/g;
}

# How many characters have to be put in, left out or replaced, or swapped with the next one.
sub distance {
    my ($from, $to) = @_;
    my @rows = ([0 .. length $to]);
    for my $i (1 .. length $from) {
        my ($c, $above) = (substr($from, $i - 1, 1), $rows[$i - 1]);
        my @row = ($i);
        for my $j (1 .. length $to) {
            my @ways = ($above->[$j - 1] + ($c ne substr($to, $j - 1, 1)), $above->[$j] + 1, $row[$j - 1] + 1);
            push @ways, $rows[$i - 2][$j - 2] + 1
                if $i > 1 and $j > 1 and substr($from, $i - 2, 2) eq reverse substr($to, $j - 2, 2);
            ($row[$j]) = sort { $a <=> $b } @ways;
        }
        push @rows, \@row;
    }
    return $rows[-1][-1];
}

# Kubernetes adds variables of each service of the namespace: those of one that is called parley begin like settings.
sub is_service_link {
    my ($name, $value) = @_;
    return $name =~ /_SERVICE_(HOST|PORT(_\w+)?)$/ || $name =~ /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
        || ($name =~ /_PORT$/ && $value =~ m{^(tcp|udp|sctp)://});
}

my @unknown = grep { /^PARLEY_\w{0,60}$/ and length $ENV{$_} and not $is_known{$_} } sort keys %ENV;
for my $name (grep { not is_service_link($_, $ENV{$_}) } @unknown) {
    my ($word, $nearest, $least) = (uc $name =~ s/^PARLEY_//r, '', 1e9);
    for my $known (sort keys %is_known) {
        my $meant = $known =~ s/^PARLEY_//r;
        my $n = distance($word, $meant);
        # One that was cut short, or to which something was added.
        $n = 1 if $n > 1 and length $word > 2 and (index($meant, $word) == 0 or index($word, $meant) == 0);
        ($nearest, $least) = ($known, $n) if $n < $least;
    }
    # Where more than a third of it is wrong, the nearest one is none.
    print $name, ($least * 3 <= length $word ? " $nearest" : ''), "\n";
}
