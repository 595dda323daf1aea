#!/usr/bin/python3
"""Runs a command in a network with a name server (127.0.0.53) and a web server (port 8080 of each address).

  network_world.py FOLDER COMMAND...

In network and mount namespaces that the caller has made; FOLDER is for resolv.conf and hosts. What it cannot set up
ends with 77.
"""
import http.server
import os
import socket
import struct
import subprocess
import sys
import threading

NAMES = {"web.example.org": "192.0.2.80", "other.example.org": "192.0.2.81"}


def answer(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1:at + 3])[0]
    address = NAMES.get(".".join(labels).lower())
    record = b""
    if address and kind == 1:  # A
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(address)
    code = 0x8180 if address else 0x8183
    return query[:2] + struct.pack(">HHHHH", code, 1, 1 if record else 0, 0, 0) + query[12:at + 5] + record


def serve_names(server):
    while True:
        query, client = server.recvfrom(4096)
        server.sendto(answer(query), client)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"page for " + self.headers["Host"].encode())

    def log_message(self, *words):
        pass


def set_up(folder):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", "192.0.2.0/24", "dev", "lo"], check=True)
    for name, text in (("resolv.conf", "nameserver 127.0.0.53\n"), ("hosts", "127.0.0.1 localhost\n")):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        subprocess.run(["mount", "--bind", path, "/etc/" + name], check=True)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.53", 53))
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    web = http.server.ThreadingHTTPServer(("", 8080), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()


try:
    set_up(sys.argv[1])
except (OSError, subprocess.CalledProcessError) as error:
    print(f"no world can be made here: {error}", file=sys.stderr)
    sys.exit(77)
sys.exit(subprocess.run(sys.argv[2:], check=False).returncode)
