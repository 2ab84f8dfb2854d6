#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Nobody answers from a buffer without asking whether it overflowed: what clients get is handed over as the
# buffer itself (respond_json, respond_text, stream_put_buf), which asks. So no call that sends something to a
# client is given buf_str(...), nor a buffer's bytes; websocket_send may, under `if (!b->is_over)`.
use strict;
use warnings;
use File::Find;

my $sends = qr/\b(respond_\w+|stream_put|put_event|websocket_send)\b/;

sub faults {
    my ($text) = @_;
    my @faults;
    while ($text =~ /$sends(\((?:[^()]|(?2))*\))/g) {
        my ($name, $args, $at) = ($1, $2, $-[0]);
        next unless $args =~ /\bbuf_str\(|(?:->|\.)at\b/;
        next if $name eq 'respond_header' or $args =~ /\b(\w+)\.is_over \? NULL : \1\.at\b/;
        next if $name eq 'websocket_send' and substr($text, 0, $at) =~ /if \(!\w+(?:->|\.)is_over\)\s*\z/;
        push @faults, [1 + (substr($text, 0, $at) =~ tr/\n//), $name];
    }
    return @faults;
}

for ('respond_json_fixed(r, 200, buf_str(b));', "stream_put(s, \"done\", id,\n   buf_str(&b));",
     'websocket_send(w, buf_str(b));', 'respond_json_fixed(r, 200, (struct str){b->at, b->n});') {
    faults($_) or die "buffers: its own test: passes $_\n";
}
for ('respond_json(r, 200, b);', 'respond_error_more(r, error, NULL, b.is_over ? NULL : b.at, 0);', 'if (!b->is_over) websocket_send(w, buf_str(b));', 'respond_json_fixed(r, 200, STR("{}"));') {
    die "buffers: its own test: refuses $_\n" if faults($_);
}

my ($n, $bad) = (0, 0);
find({no_chdir => 1, wanted => sub {
    return unless /\.c$/;
    my $path = $_;
    return if $path eq 'shared/http/request/respond.c' or $path eq 'shared/http/request/stream.c';
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    $n++;
    for (faults(scalar <$in>)) {
        print STDERR "$path:$_->[0]: $_->[1] is given bytes of a buffer that may have overflowed: hand over the buffer\n";
        $bad++;
    }
}}, 'services', 'shared');
die "buffers: found no file to look at\n" unless $n;
exit 1 if $bad;
print "buffers: looked at $n files, no finding\n";
