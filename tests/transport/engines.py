"""The same test on every engine: `free_port` is an endpoint of each that takes a port nobody has."""

import pytest

FREE_PORT = "tcp://127.0.0.1:*"
ZENOH_FREE_PORT = "zenoh:?listen=tcp/127.0.0.1:0"

on_every_engine = pytest.mark.parametrize("free_port", [FREE_PORT, ZENOH_FREE_PORT], ids=["zmq", "zenoh"])
