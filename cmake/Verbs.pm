# SPDX-License-Identifier: MIT
#
# Verbs: reads the headers of the verbs in lua/ (ADR 20) and puts the Lua library
# together, of its modules (LuaModules.pm). CONTRIBUTING.md says what a header holds. Paths are relative to the source
# root, the working directory.
#
#   my $library = Verbs::read('lua');
#   $library->{verbs}     list of {name, path, line, fields, args, lists, replies}, by name
#   $library->{modules}   {name => {path, text}}: the files of lua/, with `--- arguments` and such lines replaced
#   $library->{text}      the library as Redis gets it: all of them
#   $library->{faults}    what is wrong, as "file:line: why"
#
# An argument is {name, kind, is_optional, max, words, note, line}; a list is {name, max, args, line}.
package Verbs;
use strict;
use warnings;
use LuaModules;

our %KINDS = map {$_ => 1} qw(name number digits flag text json bytes words);
my %SIZED = map {$_ => 1} qw(text json bytes);
my %FIXED_MAX = (name => 512, number => 20, digits => 20, flag => 1);
my %WORD_OF = (
    Lane => [qw(first claim add read slow)],
    Home => [qw(topic digest space session room evaluation bot engine account owner nonce key cluster every)],
    Nonce => [qw(yes again no)],
    Full => [qw(runs refused)],
);
# May be left out: then it is the last of its words.
my %WORD_IF_GIVEN = (Durable => [qw(yes no)]);
# A verb with that home has one of these arguments, from which its shard is known.
my %HOME_IS_OF = (topic => ['topic', 'claim'], digest => ['digest', 'topic'], space => ['space', 'doc', 'job'],
    session => ['session'], room => ['room'], evaluation => ['evaluation'], key => ['key'], engine => ['engine'],
    account => ['account'], owner => ['owner']);
my $MAX_ARGS = 24; # as many as VERB_COUNT of shared/redis/verb.h can count
my $UNPACK_FROM = 4; # arguments: fewer are read one by one
my @PROSE = qw(KEYS Wakes Bound Repeatable);
my $FIELD = qr/(?:KEYS|Wakes|Bound|Repeatable|Lane|Home|Nonce|Full|Durable|Arguments|Replies):/;
# Names that mean something else where an argument stands.
my %RESERVED = map {$_ => 1} qw(
    and break do else elseif end false for function if in local nil not or repeat return then true until while
    auto case char const continue default double enum extern float goto inline int long register restrict short
    signed sizeof static struct switch typedef union unsigned void volatile
    a P args is_replay turn call verb require tonumber tostring floor max min ceil match gmatch gsub sub byte find
    format concat sort pairs ipairs next unpack pcall type error redis);

sub takes_nonce {
    my ($verb) = @_;
    return ($verb->{fields}{Nonce} // 'no') =~ /^(?:yes|again)$/ ? 1 : 0;
}

sub slurp {
    my ($path) = @_;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

sub bytes_of {
    my ($text) = @_;
    my ($n, $unit) = $text =~ /^([1-9]\d*)([km]?)$/ or return;
    return $n * {'' => 1, k => 1 << 10, m => 1 << 20}->{$unit};
}

# --- the header --------------------------------------------------------------------------------------

# One argument's line: its name, its kind and how large it may be.
sub read_argument {
    my ($text, $fault) = @_;
    my ($name, $kind, $optional, $rest) = $text =~ /^(\w+)\s+(\w+)(\??)(?:\s+(.*))?$/
        or return $fault->("'$text' is not a name, a kind and a note");
    my $one = {name => $name, kind => $kind, is_optional => $optional ? 1 : 0, note => $rest // ''};
    $fault->("'$name' cannot be the name of an argument") if $RESERVED{$name} or $name !~ /^[a-z][a-z0-9_]*$/;
    return $fault->("$name: there is no kind '$kind': " . join(', ', sort keys %KINDS)) unless $KINDS{$kind};
    $fault->("$name: a flag is always there") if $kind eq 'flag' and $optional;
    if ($SIZED{$kind}) {
        my ($size, $note) = $one->{note} =~ /^(\S+)\s*(.*)$/;
        $one->{max} = bytes_of($size // '')
            or return $fault->("$name: a $kind has a bound, as in '$name $kind 64k'");
        $one->{note} = $note;
    } elsif ($kind eq 'words') {
        my ($words, $note) = $one->{note} =~ /^(\w+(?:\|\w+)+)\s*(.*)$/
            or return $fault->("$name: which words? As in '$name words yes|no'");
        $one->{words} = [split(/\|/, $words)];
        $one->{note} = $note;
        ($one->{max}) = sort {$b <=> $a} map {length} @{$one->{words}};
    } else {
        $one->{max} = $FIXED_MAX{$kind};
    }
    return $one;
}

# The lines after `Arguments:`: three spaces and an argument or a list, five and a list's column, more: a note goes on.
sub read_arguments {
    my ($verb, $lines, $fault) = @_;
    my ($last, %seen, %columns);
    for (@$lines) {
        my ($line, $indent, $text) = @$_;
        my $at = sub { $fault->($line, @_); return };
        my $new;
        if ($indent == 3 and $text =~ /^each\b/) {
            my ($name, $max) = $text =~ /^each (\w+) ([1-9]\d*):$/
                or $at->("'$text' is not as in 'each doc 300:'"), next;
            $new = {name => $name, max => $max, args => [], line => $line};
            push @{$verb->{lists}}, $new;
            undef $last;
            %columns = ();
        } elsif ($indent == 3 or $indent == 5) {
            $new = read_argument($text, $at) or next;
            $new->{line} = $line;
            my $list = $verb->{lists}[-1];
            if ($indent == 5) {
                $at->("$new->{name} belongs to no list: it has five spaces in front") unless $list;
                push @{$list->{args}}, $new if $list;
            } else {
                $at->("$new->{name} comes after a list: lists are last") if $list;
                push @{$verb->{args}}, $new;
            }
            $last = $new;
        } elsif ($indent > 5 and $last) {
            $last->{note} .= ($last->{note} eq '' ? '' : ' ') . $text;
            next;
        } else {
            $at->("'$text' is indented neither as an argument (3), nor as a list's column (5), nor as a note");
            next;
        }
        my $names = $indent == 5 ? \%columns : \%seen;
        $at->("two arguments are named $new->{name}") if $names->{$new->{name}}++;
    }
    $fault->($verb->{args}[$MAX_ARGS]{line}, "a verb has at most $MAX_ARGS arguments") if @{$verb->{args}} > $MAX_ARGS;
    for my $list (@{$verb->{lists}}) {
        $fault->($list->{line}, "each $list->{name} has no column") unless @{$list->{args}};
    }
}

# Alternatives of `Replies:`; each has its first word, or none when it begins with something that is not constant.
sub read_replies {
    my ($text) = @_;
    1 while $text =~ s/\([^()]*\)//g;
    return map {/^\s*(\w+)/ ? $1 : ()} split(/\|/, $text);
}

# What the header says before its fields, in one line.
sub about {
    my ($header) = @_;
    my ($text) = $header =~ /\A-- \w+: (.*?)^-- $FIELD/ms or return '';
    $text =~ s/\n--\s*/ /g;
    return $text =~ s/\s+$//r;
}

sub read_header {
    my ($verb, $header, $fault) = @_;
    my ($line, $field, %lines, @arguments) = (0);
    for my $text (split(/\n/, $header)) {
        $line++;
        my ($indent, $rest) = $text =~ /^--(\s*)(.*)$/;
        # A field begins a line, or comes two spaces after the field in front of it.
        if (length $indent == 1 and $rest =~ /^$FIELD/) {
            for my $part (split(/\s{2,}(?=$FIELD)/, $rest)) {
                ($field, my $value) = $part =~ /^(\w+):\s*(.*)$/;
                $fault->($line, "it says $field: twice") if exists $verb->{fields}{$field};
                $verb->{fields}{$field} = $value;
                $lines{$field} = $line;
            }
        } elsif (defined $field and $field eq 'Arguments') {
            push @arguments, [$line, length $indent, $rest];
        } elsif (defined $field) {
            $verb->{fields}{$field} .= ' ' . $rest;
        }
    }
    my $fields = $verb->{fields};
    for (@PROSE, 'Arguments', 'Replies') {
        $fault->(1, "the header has no $_:") unless exists $fields->{$_} and ($_ eq 'Arguments' or $fields->{$_} ne '');
    }
    $fields->{Durable} //= 'no.';
    my %word_of = (%WORD_OF, %WORD_IF_GIVEN);
    for my $name (sort keys %word_of) {
        my @words = @{$word_of{$name}};
        my ($word) = ($fields->{$name} // '') =~ /^(\w+)\.$/;
        $fault->($lines{$name} // 1, "the header has no '$name: @{[join(' | ', @words)]}.'")
            unless defined $word and grep {$_ eq $word} @words;
        $fields->{$name} = $word // '';
    }
    my $none = ($fields->{Arguments} // '') eq 'none.';
    $fault->($lines{Arguments}, "after 'Arguments:' come lines of arguments, or 'none.'")
        if $lines{Arguments} and ($none ? @arguments : (!@arguments or $fields->{Arguments} ne ''));
    read_arguments($verb, \@arguments, $fault);
    $verb->{replies} = {map {$_ => 1} read_replies($fields->{Replies} // '')};
    if (my $of = $HOME_IS_OF{$fields->{Home}}) {
        my %named = map {$_->{name} => 1} @{$verb->{args}}, @{$verb->{lists}};
        $fault->($lines{Home}, "Home: $fields->{Home}, but no argument is named @{[join(' or ', @$of)]}")
            unless grep {$named{$_}} @$of;
    }
    my $has_replay = $verb->{replies}{replay} // 0;
    $fault->($lines{Replies}, "a verb with a nonce may reply replay, and no other one")
        if $lines{Replies} and $has_replay != takes_nonce($verb);
}

# --- the body ----------------------------------------------------------------------------------------

# Where an argument's text is, the first one being at a.
sub place {
    my ($n) = @_;
    return $n == 0 ? 'args[a]' : "args[a + $n]";
}

sub value {
    my ($arg, $at) = @_;
    return $arg->{kind} eq 'number' ? "tonumber($at)" : $arg->{kind} eq 'flag' ? "$at == '1'" : $at;
}

# What `--- arguments` stands for, in one line, so that lines keep their numbers. Of a list there are the places of
# its first and last argument: NAME_from and NAME_to. Of all lists but the last the caller says how many they are.
# The argument that says where the verb runs gets no local if the body does not use it.
# Many arguments are read with one call: each index by itself takes two of Lua's instructions.
sub arguments_text {
    my ($verb, $body) = @_;
    my ($n, @names, @values) = (0);
    my $text = 'local args = turn.args ';
    if (takes_nonce($verb)) {
        $text .= $verb->{fields}{Nonce} eq 'again' ? 'local is_replay = turn.is_replayed_at[args[a]] '
            : "if turn.is_replayed_at[args[a]] then return 'replay' end ";
        $n = 1;
    }
    my $first = $n;
    my $is_unpacked = @{$verb->{args}} >= $UNPACK_FROM;
    my @unpacked;
    for my $arg (@{$verb->{args}}) {
        my $is_used = $arg->{name} ne $verb->{fields}{Home} || $body =~ /\b$arg->{name}\b/;
        push @unpacked, $is_used ? $arg->{name} : '_';
        my $at = place($n++);
        next unless $is_used;
        my $value = value($arg, $is_unpacked ? $arg->{name} : $at);
        next if $is_unpacked && $value eq $arg->{name};
        push @names, $arg->{name};
        push @values, $value;
    }
    if ($is_unpacked) {
        $text .= 'local ' . join(', ', @unpacked) . ' = unpack(args, ' . ($first ? "a + $first" : 'a') . ', a + ' . ($n - 1) . ') ';
        $text .= join(', ', @names) . ' = ' . join(', ', @values) . ' ' if @names;
        @names = @values = ();
    }
    my $list_n = @{$verb->{lists}};
    my $at = $n + max(0, $list_n - 1);
    my $from = $at == 0 ? 'a' : "a + $at";
    for my $i (0 .. $list_n - 1) {
        my $list = $verb->{lists}[$i];
        my $to = q{a + string.match(args[a - 1], '%d+$') - 1}; # of the verb's word (turn/frame.lua)
        if ($i < $list_n - 1) {
            my $width = @{$list->{args}};
            $to = "$from + @{[place($n + $i)]} * $width - 1";
        }
        push @names, "$list->{name}_from", "$list->{name}_to";
        push @values, $from, $to;
        $from = "$to + 1";
    }
    $text .= 'local ' . join(', ', @names) . ' = ' . join(', ', @values) if @names;
    return $text =~ s/ $//r;
}

sub max { return $_[0] > $_[1] ? $_[0] : $_[1] }

# The words that a statement `return …` answers as constants.
sub constants {
    my ($text) = @_;
    return () unless $text =~ /\breturn\b(.*)$/;
    my $value = $1;
    $value =~ s/[=~]=\s*'[^']*'//g;
    # What is handed to functions, or looked up, is no reply.
    1 while $value =~ s/(?<=\w)\((?:'[^']*'|[^'()])*\)//;
    return $value =~ /'([A-Za-z]\w*)(?=\\n|')/g;
}

# Checks the verb's function against its header.
sub check_body {
    my ($verb, $body, $first_line, $fault) = @_;
    my @lines = split(/\n/, $body);
    my $needs = takes_nonce($verb) || @{$verb->{args}} || @{$verb->{lists}};
    my $has = @lines > 1 && $lines[1] =~ /^    --- arguments$/;
    $fault->($first_line, "the function's first line is not '    --- arguments'") if $needs and !$has;
    $fault->($first_line + 1, "there is no argument to name") if $has and !$needs;
    my $code = '';
    for my $i (1 .. $#lines) {
        my $text = $lines[$i];
        $text =~ s/('(?:\\.|[^'\\])*')|--.*$/$1 \/\/ ''/ge;
        $code .= "$text\n";
        $fault->($first_line + $i, 'an argument is read by its place, and not by its name')
            if $text =~ /\bargs\b/ and !@{$verb->{lists}};
        for (constants($text)) {
            $fault->($first_line + $i, "the reply '$_' is not declared under Replies:") unless $verb->{replies}{$_};
        }
    }
    $code =~ s/'(?:\\.|[^'\\])*'//g;
    for my $arg (@{$verb->{args}}) {
        next if $arg->{name} eq $verb->{fields}{Home}; # it says where the verb runs
        $fault->($arg->{line}, "the argument '$arg->{name}' is never used") unless $code =~ /\b$arg->{name}\b/;
    }
    for my $list (@{$verb->{lists}}) {
        $fault->($list->{line}, "the list '$list->{name}' is never used") unless $code =~ /\b$list->{name}_from\b/;
    }
}

# --- the library -------------------------------------------------------------------------------------

# Tables of verbs. Each replaces the line `--- <its name in lower case>`, which the library has once, and stays one line.
my %TABLES = (
    RUNS_WHEN_FULL => sub { $_[0]{fields}{Full} eq 'runs' },
    TAKES_NONCE    => \&takes_nonce,
);

sub put_tables {
    my ($modules, $verbs) = @_;
    for my $table (sort keys %TABLES) {
        my $line = '--- ' . lc $table;
        my $text = "local $table = {" . join(', ', map {"$_->{name} = true"} grep {$TABLES{$table}->($_)} @$verbs) . '}';
        1 == grep {$_->{text} =~ s/^\Q$line\E$/$text/m} values %$modules or die "not one line '$line'\n";
    }
    return;
}

sub read_file {
    my ($library, $path, $text) = @_;
    my $fault = sub { my ($line, $why) = @_; push @{$library->{faults}}, "$path:$line: $why"; return };
    my ($header) = $text =~ /\A((?:--.*\n)*)/;
    my ($before, $body) = $text =~ /\A(.*?)^(local function verb\(.*?^end\b)/ms;
    if (!defined $body) {
        $fault->(1, 'a header without its verb: where is local function verb(turn, a)?')
            if $header =~ /^-- (?:Lane|Arguments|Replies):/m;
        return $text;
    }
    my $line = 1 + ($before =~ tr/\n//);
    my ($name) = $text =~ /^return \{(\w+) = verb\}\n\z/m
        or return $fault->($line, "the file does not end with 'return {NAME = verb}'") // $text;
    my $verb = {name => $name, path => $path, line => $line, fields => {}, args => [], lists => [], replies => {}};
    $fault->(1, "the header does not begin with '-- $name: what it does'") unless $header =~ /\A-- $name: \S/;
    if (my ($other) = grep {$_->{name} eq $name} @{$library->{verbs}}) {
        $fault->($line, "there are two verbs named $name, the other one in $other->{path}");
    }
    push @{$library->{verbs}}, $verb;
    $verb->{about} = about($header);
    ($verb->{purpose}) = $verb->{about} =~ /^(.*?[.?])(?: (?=[A-Z])|$)/;
    $verb->{purpose} //= $verb->{about};
    $verb->{header} = $header;
    read_header($verb, $header, $fault);
    check_body($verb, $body, $line, $fault);
    my $arguments = arguments_text($verb, $body);
    $text =~ s/^    --- arguments$/    $arguments/m;
    return $text;
}

sub read {
    my ($dir) = @_;
    my $library = {verbs => [], modules => {}, faults => [], text => ''};
    eval {
        my $modules = LuaModules::read_modules($dir, sub { read_file($library, @_) });
        die "$dir: found no verb\n" unless @{$library->{verbs}};
        $library->{verbs} = [sort {$a->{name} cmp $b->{name}} @{$library->{verbs}}];
        put_tables($modules, $library->{verbs});
        LuaModules::put_verbs($modules, {map {$_->{name} => $_->{path}} @{$library->{verbs}}});
        $library->{modules} = $modules;
        $library->{text} = LuaModules::library($modules);
        1;
    } or push @{$library->{faults}}, $@ =~ s/\n\z//r;
    return $library;
}

1;
