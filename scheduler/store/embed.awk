# embed.awk - numbered SQL files to the initialisers of struct migration: { version, "name", "text" },
# POSIX awk; the version is the number that the file's name starts with.
function quote(line) {
    gsub(/\\/, "&&", line) # not "\\\\": how gsub reads that differs
    gsub(/"/, "\\\"", line)
    return "\"" line "\\n\""
}
FNR == 1 {
    if (NR > 1)
        print "},"
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.sql$/, "", name)
    printf "{ %d, \"%s\",\n", substr(name, 1, 4) + 0, name
}
{
    line = $0
    sub(/--.*$/, "", line) # comments stay in the file; no string of ours holds two dashes
    sub(/[ \t]+$/, "", line)
    if (line != "")
        print quote(line)
}
END {
    if (NR > 0)
        print "},"
}
