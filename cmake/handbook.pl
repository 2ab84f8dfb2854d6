#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Writes a C file that holds the handbook as HTML pages: handbook.pl OUT.c STYLE.css SCRIPT.js PAGE.md...
# `handbook.pl --questions PAGE.md...` prints the list of all questions instead (./dev docs).
# services/web/page.h has the types. The first folder is the handbook; pages of another one are served below its name.
# `cmark` renders the text, and here come tables, the frame around it, an anchor
# per heading, the list of pages in the groups of their index, and links: relative to other pages, as the nodes serve them
# below whatever path, to elsewhere as they are. What
# leaves these folders by a path is served by no node, so only its text stays.
# A link to a page or a heading that does not exist ends the build.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Digest::SHA qw(sha256_hex sha256_base64);
use Encode qw(decode_utf8 encode_utf8);
use File::Basename;
use FindBin;
use IPC::Open2;
use lib $FindBin::Bin;
use CText qw(slurp c_text);

use constant {INDEX => 'README.md', ROOT => '/handbook', LIST_ID => 'all-pages', QUESTIONS_ID => 'all-questions'};
# What cmark, which knows no tables, gets as paragraphs in place of one.
use constant {TABLE => "\x{E000}", ROW => "\x{E001}", CELL => "\x{E002}", TABLE_END => "\x{E003}"};

my $is_list = @ARGV && $ARGV[0] eq '--questions' && shift @ARGV;
my ($out, $style_file, $script_file) = $is_list ? () : splice(@ARGV, 0, 3);
my @files = @ARGV;
die "usage: handbook.pl OUT.c STYLE.css SCRIPT.js PAGE.md... | --questions PAGE.md...\n" unless @files;

my %is_folder;
my @folders = grep { not $is_folder{$_}++ } map { dirname($_) } @files;
my $first = "$folders[0]/" . INDEX;
my (%pages, @order, %ids);

# --- Markdown ----------------------------------------------------------------------------------------

sub cells_of {
    my ($line) = @_;
    return map { s/^\s+|\s+$//gr =~ s/\\\|/|/gr } split(/(?<!\\)\|/, $line =~ s/^\||\|$//gr, -1);
}

sub paragraphs_of_table {
    my ($head, @rows) = split(/\n/, $_[0]);
    shift @rows;
    return join("\n\n", '', TABLE, (map { (ROW, map { CELL . $_ } cells_of($_)) } $head, @rows), TABLE_END, '');
}

# Without comments, which are marks for programs. Code stays as it is.
sub prepare {
    my ($text) = @_;
    my @parts = split(/(^```.*?^```$)/ms, $text);
    for (@parts) {
        next if /^```/;
        s/^<!--.*?-->\n//msg;
        s/(^\|.*\|\n\|[-|]+\|\n(?:\|.*\|\n)*)/paragraphs_of_table($1)/mge;
    }
    return join('', @parts);
}

sub table_of {
    my ($html) = @_;
    my ($rows, $tag) = ('', 'th');
    for my $row (split(/<p>${\ROW}<\/p>\n/, $html)) {
        my @cells = $row =~ /<p>${\CELL}(.*?)<\/p>/gs or next;
        $rows .= '<tr>' . join("\n", map { "<$tag>$_</$tag>" } @cells) . "</tr>\n";
        $tag = 'td';
    }
    return qq(<div class="table"><table>\n$rows</table></div>\n);
}

sub html_of {
    my ($file) = @_;
    my $pid = open2(my $from, my $to, 'cmark');
    binmode($_, ':encoding(UTF-8)') for $from, $to;
    print $to prepare(decode_utf8(slurp($file)));
    close($to);
    my $html = do { local $/; <$from> };
    waitpid($pid, 0);
    die "cmark: $file: it failed\n" if $?;
    die "$file: HTML in Markdown is not shown\n" if $html =~ /<!-- raw HTML omitted -->/;
    $html =~ s{<p>${\TABLE}</p>\n(.*?)<p>${\TABLE_END}</p>\n}{table_of($1)}gse;
    die "$file: a table in something else, such as a list, is not shown\n" if $html =~ /[${\TABLE}-${\TABLE_END}]|^(?:<p>)?\s*\|[-|]+\|$/m;
    return $html;
}

# --- pages -------------------------------------------------------------------------------------------

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

sub is_index {
    return basename($_[0]) eq INDEX;
}

# The headings of the handbook itself are questions.
sub render {
    my ($file) = @_;
    my $html = html_of($file);
    my %used = (LIST_ID, 1, QUESTIONS_ID, 1);
    my @questions;
    $html =~ s{<(h[1-6])>(.*?)</\1>}{
        my ($tag, $inner) = ($1, $2);
        my $slug = slug_of($inner, \%used);
        $ids{$file}{$slug} = 1;
        push @questions, [$slug, $inner] if $tag eq 'h2' and dirname($file) eq $folders[0] and not is_index($file);
        qq(<$tag id="$slug">$inner <a class="anchor" href="#$slug" aria-label="Link to this heading">#</a></$tag>);
    }gse;
    $html =~ m{<h1 [^>]*>(.*?) <a class="anchor"} or die "$file: it has no heading of level 1\n";
    $pages{$file} = {title => text_of($1), html => $html, questions => \@questions};
}

# The name of a page in its folder, and its address, as `parley ingest` makes them.
sub name_of {
    my ($file) = @_;
    return is_index($file) ? '' : basename($file, '.md');
}

sub folder_of {
    my ($file) = @_;
    return dirname($file) eq $folders[0] ? '' : basename(dirname($file));
}

sub url_of {
    my ($file) = @_;
    return join('/', ROOT, grep { $_ ne '' } folder_of($file), name_of($file));
}

# The address of a page, or of the first page of the node (''), as another one links to it.
sub link_of {
    my ($from, $to) = @_;
    my @from = split(/\//, url_of($from));
    my @to = $to eq '' ? ('') : split(/\//, url_of($to));
    my $page = $to eq '' ? '' : pop @to;
    pop @from;
    shift @from, shift @to while @from and @to and $from[0] eq $to[0];
    return join('/', ('..') x @from, @to, $page) || './';
}

# The path that a link of a page means.
sub path_of {
    my ($from, $path) = @_;
    return $from if $path eq '';
    my @parts;
    for (split(/\//, dirname($from) . "/$path")) {
        if ($_ eq '..') {
            pop @parts;
        } elsif ($_ ne '.') {
            push @parts, $_;
        }
    }
    return join('/', @parts);
}

sub resolve {
    my ($from, $target, $inner) = @_;
    return qq(<a href="$target">$inner</a>) if $target =~ m{^(?:https?|mailto):};
    my ($path, $anchor) = $target =~ /^([^#]*)(?:#(.*))?$/;
    my $file = path_of($from, $path);
    return $inner unless $is_folder{dirname($file)};
    die "$from: $target: no such page\n" unless $pages{$file};
    die "$from: $target: no such heading\n" if defined $anchor and not $ids{$file}{$anchor};
    return '<a href="' . ($target =~ /^#/ ? '' : link_of($from, $file)) . (defined $anchor ? "#$anchor" : '') . qq(">$inner</a>);
}

# The pages of a folder as its index names them, then those that it does not.
sub in_order {
    my ($folder) = @_;
    my ($index, %seen) = "$folder/" . INDEX;
    die "$index is not among the pages\n" unless $pages{$index};
    my @named = map { "$folder/$_" } $pages{$index}{html} =~ /<a href="([^"#\/]+\.md)/g;
    return grep { $pages{$_} and not $seen{$_}++ } $index, @named, grep { dirname($_) eq $folder } sort keys %pages;
}

# The pages of a folder as its index groups them by headings: [heading, pages...]. The index itself, and pages that it does not
# name, have none.
sub groups_of {
    my ($folder) = @_;
    my ($index, @groups, %seen) = "$folder/" . INDEX;
    push @groups, ['', $index];
    for my $part (split(/(?=<h2 )/, $pages{$index}{source})) {
        my ($heading) = $part =~ /^<h2 [^>]*>(.*?) <a class="anchor"/;
        my @named = grep { $pages{$_} and $_ ne $index and not $seen{$_}++ } map { "$folder/$_" } $part =~ /<a href="([^"#\/]+\.md)/g;
        push @groups, [$heading // '', @named] if @named;
    }
    my @rest = grep { dirname($_) eq $folder and $_ ne $index and not $seen{$_} } @order;
    push @groups, ['', @rest] if @rest;
    return @groups;
}

sub list_of_group {
    my ($here, $heading, @files) = @_;
    my $list = $heading eq '' ? '' : "<p>$heading</p>\n";
    $list .= "<ul>\n";
    for (@files) {
        my $current = $_ eq $here ? ' aria-current="page"' : '';
        $list .= '<li><a href="' . link_of($here, $_) . qq("$current>$pages{$_}{title}</a></li>\n);
    }
    return "$list</ul>\n";
}

# The folder of the page comes first.
sub list_of {
    my ($here) = @_;
    my ($own, $list) = (dirname($here), '');
    for my $folder ($own, grep { $_ ne $own } @folders) {
        $list .= list_of_group($here, @$_) for groups_of($folder);
    }
    return $list;
}

# Links to the pages before and after this one in its folder.
sub turns_of {
    my ($here) = @_;
    my @own = grep { dirname($_) eq dirname($here) } @order;
    my ($at) = grep { $own[$_] eq $here } 0 .. $#own;
    my $turns = '';
    $turns .= '<a rel="prev" href="' . link_of($here, $own[$at - 1]) . qq(">$pages{$own[$at - 1]}{title}</a>\n) if $at > 0;
    $turns .= '<a rel="next" href="' . link_of($here, $own[$at + 1]) . qq(">$pages{$own[$at + 1]}{title}</a>\n) if $at < $#own;
    return qq(<nav class="around" aria-label="Previous and next page">\n$turns</nav>\n);
}

# Every question with a link to its section, for the index page.
sub questions_of {
    my $list = '';
    for my $file (@order) {
        $list .= '<li><a href="' . link_of($first, $file) . "#$_->[0]\">$_->[1]</a></li>\n" for @{$pages{$file}{questions}};
    }
    my $id = QUESTIONS_ID;
    return qq(<nav id="$id" aria-label="All questions">\n<p>All questions</p>\n<ul>\n$list</ul>\n</nav>\n);
}

# The same as Markdown.
sub print_questions {
    print "# Questions\n\n",
        "Every question that the [handbook](../../docs/handbook/README.md) answers, one per line. `./dev docs` makes this page\n",
        "from the headings of the handbook.\n";
    for my $file (@order) {
        my @questions = @{$pages{$file}{questions}} or next;
        print "\n## $pages{$file}{title}\n\n";
        for (@questions) {
            my ($slug, $inner) = @$_;
            $inner =~ s{</?code>}{`}g;
            $inner =~ s/&(amp|lt|gt|quot);/{amp => '&', lt => '<', gt => '>', quot => '"'}->{$1}/ge;
            print "- [$inner](../../$file#$slug)\n";
        }
    }
}

sub frame {
    my ($file, $style, $script) = @_;
    my ($page, $book) = ($pages{$file}, $pages{$first}{title});
    my $title = $file eq $first ? $book : "$page->{title} - $book";
    my ($home, $root, $id, $list, $turns) = (link_of($file, ''), link_of($file, $first), LIST_ID, list_of($file), turns_of($file));
    my $questions = $file eq $first ? questions_of() : '';
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
<header>
<p><a href="$home">Parley</a> <a href="$root">Handbook</a> <a href="#$id">All pages</a></p>
<form class="search" action="$home" role="search"><input name="q" maxlength="4000" required aria-label="Ask the documents" placeholder="Ask the documents"> <button>Ask</button></form>
</header>
<main>
$page->{html}</main>
$turns<nav id="$id" aria-label="All pages">
$list</nav>
$questions<script>$script</script>
</body>
</html>
HTML
}

render($_) for @files;
@order = map { in_order($_) } @folders;
$_->{source} = $_->{html} for values %pages;
if ($is_list) {
    print_questions();
    exit 0;
}
for my $file (@order) {
    $pages{$file}{html} =~ s{<a href="([^"]*)">(.*?)</a>}{resolve($file, $1, $2)}gse;
}

my $style = decode_utf8(slurp($style_file));
my $script = decode_utf8(slurp($script_file)) =~ s{^//.*\n}{}gmr;
sub source_of { return 'sha256-' . sha256_base64(encode_utf8($_[0])) . '=' }
open(my $c, '>:raw', $out) or die "$out: $!\n";
print $c "/* Made by cmake/handbook.pl. */\n#include \"services/web/page.h\"\n\n";
printf $c "const struct html_policy web_page_policy = {.style = \"%s\", .script = \"%s\", .has_form = true};\n\n",
    source_of($style), source_of($script);
print $c "const struct web_page web_pages[] = {\n";
for my $file (@order) {
    my $html = encode_utf8(frame($file, $style, $script));
    my $etag = substr(sha256_hex($html), 0, 32);
    printf $c "{\"%s\", \"%s\", \"\\\"%s\\\"\", {%s, %d}},\n", folder_of($file), name_of($file), $etag, c_text($html), length $html;
}
print $c "{0},\n};\n";
close($c) or die "$out: $!\n";
