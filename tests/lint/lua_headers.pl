#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Every Lua file opens with a comment that says what it is for; one that reads KEYS or ARGV
# also names them, and what it returns.
use strict;
use warnings;
use File::Find;

my ($n, $bad) = (0, 0);
find({no_chdir => 1, wanted => sub {
    return unless /\.lua$/;
    my $path = $_;
    $n++;
    open(my $in, '<', $path) or die "$path: $!\n";
    my ($header, $body, $in_header) = ('', '', 1);
    while (<$in>) {
        $in_header = 0 if $in_header and not /^(--|#!)/;
        $in_header ? ($header .= $_) : ($body .= $_);
    }
    my @missing;
    push @missing, 'a purpose' unless $header =~ /[a-z]{3,}.*\s.*[a-z]{3,}/i;
    # A verb is what the library registers or what reads its arguments at the top.
    if ($path !~ m{/include/} and $body =~ /\b(KEYS|ARGV|keys|args)\b/ and $path ne 'lua/library.lua') {
        for my $word (qw(KEYS ARGV returns)) {
            push @missing, $word unless $header =~ /\b$word\b/i;
        }
    }
    return unless @missing;
    print STDERR "$path: its header does not name: @{[join ', ', @missing]}\n";
    $bad++;
}}, 'lua');
die "lua_headers: found no file to look at\n" unless $n;
exit 1 if $bad;
print "lua_headers: looked at $n files, no finding\n";
