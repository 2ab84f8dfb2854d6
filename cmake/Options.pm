# SPDX-License-Identifier: MIT
# The options of commands and services, as the rows in the code have them: options are in groups, which commands and
# services name.
package Options;
use strict;
use warnings;
use Exporter 'import';
use File::Find;
use FindBin;
use lib $FindBin::Bin;
use CText qw(slurp);

our @EXPORT_OK = qw(read_options);

# The text of a member of a row, whose literals the compiler joins.
sub member_of {
    my ($row, $member) = @_;
    my ($literals) = $row =~ /\.\Q$member\E =\s*((?:"(?:[^"\\]|\\.)*"\s*)+)/ or return '';
    return join('', $literals =~ /"((?:[^"\\]|\\.)*)"/g) =~ s/\\(.)/$1/gr;
}

# The names in a list such as `(const struct config_group *const[]){&a_options, &b_options, NULL}`.
sub names_of {
    my ($row, $member) = @_;
    my ($list) = $row =~ /\.\Q$member\E =\s*\(const struct config_group \*const\[\]\)\{(.*?)\}/s or return ();
    return $list =~ /&(\w+)/g;
}

# What the arguments of each macro of shared/base/config.h are.
my %members_of = (
    TEXT => [qw(metavar fallback help)], CHOICE => [qw(choices fallback help)],
    NUMBER => [qw(metavar fallback min max help)], BOOL => [qw(fallback help)]);

my $literals = qr/(?:"(?:[^"\\]|\\.)*"\s*)+/;

# The value of a C expression that is joined literals, otherwise ''.
sub value_of {
    return $_[0] =~ /^\s*($literals)$/ ? join('', $1 =~ /"((?:[^"\\]|\\.)*)"/g) =~ s/\\(.)/$1/gr : '';
}

sub rows_of {
    my ($text) = @_;
    my @rows;
    while ($text =~ /\bOPTION_(\w+)\(\s*"([a-z0-9-]+)"((?:,\s*(?:$literals|[^",()]+|\([^()]*\))+)+)\)|\{\.name = "([a-z0-9-]+)",(.*?)\}(?=,|$)/gs) {
        my ($kind, $flag, $arguments, $named, $row) = ($1, $2, $3, $4, $5);
        my %value = map { $_ => '' } qw(metavar fallback help choices);
        if (defined $kind) {
            my @values = map { value_of($_) } $arguments =~ /,\s*((?:$literals|[^",()]+|\([^()]*\))+)/g;
            @value{@{$members_of{$kind} // die "options: no macro OPTION_$kind\n"}} = @values;
        } else {
            %value = map { $_ => member_of($row, $_) } keys %value;
        }
        push @rows, {flag => $flag // $named, %value};
    }
    return \@rows;
}

# {groups => {ID => {title, rows}}, commands => {NAME => {groups => [ID...], services}}, services => {NAME => {groups, summary,
# comes_with}}, targets => [NAME...], source => {FILE => text}}. A static group is found by its file and name, another one by its name.
sub read_options {
    my %has = (source => {});
    my $source = $has{source};
    find({no_chdir => 1, wanted => sub { $source->{$_} = slurp($_) if /\.c$/ }}, 'shared', 'services');
    for my $file (sort keys %$source) {
        my $text = $source->{$file};
        while ($text =~ /^(static )?const struct config_group (\w+) = \{\s*"([^"]*)",(.*?)\{0\}\}\};/gms) {
            my ($static, $name, $title, $rows) = ($1, $2, $3, rows_of($4));
            die "options: $file: found no option in the group $name\n" unless @$rows;
            $has{groups}{$static ? "$file $name" : $name} = {title => $title, rows => $rows};
        }
        while ($text =~ /^const struct (command|service) (\w+)_\1 = \{(.*?)\};$/gms) {
            my ($kind, $name, $row) = ($1, $2, $3);
            my @groups = map { $has{groups}{"$file $_"} ? "$file $_" : $_ } names_of($row, 'groups');
            $has{"${kind}s"}{$name} = {groups => \@groups, services => scalar $row =~ /\.services = services/,
                summary => member_of($row, 'summary'), comes_with => member_of($row, 'comes_with')};
        }
    }
    $has{targets} = [($source->{'services/node/table.c'} // '') =~ /^ +ROW\((\w+)\)/gm];
    die "options: found no command or no service\n" unless $has{commands} and @{$has{targets}};
    for (values %{$has{commands}}, values %{$has{services}}) {
        $has{groups}{$_} or die "options: no group $_\n" for @{$_->{groups}};
    }
    $has{services}{$_} or die "options: no row of the service $_\n" for @{$has{targets}};
    return \%has;
}

1;
