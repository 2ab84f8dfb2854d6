#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds the frame of a page: html_frame.pl OUT.c HEADER.h NAME PAGE.html STYLE.css...
# HEADER declares `extern const struct html_frame NAME` (shared/http/request/html_frame.h).
# In the page {{style}} stands for the styles, one after the other, {{content}} for what a node puts there, and {{hash}}
# for the style's CSP source, in a page whose policy is a part of it.
use strict;
use warnings;
use Digest::SHA qw(sha256_base64);
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp c_text);

my ($out, $header, $name, $page, @styles) = @ARGV;
die "usage: html_frame.pl OUT.c HEADER.h NAME PAGE.html STYLE.css...\n" unless @styles;

my $style = join('', map { slurp($_) } @styles);
my ($head, $foot, $more) = split(/\{\{content\}\}/, slurp($page), -1);
my $hash = 'sha256-' . sha256_base64($style) . '=';
$head =~ s/\{\{hash\}\}/$hash/g if defined $head;
die "$page: it needs one {{style}} and then one {{content}}\n"
    if not defined $foot or defined $more or ($head =~ s/\{\{style\}\}/$style/g) != 1 or "$head$foot" =~ /\{\{/;
open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/html_frame.pl. */\n#include \"$header\"\n\n";
printf $c "const struct html_frame $name = {\n.head = {%s, %d},\n.foot = {%s, %d},\n.style = \"%s\",\n};\n",
    c_text($head), length $head, c_text($foot), length $foot, $hash;
close($c) or die "$out: $!\n";
