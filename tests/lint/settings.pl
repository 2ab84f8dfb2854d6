#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# docs/operations.md names every flag of `parley serve`, `engine`, `ingest` and `reindex` with its
# default, and every metric.
use strict;
use warnings;

sub slurp {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

my $page = slurp('docs/operations.md');
my ($flag_n, $metric_n, $bad) = (0, 0, 0);

# Looks for one flag in the section of its command.
sub check_flag {
    my ($command, $flag, $default) = @_;
    my ($section) = $page =~ /^### parley $command\n(.*?)^##/ms or die "settings: no section on $command\n";
    my ($documented) = $section =~ /^\| `--\Q$flag\E` \| (.*?) ?\|/m;
    $flag_n++;
    if (not defined $documented) {
        print STDERR "docs/operations.md: no row for --$flag of parley $command\n";
        $bad++;
    } elsif ($documented =~ s/`//gr ne $default) {
        print STDERR "docs/operations.md: the default of --$flag of parley $command is '$default'\n";
        $bad++;
    }
}

for my $table (['serve', 'services/serve_help.c'], ['engine', 'services/engine/help.c'],
               ['ingest', 'services/indexer/ingest_help.c'],
               ['reindex', 'services/indexer/reindex.c'],
               ['backup', 'services/backup/backup.c'], ['restore', 'services/backup/restore.c']) {
    my ($command, $text) = ($table->[0], slurp($table->[1]));
    while ($text =~ /\{\.name = "([a-z0-9-]+)",(.*?)\},\n/gs) {
        my ($flag, $rest) = ($1, $2);
        check_flag($command, $flag, $rest =~ /\.fallback = "([^"]*)"/ ? $1 : '');
    }
}

my $metrics = slurp('shared/metrics/metrics.h');
while ($metrics =~ /"(parley_\w+)/g) {
    $metric_n++;
    next if $page =~ /`\Q$1\E[`{]/;
    print STDERR "docs/operations.md: no word about the metric $1\n";
    $bad++;
}

die "settings: found no flag or no metric to look at\n" unless $flag_n and $metric_n;
exit 1 if $bad;
print "settings: looked at $flag_n flags and $metric_n metrics, no finding\n";
