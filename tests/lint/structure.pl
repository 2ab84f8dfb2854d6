#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Prints how the C code is divided: files and lines by room (a folder), and circles of includes and of calls, in
# a room, across rooms and of rooms.
#
#     perl tests/lint/structure.pl [--json] [--check] [PLACE...]
#
# PLACE is a folder in shared/ or services/; without one it looks at both. A unit is a .c with the .h and the _internal.h
# of its name. It calls another one if the body of a function, or an initializer, names what the other one defines.
# That is read from the sources, so nothing has to be built; it agrees with the symbols of the objects, and sees what
# inline functions and macros call, too. --check refuses circles that are not in the list below.
use strict;
use warnings;
use File::Find;

# The circles that are known, as `folder: parent children`: without the parent no circle is left. What is left of one
# when it gets smaller is fine; a new one is refused.
my @known = (
    'services/backup: restore restore_lookups restore_records restore_target',
    'services/bots/dispatch: call model_call',
    'services/bots/rooms: post tags',
    'services/bots/rooms: room_socket room_follow',
    'services/documents/agent: agent agent_tools agent_trace',
    'services/documents/search: retrieve retrieve_op retrieve_order retrieve_search',
    'services/engine/link: link link_socket link_calls link_claims link_frames link_pieces',
    'services/engine/models: rules rules_check rules_conditions rules_content rules_corrections rules_select',
    'services/engine/slots: slot slot_answer slot_hold slot_poll slot_release slot_text slot_work',
    'services/indexer: collection collection_upload',
    'services/users: export export_documents export_evaluations export_files export_rooms export_runs export_topics',
    'services/workflow/cli: run run_talk',
    'services/workflow/run: socket command',
    'services/workflow/trees: trees check file read reader',
    'services/workflow/sql: sql sql_slots',
    'shared/auth: accounts accounts_read accounts_table',
    'shared/auth: jwt jwt_keys',
    'shared/base: config config_environment',
    'shared/corpus: corpus corpus_file',
    'shared/embed: embed embed_read embed_server',
    'shared/extract: extract extract_csv extract_docx extract_eml extract_epub extract_html extract_json extract_odf '
        . 'extract_pptx extract_rtf extract_xlsx extract_xml office office_finish docx_body',
    'services/openai/batches: feeder batches check input line',
    'shared/http/client: client client_call',
    'shared/http/websocket: websocket websocket_messages websocket_pump',
    'shared/http/wire: connection connection_head connection_read connection_idle connection_tls streams',
    'shared/search: index index_entries',
);
# Those whose children are in a circle, too: to be opened.
my @open = ('shared/redis: turn turn_hold turn_library');

sub text_of {
    open(my $in, '<:raw', $_[0]) or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

# The name of a unit.
sub unit_of { return $_[0] =~ s/(?:_internal)?\.[ch]$//r }
sub room_of { return $_[0] =~ m{^(.*)/} ? $1 : '.' }

# What a file defines for others, what is its own, what it declares `extern`, what it names, its macros and what
# they name, and its includes.
sub read_file {
    my ($text) = @_;
    my %file = map { $_ => {} } qw(defines own externs names macros);
    my $braces = qr/(\{(?:[^{}]++|(?-1))*\})/;
    $text =~ s{/\*.*?\*/|//[^\n]*|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')}{kept($1)}sge;
    $file{includes} = [$text =~ /^\s*#\s*include\s*"([^"]+)"/mg];
    $text =~ s{^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\n|\\.)*)\n}{my ($name, $body) = ($1, $2); $file{macros}{$name} = names($body); "\n"}mge;
    $text =~ s/^[ \t]*#(?:[^\n\\]|\\\n|\\.)*//mg;
    $text =~ s/\b(struct|union|enum)(\s+\w+)?\s*$braces(?!\s*\))/$1 . ($2 \/\/ ' x')/ge; # what types look like inside
    # What is at the top before a ';', or before braces, and what is in these.
    while ($text =~ /\G\s*([^;{}]*)(?:;|$braces)/g) {
        my ($head, $body) = ($1, $2);
        if ($head =~ /^extern\b/) { $file{externs}{$1} = 1 while $head =~ /(\w+)\s*(?:\[[^\]]*\])?\s*(?:,|$)/g }
        next if $head =~ /^(?:typedef|extern|_Static_assert)\b/ or $head =~ /^(?:struct|union|enum)\s+\w+\s*$/;
        my $is_function = $head =~ /^[^=(]*?\b(\w+)\s*\(/;
        my $name = $is_function ? $1 : $head =~ /^[^=]*?\b(\w+)\s*(?:\[[^=]*)?(?:=|$)/s ? $1 : undef;
        next if not defined $name or ($is_function and not defined $body);
        $file{$head =~ /^static\b(?!\s+inline)/ ? 'own' : 'defines'}{$name} = $is_function ? 'function' : 'data';
        my $code = $head . ($body // '');
        # A parameter or a local variable, which comes after its type.
        $file{own}{$1} = 'local' while $code =~ /\b(?!return\b|else\b|case\b|goto\b)[A-Za-z_]\w*(?=\s+\**([A-Za-z_]\w*)\b(?!\s*\())/g;
        my $used = names(($head =~ /=(.*)/s ? $1 : '') . ($body // ''));
        @{$file{names}}{keys %$used} = values %$used;
    }
    return \%file;
}

# Of a text between quotes, or a comment (undef), what is read further.
sub kept {
    my ($text) = @_;
    return ' ' if not defined $text;
    return $text =~ /^"[\w.\/-]+\.h"$/ ? $text : '""';
}

# Names in a piece of code, except members.
sub names {
    my ($code) = @_;
    my %names;
    $names{$1} = 1 while $code =~ /(?<![.>\w])([A-Za-z_]\w*)/g;
    return \%names;
}

# Takes {path => text}; returns {unit => {includes => {unit => header}, calls => {unit => name}}}.
sub read_units {
    my ($texts) = @_;
    my (%files, %home, %macros, %externs, %units);
    for my $path (sort keys %$texts) {
        my $file = $files{$path} = read_file($texts->{$path});
        $units{unit_of($path)} //= {includes => {}, calls => {}};
        %macros = (%{$file->{macros}}, %macros) if $path =~ /h$/;
        %externs = (%externs, %{$file->{externs}});
    }
    for my $path (sort keys %files) {
        my $defines = $files{$path}{defines};
        for (keys %$defines) { $home{$_} //= unit_of($path) if $defines->{$_} eq 'function' or $externs{$_} }
    }
    for my $path (sort keys %files) {
        my ($unit, $file) = (unit_of($path), $files{$path});
        for my $include (@{$file->{includes}}) {
            my $to = unit_of($include);
            $units{$unit}{includes}{$to} //= $include if $to ne $unit and $units{$to};
        }
        my @left = sort keys %{$file->{names}};
        my %seen;
        while (defined(my $name = shift @left)) {
            next if $seen{$name}++ or $file->{own}{$name};
            my $macro = $file->{macros}{$name} // $macros{$name};
            push @left, sort keys %$macro if $macro; # what it stands for is named here
            my $to = $home{$name};
            $units{$unit}{calls}{$to} //= $name if $to and $to ne $unit;
        }
    }
    return \%units;
}

# Groups of nodes that reach one another, of two or more (Tarjan); takes {node => {node => ...}}.
sub circles {
    my ($graph) = @_;
    my ($count, @stack, %at, %low, %is_on, @found) = (0);
    my $visit;
    $visit = sub {
        my ($node) = @_;
        $at{$node} = $low{$node} = $count++;
        push @stack, $node;
        $is_on{$node} = 1;
        for my $to (sort keys %{$graph->{$node}}) {
            if (not defined $at{$to}) {
                $visit->($to);
                $low{$node} = $low{$to} if $low{$to} < $low{$node};
            } elsif ($is_on{$to} and $at{$to} < $low{$node}) {
                $low{$node} = $at{$to};
            }
        }
        return if $low{$node} != $at{$node};
        my @group;
        do { push @group, pop @stack; $is_on{$group[-1]} = 0 } while $group[-1] ne $node;
        push @found, [sort @group] if @group > 1;
    };
    for (sort keys %$graph) { $visit->($_) if not defined $at{$_} }
    return sort { @$b <=> @$a or "@$a" cmp "@$b" } @found;
}

# The graph of one kind of arrow, or of rooms with both.
sub arrows { my ($units, $kind) = @_; return {map { $_ => $units->{$_}{$kind} } keys %$units} }
sub arrows_of_rooms {
    my ($units, $kind) = @_;
    my %rooms;
    for my $unit (keys %$units) {
        $rooms{room_of($unit)} //= {};
        for my $to (keys %{$units->{$unit}{$kind}}) {
            $rooms{room_of($unit)}{room_of($to)} //= "$unit -> $to ($units->{$unit}{$kind}{$to})" if room_of($to) ne room_of($unit);
        }
    }
    return \%rooms;
}

# --- its own test ----

my $own = read_units({
    'a/x.h' => "int x_go(int n);\nstruct x {\n    int y_go;\n};\n#define X_TWICE(n) x_go(x_go(n))\nextern int x_n;\n",
    'a/x.c' => "#include \"a/x.h\"\nint x_n = 3;\nvoid x_set(void)\n{\n}\nstatic int go(int n)\n{\n    return x.y_go + n; /* y_go() */\n}\nint x_go(int n)\n{\n    return \"y_go\"[0] + go(n);\n}\n",
    'a/y.c' => "#include \"a/x.h\"\nint y_go(char *x_set)\n{\n    return X_TWICE(1) + *x_set;\n}\n",
    'b/z.c' => "#include \"b/z.h\"\nint z_go(void)\n{\n    return y_go();\n}\nstatic int (*const list[])(void) = {w_go};\n",
    'b/z.h' => "#include \"b/w.h\"\n", 'b/w.h' => "#include \"b/z.h\"\nstatic inline int w_go(void)\n{\n    return z_go();\n}\n",
});
sub shown {
    my ($graph) = @_;
    return join ' ', map { my $from = $_; map { "$from>$_" } sort keys %{$graph->{$from}} } sort keys %$graph;
}
sub shown_circles { return join ' ', map { '(' . join(' ', @$_) . ')' } circles($_[0]) }
my @must = ([shown(arrows($own, 'calls')), 'a/y>a/x b/w>b/z b/z>a/y b/z>b/w'],
            [shown(arrows($own, 'includes')), 'a/y>a/x b/w>b/z b/z>b/w'],
            [shown_circles(arrows($own, 'calls')), '(b/w b/z)'],
            [shown(arrows_of_rooms($own, 'calls')), 'b>a'],
            [shown_circles({1 => {2 => 1}, 2 => {3 => 1}, 3 => {1 => 1, 4 => 1}, 4 => {5 => 1}, 5 => {4 => 1}}), '(1 2 3) (4 5)']);
for (@must) { $_->[0] eq $_->[1] or die "structure: its own test: $_->[0], not $_->[1]\n" }

# --- the house ----

my %is_flag = map { $_ => 1 } grep { /^--/ } @ARGV;
my @places = map { s{/+$}{}r } grep { !/^--/ } @ARGV;
for (keys %is_flag) { /^--(?:json|check)$/ or die "usage: structure.pl [--json] [--check] [PLACE...]\n" }
@places = qw(shared services) unless @places;
my %texts;
for (@places) { -d $_ or die "structure: no such folder: $_\n" }
find({no_chdir => 1, wanted => sub { $texts{$_} = text_of($_) =~ s{"generated/verbs\.h"}{"shared/redis/verb.h"}r =~ s{"generated/verb_ids\.h"}{"shared/redis/verb_info.h"}r if /\.[ch]$/ }}, @places);
%texts or die "structure: found no file to look at\n";
my $units = read_units(\%texts);
my %circles = map { $_ => [circles(arrows($units, $_))] } qw(includes calls);
my %rooms_in_circles = map { $_ => [circles(arrows_of_rooms($units, $_))] } qw(includes calls);

my (%rooms, %all);
for my $path (keys %texts) {
    my $lines = $texts{$path} =~ tr/\n//;
    for my $sum ($rooms{room_of($path)} //= {}, \%all) {
        $sum->{files}++;
        $sum->{lines} += $lines;
    }
}
for my $kind (keys %circles) {
    for my $circle (@{$circles{$kind}}) {
        my %in;
        $in{room_of($_)}++ for @$circle;
        $rooms{$_}{$kind} += $in{$_} for keys %in;
    }
}

sub is_within { my ($circle, $row) = @_; return !grep { !$row->{$_} } @$circle }

# Circles among the children of a known one.
sub circles_below {
    my ($graph, $circle, $row) = @_;
    return if grep { $row eq $_ } @open;
    my $parent = $row =~ /^(\S+): (\S+)/ ? "$1/$2" : '';
    my %is_child = map { $_ => 1 } grep { $_ ne $parent } @$circle;
    return circles({map { my $from = $_; $from => {map { $_ => 1 } grep { $is_child{$_} } keys %{$graph->{$from}}} } keys %is_child});
}

sub check {
    my ($bad, %is_used) = (0);
    my %rows = map { my ($row, $folder, $names) = ($_, split /: /); $row => {map { ("$folder/$_" => 1) } split ' ', $names} } @known, @open;
    for my $kind (qw(includes calls)) {
        for my $circle (@{$circles{$kind}}) {
            my ($row) = grep { is_within($circle, $rows{$_}) } @known, @open;
            $is_used{$row} = 1 if $row;
            for ($row ? circles_below(arrows($units, $kind), $circle, $row) : ()) {
                print STDERR "structure: a new circle of $kind below '$row': @$_\n";
                $bad++;
            }
            next if $row;
            print STDERR "structure: a new circle of $kind: @$circle ('perl tests/lint/structure.pl' shows its arrows)\n";
            $bad++;
        }
    }
    exit 1 if $bad;
    print "structure: no circle any more, take it from the list of tests/lint/structure.pl: $_\n" for grep { !$is_used{$_} } @known, @open;
    printf "structure: looked at %d files, no finding\n", $all{files};
}

sub print_circle {
    my ($circle, $graph) = @_;
    my %in = map { $_ => 1 } @$circle;
    my %rooms = map { room_of($_) => 1 } @$circle;
    printf "  %d: %s\n", scalar @$circle, join(' ', @$circle);
    for my $from (@$circle) {
        my @to = grep { $in{$_} } sort keys %{$graph->{$from}};
        printf "      %-36s -> %s\n", $from, join(', ', map { "$_ ($graph->{$from}{$_})" } @to);
    }
}

sub print_all {
    printf "%-32s %6s %7s %20s %18s\n", 'room', 'files', 'lines', 'in include circles', 'in call circles';
    for (sort(keys %rooms), 'all') {
        my $room = $_ eq 'all' ? \%all : $rooms{$_};
        printf "%-32s %6d %7d %20s %18s\n", $_, $room->{files}, $room->{lines}, $room->{includes} // '-', $room->{calls} // '-';
    }
    for my $kind (qw(includes calls)) {
        my @across = grep { my %in = map { room_of($_) => 1 } @$_; keys %in > 1 } @{$circles{$kind}};
        my @inside = grep { my %in = map { room_of($_) => 1 } @$_; keys %in == 1 } @{$circles{$kind}};
        for (['inside a room', \@inside], ['across rooms', \@across]) {
            printf "\ncircles of %s %s: %d\n", $kind, $_->[0], scalar @{$_->[1]};
            print_circle($_, arrows($units, $kind)) for @{$_->[1]};
        }
        printf "\nrooms in circles of %s: %d\n", $kind, scalar @{$rooms_in_circles{$kind}};
        for my $circle (@{$rooms_in_circles{$kind}}) {
            my ($graph, %in) = (arrows_of_rooms($units, $kind), map { $_ => 1 } @$circle);
            printf "  %d: %s\n", scalar @$circle, join(' ', @$circle);
            for my $from (@$circle) { print "      $graph->{$from}{$_}\n" for grep { $in{$_} } sort keys %{$graph->{$from}} }
        }
    }
}

sub json {
    my ($value) = @_;
    return '[' . join(',', map { json($_) } @$value) . ']' if ref $value eq 'ARRAY';
    return '{' . join(',', map { "\"$_\":" . json($value->{$_}) } sort keys %$value) . '}' if ref $value eq 'HASH';
    return $value =~ /^\d+$/ ? $value : "\"$value\"";
}

if ($is_flag{'--check'}) { check() }
elsif ($is_flag{'--json'}) { print json({arrows => {map { my $kind = $_; $kind => arrows($units, $kind) } qw(includes calls)}, rooms => \%rooms, all => \%all, circles => \%circles, circles_of_rooms => \%rooms_in_circles}), "\n" }
else { print_all() }
