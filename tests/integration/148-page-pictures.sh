#!/usr/bin/env bash
# Pictures of the page: who held what, with each resize and its reason at the pointer and in a list; a job's processes, progress
# and speed. On a wide window and on a phone, light and dark; where there is no charting library, the figures alone.
# Takes 20 s: a job tells of its progress for two points at least, which come 5 s apart
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -B "$EDL_SOURCE_DIR/tests/lib/browser.py" --is-there 2>&1 || exit 77
[ -f /usr/share/javascript/chart.js/chart.min.js ] || { echo "skipped: there is no charting library: apt install libjs-chart.js"; exit 77; }
cluster_start --nodes 2
token=$(<"$EDL_TOKEN_FILE")
ask() { curl -sS -H "Authorization: Bearer ${as:-$token}" "$EDL_SERVER$1" "${@:2}"; }

# two users, and one who looks
for user in ann bob eve; do
    role=user
    [ $user != eve ] || role=viewer
    ask /users -d "{\"name\": \"$user\", \"role\": \"$role\"}" >"$work/user"
    ask /tokens -d "{\"user\": \"$user\"}" | jq -r .token >"$work/$user"
done
program='i=0; while :; do i=$((i + 1)); curl -sS --unix-socket "$EDL_SOCKET" http://edl/processes/self/progress -d "{\"step\": $((i * 5)), \"loss\": $((1000 / i)), \"done\": 0.$((i % 9 + 1))}"; sleep 0.2; done'
submit() { # USER NAME MIN MAX PROGRAM
    jq -n --arg name "$2" --argjson min "$3" --argjson max "$4" --arg program "$5" '{metadata: {$name}, spec: {fault_tolerant: true, trainer:
        {entrypoint: $program, "min-instance": $min, "max-instance": $max, resources: {requests: {cpu: "50m", memory: "16Mi"}}}}}' >"$work/document"
    as=$(<"$work/$1") ask /jobs -d @"$work/document" | jq -r .id
}
running() { [ "$(ask "/jobs/$1" | jq -r '.state + " " + (.roles[0].running | tostring)')" = "running $2" ]; }
resized() { ask "/jobs/$1/resizes" | holds --arg reason "$2" '[.resizes[] | select(.reason | contains($reason))] | length > 0'; }
curve=$(submit ann curve 1 3 "$program")
other=$(submit bob other 1 1 'exec sleep 1000')
await 120 "curve runs" running "$curve" 3
await 120 "other runs" running "$other" 1
points() { ask "/jobs/$curve/history" | jq '.progress.time_us | length'; }
has_points() { [ "$(points)" -ge "$1" ]; }
more_points() { await 120 "points of its progress" has_points $(($(points) + $1)); } # N: for as long it stays as large as it is
more_points 1
ask "/jobs/$curve" -X PATCH -d '{"max": 2}' >"$work/changed"
await 120 "curve has 2" running "$curve" 2
await 120 "its reason" resized "$curve" "its bounds are now 1..2"
more_points 2

# --- what the API says ---

as=$(<"$work/eve") ask "/history/allocation?by=user&bins=100&since_us=$(($(date +%s) - 8))000000" >"$work/held"
holds '[.series[].user] == ["ann", "bob"] and .others == null and (.series[0].values[-1] == 100) and
    (.series[1].values[-1] == 50) and (.series | all(.values | length == 100)) and
    .known_since_us > .since_us - 3600000000' <"$work/held" || fail "$(<"$work/held")"
as=$(<"$work/eve") ask /history/allocation >"$work/held" # of the last hour
holds '(.resizes | any(.job == "curve" and .user == "ann" and .from == 3 and .to == 2 and .reason == "its bounds are now 1..2"))' <"$work/held" || fail "$(<"$work/held")"
ask "/history/allocation?by=job&resource=gpus" | holds '.series == [] and .others == null' || fail "GPUs that nobody has"
ask "/jobs/$curve/history?bins=50" >"$work/history"
holds '(.roles[0].processes | max > 2.9 and .[-1] == 2) and .progress.cost_name == "loss" and .progress.rate_of == "step" and
    (.progress | [.time_us, .done, .rate_per_s, .cost | length] | unique | length == 1) and (.progress.rate_per_s | any(. != null and . > 0))' <"$work/history" || fail "$(<"$work/history")"
status() { curl -sS -o "$work/answer" -w '%{http_code}' "$EDL_SERVER$1" "${@:2}"; }
[ "$(status /history/allocation)" = 401 ] || fail "nobody need say who he is"
for bad in by=node resource=disk bins=0 bins=501 since_us=x "since_us=$(date +%s)999999999" since_us=18446744073709551615; do
    [ "$(status "/history/allocation?$bad" -H "Authorization: Bearer $token")" = 400 ] || fail "$bad: $(<"$work/answer")"
    holds '.detail | length > 0' <"$work/answer" || fail "$bad says nothing"
done
[ "$(status /jobs/none/history -H "Authorization: Bearer $token")" = 404 ] || fail "a job that is not there has a history"

# --- the library ---

curl -sS -D "$work/headers" -o "$work/library" "$EDL_SERVER/web/lib/chart.min.js"
cmp "$work/library" /usr/share/javascript/chart.js/chart.min.js || fail "it is another library"
tag=$(sed -n 's/^[Ee][Tt]ag: \(.*\)\r$/\1/p' "$work/headers")
[ "$(status /web/lib/chart.min.js -H "If-None-Match: $tag")" = 304 ] || fail "the tag $tag is not known again"
[ "$(status /web/lib/none.js)" = 404 ] || fail "there is another library"
EDL_CHART_LIBRARY=$work/none timeout 300 edl-scheduler --state-dir "$work/plain" --listen 127.0.0.1:0 --port-file "$work/port" 2>"$work/plain.log" &
plain=$!
await 120 "a scheduler without a library" test -s "$work/port"
grep -q 'figures without pictures.*none' "$work/plain.log" || fail "the log does not say it: $(<"$work/plain.log")"

# --- in a browser ---

chmod 711 "$work"
install -d -m 777 "$work/looks"
as_other=''
if [ "$(id -u)" = 0 ]; then as_other='setpriv --reuid=65534 --regid=65534 --clear-groups'; fi
# shellcheck disable=SC2086
EDL_TOKEN=$(<"$work/ann") PLAIN_TOKEN=$(<"$work/plain/admin-token") PYTHONPATH=$EDL_SOURCE_DIR/tests/lib timeout 300 $as_other "$python" -B - \
    "$EDL_SERVER" "http://$(<"$work/port")" "$work/looks" "$curve" <<'PYTHON' || fail "see above"
import os
import sys

from browser import Browser

server, plain, folder, job = sys.argv[1:]
token = os.environ["EDL_TOKEN"]
LIBRARY_IS_NOT_THERE = "web/lib/chart.min.js"
CHART = "Chart.getChart(document.querySelector('%s canvas'))"
# whether something is drawn within the axes, in some colour of a series
COLOURED = """(() => {
    const canvas = document.querySelector('%s canvas'), area = Chart.getChart(canvas).chartArea, scale = devicePixelRatio;
    const data = canvas.getContext('2d').getImageData(area.left * scale, area.top * scale, area.width * scale, area.height * scale).data;
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
        n += data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60;
    return n;
})()"""
AT_MARK = """(() => {
    const canvas = document.querySelector('%s canvas'), chart = Chart.getChart(canvas), box = canvas.getBoundingClientRect();
    const mark = chart.edlMarks.find((one) => one.text.includes('its bounds are now'));
    return {x: box.x + chart.scales.x.getPixelForValue(mark.ms), y: box.y + (chart.chartArea.top + chart.chartArea.bottom) / 2};
})()"""


def hover(page, place):
    page.evaluate(f"document.querySelector('{place}').scrollIntoView({{block: 'center', behavior: 'instant'}})")
    at = page.evaluate(AT_MARK % place)
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=at["x"] - 40, y=at["y"])
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=at["x"], y=at["y"])
    page.wait_text(f"{place} .tip", "trainer 3 → 2: its bounds are now 1..2")
    return page.text(f"{place} .tip")


def check(page, name):
    page.screenshot(f"{folder}/{name}.png")
    assert page.overflow() == 0, f"{name}: the page is {page.overflow()} pixels wider than its window"
    assert page.errors == [], f"{name}: {page.errors}"


with Browser(folder + "/profile") as browser:
    for width in (1280, 390):
        page = browser.open(server + "/", width=width, height=900, token=token)
        page.wait_text("#held-legend", "ann")
        page.wait_text("#held-legend", "bob")
        assert page.evaluate(COLOURED % "#held-picture") > 500, "nothing is drawn"
        tip = hover(page, "#held-picture")
        assert "ann: 0.1" in tip and "bob: 0.05 cores" in tip and "curve: trainer" in tip, tip
        check(page, f"held-{width}")
        # for those without a mouse, and without eyes for a picture
        page.click("#held details:nth-of-type(1) summary")
        rows = page.evaluate("[...document.querySelectorAll('#held-rows tr')].map(row => [...row.children].map(cell => cell.innerText))")
        assert [row[0] for row in rows] == ["ann", "bob"] and rows[0][3:] == ["0.15", "0.1"] and rows[1][3:] == ["0.05", "0.05"], rows
        page.click("#held details:nth-of-type(2) summary")
        page.wait_text("#held-resizes", "trainer 3 → 2: its bounds are now 1..2")
        # by job
        page.evaluate("document.querySelector('#held-by').value = 'job'; document.querySelector('#held-by').dispatchEvent(new Event('change'))")
        page.wait_text("#held-legend", "curve (ann)")
        page.wait_text("#held-rows", "other (bob)")
        page.evaluate("document.querySelector('#held-resource').value = 'gpus'; document.querySelector('#held-resource').dispatchEvent(new Event('change'))")
        page.wait_text("#held-none", "Nobody held any")
        assert page.errors == [], page.errors
        # one job
        page = browser.open(server + "/#/jobs/" + job, width=width, height=900, token=token)
        page.wait_text("#job-held-legend", "trainer")
        for place in ("#job-held-picture", "#job-done", "#job-cost", "#job-rate"):
            page.wait(f"{CHART % place} !== undefined", what=place)
            assert page.evaluate(COLOURED % place) > 50, f"nothing is drawn in {place}"
        assert page.text("#job-cost-title") == "Loss" and page.text("#job-rate-title") == "Speed, steps / s", page.all_text()
        assert "trainer: " in hover(page, "#job-held-picture")
        page.click("#job-curves-table summary")
        page.wait("document.querySelectorAll('#job-curves-rows tr').length >= 3")
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        page.wait(f"{CHART % '#job-held-picture'}.options.scales.x.ticks.color === getComputedStyle(document.documentElement).getPropertyValue('--faint').trim()")
        check(page, f"job-{width}")
    # without a library
    page = browser.open(plain + "/", width=1280, height=900, token=os.environ["PLAIN_TOKEN"])
    page.wait_text("#held-no-picture", "apt install libjs-chart.js")
    assert not page.is_shown("#held-picture"), page.all_text()
    assert all(LIBRARY_IS_NOT_THERE in error for error in page.errors), page.errors
PYTHON
[ "$(find "$work/looks" -name '*.png' -size +8k | wc -l)" = 4 ] || fail "pictures: $(ls -l "$work/looks")"
[ -z "${EDL_KEEP_PICTURES:-}" ] || cp "$work"/looks/*.png "$EDL_KEEP_PICTURES"
kill -TERM $plain
wait $plain || true

# --- points stay at the end of their job ---

ask "/jobs/$curve" -X DELETE >"$work/killed"
over() { [ "$(ask "/jobs/$curve" | jq -r .state)" = killed ]; }
await 120 "curve is over" over
ask "/jobs/$curve/history" | holds '(.progress.time_us | length >= 3) and .roles[0].processes[0] > 0' || fail "$(ask "/jobs/$curve/history")"
echo "pictures: all good"
