#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds what routes.pl has made, openapi.yaml, as it is and compressed (services/web/openapi.h):
# openapi.pl OUT.c FILE.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp c_forms);

my ($out, $file) = @ARGV;
die "usage: openapi.pl OUT.c FILE\n" unless defined $file;

open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/openapi.pl. */\n#include \"services/web/openapi.h\"\n\n";
printf $c "const struct web_forms web_openapi = {\n%s};\n", c_forms(slurp($file));
close($c) or die "$out: $!\n";
