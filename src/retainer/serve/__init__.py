"""Versions behind HTTP: server, routes, limits, page (extra `serve`)."""
