# The figures of bench/web from its CSV files, given as texts.
def rows($text): $text | split("\n")[1:] | map(select(. != "") | split(",") | [.[0], (.[1] | tonumber), (.[2:][] | tonumber)]);
def mean: if length == 0 then null else add / length end;
def at($part): sort | if length == 0 then null else .[(length * $part | floor)] end;
def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
def p99_ms: map(.[3]) | if length == 0 then null else at(0.99) / 1000 end;

(rows($requests)) as $requests | (rows($use)) as $use | (rows($granted)) as $granted |
[$rise1, $rise2] as $rises | [$fall1, $fall2] as $falls | [$fall1, $fall2] as $rise_ends | [$rise2, $last] as $fall_ends |
($requests | map(.[1]) | max) as $rounds |
# what the server takes when the load is high, measured when it is alone
($use | map(select(.[0] == "alone" and ((.[2] > $rise1 + 1 and .[2] < $fall1) or (.[2] > $rise2 + 1 and .[2] < $fall2))) | .[3]) | median) as $need_cores |
# what was granted at that moment
def granted_at($rows; $t): $rows | map(select(.[2] <= $t)) | if length == 0 then 0 else .[-1][3] end;
# seconds from $from on until what f says of the granted cores holds, $to - $from if it does not before $to; null: it held already
def until($rows; $from; $to; f):
    if granted_at($rows; $from) | f then null else [$rows[] | select(.[2] > $from and .[2] <= $to and (.[3] | f)) | .[2] - $from][0] // $to - $from end;
def worst: map(select(. != null)) | max;
# the seconds of high load in which others used little, as they did in the two before: of use $u, by number
def quiet($u):
    ($u | group_by(.[2] | floor) | map({ key: (.[0][2] | floor | tostring), value: (map(.[5] - .[4] - .[3]) | mean < 0.15 * $cores) }) | from_entries) as $is |
    [range($rise1 + 2; $fall1), range($rise2 + 2; $fall2) | select(all($is[range(. - 2; . + 1) | tostring]; . == true))];
def is_high($t): ($t >= $rise1 and $t < $fall1) or ($t >= $rise2 and $t < $fall2);
def of_round($c; $r):
    ($requests | map(select(.[0] == $c and .[1] == $r))) as $q | ($use | map(select(.[0] == $c and .[1] == $r and .[2] >= 0))) as $u |
    ($granted | map(select(.[0] == $c and .[1] == $r))) as $g |
    { p50_ms: ($q | map(.[3]) | at(0.5) / 1000), p99_ms: ($q | p99_ms),
      p99_low_ms: ($q | map(select(.[2] as $t | is_high($t) | not)) | p99_ms),
      p99_rise_ms: ($q | map(select(.[2] as $t | is_high($t) and (is_high($t - 6) | not))) | p99_ms),
      p99_high_ms: ($q | map(select(.[2] as $t | is_high($t) and is_high($t - 6))) | p99_ms),
      cpu_ms_per_request: (1000 * ($u | map(.[3]) | mean) * ($u[-1][2] - $u[0][2]) / ($q | length)),
      quiet_s: (quiet($u) | length), p99_quiet_ms: (quiet($u) as $s | $q | map(select(.[2] | floor | IN($s[]))) | if . == [] then null else p99_ms end),
      utilisation_percent: (100 * ($u | map(.[5]) | mean) / $cores), training_percent: (100 * ($u | map(.[4]) | mean) / $cores),
      others_cores: ($u | map(.[5] - .[4] - .[3]) | mean),
      cores_back_s: (if $g == [] then null else [range(2) as $i | until($g; $rises[$i]; $rise_ends[$i]; . + $need_cores <= $cores)] | worst end),
      granted_again_s: (if $g == [] then null else [range(2) as $i | granted_at($g; $rises[$i]) as $had |
          until($g; $falls[$i]; $fall_ends[$i]; . >= $had - $trainer / 1000 - 0.001)] | worst end) };
# by rounds, over that of another condition in the same round; [] where that was not measured
def over($all; $other): [range($rounds) as $i | ($requests | map(select(.[0] == $other and .[1] == $i + 1)) | p99_ms) as $p99 | select($p99 != null) | $all[$i].p99_ms / $p99];
def condition($c):
    [range(1; $rounds + 1) as $r | of_round($c; $r)] as $all | over($all; "alone") as $ratios |
    ($all[0] | keys_unsorted | map(. as $k | { key: $k, value: ($all | map(.[$k]) | median) }) | from_entries) +
    { p99_ratio: ($ratios | median), p99_ratio_least: ($ratios | min), p99_ratio_most: ($ratios | max),
      p99_over_hogs: (over($all; "hogs") | median), p99_over_steps: (over($all; "steps") | median),
      cores_back_s: ($all | map(.cores_back_s) | worst),
      granted_again_s: (if $c == "alone" then null else $all | map(.granted_again_s) | worst end) };
{ rounds: $rounds, cores: $cores, request_us: $request_us, low_per_s: $low, high_per_s: $high, web_needs_cores: $need_cores, high_seconds: ($fall1 - $rise1 + $fall2 - $rise2 - 4),
  conditions: ([$requests[][0]] | unique | map({ key: ., value: condition(.) }) | from_entries), load: $load }
