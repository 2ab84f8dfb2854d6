#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# The pages of docs/operations have the flags and targets that the code has (cmake/flags.pl writes them), and a row for each metric.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../cmake";
use CText qw(slurp);
use Options qw(read_options);

my $bad = system($^X, 'cmake/flags.pl', '--check') ? 1 : 0;
my $has = read_options();
my $flag_n = map { @{$_->{rows}} } values %{$has->{groups}};

# Those of all nodes are in the table, those of a service where it puts them.
my $page = slurp('docs/operations/metrics.md');
my @metrics = slurp('shared/metrics/metrics.h') =~ /"(parley_\w+)/g;
push @metrics, map { $has->{source}{$_} =~ /# TYPE (parley_\w+)/g } grep { m{^services/} } sort keys %{$has->{source}};
for my $metric (@metrics) {
    next if $page =~ /`\Q$metric\E[`{]/;
    print STDERR "docs/operations/metrics.md: no word about the metric $metric\n";
    $bad = 1;
}

die "settings: found no flag or no metric to look at\n" unless $flag_n and @metrics;
exit 1 if $bad;
print "settings: looked at $flag_n flags and " . @metrics . " metrics, no finding\n";
