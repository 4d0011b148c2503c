"""Who may ask, how much and how long; and what every answer carries, whatever was asked."""

import asyncio
import json
import threading
from dataclasses import fields

import pytest
from serving import samples, serving, soon, total

from retainer.errors import InputError
from retainer.serve.response_headers import SECURITY_HEADERS
from retainer.serve.settings import Limits, Settings, host_names, is_local, read_token

TOKEN = "a-token-of-some-length"


def run(places, steps, settings=None):
    """Start an application and take some steps with its client."""

    async def all_():
        async with serving(places, settings) as (client, registry):
            return await steps(client, registry)

    return asyncio.run(all_())


def post(pair, content, settings=None, **headers):
    """Send bytes to predict."""
    usual = {"Content-Type": "application/json"}

    async def steps(client, _):
        return await client.post("/v1/predict", content=content, headers={**usual, **headers})

    return run({"v1": pair["v1"]}, steps, settings)


def complaint(answer, status, code):
    """Check that an answer is a complaint of ours, and return its sentence."""
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert set(told) == {"error"} and set(told["error"]) == {"code", "message"} and told["error"]["code"] == code
    assert_headers(answer)
    return told["error"]["message"]


def assert_headers(answer):
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value
    assert "'unsafe" not in SECURITY_HEADERS["content-security-policy"] and "server" not in answer.headers


class TestBodies:
    @pytest.mark.parametrize(
        ("body", "status", "code"),
        [
            (b"", 422, "invalid_request"),
            (b"{", 400, "invalid_json"),
            (b'{"texts": "a",}', 400, "invalid_json"),
            (b"\xff\xfe\xfa", 400, "bad_request"),
            (b'{"texts": "\xff"}', 400, "bad_request"),
            (b'{"texts": "\xed\xa0\x80"}', 422, "invalid_text"),
            (b'{"texts": "\\ud800"}', 422, "invalid_text"),
            (b'{"texts": ["fine", "\\udfff"]}', 422, "invalid_text"),
            (b'{"texts": "a", "version": "\\ud800"}', 422, "invalid_request"),
            (b'{"texts": "a", "types": ["\\ud800\\u0000"]}', 422, "invalid_request"),
            (b'{"texts": "a", "threshold": {"\\ud800": 0.5}}', 422, "invalid_request"),
            (b'{"texts": "a", "\\ud800\\u0000": 1}', 422, "invalid_request"),
            (b'{"texts": "a", "threshold": NaN}', 422, "invalid_request"),
            (b'{"texts": "a", "threshold": 1e999}', 422, "invalid_request"),
            (b'{"texts": "a", "threshold": ' + b"9" * 5000 + b"}", 400, "bad_request"),
            (b"[" * 200_000, 400, "bad_request"),
            (b'{"texts": ' + b"[" * 500 + b"]" * 500 + b"}", 422, "invalid_request"),
            (b'{"texts": "a", "version": "' + b"v" * 900_000 + b'"}', 422, "invalid_request"),
            (b'{"texts": "a", "threshold": {"' + b"v" * 900_000 + b'": 0.5}}', 422, "invalid_request"),
            (b"NaN", 422, "invalid_request"),
            (b"null", 422, "invalid_request"),
        ],
    )
    def test_what_is_no_question_is_refused_in_a_sentence(self, pair, body, status, code):
        assert len(complaint(post(pair, body), status, code)) < 500

    @pytest.mark.parametrize(
        "text", ["\\u0000", "\\u202e\\u2066 boston \\u2069", "\\uFEFF", "\\ud83d\\ude00", "\\u0085\\u2028"]
    )
    def test_odd_characters_are_texts_like_any_other(self, pair, text):
        answer = post(pair, f'{{"texts": "play {text} boston"}}'.encode())
        assert answer.status_code == 200 and len(answer.json()["results"]) == 1

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
    def test_only_what_says_it_is_json_is_read(self, pair, kind):
        """Pages elsewhere may send the other kinds without asking first."""
        complaint(post(pair, b'{"texts": "a"}', **{"Content-Type": kind}), 415, "not_json")

    def test_a_kind_with_more_to_say_is_json_too(self, pair):
        assert post(pair, b'{"texts": "a"}', **{"Content-Type": "Application/JSON; charset=utf-8"}).status_code == 200

    def test_a_body_is_cut_off_while_it_comes(self, pair):
        """It says nothing about its length, and would never end."""
        sent = 0

        async def endless():
            nonlocal sent
            while True:
                sent += 1000
                yield b"x" * 1000
                await asyncio.sleep(0)

        async def steps(client, _):
            headers = {"Content-Type": "application/json"}
            return await client.post("/v1/predict", content=endless(), headers=headers)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("retainer.serve.guard.LINGER_BYTES", 50_000)
            answer = run({"v1": pair["v1"]}, steps, Settings(Limits(body=10_000)))
        complaint(answer, 413, "body_too_large")
        assert answer.headers["connection"] == "close" and 10_000 < sent < 200_000

    def test_a_body_that_says_it_is_too_long_is_not_read(self, pair):
        assert "1000 bytes" in complaint(post(pair, b"x" * 1001, Settings(Limits(body=1000))), 413, "body_too_large")
        exact = json.dumps({"texts": "a" * 984}).encode()
        assert len(exact) == 997 and post(pair, exact + b"   ", Settings(Limits(body=1000))).status_code == 200

    def test_texts_and_characters(self, pair):
        settings = Settings(Limits(texts=3, characters=10))
        for texts, code in (
            (["a"] * 4, "too_many_texts"),
            ("a" * 11, "text_too_long"),
            (["a", "b" * 11], "text_too_long"),
        ):
            complaint(post(pair, json.dumps({"texts": texts}).encode(), settings), 422, code)
        assert post(pair, json.dumps({"texts": ["a" * 10] * 3}).encode(), settings).status_code == 200

    def test_a_slow_body_is_not_awaited(self, pair):
        async def slow():
            yield b'{"texts":'
            await asyncio.sleep(30)

        async def steps(client, _):
            return await client.post("/v1/predict", content=slow(), headers={"Content-Type": "application/json"})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("retainer.serve.guard.LINGER_SECONDS", 0.1)
            complaint(run({"v1": pair["v1"]}, steps, Settings(Limits(receive_seconds=0.2))), 408, "slow_body")


class Held:
    """A version that works only when it is let."""

    def __init__(self, registry):
        self.free, self.given = threading.Event(), 0
        batches = registry.get().batches
        self.real, batches._predict = batches._predict, self

    def __call__(self, texts):
        self.given += len(texts)
        assert self.free.wait(30)
        return self.real(texts)


class TestCrowds:
    def test_too_many_at_once_are_told_to_come_again(self, pair):
        async def steps(client, registry):
            held = Held(registry)
            asking = [asyncio.create_task(client.post("/v1/predict", json={"texts": "boston"}))]
            await soon(lambda: held.given)
            asking += [asyncio.create_task(client.post("/v1/predict", json={"texts": "boston"})) for _ in range(2)]
            await soon(lambda: registry.get().batches.waiting == 2)
            refused = await client.post("/v1/predict", json={"texts": "boston"})
            probes = [await client.get(path) for path in ("/healthz", "/readyz", "/v1/versions", "/metrics")]
            held.free.set()
            return refused, probes, await asyncio.gather(*asking)

        refused, probes, answers = run({"v1": pair["v1"]}, steps, Settings(Limits(requests=3)))
        complaint(refused, 503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert [answer.status_code for answer in (*probes, *answers)] == [200] * 7
        books = samples(probes[-1].text)
        assert total(books, "retainer_requests_in_flight") == 3 and total(books, "retainer_queue_texts") == 2
        assert total(books, "retainer_requests_total", route="/v1/predict", status="503") == 1

    def test_what_takes_too_long_is_given_up(self, pair):
        async def steps(client, registry):
            held = Held(registry)
            first = asyncio.create_task(client.post("/v1/predict", json={"texts": "held"}))
            await soon(lambda: held.given == 1)
            second = await client.post("/v1/predict", json={"texts": ["never", "computed"]})
            held.free.set()
            await soon(lambda: registry.get().batches.waiting == 0)
            later = await client.post("/v1/predict", json={"texts": "boston"})
            return await first, second, later, held.given

        first, second, later, given = run({"v1": pair["v1"]}, steps, Settings(Limits(answer_seconds=0.3)))
        for answer in (first, second):
            complaint(answer, 504, "timeout")
        assert later.status_code == 200 and given == 2, "the two texts nobody waited for were not computed"

    def test_a_failure_of_ours_tells_no_text(self, pair):
        async def steps(client, registry):
            def fails(texts):
                raise ValueError(f"cannot do {texts}")

            registry.get().batches._predict = fails
            answer = await client.post("/v1/predict", json={"texts": "a secret"})
            return answer, list(registry.said)

        answer, said = run({"v1": pair["v1"]}, steps)
        complaint(answer, 500, "our_fault")
        assert len(said) == 1 and "ValueError" in said[0] and "secret" not in said[0] + answer.text

    def test_batches_of_many_clients_are_counted(self, pair):
        async def steps(client, _):
            await asyncio.gather(*(client.post("/v1/predict", json={"texts": "play boston"}) for _ in range(64)))
            return samples((await client.get("/metrics")).text)

        books = run({"v1": pair["v1"]}, steps)
        texts, batches = total(books, "retainer_batch_texts_sum"), total(books, "retainer_batch_texts_count")
        assert texts == 64 and texts / batches > 4, "clients share batches"
        assert total(books, "retainer_texts_total", version="v1") == 64
        assert total(books, "retainer_request_seconds_count", route="/v1/predict") == 64
        assert total(books, "retainer_request_seconds_bucket", route="/v1/predict", le="+Inf") == 64
        assert total(books, "retainer_queue_texts") == 0 and total(books, "retainer_version_stale") == 0


class TestToken:
    @pytest.mark.parametrize(
        "shown",
        [
            None,
            "",
            "Bearer",
            "Bearer ",
            f"Basic {TOKEN}",
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            "Bearer \u00e9",
        ],
    )
    def test_without_the_right_one_nothing_is_told(self, pair, shown):
        async def steps(client, _):
            headers = {} if shown is None else {"Authorization": shown.encode("latin-1")}
            return [
                await client.post("/v1/predict", json={"texts": "a"}, headers=headers),
                await client.post("/v1/reload", headers=headers),
                *[
                    await client.get(path, headers=headers)
                    for path in ("/v1/versions", "/metrics", "/v1/nothing", "/page/x")
                ],
            ]

        for answer in run({"v1": pair["v1"]}, steps, Settings(token=TOKEN)):
            complaint(answer, 401, "unauthorised")
            assert answer.headers["www-authenticate"] == "Bearer" and TOKEN not in answer.text

    def test_with_it_all_is_as_ever(self, pair):
        async def steps(client, _):
            headers = {"Authorization": f"bearer {TOKEN}"}
            return [
                await client.post("/v1/predict", json={"texts": "a"}, headers=headers),
                await client.get("/metrics", headers=headers),
                *[await client.get(path) for path in ("/healthz", "/readyz", "/docs", "/docs.css", "/openapi.json")],
            ]

        assert [answer.status_code for answer in run({"v1": pair["v1"]}, steps, Settings(token=TOKEN))] == [200] * 7

    def test_it_is_read_from_a_file(self, tmp_path):
        file = tmp_path / "token"
        file.write_text(f"  {TOKEN}\n")
        assert read_token(str(file)) == TOKEN
        for bad in ("", "short", "two words of a token", "a-token-of-\u00fcmlauts-too"):
            file.write_text(bad, encoding="utf-8")
            with pytest.raises(InputError):
                read_token(str(file))
        with pytest.raises(InputError):
            read_token(str(tmp_path / "nothing"))


class TestBrowsers:
    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/docs", 200), ("GET", "/docs.css", 200), ("GET", "/openapi.json", 200), ("GET", "/healthz", 200),
            ("GET", "/readyz", 200), ("GET", "/metrics", 200), ("GET", "/v1/versions", 200), ("GET", "/nothing", 404),
            ("POST", "/nothing", 404), ("GET", "/v1/predict", 405), ("DELETE", "/v1/versions", 405), ("PUT", "/x", 404),
            ("OPTIONS", "/v1/predict", 405), ("GET", "/v1/versions/", 404), ("GET", "//v1/versions", 404),
            ("GET", "/v1/..%2f..%2fetc/passwd", 404), ("GET", "/%00", 404), ("GET", "/%ff%fe", 404),
            ("BREW", "/healthz", 405),
        ],
    )  # fmt: skip
    def test_every_answer_has_the_headers(self, pair, method, path, status):
        answer = run({"v1": pair["v1"]}, lambda client, _: client.request(method, path))
        assert answer.status_code == status
        assert_headers(answer)
        if status >= 400:
            assert set(answer.json()["error"]) == {"code", "message"}

    def test_another_origin_is_let_in_only_where_it_was_asked_for(self, pair):
        ours, other = "https://page.example", "https://evil.example"
        flight = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }

        def asked(origin, settings):
            async def steps(client, _):
                before = await client.options("/v1/predict", headers={"Origin": origin, **flight})
                headers = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"}
                return before, await client.post("/v1/predict", json={"texts": "a"}, headers=headers)

            return [
                answer.headers.get("access-control-allow-origin") for answer in run({"v1": pair["v1"]}, steps, settings)
            ]

        assert asked(ours, Settings()) == [None, None]
        assert asked(ours, Settings(origins=(ours,), token=TOKEN)) == [ours, ours]
        assert asked(other, Settings(origins=(ours,), token=TOKEN)) == [None, None]

    @pytest.mark.parametrize("origin", ["example.org", "https://example.org/", "https://a b", "javascript:1", ""])
    def test_what_is_no_origin_is_refused(self, origin):
        with pytest.raises(InputError):
            Settings(origins=(origin,))

    @pytest.mark.parametrize(
        ("host", "status"),
        [("127.0.0.1:8000", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:8000", 200),
         ("own.example:80", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421),
         ("evil.example:localhost", 421), ("", 421)],
    )  # fmt: skip
    def test_a_name_that_is_not_ours_is_not_answered(self, pair, host, status):
        """A stranger's page may let its own name point to this machine."""
        settings = Settings(hosts=host_names("127.0.0.1", ("Own.example",)))
        answer = run({"v1": pair["v1"]}, lambda client, _: client.get("/v1/versions", headers={"Host": host}), settings)
        assert answer.status_code == status
        if status == 421:
            complaint(answer, 421, "unknown_host")

    def test_which_addresses_are_local(self):
        assert [is_local(host) for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8")] == [True] * 4
        assert [is_local(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org")] == [False] * 4
        assert host_names("0.0.0.0", ()) == () and host_names("0.0.0.0", ("A.b",)) == ("a.b",)

    @pytest.mark.parametrize("limit", [field.name for field in fields(Limits)])
    def test_limits_under_which_nothing_works_are_refused(self, limit):
        with pytest.raises(InputError, match=limit):
            Limits(**{limit: 0})
