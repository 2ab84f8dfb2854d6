#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# docs/operations.md names every flag of `parley serve`, `engine`, `ingest`, `reindex`, `backup` and
# `restore` with its default, and every metric.
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

# Rows that several tables share.
my %shared;
my $start = slurp('shared/redis/start.h');
while ($start =~ /^#define (\w+_OPTION)\b(.*?[^\\])\n/gms) {
    my ($name, $row) = ($1, $2);
    $row =~ s/\\\n/ /g;
    $row =~ s/\s+/ /g;
    $row =~ s/^ \{ /{/;
    $row =~ s/, \}$/}/;
    $shared{$name} = $row;
}
die "settings: found no shared row in shared/redis/start.h\n" unless %shared;

for my $table (['serve', 'services/node/serve_help.c'], ['engine', 'services/engine/help.c'],
               ['ingest', 'services/indexer/ingest_help.c'],
               ['reindex', 'services/indexer/reindex.c'],
               ['backup', 'services/backup/backup.c'], ['restore', 'services/backup/restore.c']) {
    my ($command, $text) = ($table->[0], slurp($table->[1]));
    $text =~ s{^ +(REDIS_\w+_OPTION),$}{($shared{$1} // die "settings: no shared row $1\n") . ","}gme;
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
