#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# prose.pl - phrases that a native engineer would not write, in Markdown, in the descriptions of routes, in the texts of C and
# ./dev, and in the comments of C, Lua, scripts and tests. Only phrases without an honest use are listed, so each finding
# is one to rewrite. Not read: code in Markdown and between backticks, the changelog's entries of former releases.
# In headers, and above functions of C and Lua in the product, a comment begins with what the thing does or is: not with "What",
# "Whether" or "Of". So does the first line about a file: not "name: what ...".
# `prose.pl FILE...` reads those files only. README.md fits on two screens.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Find;

# A pattern, and what to write for it. They are matched against paragraphs on one line, without code.
my @phrases = (
    [qr/\btold\b(?! apart)/i, 'report, send, notify; "unless X says otherwise"; "by default"'],
    [qr/\btells\b(?! \w+ apart)/i, 'reports, shows, returns'],
    [qr/\banew\b/i, 'again'],
    [qr/\bfor ever\b/i, 'forever, indefinitely'],
    [qr/(?<!not only )(?<!not )\bbut for (?:the|a|an|one|those|that|what|its|their)\b/i, 'except'],
    [qr/\bwho(?:so)?ever\b/i, '"If you ..."; "the client"; "the first one to"'],
    [qr/\batoms?\b/i, 'one atomic step'],
    [qr/\bhears? of\b/i, 'is notified of, receives'],
    [qr/\b(?:has|have|had) Failed\b/, 'is marked Failed'],
    [qr/(?<!there )\bis no (?:id|account|user|node|topic|name) of the\b/i, 'is not a ... of'],
    [qr/\bno (?:id|topic|document) of the (?:owner|user)'s\b/i, 'not one of the owner\'s ...'],
    [qr/\bgo(?:es)? with (?:it|them|the last|its)\b/i, 'is deleted with'],
    [qr/\bseen lately\b/i, 'seen recently'],
    [qr/\b(?:made|begun|written|computed|opened|sent) anew\b/i, 'again'],
    [qr/\bcontract,? sections?\b|\bsection \d+ of the contract\b/i, '/openapi.yaml or a page of the handbook'],
    [qr/\bsays? how (?:much|many|long) there (?:is|are)\b/i, 'shows, counts'],
    [qr/\blet go of\b/i, 'release, delete'],
    [qr/\bof which nobody\b|\bof whom nothing\b/i, 'turn the clause around'],
    [qr/\b(?:ask|asks|asked) again and again\b/i, 'poll'],
    [qr/\b(?:go|goes|going|went) on\b(?! top\b)/i, 'continue'],
    [qr/\balso (?:if|when|where)\b/i, 'even if, even when'],
    [qr/\bof which (?:an?|the|one)\b/i, 'turn the clause around: "whose ...", "with ..."'],
    # "It says that there are more" is English; "the columns that there are" is not.
    [qr/\bthat there (?:are|is)(?=[.,;:)]| *$| only\b| inside\b)/i, 'that exist'],
    [qr/(?<!\bas it )(?<!\bas they )\bstands?\b(?!-)(?! (?:for|alone|by|out|still|again|in for)\b)(?! in them| their name)/i, 'is, is written, appears, applies, is kept'],
    # (Two prompts to models, "stand in them" and "stands their name", stay what they are.)
    # "For whom" is English; "whom does it tag?" is not.
    [qr/(?<!for )(?<!to )(?<!of )(?<!by )(?<!with )(?<!from )(?<!&)\bwhom\b/i, 'who'],
    [qr/\btell(?! apart)(?= (?:the|an?|its?|them|you|who|what|how|whether|when|Redis|clients?|users?|nodes?)\b)/i, 'report, return, send, notify'],
    [qr/\bbesides(?=[.,;:)]| *$)/i, '"as well", or nothing'],
    [qr/\b(?:NUL|newline|space|comma|dot|byte|word)s? behind\b/i, 'after'],
    [qr/\bhow near\b|\bnearer to\b/i, 'how close, closer to'],
    [qr/\banother \w+ than\b/i, 'a different ... from, ... other than'],
    [qr/\blately\b/i, 'recently'],
    [qr/\bends? with [45]\d\d\b/i, 'fails with'],
);

my ($file_n, $bad) = (0, 0);

sub slurp {
    open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# Blanks out what a pattern matches and keeps its newlines, so that numbers of lines stay right.
sub blank {
    my ($text) = @_;
    $text =~ s/[^\n]/ /g;
    return $text;
}

sub look_at {
    my ($path, $line, $text) = @_;
    for (@phrases) {
        my ($pattern, $instead) = @$_;
        my $flat = $text =~ s/\s/ /gr;
        while ($flat =~ /$pattern/g) {
            my $before = substr($text, 0, $-[0]);
            print STDERR "$path:" . ($line + ($before =~ tr/\n//)) . qq(: "$&": write: $instead\n);
            $bad++;
        }
    }
}

sub look_at_markdown {
    my ($path, $text) = @_;
    $text =~ s/^(```.*?^```)/blank($1)/msge;
    $text =~ s/(`[^`]*`)/blank($1)/ge;
    # Entries of former releases stay as they were published.
    $text =~ s/\A(.*?^## .*?^)(?=## )(.*)\z/$1/ms if $path eq 'CHANGELOG.md';
    look_at($path, 1, $text);
}

# Texts that users read: literals of at least three words. Adjacent ones are one text.
sub look_at_literals {
    my ($path, $text) = @_;
    $text =~ s{(/\*.*?\*/)}{blank($1)}gse if $path =~ /\.[ch]$/;
    while ($text =~ /((?:"(?:[^"\\\n]|\\.)*"\s*)+)/g) {
        my ($literal, $at) = ($1, $-[0]);
        next unless $literal =~ /\w+ \w+ \w+/;
        $literal =~ s/"(\s+)"/" $1 "/g;
        $literal =~ s/"/ /g;
        $literal =~ s/\\n/  /g;
        $literal =~ s/ {2,}(?=\S)/ /g;
        look_at($path, 1 + (substr($text, 0, $at) =~ tr/\n//), $literal);
    }
}

# A comment as one text, without its marks.
sub look_at_comment {
    my ($path, $line, $comment, $is_above) = @_;
    $comment =~ s{^\s*(?:/\*|\*(?!/)|//|--+|#+) ?}{}mg;
    $comment =~ s{\s*\*/\s*\z}{};
    $comment =~ s/(`[^`]*`)/blank($1)/ge;
    look_at($path, $line, $comment);
    my $is_module = $line == 1 && $path =~ m{^(?:shared|services|lua)/};
    return unless $is_above && $comment =~ /\A(What|Whether|Of) /
        or $is_module && $comment =~ /\A(?:SPDX.*\n\s*)?[\w.]+(?::| -) (what|whether|of)\b/;
    print STDERR qq($path:$line: a comment that begins with "$1": begin with what it does or is: "Returns whether ..."\n);
    $bad++;
}

sub look_at_comments {
    my ($path, $text) = @_;
    my $mark = $path =~ /\.lua$/ ? '--' : $path =~ /\.(?:mjs|js|ts)$/ ? '//' : $path =~ /\.[ch]$/ ? undef : '#';
    my $comment = defined $mark ? qr{(?:^[ ]*\Q$mark\E.*\n)+|(?<=[ ])\Q$mark\E .*}m : qr{/\*.*?\*/}s;
    while ($text =~ /($comment)/g) {
        my ($comment_text, $at) = ($1, $-[0]);
        my $is_above = $path =~ /\.h$/
            || ($path =~ m{^(?:shared|services|lua)/.*\.(?:c|lua)$} && $comment_text =~ m{^\S} && $at > 0 && substr($text, $at - 1, 1) eq "\n");
        look_at_comment($path, 1 + (substr($text, 0, $at) =~ tr/\n//), $comment_text, $is_above);
    }
}

sub look_at_file {
    my ($path) = @_;
    $file_n++;
    my $text = slurp($path);
    return look_at_markdown($path, $text) if $path =~ /\.md$/;
    return look_at($path, 1, $text) if $path =~ /\.yaml$|^dev$/;
    look_at_literals($path, $text) if $path =~ m{^(?:shared|services)/.*\.[ch]$};
    look_at_comments($path, $text);
}

if (@ARGV) {
    look_at_file($_) for @ARGV;
} else {
    find({no_chdir => 1, wanted => sub {
        return $File::Find::prune = 1 if m{/(node_modules|corpus|fixtures|reports)$};
        # This file quotes what it refuses.
        return if $_ eq 'tests/lint/prose.pl';
        return if m{^tests/bench/retrieval/pages/};
        return unless -f and (/\.(?:md|c|h|lua|mjs|sh|pl|cmake)$/ or m{^services/\w+/(?:routes|schemas|openapi/\w+)\.yaml$|^dev$});
        look_at_file($_);
    }}, glob('*.md'), grep { -e } qw(dev cmake deploy docs lua services shared tests));
}
# README is what a newcomer reads first: two screens of it.
my ($lines_max, $columns_max) = (100, 100);
if (!@ARGV) {
    my @lines = split /\n/, slurp('README.md');
    my @wide = grep { length $lines[$_ - 1] > $columns_max } 1 .. @lines;
    $bad += @wide + (@lines > $lines_max);
    print STDERR "README.md:$_: wider than $columns_max columns\n" for @wide;
    print STDERR "README.md: " . @lines . " lines are more than two screens ($lines_max)\n" if @lines > $lines_max;
}
die "prose: found no file to look at\n" unless $file_n;
exit 1 if $bad;
print "prose: looked at $file_n files, no finding\n";
