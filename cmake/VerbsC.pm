# SPDX-License-Identifier: MIT
#
# VerbsC: writes verbs.h and verbs.c, by which C calls the verbs that Verbs.pm has read. shared/redis/verb.h has what
# does not depend on the verbs.
package VerbsC;
use strict;
use warnings;

my %TYPE = (number => 'uint64_t', digits => 'uint64_t', flag => 'bool');

sub type_of {
    my ($verb, $arg) = @_;
    return "enum verb_$verb->{name}_$arg->{name}" if $arg->{kind} eq 'words';
    return $TYPE{$arg->{kind}} // 'struct str';
}

sub constant {
    my ($verb, $word) = @_;
    return uc "$verb->{name}_$word";
}

# A comment of one or more lines, at that many spaces.
sub comment {
    my ($indent, $text) = @_;
    $text =~ s{\*/}{* /}g;
    my ($width, @lines) = (97 - $indent, '');
    for my $word (split(/\s+/, $text)) {
        push @lines, '' if $lines[-1] ne '' and length("$lines[-1] $word") > $width;
        $lines[-1] .= $lines[-1] eq '' ? $word : " $word";
    }
    my $pad = ' ' x $indent;
    return "$pad/* " . join("\n$pad * ", @lines) . " */\n";
}

sub note_of {
    my ($arg) = @_;
    my $size = $TYPE{$arg->{kind}} || $arg->{kind} eq 'words' ? '' : $arg->{kind};
    my $empty = !$arg->{is_optional} ? '' : $TYPE{$arg->{kind}} ? 'or NO_NUMBER' : 'may be empty';
    return join('; ', grep {$_ ne ''} $size, $empty, $arg->{note});
}

# A struct with a member for each argument, and the enums of those that are one of some words.
sub struct_of {
    my ($verb, $tag, $args) = @_;
    my $text = '';
    for my $arg (grep {$_->{kind} eq 'words'} @$args) {
        my @names = map {constant($verb, $_)} @{$arg->{words}};
        $text .= "enum verb_$verb->{name}_$arg->{name} {\n    " . join(",\n    ", @names) . ",\n};\n";
    }
    $text .= "struct $tag {\n";
    for my $arg (@$args) {
        my $note = note_of($arg);
        my $member = '    ' . type_of($verb, $arg) . " $arg->{name};";
        my $line = $note eq '' ? $member : "$member /* $note */";
        $text .= length $line <= 100 ? "$line\n" : comment(4, $note) . "$member\n";
    }
    return "$text} VERB_BY_NAME;\n";
}

# A list's number is an argument of its own, unless the list is the last one.
sub fixed_args {
    my ($verb) = @_;
    my @lists = @{$verb->{lists}};
    pop @lists;
    return (@{$verb->{args}}, map {{name => "$_->{name}_n", kind => 'digits', is_optional => 0, max => 20,
        note => "how many put_$verb->{name}_$_->{name} follow first"}} @lists);
}

sub header_of {
    my ($verb) = @_;
    my ($name, @args) = ($verb->{name}, fixed_args($verb));
    my ($n, $has_lists) = (scalar @args, scalar @{$verb->{lists}});
    my $text = comment(0, "$verb->{path}: $verb->{purpose} Replies: $verb->{fields}{Replies}");
    $text .= struct_of($verb, "verb_$name", \@args) if $n;
    my $in = $n ? ", const struct verb_$name *in" : '';
    my ($function, $macro) = $has_lists ? ("struct verb_writer verb_begin_$name", 'begin') : ("void verb_$name", 'call');
    my $called = $has_lists ? "verb_begin_$name" : "verb_$name";
    $text .= "$function(struct call_start start$in);\n";
    if ($n) {
        $text .= "#define ${macro}_$name(start, ...) \\\n    (VERB_CHECK(${macro}_$name, $n, __VA_ARGS__), \\\n"
            . "     $called(start, &(struct verb_$name){__VA_ARGS__}))\n";
    } else {
        $text .= "#define ${macro}_$name(start) $called(start)\n";
    }
    for my $list (@{$verb->{lists}}) {
        my $tag = "${name}_$list->{name}";
        $text .= "\n" . comment(0, "One of its list '$list->{name}', of at most $list->{max}.");
        $text .= struct_of($verb, "verb_$tag", $list->{args});
        $text .= "void verb_put_$tag(struct verb_writer *writer, const struct verb_$tag *in);\n";
        my $m = @{$list->{args}};
        $text .= "#define put_$tag(writer, ...) \\\n    (VERB_CHECK(put_$tag, $m, __VA_ARGS__), \\\n"
            . "     verb_put_$tag(writer, &(struct verb_$tag){__VA_ARGS__}))\n";
    }
    return "$text\n";
}

sub put_of {
    my ($verb, $arg, $writer) = @_;
    my $value = "in->$arg->{name}";
    my $least = $arg->{is_optional} ? 0 : 1;
    return "writer_put_flag($writer, $value);" if $arg->{kind} eq 'flag';
    return "writer_put_number($writer, $value, $arg->{is_optional});" if $TYPE{$arg->{kind}};
    return "writer_put_str($writer, $verb->{name}_$arg->{name}_words[$value]);" if $arg->{kind} eq 'words';
    return "writer_put_name($writer, $value, $least);" if $arg->{kind} eq 'name';
    return "writer_put_text($writer, $value, $least, $arg->{max});";
}

# Where a verb runs, as far as its arguments say it: else its caller does.
sub start_of {
    my ($verb, @args) = @_;
    my %is_there = map {$_->{name} => $_} @args;
    my $home = $verb->{fields}{Home};
    return "start_at_$home(start)" if $home eq 'cluster' or $home eq 'nonce';
    return 'start_at_engine(start, in->account, in->engine)' if $home eq 'engine';
    return 'start_at(start, in->digest.n > 0 ? in->digest : in->topic)' if $home eq 'digest' and $is_there{digest};
    my $by = {topic => 'topic', digest => 'topic', space => 'space', session => 'session', room => 'room',
        evaluation => 'evaluation', key => 'key', account => 'account', owner => 'owner'}->{$home};
    return $by && $is_there{$by} ? "start_at(start, in->$by)" : 'start';
}

sub body_of {
    my ($verb) = @_;
    my ($name, @args) = ($verb->{name}, fixed_args($verb));
    my $text = "/* --- $name --- */\n\n";
    for my $arg (map {@$_} \@args, map {$_->{args}} @{$verb->{lists}}) {
        next unless $arg->{kind} eq 'words';
        $text .= "static const struct str ${name}_$arg->{name}_words[] = {\n"
            . join('', map {"    {\"$_\", @{[length]}},\n"} @{$arg->{words}}) . "};\n\n";
    }
    my $in = @args ? ", const struct verb_$name *in" : '';
    my $begin = "    struct verb_writer writer = writer_begin(@{[start_of($verb, @args)]}, &verb_infos[VERB_@{[uc $name]}]);\n";
    my $puts = join('', map {'    ' . put_of($verb, $_, '&writer') . "\n"} @args);
    if (@{$verb->{lists}}) {
        $text .= "struct verb_writer verb_begin_$name(struct call_start start$in)\n{\n$begin$puts    return writer;\n}\n\n";
    } else {
        $text .= "void verb_$name(struct call_start start$in)\n{\n$begin$puts    end_verb(&writer);\n}\n\n";
    }
    for my $list (@{$verb->{lists}}) {
        my $tag = "${name}_$list->{name}";
        $text .= "void verb_put_$tag(struct verb_writer *writer, const struct verb_$tag *in)\n{\n"
            . join('', map {'    ' . put_of($verb, $_, 'writer') . "\n"} @{$list->{args}}) . "}\n\n";
    }
    return $text;
}

my $MADE = "/* Made by cmake/verbs.pl from the headers in lua/; what is not about one verb: shared/redis/verb.h. */\n";

sub ids {
    my ($verbs) = @_;
    my $names = join(",\n", map {'    VERB_' . uc $_->{name}} @$verbs);
    return $MADE . "#ifndef PARLEY_GENERATED_VERB_IDS_H\n#define PARLEY_GENERATED_VERB_IDS_H\n\n"
        . "enum verb {\n$names,\n    VERB_NR\n};\n\n#endif\n";
}

sub header {
    my ($verbs) = @_;
    return $MADE . "#ifndef PARLEY_GENERATED_VERBS_H\n#define PARLEY_GENERATED_VERBS_H\n\n"
        . "#include \"generated/verb_ids.h\"\n#include \"shared/redis/verb.h\"\n\n"
        . join('', map {header_of($_)} @$verbs) . "#endif\n";
}

sub source {
    my ($verbs) = @_;
    my $text = $MADE . "#include \"generated/verbs.h\"\n#include \"shared/redis/shards.h\"\n\n_Static_assert((unsigned)VERB_NR <= METRICS_VERBS_MAX, \"shared/metrics/metrics.h\");\n"
        . "const unsigned verb_infos_n = VERB_NR;\nconst struct verb_info verb_infos[VERB_NR] = {\n";
    for my $verb (@$verbs) {
        my $name = $verb->{name};
        my $nonce = Verbs::takes_nonce($verb) ? 'true' : 'false';
        my $durable = $verb->{fields}{Durable} eq 'yes' ? 'true' : 'false';
        my @fixed = fixed_args($verb);
        my $min = @fixed;
        my $max = $min;
        $max += $_->{max} * @{$_->{args}} for @{$verb->{lists}};
        $text .= "    {VERB_@{[uc $name]}, {\"$name\", @{[length $name]}}, LANE_@{[uc $verb->{fields}{Lane}]}, $nonce, $durable, $min, $max},\n";
    }
    return "$text};\n\n" . join('', map {body_of($_)} @$verbs);
}

1;
