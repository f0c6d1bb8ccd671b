#!/usr/bin/env bash
# Mails at the end of jobs, through a program in the place of sendmail: what is told and what is not, arrays, 300 jobs, a kill of
# the scheduler before a mail is out, no mailer, a mailer that fails; and bad names and addresses
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
mkdir "$work/mails"
# it tells that it has a mail, then waits for the gate, as long as there is one
cat >"$work/sendmail" <<END
#!/bin/sh
mail=\$(mktemp $work/new.XXXXXX)
cat >"\$mail"
echo "\$*" >>$work/called
[ ! -p $work/gate ] || read -r _ <$work/gate
[ ! -e $work/broken ] || { echo 'no relay' >&2; exit 75; }
mv "\$mail" $work/mails/
END
chmod 755 "$work/sendmail"
scheduler() { # OPTION...
    begin scheduler 'known nodes' edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --mail-domain lab.example "$@"
    scheduler=$pid
    EDL_SERVER=http://$(cat "$work/state/address")
    EDL_TOKEN_FILE=$work/state/admin-token
    export EDL_SERVER EDL_TOKEN_FILE
}
n_mails() { find "$work/mails" -type f | wc -l; }
mails() { [ "$(n_mails)" -ge "$1" ]; }
ids() { sed -n 's/^X-EDL-Notice-Id: //p' "$work"/mails/* | sort; }
has() { grep -qF -- "$1" "$work"/mails/* || fail "no mail says '$1': $(cat "$work"/mails/*)"; }
clear() { rm -f "$work"/mails/*; }
metric() { curl -sS -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER/metrics" | sed -n "s/^$1 //p"; }
metric_is() { [ "$(metric "$1")" = "$2" ]; }
events() { edl events --all --json 2>/dev/null | grep -c "\"$1\"" || true; }
refused() { # TEXT COMMAND...
    local text=$1
    shift
    ! "$@" >"$work/said" 2>&1 || fail "$* is taken"
    grep -qF -- "$text" "$work/said" || fail "$* does not say '$text': $(cat "$work/said")"
}
submit() { edl submit --no-upload --cpu 100m --memory 64Mi "$@" -- sleep 1000 >/dev/null 2>"$work/said"; }

scheduler --mailer "$work/sendmail" --notify-rate 3600
# what was asked for, and nothing else: of four jobs that are killed one is told, and of one that fails because of another
submit --name first --mail-type FAIL --mail-user ann@lab.example
submit --name second --after first --mail-type FAIL --mail-user ann@lab.example,bob
submit --name third --mail-type=END
submit --name fourth --mail-type NONE --mail-user ann@lab.example
submit --name fifth
for job in first third fourth fifth; do edl kill "$job" >/dev/null; done
await 120 'two mails' mails 2
has 'To: ann@lab.example,'
has ' bob@lab.example'
has 'Subject: EDL: job second (2) has failed'
has 'why          it was to run after first (1), which was killed'
has 'see          edl logs 2'
has "To: $(id -un)@lab.example"
has 'Subject: EDL: job third (3) was killed'
[ "$(sort -u "$work/called")" = '-t -i' ] || fail "it was called with $(cat "$work/called")"
await 120 'nothing waits' metric_is edl_notices_waiting 0
[ "$(n_mails)" = 2 ] || fail "more was told: $(cat "$work"/mails/*)"
metric_is 'edl_notices_sent_total{channel="mail"}' 2 || fail "so many were sent: $(metric 'edl_notices_sent_total{channel="mail"}')"
clear

# an array: its end alone; each of its jobs: some mails at once, and the rest gathered
submit --name grid --array 0-999 --mail-type END,FAIL
edl kill grid >/dev/null
await 120 'the mail of an array' mails 1
has 'array grid is over: 0 of 1000 succeeded, 0 failed, 1000 killed'
await 120 'nothing waits' metric_is edl_notices_waiting 0
[ "$(n_mails)" = 1 ] || fail "an array has $(n_mails) mails"
clear
submit --name each --array 0-299 --mail-type END,ARRAY_TASKS
"$python" - "$EDL_SERVER" "$EDL_TOKEN_FILE" <<'END'
import http.client, json, sys
server = http.client.HTTPConnection(sys.argv[1][len("http://"):])
def call(method, path):
    server.request(method, path, headers={"Authorization": "Bearer " + open(sys.argv[2]).read().strip()})
    answer = server.getresponse()
    return json.loads(answer.read() or "{}")
for i in range(300):
    call("DELETE", f"/jobs/each-{i}")
END
told() { # how many notices the mails hold
    { grep -h '^job each-' "$work"/mails/* | wc -l; sed -n 's/^and \([0-9]*\) more.*/\1/p' "$work"/mails/*; } | paste -sd+ | bc
}
all_told() { mails 1 && [ "$(told)" = 300 ]; }
await 120 'all 300 are told' all_told
[ "$(n_mails)" -lt 200 ] || fail "300 jobs have $(n_mails) mails"
clear

# killed before a mail is out: it comes, with the number that it had
mkfifo "$work/gate"
called=$(wc -l <"$work/called")
is_called() { [ "$(wc -l <"$work/called")" -gt "$called" ]; }
submit --name lost --mail-type END --mail-user ann@lab.example
edl kill lost >/dev/null
await 120 'the mailer is called' is_called
before=$(sed -n 's/^X-EDL-Notice-Id: //p' "$work"/new.*)
kill -9 "$scheduler"
wait "$scheduler" || true
mv "$work/gate" "$work/old-gate"
timeout 120 sh -c "echo >'$work/old-gate'" & # the one of before goes on
scheduler --mailer "$work/sendmail"
called=$((called + 1))
await 120 'the mailer is called again' is_called
await 120 'nothing waits' metric_is edl_notices_waiting 0
await 120 'the mail is there' mails 1
[ "$(ids | sort -u)" = "$before" ] || fail "its number was $before, and then $(ids)"
has 'job lost ('
end "$scheduler"
clear

# a mailer that fails is told when the last try has failed
touch "$work/broken"
scheduler --mailer "$work/sendmail" --notify-tries 1
submit --name broken --mail-type END --mail-user ann@lab.example
edl kill broken >/dev/null
await 120 'the failure is told' grep -qF 'notice-failed: 1 notice of admin by mail was given up after 1 try: no relay' "$work/scheduler.log"
! grep -F ann@lab.example "$work/scheduler.log" || fail 'everybody is told of an address'
rm "$work/broken"
end "$scheduler"

# a server of mail, by SMTP
if [ -x /usr/bin/curl ]; then
    mkdir "$work/smtp"
    begin smtp 'takes mails' "$python" "$EDL_SOURCE_DIR/tests/lib/smtp_receiver.py" "$work/smtp"
    scheduler --mailer "smtp://127.0.0.1:$(cat "$work/smtp/port")" --mail-from edl@lab.example
    submit --name served --mail-type END --mail-user ann@lab.example,bob
    edl kill served >/dev/null
    await 120 'the server has it' test -e "$work/smtp/1.mail"
    tr -d '\r' <"$work/smtp/1.mail" | head -n 6 | cmp - <(
        printf '%s\n' 'MAIL FROM:<edl@lab.example>' 'RCPT TO:<ann@lab.example>' 'RCPT TO:<bob@lab.example>' '' 'From: EDL <edl@lab.example>' 'To: ann@lab.example,'
    ) || fail "the mail is $(cat "$work/smtp/1.mail")"
    # an address that the server refuses is no reason to tell nobody
    submit --name some --mail-type END --mail-user nobody@lab.example,ann@lab.example
    edl kill some >/dev/null
    await 120 'one of two has it' test -e "$work/smtp/2.mail"
    grep -q '^RCPT TO:<ann@lab.example>' "$work/smtp/2.mail" || fail "the mail is $(cat "$work/smtp/2.mail")"
    end "$scheduler"
fi

# no mailer: the submitter is told, the log and the events once
scheduler --mailer "$work/no-such-program"
for i in 1 2 3; do
    submit --name "none-$i" --mail-type END --mail-user ann@lab.example
    grep -qF "nobody will be told by mail: no mail can be sent: there is no program $work/no-such-program" "$work/said" || fail "the submitter is told $(cat "$work/said")"
    edl kill "none-$i" >/dev/null
done
await 120 'three were dropped' metric_is edl_notices_dropped_total 3
await 120 'the log says so' grep -q 'notices-off: owners of jobs are not told by mail' "$work/scheduler.log"
[ "$(grep -c 'notices-off: owners of jobs are not told by mail' "$work/scheduler.log")" = 1 ] || fail "the log says $(grep notices-off "$work/scheduler.log")"
metric_is edl_notices_waiting 0 || fail 'something waits'

# what is refused
refused 'this is no address' edl submit --no-upload --mail-user 'ann@lab.example bcc' -- true
refused 'none of NONE' edl submit --no-upload --mail-type FINISHED -- true
bad() { # DOCUMENT: its status
    curl -sS -o "$work/said" -w '%{http_code}' -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" --data-binary "$1" "$EDL_SERVER/jobs"
}
[ "$(bad '{"name": "a\nBcc: eve@x", "trainer": {"entrypoint": "true"}, "notify": {"mail": "ann"}}')" = 422 ] || fail "a name with a line end is taken: $(cat "$work/said")"
[ "$(bad '{"name": "a", "trainer": {"entrypoint": "true"}, "notify": {"mail": "ann\nBcc: eve@x"}}')" = 422 ] || fail "an address with a line end is taken: $(cat "$work/said")"
