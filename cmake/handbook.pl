#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds the handbook as HTML pages: handbook.pl OUT.c STYLE.css PAGE.md...
# `handbook.pl --questions PAGE.md...` prints docs/questions.md instead, the list of all questions.
# (services/web/page.h has the types). `cmark` renders the text; here come the frame around it, an anchor
# per heading, and links: to other pages as the nodes serve them, to elsewhere as they are. What
# leaves the folder by a path is served by no node, so only its text stays.
# A link within the handbook that leads nowhere ends the build.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Digest::SHA qw(sha256_hex sha256_base64);
use Encode qw(decode_utf8 encode_utf8);
use File::Basename;
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp c_text);

use constant {INDEX => 'README.md', ROOT => '/handbook', LIST_ID => 'all-pages', QUESTIONS_ID => 'all-questions'};

my $is_list = @ARGV && $ARGV[0] eq '--questions' && shift @ARGV;
my ($out, $style_file) = $is_list ? () : splice(@ARGV, 0, 2);
my @files = @ARGV;
die "usage: handbook.pl OUT.c STYLE.css PAGE.md... | --questions PAGE.md...\n" unless @files;

my (%pages, @order, %ids);

sub text_of {
    my ($html) = @_;
    $html =~ s/<[^>]*>//g;
    return $html;
}

# The anchor of a heading, as those make it who show Markdown on the web.
sub slug_of {
    my ($html, $used) = @_;
    my $slug = lc text_of($html);
    $slug =~ s/&(?:amp|lt|gt|quot);//g;
    $slug =~ s/[^\w\s-]//g;
    $slug =~ s/\s/-/g;
    my $n = $used->{$slug}++;
    return $n ? "$slug-$n" : $slug;
}

sub render {
    my ($file) = @_;
    my $name = basename($file);
    open(my $in, '-|', 'cmark', $file) or die "cmark: $!\n";
    my $html = do { local $/; <$in> };
    close($in) or die "cmark: $file: it failed\n";
    die "$file: HTML in Markdown is not shown\n" if $html =~ /<!-- raw HTML omitted -->/;
    my %used = (LIST_ID, 1, QUESTIONS_ID, 1);
    my @questions;
    $html =~ s{<(h[1-6])>(.*?)</\1>}{
        my ($tag, $inner) = ($1, $2);
        my $slug = slug_of($inner, \%used);
        $ids{$name}{$slug} = 1;
        push @questions, [$slug, $inner] if $tag eq 'h2' and $name ne INDEX;
        qq(<$tag id="$slug">$inner <a class="anchor" href="#$slug" aria-label="Link to this heading">#</a></$tag>);
    }gse;
    $html =~ m{<h1 [^>]*>(.*?) <a class="anchor"} or die "$file: it has no heading of level 1\n";
    $pages{$name} = {file => $file, title => text_of($1), html => $html, questions => \@questions};
}

# The address below ROOT, as `parley ingest` makes it.
sub name_of {
    my ($file) = @_;
    return $file eq INDEX ? '' : $file =~ s/\.md$//r;
}

sub url_of {
    my ($file) = @_;
    return $file eq INDEX ? ROOT : ROOT . '/' . name_of($file);
}

sub resolve {
    my ($from, $target, $inner) = @_;
    return qq(<a href="$target">$inner</a>) if $target =~ m{^(?:https?|mailto):};
    my ($name, $anchor) = $target =~ /^([^#]*)(?:#(.*))?$/;
    $name =~ s{^\./}{};
    $name = $from if $name eq '';
    return $inner if $name =~ m{/};
    die "$pages{$from}{file}: $target: no such page\n" unless $pages{$name};
    die "$pages{$from}{file}: $target: no such heading\n" if defined $anchor and not $ids{$name}{$anchor};
    return '<a href="' . ($target =~ /^#/ ? '' : url_of($name)) . (defined $anchor ? "#$anchor" : '') . qq(">$inner</a>);
}

# As the index names them, then those that it does not.
sub put_in_order {
    my %seen;
    @order = grep { $pages{$_} and not $seen{$_}++ } INDEX, $pages{+INDEX}{html} =~ /<a href="([^"#\/]+\.md)/g;
    push @order, grep { not $seen{$_}++ } sort keys %pages;
}

sub list_of {
    my ($here) = @_;
    my $list = '';
    for (@order) {
        my $current = $_ eq $here ? ' aria-current="page"' : '';
        $list .= '<li><a href="' . url_of($_) . qq("$current>$pages{$_}{title}</a></li>\n);
    }
    return $list;
}

# Every question with a link to its section, for the index page.
sub questions_of {
    my $list = '';
    for my $name (@order) {
        $list .= '<li><a href="' . url_of($name) . "#$_->[0]\">$_->[1]</a></li>\n" for @{$pages{$name}{questions}};
    }
    my $id = QUESTIONS_ID;
    return qq(<nav id="$id" aria-label="All questions">\n<p>All questions</p>\n<ul>\n$list</ul>\n</nav>\n);
}

# The same as Markdown.
sub print_questions {
    print "# Questions\n\n",
        "Every question that the [handbook](handbook/README.md) answers, one per line. `cmake/handbook.pl` makes this page\n",
        "from the headings of the handbook.\n";
    for my $name (@order) {
        my @questions = @{$pages{$name}{questions}} or next;
        print "\n## $pages{$name}{title}\n\n";
        for (@questions) {
            my ($slug, $inner) = @$_;
            $inner =~ s{</?code>}{`}g;
            $inner =~ s/&(amp|lt|gt|quot);/{amp => '&', lt => '<', gt => '>', quot => '"'}->{$1}/ge;
            print "- [$inner](handbook/$name#$slug)\n";
        }
    }
}

sub frame {
    my ($name, $style) = @_;
    my ($page, $book) = ($pages{$name}, $pages{+INDEX}{title});
    my $title = $name eq INDEX ? $book : "$page->{title} - $book";
    my ($root, $id, $list) = (ROOT, LIST_ID, list_of($name));
    my $questions = $name eq INDEX ? questions_of() : '';
    return <<"HTML";
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><a href="$root">$book</a> <a href="#$id">All pages</a></header>
<main>
$page->{html}</main>
<nav id="$id" aria-label="All pages">
<ul>
$list</ul>
</nav>
$questions</body>
</html>
HTML
}

render($_) for @files;
die INDEX . " is not among the pages\n" unless $pages{+INDEX};
put_in_order();
if ($is_list) {
    print_questions();
    exit 0;
}
for my $name (@order) {
    $pages{$name}{html} =~ s{<a href="([^"]*)">(.*?)</a>}{resolve($name, $1, $2)}gse;
}

my $style = decode_utf8(slurp($style_file));
my $hash = sha256_base64(encode_utf8($style)) . '=';
open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/handbook.pl. */\n#include \"services/web/page.h\"\n\n";
print $c "const char web_style_hash[] = \"sha256-$hash\";\n\nconst struct web_page web_pages[] = {\n";
for my $name (@order) {
    my $html = encode_utf8(frame($name, $style));
    my $etag = substr(sha256_hex($html), 0, 32);
    printf $c "{\"%s\", \"\\\"%s\\\"\", {%s, %d}},\n", name_of($name), $etag, c_text($html), length $html;
}
print $c "{0},\n};\n";
close($c) or die "$out: $!\n";
