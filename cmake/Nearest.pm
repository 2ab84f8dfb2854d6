# SPDX-License-Identifier: MIT
#
# Nearest.pm - of the names that exist, the one that a misspelt name meant; shared/base/nearest.h does the same for
# `parley`. Needs no module from elsewhere.
package Nearest;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(nearest);

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

# nearest NAME, NAMES...: an empty text when none is close. Capitals do not count.
sub nearest {
    my ($name, @names) = @_;
    my ($word, $nearest, $least) = (uc $name, '', 1e9);
    for my $known (sort @names) {
        my $meant = uc $known;
        my $n = distance($word, $meant);
        # One that was cut short, or to which something was added.
        $n = 1 if $n > 1 and length $word > 2 and (index($meant, $word) == 0 or index($word, $meant) == 0);
        ($nearest, $least) = ($known, $n) if $n < $least;
    }
    # Where more than a third of it is wrong, the nearest one is none.
    return $least * 3 <= length $word ? $nearest : '';
}

1;
