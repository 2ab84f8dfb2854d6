#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# words.pl - refuses private words for what the field has a word for (docs/glossary.md) in code, Lua and docs. Names of the
# wire, of keys and of flags stay what they are: what is in quotes or backquotes, or follows `--`, is not looked at.
use strict;
use warnings;
use File::Find;

# Name, pattern, and what to write instead.
my @words = (
    ['proven', qr/(?:\b|_)(?:un)?proven(?:\b|_)/i, 'authenticated, anonymous'],
    ['stranger', qr/(?:\b|_)strangers?(?:\b|_)/i, 'anonymous client'],
    # "Objection:" is a heading in a prompt; "no objection to" is English, and what the built-in rules say.
    ['objection', qr/(?<!["`.\/])(?<!no )(?:\b|_)objections?(?:\b|_)(?!\\)/i, 'rejection'],
    ['put aside', qr/\bput(?: |_)aside(?:\b|_)|_put_aside\b/i, 'push back'],
    ['adopt', qr/(?:\b|_)adopt(?:s|ed|ion)?(?:\b|_)/i, 'subscribe, take over'],
    ['settle', qr/(?:\b|_)settle[sd]?(?:\b|_)/i, 'flush, finish'],
    # Of identifiers: on_looked, next_look, LOOKS_MAX. "To look at" and look_at() are English, a lookup is a term.
    ['look', qr/\b\w+_look(?:ed|ing)?\b|\blook(?:ed|ing)?_(?!at\b)\w+|\bLOOKS?_\w+|\b\w+_LOOKS?\b|\blook\(/, 'retry, rescan, check'],
);

sub text_of {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

sub names_left_out {
    my ($text) = @_;
    $text =~ s/(["`])-{0,2}\w+\1|--\w+//g;
    return $text;
}

my ($file_n, $n) = (0, 0);
find({no_chdir => 1, wanted => sub {
    return $File::Find::prune = 1 if m{^docs/history$} or m{/node_modules$};
    return unless -f and /\.(?:c|h|lua|md|yaml)$/ and $_ ne 'docs/glossary.md';
    $file_n++;
    my ($path, $text) = ($_, names_left_out(text_of($_)));
    for my $word (@words) {
        next unless $text =~ $word->[1];
        print STDERR "$path: \"$word->[0]\" is a private word: write: $word->[2] (docs/glossary.md)\n";
        $n++;
    }
}}, qw(docs lua services shared));
die "words: found no file to look at\n" unless $file_n > 500;
exit 1 if $n;
print "words: looked at $file_n files, no private word\n";
