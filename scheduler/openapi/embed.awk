# embed.awk - a text file to one C string literal, line by line; POSIX awk
{
    gsub(/\\/, "\\\\")
    gsub(/"/, "\\\"")
    print "\"" $0 "\\n\""
}
