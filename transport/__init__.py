"""Bytes between processes: codec, publisher, subscriber, replica, service."""
