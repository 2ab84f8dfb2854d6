#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds text files as strings: embed.pl OUT.c SYMBOL FILE.
use strict;
use warnings;

my ($out, $symbol, $file) = @ARGV;
die "usage: embed.pl OUT.c SYMBOL FILE\n" unless defined $file;

sub slurp {
    my ($path) = @_;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

my $text = slurp($file);
open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/embed.pl from $file. */\n";
print $c "#include <stddef.h>\nextern const char ${symbol}[];\nextern const size_t ${symbol}_bytes;\n";
print $c "const char ${symbol}[] =\n";
for my $line (split(/(?<=\n)/, $text)) {
    $line =~ s/([\\"?])/\\$1/g;
    $line =~ s/\n/\\n/;
    $line =~ s/([^\x20-\x7e])/sprintf('\\%03o', ord($1))/ge;
    print $c "    \"$line\"\n";
}
print $c ";\nconst size_t ${symbol}_bytes = sizeof ${symbol} - 1;\n";
