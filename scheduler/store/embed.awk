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
    number = substr(name, 1, 4) + 0
    if (number != last + 1) {
        print "embed.awk: " name " does not follow number " last ": two files of one number leave no database that opens" >"/dev/stderr"
        failed = 1
        exit 1
    }
    last = number
    printf "{ %d, \"%s\",\n", number, name
}
{
    line = $0
    sub(/--.*$/, "", line) # comments stay in the file; no string of ours holds two dashes
    sub(/[ \t]+$/, "", line)
    if (line != "")
        print quote(line)
}
END {
    if (NR > 0 && !failed)
        print "},"
}
