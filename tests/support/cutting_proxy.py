#!/usr/bin/env python3
"""A proxy before a git daemon that cuts pushes off, on loopback.

cutting_proxy.py UPSTREAM_PORT DIRECTORY

Writes its port to DIRECTORY/port. A connection that asks for git-receive-pack takes the first line
of DIRECTORY/plan away, if there is one:

  up N          both ends are closed once N bytes went to the server
  down N        ... once N bytes came from the server
  race COMMAND  sh runs COMMAND when the server has told its references, before the client goes on

and adds a line "UP DOWN" to DIRECTORY/pushes when it has ended: bytes that went each way. All other
connections pass.
"""

import os
import select
import socket
import subprocess
import sys
import threading

PIECE = 65536
lock = threading.Lock()


def take_step(directory):
    """The first line of the plan as [word, rest], or None."""
    path = os.path.join(directory, "plan")
    with lock:
        try:
            with open(path, encoding="utf-8") as plan:
                lines = plan.read().splitlines()
        except FileNotFoundError:
            return None
        if not lines:
            return None
        with open(path + ".new", "w", encoding="utf-8") as plan:
            plan.write("".join(line + "\n" for line in lines[1:]))
        os.replace(path + ".new", path)
    return lines[0].split(" ", 1)


def note(directory, counts):
    with lock, open(os.path.join(directory, "pushes"), "a", encoding="utf-8") as log:
        log.write(f"{counts['up']} {counts['down']}\n")


def pump(client, upstream, directory, counts):
    """Passes on what comes until both ends have closed or the connection is cut; whether it was a
    push."""
    ways = {client: ("up", upstream), upstream: ("down", client)}
    head = b""
    is_push = False
    step = None
    while ways:
        for end in select.select(list(ways), [], [])[0]:
            way, peer = ways[end]
            data = end.recv(PIECE)
            if not data:
                peer.shutdown(socket.SHUT_WR)
                del ways[end]
                continue
            if way == "up" and not is_push and len(head) < PIECE:
                head += data
                if b"git-receive-pack" in head:
                    is_push = True
                    step = take_step(directory)
            if step and step[0] == "race" and way == "up" and counts["down"] > 0:
                subprocess.run(["sh", "-c", step[1]], check=True)
                step = None
            if step and step[0] == way and counts[way] + len(data) >= int(step[1]):
                rest = data[: int(step[1]) - counts[way]]
                peer.sendall(rest)
                counts[way] += len(rest)
                return True
            peer.sendall(data)
            counts[way] += len(data)
    return is_push


def serve(client, upstream_port, directory):
    counts = {"up": 0, "down": 0}
    is_push = False
    with client, socket.create_connection(("127.0.0.1", upstream_port)) as upstream:
        try:
            is_push = pump(client, upstream, directory, counts)
        except OSError:  # the other end is gone
            is_push = True
    if is_push:
        note(directory, counts)


def main():
    upstream_port, directory = int(sys.argv[1]), sys.argv[2]
    listener = socket.create_server(("127.0.0.1", 0))
    with open(os.path.join(directory, "port.new"), "w", encoding="utf-8") as port:
        port.write(str(listener.getsockname()[1]))
    os.replace(os.path.join(directory, "port.new"), os.path.join(directory, "port"))
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, upstream_port, directory), daemon=True).start()


main()
