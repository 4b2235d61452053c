"""The address to which worker 0 binds, and host names that other machines cannot reach.

Ports are bound to the named address, not to all interfaces: JAX's coordinator accepts every
client.
"""

from __future__ import annotations

import ipaddress
import socket

from podium.core import warn_user
from podium.distribute._cluster import Cluster, is_loopback_name

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_BACKLOG = 128
_HOSTS_FILE = (
    "Correct its line in /etc/hosts to the address by which other machines reach this one (Debian "
    "and Ubuntu write 127.0.1.1 there)"
)
_PUBLIC = (
    "Worker 0 binds to {where}. JAX's coordinator and collectives are neither authenticated nor "
    "encrypted: anyone who reaches their ports can disturb the job or read its values. Use an "
    "address of a private network, or close the ports to others with a firewall."
)


def choose_bind_host(cluster: Cluster, bind_host: str | None) -> str:
    """Return the host to which worker 0 binds: the coordinator's, unless another one is given.

    Warns if the port can be reached publicly, or only from this machine.

    Args:
        cluster: The workers.
        bind_host: The host or address that the user has chosen for this.

    Raises:
        ValueError: The host is not this machine; or its name resolves to a loopback address, and
            there are workers on other machines.
    """
    host = bind_host or cluster.host
    addresses = _resolve_host(host)
    label = _label(host, addresses)
    if not bindable_addresses(host):
        raise ValueError(
            f"Worker 0 cannot bind to {label}, which is not an address of this machine. Start "
            "worker 0 on the machine that the coordinator's address names. If the workers reach it "
            "by another address, as through a service of Kubernetes, pass the address to which it "
            "binds as bind_host= or in PODIUM_BIND_HOST; bind_host='0.0.0.0' binds to all "
            "interfaces."
        )
    if any(address.is_unspecified for address in addresses):
        warn_user(_PUBLIC.format(where=f"{host}, that is to all interfaces of this machine"))
    elif any(address.is_global for address in addresses):
        warn_user(_PUBLIC.format(where=f"{label}, a public address"))
    elif all(address.is_loopback for address in addresses) and not is_loopback_name(host):
        _report_loopback(
            cluster,
            f"The host name {host!r} resolves to {addresses[0]} on this machine, to which worker 0 "
            f"binds. Workers on other machines cannot reach it. {_HOSTS_FILE}, or name an "
            "address instead of the host. If all workers are on this machine, name 'localhost'.",
        )
    return host


def check_gloo_address(cluster: Cluster) -> None:
    """Report it if workers on other machines cannot reach this one. On CPU the workers connect to
    each other by Gloo, which binds to the address of the machine's own name.

    Raises:
        ValueError: The name resolves to a loopback address, and there are several machines.
    """
    name = socket.gethostname()
    addresses = _resolve_host(name)
    if is_loopback_name(cluster.host) or not addresses[0].is_loopback:
        return
    coordinator = _resolve_host(cluster.host)
    if all(address.is_loopback for address in coordinator):
        return  # all on this machine, or `choose_bind_host` reports it
    _report_loopback(
        cluster,
        f"The name of this machine, {name!r}, resolves to {addresses[0]}. Workers on other "
        f"machines cannot reach it there: Gloo, which connects workers on CPU, binds to that "
        f"address. {_HOSTS_FILE}. If all workers are on this machine, name 'localhost' as the host "
        "of the coordinator.",
        elsewhere=not bindable_addresses(cluster.host),
    )


def bindable_addresses(host: str) -> list[_Address]:
    """Return the addresses of a host to which this machine can bind, IPv4 first."""
    addresses = [address for address in _resolve_host(host) if _is_bindable(address)]
    return sorted(addresses, key=lambda address: address.version)


def open_port(host: str) -> socket.socket:
    """Open a free port on the first address of a host, and return the socket."""
    address = bindable_addresses(host)[0]
    all_families = address == ipaddress.IPv6Address("::") and socket.has_dualstack_ipv6()
    return socket.create_server(
        (str(address), 0),
        family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
        backlog=_BACKLOG,
        dualstack_ipv6=all_families,
    )


def _report_loopback(cluster: Cluster, message: str, elsewhere: bool = False) -> None:
    """Raise an error if there are several machines; warn if that is not known."""
    if cluster.num_workers == 1:
        return
    if cluster.spans_machines or (elsewhere and cluster.spans_machines is None):
        raise ValueError(message)
    if cluster.spans_machines is None:
        warn_user(message)


def _resolve_host(host: str) -> list[_Address]:
    """Return the addresses of a host in the order of the system's resolver."""
    try:
        rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ValueError(
            f"The host name {host!r} of a worker cannot be resolved ({error}); a name that this "
            "machine's DNS or /etc/hosts knows was expected, or an address."
        ) from None
    addresses = [str(row[4][0]).partition("%")[0] for row in rows]
    return [ipaddress.ip_address(address) for address in dict.fromkeys(addresses)]


def _is_bindable(address: _Address) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def _label(host: str, addresses: list[_Address]) -> str:
    """Return a name with its addresses, or an address alone."""
    names = ", ".join(map(str, addresses))
    return host if names == host else f"{host!r} ({names})"
