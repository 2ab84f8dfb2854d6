#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# What cmake/verbs.pl does not look at, since the build does not need it: every Lua file opens with
# `-- NAME: what it does`, its lines are no longer than 120 characters, and what each verb costs is measured.
# `lua_headers.pl --expand DIR` writes the modules as Redis gets them into DIR, for other checks.
use strict;
use warnings;
use File::Basename;
use File::Find;
use File::Path qw(make_path remove_tree);
use lib 'cmake';
use Verbs;

my $library = Verbs::read('lua');
die map {"$_\n"} @{$library->{faults}} if @{$library->{faults}};
if (($ARGV[0] // '') eq '--expand') {
    my $dir = $ARGV[1] // die "usage: lua_headers.pl --expand DIR\n";
    remove_tree($dir);
    for my $module (values %{$library->{modules}}) {
        make_path(dirname("$dir/$module->{path}"));
        open(my $out, '>:raw', "$dir/$module->{path}") or die "$dir/$module->{path}: $!\n";
        print $out $module->{text};
        close($out) or die "$dir/$module->{path}: $!\n";
    }
    exit 0;
}

my ($n, $bad) = (0, 0);
my %verb_of = map {$_->{path} => $_->{name}} @{$library->{verbs}};
sub complain {
    print STDERR "$_[0]: $_[1]\n";
    $bad++;
}

find({no_chdir => 1, wanted => sub {
    return unless /\.lua$/;
    my $path = $_;
    my $name = $verb_of{$path} // basename($path, '.lua');
    my $text = Verbs::slurp($path);
    $n++;
    complain($path, "does not open with '-- $name: what it is for'") unless $text =~ /\A-- $name: \S+ \S+/;
    my $line = 0;
    for (split(/\n/, $text)) {
        $line++;
        utf8::decode(my $shown = $_);
        complain("$path:$line", 'the line is longer than 120 characters') if length $shown > 120;
    }
}}, 'lua');

# What a verb costs is measured nightly, in a flow that gives it something to find.
my $played = join('', map {Verbs::slurp("tests/lua/$_")} 'cost_flows.mjs', 'cost.test.mjs');
find({no_chdir => 1, wanted => sub { $played .= join('', Verbs::slurp($_) =~ /^flow\(.*?^\}\);$/msg) if /\.test\.mjs$/ }}, 'tests/lua');
for my $verb (@{$library->{verbs}}) {
    complain($verb->{path}, "no flow(...) in tests/lua plays $verb->{name}")
        unless $played =~ /'$verb->{name}'|^  $verb->{name}: '/m;
}
die "lua_headers: found no file to look at\n" unless $n;
exit 1 if $bad;
print "lua_headers: looked at $n files, no finding\n";
