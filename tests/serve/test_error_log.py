"""What others report of the server is one line each, holds no text, and stays short."""

import asyncio
import logging

from retainer.serve.error_log import LINES_PER_PERIOD, PERIOD_SECONDS, ErrorLog, error_log


def test_a_flood_becomes_a_few_lines_and_a_number():
    lines, now = [], 0.0
    handler = ErrorLog(lines.append, clock=lambda: now)
    record = logging.LogRecord("asyncio", logging.ERROR, "", 0, "again", None, None)
    for _ in range(1000):
        handler.handle(record)
    assert lines == ["retainer: again"] * LINES_PER_PERIOD
    now += PERIOD_SECONDS
    handler.handle(record)
    assert lines[LINES_PER_PERIOD:] == [f"retainer: {1000 - LINES_PER_PERIOD} more errors were not logged", lines[0]]


def test_the_event_loop_and_uvicorn_report_no_text_and_no_traceback(capfd):
    async def reports():
        loop = asyncio.get_running_loop()
        loop.call_exception_handler({"message": "accept failed", "exception": OSError(24, "Too many open files")})
        logging.getLogger("uvicorn.error").error("Exception in it\n", exc_info=ValueError("a secret"))
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")

    lines = []
    with error_log(lines.append):
        asyncio.run(reports())
    assert lines == ["retainer: accept failed: Too many open files", "retainer: Exception in it: ValueError"]
    assert capfd.readouterr().err == ""
    logging.getLogger("asyncio").error("later")
    assert len(lines) == 2
