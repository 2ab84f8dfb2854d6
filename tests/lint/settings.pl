#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# The pages of docs/operations have a section for each command, and in it a row for each of its flags with the
# default, and no other rows; they name every service, and every metric. What there is comes from the
# rows in the code: options are in groups, which commands and services name.
use strict;
use warnings;
use File::Find;

# Those whose --help is enough: no node and no engine takes their flags.
my %is_left_to_help = map { $_ => 1 } qw(bench extract logout sign);

sub slurp {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

my $page = join('', map { slurp("docs/operations/$_.md") } qw(configure commands metrics));
my ($flag_n, $metric_n, $bad) = (0, 0, 0);

sub complain {
    print STDERR "docs/operations: $_[0]\n";
    $bad++;
}

# --- what the code has -----------------------------------------------------------------------------

my (%source, %options, %command, %service);
find({no_chdir => 1, wanted => sub { $source{$_} = slurp($_) if /\.c$/ }}, 'shared', 'services');

# The names in a list such as `(const struct config_group *const[]){&a_options, &b_options, NULL}`.
sub names_of {
    my ($row, $member) = @_;
    my ($list) = $row =~ /\.\Q$member\E =\s*\(const struct config_group \*const\[\]\)\{(.*?)\}/s or return ();
    return $list =~ /&(\w+)/g;
}

# A static group is found by its file and name, another one by its name.
for my $file (sort keys %source) {
    my $text = $source{$file};
    while ($text =~ /^(static )?const struct config_group (\w+) = \{(.*?)\{0\}\}\};/gms) {
        my ($static, $name, $rows) = ($1, $2, $3);
        my @rows;
        while ($rows =~ /\{\.name = "([a-z0-9-]+)",(.*?)\}(?=,|$)/gs) {
            my ($flag, $rest) = ($1, $2);
            push @rows, [$flag, $rest =~ /\.fallback = "([^"]*)"/ ? $1 : ''];
        }
        die "settings: $file: found no option in the group $name\n" unless @rows;
        $options{$static ? "$file $name" : $name} = \@rows;
    }
    while ($text =~ /^const struct (command|service) (\w+)_\1 = \{(.*?)^\};/gms) {
        my ($kind, $name, $row) = ($1, $2, $3);
        my @groups = map { $options{"$file $_"} ? "$file $_" : $_ } names_of($row, 'groups');
        my $has = {groups => \@groups, services => scalar $row =~ /\.services = services/};
        ($kind eq 'command' ? \%command : \%service)->{$name} = $has;
    }
}
my @services = $source{'services/node/table.c'} =~ /^ +ROW\((\w+)\)/gm;
die "settings: found no command or no service\n" unless %command and @services;

# --- what the page says ----------------------------------------------------------------------------

for my $name (sort keys %command) {
    next if $is_left_to_help{$name} or not @{$command{$name}{groups}};
    my ($section) = $page =~ /^## parley $name\n(.*?)^#/ms;
    if (not defined $section) {
        complain("no section '## parley $name'");
        next;
    }
    my @groups = @{$command{$name}{groups}};
    push @groups, map { @{($service{$_} // die "settings: no row of the service $_\n")->{groups}} } @services
        if $command{$name}{services};
    my (%seen, %is_flag);
    for my $group (grep { not $seen{$_}++ } @groups) {
        for my $row (@{$options{$group} // die "settings: no group $group\n"}) {
            my ($flag, $default) = @$row;
            my ($documented) = $section =~ /^\| `--\Q$flag\E` \| (.*?) ?\|/m;
            $is_flag{$flag} = 1;
            $flag_n++;
            if (not defined $documented) {
                complain("no row for --$flag of parley $name");
            } elsif ($documented =~ s/`//gr ne $default) {
                complain("the default of --$flag of parley $name is '$default'");
            }
        }
    }
    complain("parley $name has no --$_") for grep { not $is_flag{$_} } $section =~ /^\| `--([a-z0-9-]+)`/gm;
    next unless $command{$name}{services};
    complain("no row for the target $_") for grep { $section !~ /^\| `$_` \|/m } @services;
}

# Those of all nodes are in the table, those of a service where it puts them.
my @metrics = slurp('shared/metrics/metrics.h') =~ /"(parley_\w+)/g;
push @metrics, map { $source{$_} =~ /# TYPE (parley_\w+)/g } grep { m{^services/} } sort keys %source;
for my $metric (@metrics) {
    $metric_n++;
    complain("no word about the metric $metric") unless $page =~ /`\Q$metric\E[`{]/;
}

die "settings: found no flag or no metric to look at\n" unless $flag_n and $metric_n;
exit 1 if $bad;
print "settings: looked at $flag_n flags and $metric_n metrics, no finding\n";
