#!/usr/bin/env python3
"""Whatever the programs tell people to type is something that `edl` knows: verb, action and options.

Every `edl VERB` in the string literals of the sources is compared with what `edl help` says. Prints what is not known, and
how much was looked at; the exit status is 1 when anything is not known.

    remedies.py EDL SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

edl, source = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDERS = ("agent", "client", "scheduler", "shared", "simulator", "trainer")
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:(?:\s|PRI\w+)*"(?:[^"\\\n]|\\.)*")*')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r'/\*.*?\*/', re.S)
COMMAND = re.compile(r'(?<![\w/.~-])edl ((?!help\b)[a-z][\w-]*)([^`,;()\\]*)')
NO_COMMAND = {"edl cluster "}  # the name of an authority


def help_of(*words):
    return subprocess.run([edl, "help", *words], capture_output=True, text=True, check=True).stdout


def actions_of(text):
    """The first words of a usage such as "add NAME | remove NAME"; none when the verb has no actions."""
    usage = re.sub(r"\[[^]]*\]", "", " ".join(text.splitlines()[0].split()[3:]))
    words = {(part.split() or [""])[0] for part in usage.split(" | ")}
    return words if all(re.fullmatch(r"[a-z]+", word) for word in words) else set()


verbs = {name: help_of(name) for name in re.findall(r"^  ([a-z][a-z-]*)  ", help_of(), re.M)}
found = unknown = 0
for path in sorted(p for folder in FOLDERS for p in (source / folder).rglob("*.[ch]")):
    text = COMMENT.sub(lambda m: "\n" * m.group(0).count("\n"), path.read_text())
    for literals in LITERALS.finditer(text):
        literal = "".join(LITERAL.findall(literals.group(0)))
        for command in COMMAND.finditer(literal):
            if literal in NO_COMMAND:
                continue
            found += 1
            verb, rest = command.group(1), command.group(2)
            about = verbs.get(verb)
            wrong = []
            if about is None:
                wrong.append(f"there is no verb {verb}")
            else:
                first = rest.split()[0].rstrip(":.") if rest.split() else ""
                actions = actions_of(about)
                if actions and re.fullmatch(r"[a-z]+", first) and first not in actions:
                    wrong.append(f"{verb} has no {first}")
                wrong += [f"{verb} has no {option}" for option in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", rest)
                          if not re.search(rf"(?<!\S){option}\b", about)]
            for what in wrong:
                unknown += 1
                line = text.count("\n", 0, literals.start()) + 1
                print(f"{path.relative_to(source)}:{line}: {what}: edl {verb}{rest}")
print(f"{found} commands are told to people, {unknown} are not known")
sys.exit(1 if unknown or found == 0 else 0)
