#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# What holds for every source file as text: a licence line at its top (except for Lua, which goes into
# the executable and has a header of its own), no notes to self, no trailing space, a newline at
# its end, no tabs in C and Lua, no comment of C wider than 100 columns (clang-format leaves comments as they are, because it
# would reflow diagrams). A count in a text goes through COUNTED (shared/base/str.h), unless it is a limit.
use strict;
use warnings;
use File::Find;

# Put together here, so that this file does not find itself.
my $note = join('|', map { join('', @$_) } ['TO', 'DO'], ['FIX', 'ME'], ['XX', 'X'], ['HA', 'CK']);

# "%zu passages" or "%lld passages", which says "1 passages"; not "at most %zu bytes".
my $count = qr/(?<!to )(?<!at most )(?<!than )(?<!of )%(?:zu|u|llu|lu|lld|ld)(?: (?:more|other|new|unchanged))? (?!was|is|has|this|takes)[a-z]{3,}s\b/;
'"%zu passages found"' =~ $count && '"%zu more faults"' =~ $count && '"takes at most %zu bytes"' !~ $count
    or die "text: its own test\n";

my ($n, $bad) = (0, 0);
sub complain {
    my ($where, $what) = @_;
    print STDERR "$where: $what\n";
    $bad++;
}

find({no_chdir => 1, wanted => sub {
    return $File::Find::prune = 1 if m{/(node_modules|corpus|fixtures|dist)$};
    return unless -f and (/\.(c|h|lua|mjs|js|ts|tsx|sh|bash|pl|cmake)$/ or m{^(dev|CMakeLists\.txt|\.ci/run)$});
    my $path = $_;
    $n++;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    my @lines = <$in>;
    complain($path, 'no SPDX-License-Identifier in its first lines')
        unless join('', grep { defined } @lines[0 .. ($#lines < 2 ? $#lines : 2)]) =~
        /SPDX-License-Identifier: MIT/ or $path =~ m{^lua/};
    complain($path, 'no newline at its end') if @lines and $lines[-1] !~ /\n$/;
    my $i = 0;
    for my $line (@lines) {
        $i++;
        complain("$path:$i", 'trailing space') if $line =~ /[ \t\r]\n$/;
        complain("$path:$i", 'a tab') if $line =~ /\t/ and $path =~ /\.(c|h|lua)$/;
        complain("$path:$i", 'a comment wider than 100 columns')
            if $path =~ /\.[ch]$/ and $line =~ m{^\s*(?:/\*|\*)} and ($line =~ tr{\x80-\xbf}{}c) > 101; # of UTF-8, characters
        complain("$path:$i", 'a count that may be 1: use COUNTED') if $path =~ m{^(shared|services)/.*\.c$} and $line =~ $count;
        complain("$path:$i", 'a note to self: do it or leave it out') if $line =~ /\b($note)\b/;
    }
}}, grep { -e } qw(dev .ci CMakeLists.txt cmake completions deploy shared services lua tests));
die "text: found no file to look at\n" unless $n;
exit 1 if $bad;
print "text: looked at $n files, no finding\n";
