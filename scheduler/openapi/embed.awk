# embed.awk - a text file to one C string literal, line by line; POSIX awk
{
    gsub(/\\/, "&&") # not "\\\\": how gsub reads that differs
    gsub(/"/, "\\\"")
    print "\"" $0 "\\n\""
}
