"""Versions behind HTTP: the server, its routes and limits, and the page (needs the extra ``serve``)."""
