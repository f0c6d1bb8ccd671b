# SPDX-License-Identifier: Apache-2.0
"""tests/lib/smtp_receiver.py FOLDER - takes mails by SMTP on a port of its own, which it writes to FOLDER/port.

Each becomes a file FOLDER/N.mail: a line for the sender and each receiver, an empty one, and the mail. It refuses each
receiver with the word nobody in the address."""
import os
import socketserver
import sys
import threading

folder = sys.argv[1]
lock = threading.Lock()
n_mails = 0


class Handler(socketserver.StreamRequestHandler):
    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def line(self):
        return self.rfile.readline().decode()

    def take(self, envelope):
        global n_mails
        self.say("354 go on")
        mail = []
        while (line := self.line()) not in ("", ".\r\n"):
            mail.append(line[1:] if line.startswith(".") else line)
        with lock:
            n_mails += 1
            name = f"{folder}/{n_mails}"
        with open(name, "w", newline="") as file:
            file.write("".join(line + "\n" for line in envelope) + "\n" + "".join(mail))
        os.rename(name, name + ".mail")
        self.say("250 taken")

    def handle(self):
        envelope = []
        self.say("220 here")
        while line := self.line():
            word = line[:4].upper()
            if word in ("MAIL", "RCPT") and "nobody" not in line:
                envelope.append(line.strip())
            if word == "RCPT" and "nobody" in line:
                self.say("550 no such mailbox")
                continue
            if word == "DATA":
                self.take(envelope)
            else:
                self.say("221 bye" if word == "QUIT" else "250 good")
            if word == "QUIT":
                return


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(folder + "/port.new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(folder + "/port.new", folder + "/port")
print("takes mails", file=sys.stderr, flush=True)
server.serve_forever()
