#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Every Lua file opens with `-- NAME: purpose`; a verb also says there what its KEYS and ARGV are,
# what it returns, whom it wakes, whether it may be repeated and what bounds a call of it, in rows and in bytes;
# and lua/library.lua includes it.
# lua/include/full.lua says of every verb, once, whether it runs while Redis is full.
# `lua_headers.pl --expand` prints the library with its includes in place, for other checks.
use strict;
use warnings;
use File::Basename;
use File::Find;

sub slurp {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

my (%included, $library);
sub expand {
    my ($path) = @_;
    $included{$path}++;
    my $text = slurp($path);
    $text =~ s/^--- include (\S+)$/expand($1)/gme;
    return $text;
}
$library = expand('lua/library.lua');
if (($ARGV[0] // '') eq '--expand') {
    print $library;
    exit 0;
}

my ($n, $verb_n, $bad) = (0, 0, 0);
my $full = slurp('lua/include/full.lua');
my %full;
$full{$_}++ for $full =~ /\b(\w+) = true\b/g;
$full{$_}++ for map {split} $full =~ /^-- REFUSED: (.*)$/mg;
die "lua_headers: found no verb in lua/include/full.lua\n" unless %full;
sub complain {
    print STDERR "$_[0]: $_[1]\n";
    $bad++;
}

find({no_chdir => 1, wanted => sub {
    return unless /\.lua$/;
    my $path = $_;
    my $name = basename($path, '.lua');
    my $text = slurp($path);
    my ($header) = $text =~ /\A((?:--.*\n)*)/;
    $n++;
    my ($verb) = $text =~ /^(?:function )?verbs\.(\w+)/m;
    my ($title) = $header =~ /^-- (\w+): \S+ \S+/;
    complain($path, "does not open with '-- " . ($verb // $name) . ": what it is for'")
        unless defined $title and ($title eq $name or $title eq ($verb // ''));
    complain($path, 'lua/library.lua does not include it') unless $included{$path};
    return unless defined $verb;
    $verb_n++;
    my $times = delete $full{$verb} // 0;
    complain($path, "lua/include/full.lua names '$verb' $times times, not once: does it run while Redis is full?")
        unless $times == 1;
    for my $word (qw(KEYS ARGV Returns Wakes Repeatable Bound)) {
        complain($path, "its header has no $word:") unless $header =~ /\b$word:/;
    }
}}, 'lua');
complain('lua/include/full.lua', "there is no verb '$_'") for sort keys %full;
die "lua_headers: found no verb to look at\n" unless $verb_n;
exit 1 if $bad;
print "lua_headers: looked at $n files, $verb_n of them verbs, no finding\n";
