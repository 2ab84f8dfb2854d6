# SPDX-License-Identifier: MIT
# Bytes as string literals of C, for the scripts that embed files into the program.
package CText;
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Exporter 'import';
use IO::Compress::Gzip qw(gzip $GzipError);

our @EXPORT_OK = qw(slurp c_text c_forms);

# The bytes of a file.
sub slurp {
    my ($path) = @_;
    open(my $in, '<:raw', $path) or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

# One literal per line of the bytes; the compiler joins them.
sub c_text {
    my ($bytes) = @_;
    my $c = '';
    for my $line (split(/(?<=\n)/, $bytes)) {
        $line =~ s/([\\"?])/\\$1/g;
        $line =~ s/\n/\\n/;
        $line =~ s/([^\x20-\x7e])/sprintf('\\%03o', ord($1))/ge;
        $c .= "\n    \"$line\"";
    }
    return $c;
}

# The members of a struct web_forms (services/web/forms.h): the bytes as they are and compressed, the same in every build.
sub c_forms {
    my ($bytes) = @_;
    my $gzip;
    gzip(\$bytes, \$gzip, -Level => 9, -Minimal => 1) or die "$GzipError\n";
    return join('', map {
        my ($name, $form) = @$_;
        sprintf(".%s = {\"\\\"%s\\\"\", {%s, %d}},\n", $name, substr(sha256_hex($form), 0, 32), c_text($form), length $form);
    } ['plain', $bytes], ['gzip', $gzip]);
}

1;
