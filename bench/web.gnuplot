# The picture of bench/web. `data`: the folder of the CSV files; `out`: the picture; `cores` of the machine.
set terminal svg size 860,760 font "sans-serif,13" background "#ffffff"
set output out
set datafile separator ","
set border 3
set tics nomirror out
set grid ytics lc rgb "#dddddd"
set lmargin 9
set rmargin 4
train = "#1f6fb2"; web = "#9aa5ad"; line = "#444444"
use(c) = "< awk -F, '$1 == \"".c."\" && $2 == 1 && $3 >= 0' ".data."/use.csv"
granted(c) = "< awk -F, '$1 == \"".c."\" && $2 == 1' ".data."/granted.csv"
stats use("alone") using 3 nooutput
last = STATS_max

set multiplot layout 3,1 title "nginx beside elastic training, one machine, real processes (round 1)"
set xrange [0:last]
set key outside top center horizontal maxrows 1
set yrange [0:cores*1.1]
set ylabel "cores used"
plot use("weights") using 3:($4+$5) with filledcurves y1=0 lc rgb train title "training", \
     use("weights") using 3:4 with filledcurves y1=0 lc rgb web title "nginx", \
     use("weights") using 3:6 with lines lw 1.5 lc rgb line title "all of the machine"
set ylabel "cores granted"
plot granted("weights") using 3:4 with steps lw 2 lc rgb train title "to training, with the agent's weights", \
     granted("idle") using 3:4 with steps lw 2 lc rgb line title "idle"
set ylabel "p99, ms, each second"
set xlabel "seconds"
set yrange [1:*]
set logscale y
p99(c) = "< awk -F, '$1 == \"".c."\" && $2 == 1 { print int($3) \",\" $4 }' ".data."/requests.csv | sort -t, -k1,1n -k2,2n | awk -F, '$1 != s { if (n) print s \",\" v[int(n * 0.99 + 0.99)]; s = $1; n = 0 } { v[++n] = $2 } END { print s \",\" v[int(n * 0.99 + 0.99)] }'"
plot p99("alone") using 1:($2/1000) with lines lw 2 lc rgb web title "alone", \
     p99("weights") using 1:($2/1000) with lines lw 2 lc rgb train title "beside training, agent's weights", \
     p99("steps") using 1:($2/1000) with lines lw 1 lc rgb "#c77f2a" title "beside plain idle loads", \
     p99("idle") using 1:($2/1000) with lines lw 2 lc rgb line title "idle"
unset multiplot
