# SPDX-License-Identifier: MIT
#
# VerbsPage: build/docs/verbs.md, from the verbs that Verbs.pm has read.
package VerbsPage;
use strict;
use warnings;

# For a cell of a table.
sub cell {
    my ($text) = @_;
    $text =~ s/([|\\<>*_])/\\$1/g;
    return $text;
}

sub kind_of {
    my ($arg) = @_;
    return join('|', @{$arg->{words}}) if $arg->{kind} eq 'words';
    my %unit = (1 => '', 1 << 10 => 'k', 1 << 20 => 'm');
    my ($unit) = grep {$arg->{max} % $_ == 0} sort {$b <=> $a} keys %unit;
    my $size = $arg->{kind} =~ /^(?:text|json|bytes)$/ ? ' ' . $arg->{max} / $unit . $unit{$unit} : '';
    return $arg->{kind} . ($arg->{is_optional} ? '?' : '') . $size;
}

sub section {
    my ($verb) = @_;
    my $f = $verb->{fields};
    my $text = "### $verb->{name}\n\n" . ucfirst(cell($verb->{about})) . " [$verb->{path}](../../$verb->{path})\n\n";
    $text .= "Lane $f->{Lane}, home $f->{Home}" . (Verbs::takes_nonce($verb) ? ', takes a nonce' : '')
        . ($f->{Nonce} eq 'again' ? ' and knows an equal request again' : '')
        . ($f->{Durable} eq 'yes' ? ', acknowledges what is stored' : '')
        . ", $f->{Full} while Redis is full. Repeatable: " . cell($f->{Repeatable}) . "\n\n";
    my @rows = map {["`$_->{name}`", $_]} @{$verb->{args}};
    for my $list (@{$verb->{lists}}) {
        push @rows, map {["each $list->{name}, at most $list->{max}: `$_->{name}`", $_]} @{$list->{args}};
    }
    if (@rows) {
        $text .= "| Argument | Kind | |\n|---|---|---|\n";
        $text .= join('', map {"| $_->[0] | " . cell(kind_of($_->[1])) . ' | ' . cell($_->[1]{note}) . " |\n"} @rows) . "\n";
    }
    return $text . "Replies: " . cell($f->{Replies}) . "\n\n";
}

sub page {
    my ($verbs) = @_;
    my $text = "# Verbs\n\nMade by `./dev docs` from the headers in `lua/`, which also say what each guarantees, its keys, who it "
        . "wakes and its\nbounds. [CONTRIBUTING.md](../../CONTRIBUTING.md#add-a-verb) explains the fields and kinds; in replies `/` stands for a newline.\n\n";
    my %folders;
    push @{$folders{(split(m{/}, $_->{path}))[1]}}, $_ for @$verbs;
    for my $folder (sort keys %folders) {
        $text .= "## $folder\n\n" . join('', map {section($_)} @{$folders{$folder}});
    }
    return $text =~ s/\n+\z/\n/r;
}

1;
