#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# words.pl - private words for what the field has a word for (docs/glossary.md) are refused in code, Lua and docs, except
# in the files of words.known, a line "word file" each. That list only shrinks: `words.pl --shrink` takes out the lines
# that are not needed any more. A file that moves takes its line along.
use strict;
use warnings;
use File::Find;

my $known_path = 'tests/lint/words.known';

# Name, pattern, and what to write instead.
my @words = (
    ['proven', qr/(?:\b|_)(?:un)?proven(?:\b|_)/i, 'authenticated, anonymous'],
    ['stranger', qr/(?:\b|_)strangers?(?:\b|_)/i, 'anonymous client'],
    # "objection" in quotes or backquotes, or as a member, is the wire name.
    ['objection', qr/(?<!["`.>\/])(?:\b|_)objections?(?:\b|_)(?!["`\\])/i, 'rejection'],
    ['put aside', qr/\bput(?: |_)aside(?:\b|_)|_put_aside\b/i, 'push back'],
    ['adopt', qr/(?:\b|_)adopt(?:s|ed|ion)?(?:\b|_)/i, 'subscribe, take over'],
    ['settle', qr/(?:\b|_)settle[sd]?(?:\b|_)/i, 'flush, finish'],
    # Of identifiers: on_looked, next_look, LOOKS_MAX. "To look at" and look_at() are English, a lookup is a term, `looks` are of names.
    ['look', qr/\b\w+_look(?:ed|ing)?\b|\blook(?:ed|ing)?_(?!at\b)\w+|\bLOOKS?_\w+|\b\w+_LOOKS?\b|\blook\(/, 'retry, rescan, check'],
);

sub text_of {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

my ($file_n, %seen) = (0);
find({no_chdir => 1, wanted => sub {
    return $File::Find::prune = 1 if m{^docs/history$} or m{/node_modules$};
    return unless -f and /\.(?:c|h|lua|md|yaml)$/ and $_ ne 'docs/glossary.md';
    $file_n++;
    my ($path, $text) = ($_, text_of($_));
    for my $word (@words) {
        $seen{"$word->[0] $path"} = $word->[2] if $text =~ $word->[1];
    }
}}, qw(docs lua services shared));
die "words: found no file to look at\n" unless $file_n > 500;

my %known = map { $_ => 1 } grep { length } split /\n/, text_of($known_path);
my @new = grep { !$known{$_} } sort keys %seen;
my @gone = grep { !$seen{$_} } sort keys %known;
if (@ARGV and $ARGV[0] eq '--shrink') {
    open(my $out, '>:raw', $known_path) or die "$known_path: $!\n";
    print $out map { "$_\n" } grep { $seen{$_} } sort keys %known;
    close $out or die "$known_path: $!\n";
    @gone = ();
}
for (@new) {
    my ($word, $path) = /^(.*) (\S+)$/;
    print STDERR "$path: \"$word\" is a private word: write: $seen{$_} (docs/glossary.md)\n";
}
exit 1 if @new;
print "words: looked at $file_n files, no new private word; ", scalar(keys %seen), " known uses are left\n";
print "words: ", scalar(@gone), " lines of $known_path can go: perl tests/lint/words.pl --shrink\n" if @gone;
