#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# A pattern that Lua may try again at each byte of a text costs the square of its length: one line of 100 KB
# held Redis for 97 s. So what match, find, gmatch and gsub are given is written out, and is one of these:
#   - plain text: find(text, what, at, true);
#   - anchored with ^ (not of gmatch, which knows no anchor), where `.` is repeated only at the very end;
#   - one class or one byte, alone or repeated with +: '[^;]+', '%d+', ';'. What follows it could fail and
#     begin again, so nothing does.
# Everything else is refused: walk from newline to newline instead (after_lines in lua/queue/records.lua).
use strict;
use warnings;
use File::Find;

# The arguments of a call, from behind its opening parenthesis on.
sub arguments {
    my ($text) = @_;
    my ($depth, @args) = (0, '');
    while ($text =~ /\G('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|.)/gs) {
        my $token = $1;
        last if $token eq ')' and $depth == 0;
        $depth++ if $token =~ /^[(\[{]$/;
        $depth-- if $token =~ /^[)\]}]$/;
        if ($token eq ',' and $depth == 0) { push @args, ''; next }
        $args[-1] .= $token;
    }
    s/^\s+|\s+$//g for @args;
    return @args;
}

# What is wrong with a call, or nothing.
sub fault {
    my ($name, @args) = @_;
    return if $name eq 'find' and ($args[3] // '') eq 'true';
    my ($pattern) = ($args[1] // '') =~ /^'((?:\\.|[^'\\])*)'$/ or return 'a pattern that is not written out';
    my $class = qr/(?:%.|\[\^?(?:%.|\\.|[^\]\\])+\]|\\\d{1,3}|\\.|[^%\[\]().+*\-?^\$\\])/s;
    return if $pattern =~ /^$class\+?$/;
    return "'$pattern' is not anchored" if $name eq 'gmatch' or $pattern !~ /^\^/;
    return "'$pattern' repeats . before its end" if $pattern =~ /(?<!%)\.[*+\-](?!\)?\$?$)/;
    return;
}

sub faults {
    my ($text) = @_;
    $text =~ s/^\s*--.*$//gm;
    my @faults;
    while ($text =~ /(?<![\w.:])(match|find|gmatch|gsub)\(/g) {
        my $fault = fault($1, arguments(substr($text, pos $text)));
        push @faults, [1 + (substr($text, 0, pos $text) =~ tr/\n//), "$1: $fault"] if $fault;
    }
    return @faults;
}

# It would have found these, and lets those pass.
my @bad = (
    q{name = row and match(row, '([^\n]*)$')}, q{text[#text + 1] = match(row, '([^\n]*)$')},
    q{match(stored, '\n(%d+)\n[^\n]*$')}, q{gsub(text, ' +$', '')}, q{find(a, b)}, q{gmatch(s, '^%d+')},
    q{gmatch(s, '%d+ ')}, q{match(s, '^.*x')}, q{match(s, '^' .. name)}, q{find(s, 'x+', 1)  find(s, '%s*$')},
);
my @good = (
    q{match(row, '^%d+\n%S+ (%S+)')}, q{gmatch(open, '[^;]+')}, q{find(row, query, at, true)}, q{gsub(open, ';', '')},
    q{match(earlier, '^(%x+) (.*)$')}, q{find(f(a, '('), ',' .. b .. ',', 1, true)}, q{find(head, '[\\\128-\255]')},
);
for (@bad) { faults($_) or die "lua_patterns: its own test: passes $_\n" }
for (@good) { die "lua_patterns: its own test: refuses $_\n" if faults($_) }

my ($n, $reads, $bad) = (0, 0, 0);
find({no_chdir => 1, wanted => sub {
    return unless /\.lua$/;
    my $path = $_;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    $n++;
    $reads++ if $path eq 'services/backup/read.lua';
    for (faults(scalar <$in>)) {
        print STDERR "$path:$_->[0]: $_->[1]; a client's long text makes that quadratic\n";
        $bad++;
    }
}}, 'lua', 'services');
die "lua_patterns: found no file to look at\n" unless $n and $reads;
exit 1 if $bad;
print "lua_patterns: looked at $n files, no finding\n";
