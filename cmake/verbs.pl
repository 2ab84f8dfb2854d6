#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# What comes of the headers of the verbs in lua/ (Verbs.pm reads them; ADR 20):
#   verbs.pl --expand    prints the Lua library as Redis gets it
#   verbs.pl --json      prints the verbs and their arguments, for tests
#   verbs.pl --page      prints the page of all verbs (./dev docs)
#   verbs.pl DIR         writes DIR/library.lua, verb_ids.h, verbs.h and verbs.c
# A folder other than lua/ may follow: for tests. Run in the source root. Says what is wrong as `file:line: why`, and ends with 1 then.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use lib $FindBin::Bin;
use Verbs;
use VerbsC;
use VerbsPage;

my ($what, $lua) = @ARGV;
die "usage: verbs.pl --expand | --json | --page | DIR [LUA]\n" unless defined $what and @ARGV <= 2 and $what =~ /^(?:--(?:expand|json|page)$|[^-])/;

# A file that is the same already is left alone, so that nothing is built for it.
sub write_file {
    my ($path, $text) = @_;
    return if -e $path and Verbs::slurp($path) eq $text;
    open(my $out, '>:raw', $path) or die "$path: $!\n";
    print $out $text;
    close($out) or die "$path: $!\n";
}

# The verbs as data: what tests need to call them.
sub json_of {
    my ($verbs) = @_;
    my %all;
    for my $verb (@$verbs) {
        my %fields = map {lc $_ => $verb->{fields}{$_}} qw(Lane Home Nonce Full Durable);
        my $shown = sub { [map {my $one = $_; +{map {$_ => $one->{$_}} grep {defined $one->{$_}} qw(name kind is_optional max words)}} @{$_[0]}] };
        $all{$verb->{name}} = {
            %fields,
            path => $verb->{path},
            args => $shown->($verb->{args}),
            lists => [map {+{name => $_->{name}, max => $_->{max}, args => $shown->($_->{args})}} @{$verb->{lists}}],
            replies => [sort keys %{$verb->{replies}}],
        };
    }
    return JSON::PP->new->canonical->pretty->encode(\%all);
}

my $library = Verbs::read($lua // 'lua');
print STDERR "$_\n" for @{$library->{faults}};
exit 1 if @{$library->{faults}};
if ($what eq '--expand') {
    print $library->{text};
} elsif ($what eq '--json') {
    print json_of($library->{verbs});
} elsif ($what eq '--page') {
    print VerbsPage::page($library->{verbs});
} else {
    mkdir $what;
    write_file("$what/library.lua", $library->{text});
    write_file("$what/verb_ids.h", VerbsC::ids($library->{verbs}));
    write_file("$what/verbs.h", VerbsC::header($library->{verbs}));
    write_file("$what/verbs.c", VerbsC::source($library->{verbs}));
}
