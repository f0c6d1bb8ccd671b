/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_script.c - see deploy_script.h */
#include "client/deploy/deploy_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/shell_word.h"

#define STATE "/var/lib/edl/agent"
#define OWN_CONF "/etc/edl/agent.conf.d/50-deploy.conf"

/* Any account may know this. */
static const char probe[] =
    "LC_ALL=C; export LC_ALL\n"
    "PATH=$PATH:/usr/sbin:/sbin\n"
    "echo \"edl:uid=$(id -u)\"\n"
    "echo \"edl:hostname=$(hostname 2>/dev/null || cat /etc/hostname)\"\n"
    "if [ -r /etc/os-release ]; then . /etc/os-release; fi\n"
    "echo \"edl:os=${ID:-unknown} ${VERSION_ID:-}\"\n"
    "echo \"edl:like=${ID:-} ${ID_LIKE:-}\"\n"
    "if [ -d /run/systemd/system ]; then echo edl:systemd=yes; fi\n"
    "if command -v dpkg >/dev/null; then echo \"edl:arch=$(dpkg --print-architecture)\"; fi\n"
    "if [ \"$(id -u)\" = 0 ]; then :\n"
    "elif ! command -v sudo >/dev/null; then :\n"
    "elif sudo -n true 2>/dev/null; then echo edl:sudo=free\n"
    "else echo edl:sudo=password; fi\n";

/* Facts about the package; run again once it is installed. */
static const char look_package[] =
    "dpkg-query -W -f '${db:Status-Status} ${Version}\\n' edl-agent 2>/dev/null | sed -n "
    "'s/^installed /edl:installed=/p'\n"
    "for p in trainer:edl-trainer python:python3-edl; do\n"
    "  [ \"$(dpkg-query -W -f '${db:Status-Status}' ${p#*:} 2>/dev/null)\" != installed ] || echo "
    "\"edl:has_${p%:*}=yes\"\n"
    "done\n";

/* Of repositories only: what is installed is a candidate of itself. $apt is the newest there. */
static const char look_apt[] =
    "apt=$(apt-cache madison edl-agent 2>/dev/null | sed -n '1s/^[^|]*| *\\([^ |]*\\).*/\\1/p')\n"
    "echo \"edl:candidate=$apt\"\n"
    "for p in trainer:edl-trainer python:python3-edl; do\n"
    "  [ -z \"$(apt-cache madison ${p#*:} 2>/dev/null)\" ] || echo \"edl:offers_${p%:*}=yes\"\n"
    "done\n";

/* The scheduler's own machine is told by agent.conf which cluster it belongs to: it has a
 * credential and no member.json. */
static const char look_member[] =
    "f=" STATE "/member.json\n"
    "if [ -r $f ]; then\n"
    "  tr -d '\\n' <$f | sed -n 's/.*\"node\": *\"\\([^\"]*\\)\".*/edl:member=\\1/p'; echo\n"
    "elif [ -e " STATE "/credential ]; then echo \"edl:member=$(hostname)\"; fi\n"
    "if systemctl is-active -q edl-agent; then echo edl:active=yes; fi\n";

static char *look_settings(const struct deploy_plan *plan)
{
    _cleanup_free_ char *root = shell_quote(plan->root_dir != NULL ? plan->root_dir : "");
    _cleanup_free_ char *nic = shell_quote(plan->nic != NULL ? plan->nic : "");

    return text_format(
        "d=%s; if [ -n \"$d\" ] && [ -d \"$d\" ]; then\n"
        "  echo edl:root_dir=yes\n"
        "  m=$(stat -Lc %%a \"$d\"); case $m in *[2367]) ;; *) echo \"edl:finding=warning  "
        "ROOT_DIR: not every account may write to $d; try: chmod 1777 $d, or another "
        "ROOT_DIR\" ;; esac\n"
        "fi\n"
        "n=%s; if [ -n \"$n\" ] && command -v ip >/dev/null; then\n"
        "  ip -o -4 addr show dev \"$n\" scope global 2>/dev/null |\n"
        "    sed -n '1s,.* inet \\([0-9.]*\\)/.*,edl:address=\\1,p'\n"
        "  [ -n \"$(ip -o -4 addr show dev \"$n\" scope global 2>/dev/null)\" ] || echo "
        "\"edl:finding=warning  PADDLE_NIC: there is no interface $n with an IPv4 "
        "address; try: ip -br addr\"\n"
        "  sed -n 's/^address: */edl:address_now=/p' " OWN_CONF " 2>/dev/null\n"
        "fi\n",
        root, nic);
}

/* Of the packages of this machine, whether the agent's is newer than what is installed. */
static char *look_newer(const struct deploy_plan *plan)
{
    const char *version = "";
    _cleanup_free_ char *quoted = NULL;

    for (size_t i = 0; i < plan->n_packages; i++)
        if (streq(plan->packages[i].name, "edl-agent"))
            version = plan->packages[i].version;
    quoted = shell_quote(version);
    return text_format("i=$(dpkg-query -W -f '${Version}' edl-agent 2>/dev/null); own=%s\n"
                       "if [ -n \"$i\" ] && [ -n \"$own\" ] && dpkg --compare-versions \"$own\" gt "
                       "\"$i\"; then echo "
                       "edl:newer_here=yes; fi\n"
                       "if [ -n \"$i\" ] && [ -n \"$apt\" ] && dpkg --compare-versions \"$apt\" gt "
                       "\"$i\"; then echo "
                       "edl:newer_there=yes; fi\n",
                       quoted);
}

static char *look(const struct deploy_plan *plan)
{
    _cleanup_free_ char *settings = look_settings(plan);
    const char *update =
        plan->mode == DEPLOY_UPGRADE ? "apt-get -qq update </dev/null >/dev/null 2>&1\n" : "";
    _cleanup_free_ char *newer = look_newer(plan);

    return text_format("%s%s%s%s%s%s:\n", look_package, update, look_apt, newer, look_member,
                       settings);
}

static char *upload(const struct deploy_plan *plan, const struct deploy_host *host)
{
    const struct deploy_package *package = deploy_core_package(plan, host);
    const char *slash = strrchr(package->path, '/');
    _cleanup_free_ char *file = shell_quote(slash != NULL ? slash + 1 : package->path);
    _cleanup_free_ char *folder = shell_quote(host->facts.dir);

    return text_format("umask 077\n"
                       "d=%s\n"
                       "if [ -z \"$d\" ]; then d=$(mktemp -d /tmp/edl-deploy.XXXXXXXX) || exit 1; "
                       "echo \"edl:dir=$d\"; fi\n"
                       "f=$d/%s\n"
                       "cat >\"$f\" || { rm -rf \"$d\"; exit 1; }\n"
                       "echo \"%s  $f\" | sha256sum -c --quiet - || { rm -rf \"$d\"; exit 1; }\n",
                       folder, file, package->sha256);
}

/* Runs apt-get, whose words go to a file. Meanwhile a line now and then says that this host lives:
 * apt may wait for a lock, or for a mirror. */
#define GET                                                                                        \
    "log=$(mktemp) || exit 1\n"                                                                    \
    "get() {\n"                                                                                    \
    "  env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o "                  \
    "Dpkg::Use-Pty=0 -y --no-install-recommends \"$@\" </dev/null >>\"$log\" 2>&1 &\n"             \
    "  apt=$!\n"                                                                                   \
    "  (while sleep 20 </dev/null >/dev/null 2>&1; do echo edl:alive=yes; done) &\n"               \
    "  lives=$!\n"                                                                                 \
    "  wait $apt\n"                                                                                \
    "  set -- $?\n"                                                                                \
    "  kill $lives 2>/dev/null\n"                                                                  \
    "  return $1\n"                                                                                \
    "}\n"

/* A lost connection does not end the script: apt's words go to a file, and are shown when it
 * failed. The trainer and the Python module, which jobs of run.sh call, need more of Debian than a
 * node does: they come last, and may be missing. */
static char *install(const struct deploy_host *host)
{
    _cleanup_free_ char *folder = shell_quote(host->facts.dir);
    /* by whence they come, and whether the agent stays as it is: then what the others lack and was
     * sent along goes with each of them */
    static const char *const choose[2][2] = {
        { "set -- edl-agent edl-client\n", "" },
        { "for f in \"$d\"/*.deb; do\n"
          "  case $f in */edl-trainer_* | */python3-edl_*) ;; *) set -- \"$@\" \"$f\" ;; esac\n"
          "done\n",
          "for f in \"$d\"/*.deb; do\n"
          "  case $f in */edl-agent_* | */edl-client_* | */edl-trainer_* | */python3-edl_*) ;;\n"
          "  *) mkdir -p \"$d/lacking\" && mv \"$f\" \"$d/lacking\" ;; esac\n"
          "done\n" },
    };
    static const char *const more[] = {
        "more() {\n"
        "  [ -n \"$(apt-cache madison \"$1\" 2>/dev/null)\" ] || return 0\n"
        "  get install \"$1\" || { get update && get install \"$1\"; }\n"
        "}\n",
        "more() {\n"
        "  set -- \"$d/$1\"_*.deb \"$d\"/lacking/*.deb\n"
        "  [ -f \"$1\" ] || return 0\n"
        "  [ -f \"$2\" ] || set -- \"$1\"\n"
        "  get install \"$@\"\n"
        "}\n",
    };

    return text_format(
        "d=%s\n"
        "set --\n"
        "%s%s" GET "s=0\n"
        "if [ $# != 0 ]; then get install \"$@\"; s=$?; fi\n"
        "if [ $s != 0 ] && get update; then get install \"$@\"; s=$?; fi\n"
        "if [ $s != 0 ]; then grep -v '^N: ' \"$log\" | tail -n 6; fi\n"
        "if [ $s = 0 ]; then\n"
        "  for p in edl-trainer python3-edl; do\n"
        "    more $p || echo \"edl:finding=warning  $p: cannot be installed; try: apt-get "
        "install $p there, which says what it lacks\"\n"
        "  done\n"
        "fi\n"
        "rm -f \"$log\"\n"
        "if [ -n \"$d\" ]; then rm -rf \"$d\"; fi\n"
        "%s%s"
        "exit $s\n",
        folder, choose[host->sent_from_here][host->programs_only], more[host->sent_from_here],
        look_package, look_member);
}

/* Settings of the list of hosts first, as the agent reads them when it starts. */
static char *join(const struct deploy_plan *plan, const struct deploy_host *host,
                  const struct deploy_join *to)
{
    _cleanup_free_ char *root = shell_quote(plan->root_dir != NULL ? plan->root_dir : "");
    _cleanup_free_ char *address = shell_quote(host->facts.address);
    _cleanup_free_ char *server = shell_quote(to->token != NULL ? to->server : "");
    _cleanup_free_ char *pin = shell_quote(to->token != NULL ? to->ca_pin : "");
    _cleanup_free_ char *node = shell_quote(host->facts.hostname);

    return text_format(
        "umask 022\n"
        "root=%s\n"
        "if [ -n \"$root\" ] && [ ! -d \"$root\" ]; then mkdir -p \"${root%%%%/*}/\" && "
        "mkdir -p -m 1777 \"$root\" || exit 1; fi\n"
        "address=%s; now=$(sed -n 's/^address: *//p' " OWN_CONF " 2>/dev/null)\n"
        "fresh=no\n"
        "if [ -n \"$address\" ] && [ \"$address\" != \"$now\" ]; then\n"
        "  mkdir -p /etc/edl/agent.conf.d && printf '# by edl deploy\\naddress: %%s\\n' "
        "\"$address\" "
        ">" OWN_CONF " || exit 1\n"
        "  fresh=yes\n"
        "fi\n"
        "server=%s; pin=%s\n"
        "if [ -n \"$server\" ]; then\n"
        "  umask 077\n"
        "  t=$(mktemp /run/edl-join.XXXXXXXX) || exit 1\n"
        "  trap 'rm -f \"$t\"' EXIT\n"
        "  cat >\"$t\" || exit 1\n"
        "  systemctl stop edl-agent </dev/null >/dev/null 2>&1\n"
        "  edl-agent --join \"$server\" --join-token-file \"$t\" ${pin:+--ca-pin \"$pin\"} --node "
        "%s "
        "--join-only </dev/null\n"
        "  s=$?\n"
        "  rm -f \"$t\"\n"
        "  if [ $s != 0 ]; then exit $s; fi\n"
        "fi\n"
        "systemctl enable -q edl-agent </dev/null >/dev/null 2>&1\n"
        "if [ $fresh = yes ]; then systemctl restart edl-agent </dev/null; else systemctl start "
        "edl-agent "
        "</dev/null; fi\n"
        "s=$?\n"
        "if [ $s != 0 ]; then journalctl -q -u edl-agent -n 4 -o cat --no-pager; exit $s; fi\n"
        "%s",
        root, address, server, pin, node, look_member);
}

static const char doctor[] =
    "r=$(edl-doctor 2>&1); s=$?\n"
    "printf '%s\\n' \"$r\" | sed -n 's/^\\(warning\\|problem\\) /edl:finding=\\1 /p'\n"
    "echo \"edl:warnings=$(printf '%s\\n' \"$r\" | grep -c '^warning ')\"\n"
    "n=$(printf '%s\\n' \"$r\" | grep -c '^problem ')\n"
    "echo \"edl:problems=$n\"\n"
    "if [ $s = 0 ] || { [ $s = 1 ] && [ \"$n\" != 0 ]; }; then exit 0; fi\n"
    "printf '%s\\n' \"$r\" | tail -n 3\n"
    "exit $s\n";

static const char removal[] =
    "systemctl disable --now edl-agent </dev/null >/dev/null 2>&1\n"
    "set --\n"
    "for i in edl-agent edl-trainer python3-edl edl-client; do\n"
    "  [ \"$(dpkg-query -W -f '${db:Status-Status}' $i 2>/dev/null)\" = installed ] || continue\n"
    "  if [ $i != edl-agent ] && [ \"$(dpkg-query -W -f '${db:Status-Status}' edl-scheduler "
    "2>/dev/null)\" = installed ]; then continue; fi\n"
    "  set -- \"$@\" $i\n"
    "done\n" GET "get purge \"$@\"\n"
    "s=$?\n"
    "if [ $s != 0 ]; then tail -n 6 \"$log\"; fi\n"
    "rm -f \"$log\"\n"
    "exit $s\n";

static bool runs_as_root(enum deploy_step step)
{
    return step == DEPLOY_LOOK || step == DEPLOY_INSTALL || step == DEPLOY_JOIN ||
           step == DEPLOY_DOCTOR || step == DEPLOY_REMOVE;
}

bool deploy_script_needs_password(const struct deploy_host *host)
{
    return runs_as_root(host->step) && host->sudo == DEPLOY_SUDO_PASSWORD;
}

unsigned int deploy_script_patience_s(enum deploy_step step)
{
    static const unsigned int seconds[] = { [DEPLOY_INSTALL] = 120,
                                            [DEPLOY_REMOVE] = 120,
                                            [DEPLOY_JOIN] = 60,
                                            [DEPLOY_DOCTOR] = 60,
                                            [DEPLOY_LOOK] = 30 };

    return step < ELEMENTS(seconds) && seconds[step] > 0 ? seconds[step] : 10;
}

static char *body_of(const struct deploy_plan *plan, const struct deploy_host *host,
                     const struct deploy_join *to)
{
    switch (host->step) {
    case DEPLOY_PROBE:
        return xstrdup(probe);
    case DEPLOY_LOOK:
        return look(plan);
    case DEPLOY_UPLOAD:
        return upload(plan, host);
    case DEPLOY_INSTALL:
        return install(host);
    case DEPLOY_JOIN:
        return join(plan, host, to);
    case DEPLOY_DOCTOR:
        return xstrdup(doctor);
    case DEPLOY_REMOVE:
        return xstrdup(removal);
    default:
        return xstrdup(":\n");
    }
}

char *deploy_script(const struct deploy_plan *plan, const struct deploy_host *host,
                    const struct deploy_join *to)
{
    static const char *const before[] = {
        [DEPLOY_SUDO_ROOT] = "",
        [DEPLOY_SUDO_FREE] = "sudo -n -- ",
        [DEPLOY_SUDO_PASSWORD] = "sudo -k -S -p '' -- ",
    };
    _cleanup_free_ char *body = body_of(plan, host, to), *as_root = NULL, *quoted = NULL;

    if (!runs_as_root(host->step))
        return TAKE_PTR(body);
    as_root = text_format("LC_ALL=C; export LC_ALL\n"
                          "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n%s",
                          body);
    quoted = shell_quote(as_root);
    return text_format("LC_ALL=C %ssh -c %s", before[host->sudo], quoted);
}
