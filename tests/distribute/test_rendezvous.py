"""How the workers of a job find each other: strangers at the port of worker 0, the address to which
it binds, and host names that other machines cannot reach.
"""

import ipaddress
import os
import socket
import subprocess
import sys
import threading

import pytest

from podium import distribute
from podium.distribute._addresses import (
    bindable_addresses,
    check_gloo_address,
    choose_bind_host,
    open_port,
)
from podium.distribute._rendezvous import accept_workers

LONG = 120  # seconds to wait for what always happens, however busy the machine is
HELLO = b"hello 1 99 there token\n"


class Strangers:
    """Connections to a port that send one byte at a time, and never a whole line."""

    def __init__(self, port, count):
        self.sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        self.refused = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self):
        while not self._closing.wait(0.02) and not self.refused.is_set():
            for connection in self.sockets:
                try:
                    connection.send(b"h")
                except OSError:
                    self.refused.set()

    def close(self):
        self._closing.set()
        self._thread.join()
        for connection in self.sockets:
            connection.close()


@pytest.fixture
def rendezvous():
    """An open port, its number, and a function that connects strangers to it."""
    server = open_port("127.0.0.1")
    port = server.getsockname()[1]
    strangers = []

    def connect_strangers(count):
        strangers.append(Strangers(port, count))
        return strangers[-1]

    yield server, port, connect_strangers
    for group in strangers:
        group.close()
    server.close()


def test_slow_strangers_do_not_delay_the_workers(rendezvous, monkeypatch):
    monkeypatch.setattr("podium.distribute._rendezvous._GREETING_SECONDS", LONG)
    server, port, connect_strangers = rendezvous
    connect_strangers(20)
    with socket.create_connection(("127.0.0.1", port)) as worker:
        worker.sendall(HELLO + b"beat\n")
        (greeting,) = accept_workers(server, 2, "token", LONG).values()
        assert (greeting.worker, greeting.process, greeting.host) == (1, "99", "there")
        assert greeting.connection.recv(100) == b"beat\n"  # what follows a greeting is not lost
        greeting.connection.close()


def test_one_deadline_ends_a_greeting_however_many_bytes_arrive(rendezvous, monkeypatch):
    monkeypatch.setattr("podium.distribute._rendezvous._GREETING_SECONDS", 0.3)
    server, port, connect_strangers = rendezvous
    strangers = connect_strangers(1)

    def connect_when_stranger_is_refused():
        assert strangers.refused.wait(LONG)
        worker.connect(("127.0.0.1", port))
        worker.sendall(HELLO)

    with socket.socket() as worker:
        thread = threading.Thread(target=connect_when_stranger_is_refused)
        thread.start()
        greetings = accept_workers(server, 2, "token", LONG)
        thread.join()
        assert list(greetings) == [1]
        greetings[1].connection.close()


def test_only_greetings_of_the_job_are_accepted(rendezvous):
    server, port, _ = rendezvous
    refused = [
        b"hello 1 99 there wrong\n",
        b"hello 0 99 there token\n",  # the chief itself
        b"hello 2 99 there token\n",  # of 2 workers
        b"hello x 99 there token\n",
        b"hello 1 99\n",
        b"\xff\xfe\n",
        b"x" * 5000 + b"\n",
        b"",
    ]
    sockets = []
    for line in [*refused, HELLO]:
        sockets.append(socket.create_connection(("127.0.0.1", port)))
        sockets[-1].sendall(line)
    sockets[-2].close()
    greetings = accept_workers(server, 2, "token", LONG)
    assert list(greetings) == [1]
    greetings[1].connection.close()
    for connection in sockets:
        connection.close()


def test_more_strangers_than_are_kept_do_not_exclude_a_worker(rendezvous, monkeypatch):
    monkeypatch.setattr("podium.distribute._rendezvous._GREETING_SECONDS", LONG)
    monkeypatch.setattr("podium.distribute._rendezvous._MAX_PENDING", 4)
    server, port, _ = rendezvous
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(12)]
    with socket.create_connection(("127.0.0.1", port)) as worker:
        worker.sendall(HELLO)
        greetings = accept_workers(server, 2, "token", LONG)
    assert list(greetings) == [1]
    greetings[1].connection.close()
    for connection in strangers:
        connection.close()


def test_missing_workers_are_named(rendezvous):
    server, _, connect_strangers = rendezvous
    connect_strangers(1)
    with pytest.raises(RuntimeError, match=r"Workers \[1, 2\] have not connected within 0 seconds"):
        accept_workers(server, 3, "token", 0.2)


# --- the address to which worker 0 binds


def cluster(host, spans_machines=None):
    address = f"[{host}]:1" if ":" in host else f"{host}:1"
    return distribute.Cluster(address, 2, 0, "arguments", spans_machines)


@pytest.fixture
def resolve(monkeypatch):
    """Let host names resolve to chosen addresses; others resolve as usual."""
    names = {}
    getaddrinfo = socket.getaddrinfo

    def resolve_name(host, *arguments, **options):
        if host in names and not names[host]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        results = [
            getaddrinfo(address, *arguments, **options) for address in names.get(host, [host])
        ]
        return [result for rows in results for result in rows]

    monkeypatch.setattr(socket, "getaddrinfo", resolve_name)
    monkeypatch.setattr(socket, "gethostname", lambda: "this-machine")
    return names


def test_port_is_bound_to_the_named_address_alone():
    host = choose_bind_host(cluster("127.0.0.2"), None)
    with open_port(host) as server:
        address, port = server.getsockname()
        assert address == "127.0.0.2"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize(
    ("requested", "reached"), [("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("::", "::1")]
)
def test_all_interfaces_are_used_only_on_request(requested, reached):
    with pytest.warns(UserWarning, match=rf"binds to {requested}, that is to all interfaces"):
        assert choose_bind_host(cluster("10.1.2.3"), requested) == requested
    with open_port(requested) as server:
        socket.create_connection((reached, server.getsockname()[1])).close()


def test_address_of_another_machine_is_refused_with_the_remedy(resolve):
    message = (
        r"Worker 0 cannot bind to 'service' \(203.0.113.9\), which is not an address of this "
        r"machine.*PODIUM_BIND_HOST; bind_host='0.0.0.0'"
    )
    resolve["service"] = ["203.0.113.9"]
    with pytest.raises(ValueError, match=message):
        choose_bind_host(cluster("service"), None)
    resolve["nowhere"] = []
    with pytest.raises(ValueError, match=r"The host name 'nowhere' .* cannot be resolved"):
        choose_bind_host(cluster("nowhere"), None)


def test_public_address_causes_a_warning(resolve, monkeypatch):
    resolve["public"] = ["8.8.8.8"]
    monkeypatch.setattr("podium.distribute._addresses._is_bindable", lambda address: True)
    with pytest.warns(UserWarning, match=r"binds to 'public' \(8.8.8.8\), a public address.*JAX"):
        assert choose_bind_host(cluster("public"), None) == "public"
    resolve["private"] = ["10.1.2.3"]
    assert choose_bind_host(cluster("private"), None) == "private"


def test_addresses_of_several_families_are_found(resolve):
    resolve["both"] = ["::1", "127.0.0.1"]
    assert bindable_addresses("both") == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]


# --- host names that resolve to a loopback address


def test_chief_whose_name_is_a_loopback_address_is_reported(resolve):
    resolve["node1"] = ["127.0.1.1"]
    with pytest.raises(ValueError, match=r"'node1' resolves to 127.0.1.1 on this .*/etc/hosts"):
        choose_bind_host(cluster("node1", spans_machines=True), None)
    with pytest.warns(UserWarning, match=r"Workers on other machines cannot reach it"):
        choose_bind_host(cluster("node1"), None)
    assert choose_bind_host(cluster("node1", spans_machines=False), None) == "node1"
    assert choose_bind_host(cluster("localhost"), None) == "localhost"


def test_gloo_address_that_other_machines_cannot_reach_is_reported(resolve):
    resolve["this-machine"] = ["127.0.1.1"]
    message = r"The name of this machine, 'this-machine', resolves to 127.0.1.1.*Gloo.*/etc/hosts"
    with pytest.raises(ValueError, match=message):
        check_gloo_address(cluster("10.0.0.1", spans_machines=True))
    # This process cannot bind to the coordinator's address, so that is another machine.
    with pytest.raises(ValueError, match=message):
        check_gloo_address(cluster("203.0.113.9"))
    check_gloo_address(cluster("203.0.113.9", spans_machines=False))
    check_gloo_address(cluster("127.0.0.1"))
    check_gloo_address(cluster("localhost"))
    resolve["this-machine"] = ["127.0.1.1", "10.0.0.7"]
    with pytest.raises(ValueError, match=message):  # Gloo uses the first one
        check_gloo_address(cluster("10.0.0.1", spans_machines=True))
    resolve["this-machine"] = ["10.0.0.7"]
    check_gloo_address(cluster("10.0.0.1", spans_machines=True))


def test_gloo_address_is_doubtful_where_machines_are_unknown(resolve, monkeypatch):
    resolve["this-machine"] = ["127.0.1.1"]
    monkeypatch.setattr("podium.distribute._addresses._is_bindable", lambda address: True)
    with pytest.warns(UserWarning, match=r"'this-machine', resolves to 127.0.1.1"):
        check_gloo_address(cluster("10.0.0.1"))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TF_CONFIG": ["a:1", "b:1"]}, True),
        ({"TF_CONFIG": ["a:1", "a:2"]}, False),
        ({"TF_CONFIG": ["a:1", "localhost:2"]}, False),
        ({"SLURM_STEP_NODELIST": "n[1-2]"}, True),
        ({"SLURM_STEP_NODELIST": "a,b"}, True),
        ({"SLURM_STEP_NODELIST": "n1", "SLURM_JOB_NODELIST": "n[1-2]"}, False),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, False),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "1", "PODIUM_COORDINATOR_HOST": "a"}, True),
        ({"PODIUM_COORDINATOR_HOST": "a"}, None),
    ],
)
def test_cluster_knows_whether_it_spans_machines(environment, expected):
    if "TF_CONFIG" in environment:
        hosts = str(environment["TF_CONFIG"]).replace("'", '"')
        task = '{"type": "worker", "index": 0}'
        environment = {"TF_CONFIG": f'{{"cluster": {{"worker": {hosts}}}, "task": {task}}}'}
    elif "SLURM_STEP_NODELIST" in environment:
        environment = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", **environment}
    else:
        environment = {
            "OMPI_COMM_WORLD_RANK": "0",
            "OMPI_COMM_WORLD_SIZE": "2",
            **environment,
        }
    assert distribute.find_cluster(environment).spans_machines is expected


def test_strategy_on_a_machine_with_a_loopback_name_ends_before_it_binds():
    """The default of Debian: the name of the machine is 127.0.1.1 in /etc/hosts."""
    script = """if True:
        import socket
        getaddrinfo = socket.getaddrinfo
        def resolve(host, *rest, **options):
            return getaddrinfo("127.0.1.1" if host == "node1" else host, *rest, **options)
        socket.getaddrinfo = resolve
        import podium
        podium.distribute.MultiWorkerMirroredStrategy()
    """
    hosts = '{"worker": ["node1:20999", "node2:20999"]}'
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "TF_CONFIG": f'{{"cluster": {hosts}, "task": {{"type": "worker", "index": 0}}}}',
        },
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 1
    assert "ValueError: The host name 'node1' resolves to 127.0.1.1 on this machine" in done.stderr
