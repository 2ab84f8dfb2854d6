#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds a text file as a string: embed.pl OUT.c SYMBOL FILE.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp c_text);

my ($out, $symbol, $file) = @ARGV;
die "usage: embed.pl OUT.c SYMBOL FILE\n" unless defined $file;

my $text = c_text(slurp($file));
open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/embed.pl from $file. */\n";
print $c "#include <stddef.h>\nextern const char ${symbol}[];\nextern const size_t ${symbol}_bytes;\n";
print $c "const char ${symbol}[] =$text;\nconst size_t ${symbol}_bytes = sizeof ${symbol} - 1;\n";
close($c) or die "$out: $!\n";
