#!/usr/bin/perl
# count.pl [FILE] - says that it acts, five times a second: its incarnation, its pid, a number that rises, seconds since the boot
use strict;
my $path = $ARGV[0] // "$ENV{EDL_OUTPUT_DIR}/$ENV{EDL_ROLE}.$ENV{EDL_INDEX}";
open my $to, ">>", $path or die "$path: $!";
$to->autoflush(1);
for (my $n = 1;; $n++) {
    open my $uptime, "<", "/proc/uptime" or die;
    print $to "$ENV{EDL_INCARNATION} $$ $n ", (split " ", <$uptime>)[0], "\n";
    select undef, undef, undef, 0.2;
}
