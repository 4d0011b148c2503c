"""Versions behind HTTP: `retainer serve`. Needs the extra ``serve`` (FastAPI and uvicorn); nothing else imports this.

A request passes ``envelope`` (headers, counting), CORS where it was asked for, ``guard`` (who may ask, how much, how
long) and ``routes``, which hand its texts to the ``batches`` of a version on the ``roster``.
"""
