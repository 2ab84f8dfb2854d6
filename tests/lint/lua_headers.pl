#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# What cmake/verbs.pl does not look at, since the build does not need it: every Lua file opens with
# `-- NAME: what it does`, its lines are no longer than 120 characters, and lua/library.lua includes it.
# `lua_headers.pl --expand` prints the library as Redis gets it, for other checks.
use strict;
use warnings;
use File::Basename;
use File::Find;
use lib 'cmake';
use Verbs;

my $library = Verbs::read('lua/library.lua');
die map {"$_\n"} @{$library->{faults}} if @{$library->{faults}};
if (($ARGV[0] // '') eq '--expand') {
    print $library->{text};
    exit 0;
}

my ($n, $bad) = (0, 0);
my %included = map {$_ => 1} @{$library->{files}};
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
    complain($path, 'lua/library.lua does not include it') unless $included{$path};
    my $line = 0;
    for (split(/\n/, $text)) {
        $line++;
        utf8::decode(my $shown = $_);
        complain("$path:$line", 'the line is longer than 120 characters') if length $shown > 120;
    }
}}, 'lua');
die "lua_headers: found no file to look at\n" unless $n;
exit 1 if $bad;
print "lua_headers: looked at $n files, no finding\n";
