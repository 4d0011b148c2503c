"""Which clients may ask, how much and how long; and what every response carries, whatever was asked."""

import asyncio
import json
import threading
from dataclasses import fields

import pytest
from serving import samples, serving, soon, total

from retainer.errors import InputError
from retainer.serve.response_headers import SECURITY_HEADERS
from retainer.serve.responses import MAX_MESSAGE_LENGTH
from retainer.serve.settings import Limits, Settings, host_names, is_local, read_token

TOKEN = "a-token-of-some-length"
OTHER_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le")


def run(pair, steps, settings=None):
    """Start a fresh application of the first version and take some steps with its client and its registry."""

    async def all_():
        async with serving({"v1": pair["v1"]}, settings) as (client, registry):
            return await steps(client, registry)

    return asyncio.run(all_())


@pytest.fixture
def post(applications):
    """Send bytes to predict."""

    def send(content, settings=None, **headers):
        headers = {"Content-Type": "application/json", **headers}
        return applications.ask("POST", "/v1/predict", settings, content=content, headers=headers)

    return send


def error_message(response, status, code):
    """Check that a response is an error in our form, and return its sentence."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message"} and body["error"]["code"] == code
    assert_headers(response)
    return body["error"]["message"]


def assert_headers(response):
    for name, value in SECURITY_HEADERS.items():
        assert response.headers[name] == value
    assert "'unsafe" not in SECURITY_HEADERS["content-security-policy"] and "server" not in response.headers


class TestBodies:
    @pytest.mark.parametrize(
        ("body", "status", "code"),
        [
            (b"", 422, "invalid_request"),
            (b"{", 400, "invalid_json"),
            (b'{"texts": "a",}', 400, "invalid_json"),
            (b"\xff\xfe\xfa", 400, "bad_request"),
            (b'{"texts": "\xff"}', 400, "bad_request"),
            *((json.dumps({"texts": "a"}).encode(kind), 400, "bad_request") for kind in OTHER_ENCODINGS),
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
            (json.dumps({"texts": "a", "threshold": {"\U0001f600" * 499: 0.5}}).encode(), 422, "unknown_type"),
            (json.dumps({"texts": "a", "types": ["a"] * 10_001}).encode(), 422, "invalid_request"),
            (b"NaN", 422, "invalid_request"),
            (b"null", 422, "invalid_request"),
        ],
    )
    def test_what_is_not_a_request_is_refused_in_a_sentence(self, post, body, status, code):
        assert len(error_message(post(body), status, code)) <= MAX_MESSAGE_LENGTH

    @pytest.mark.parametrize(
        "text", ["\\u0000", "\\u202e\\u2066 boston \\u2069", "\\uFEFF", "\\ud83d\\ude00", "\\u0085\\u2028"]
    )
    def test_odd_characters_are_texts_like_any_other(self, post, text):
        response = post(f'{{"texts": "play {text} boston"}}'.encode())
        assert response.status_code == 200 and len(response.json()["results"]) == 1

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
    def test_only_a_body_declared_as_json_is_read(self, post, kind):
        """Pages elsewhere may send the other types without a preflight."""
        error_message(post(b'{"texts": "a"}', **{"Content-Type": kind}), 415, "not_json")

    def test_a_media_type_with_parameters_is_json_too(self, post):
        assert post(b'{"texts": "a"}', **{"Content-Type": "Application/JSON; charset=utf-8"}).status_code == 200

    def test_a_body_is_cut_off_while_it_comes(self, pair):
        """It does not declare its length, and would never end."""
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
            answer = run(pair, steps, Settings(Limits(body=10_000)))
        error_message(answer, 413, "body_too_large")
        assert answer.headers["connection"] == "close" and 10_000 < sent < 200_000

    def test_a_body_that_declares_too_many_bytes_is_not_read(self, post):
        settings = Settings(Limits(body=1000))
        assert "1000 bytes" in error_message(post(b"x" * 1001, settings), 413, "body_too_large")
        exact = json.dumps({"texts": "a" * 984}).encode()
        assert len(exact) == 997 and post(exact + b"   ", settings).status_code == 200

    def test_texts_and_characters(self, post):
        settings = Settings(Limits(texts=3, characters=10))
        for texts, code in (
            (["a"] * 4, "too_many_texts"),
            ("a" * 11, "text_too_long"),
            (["a", "b" * 11], "text_too_long"),
        ):
            error_message(post(json.dumps({"texts": texts}).encode(), settings), 422, code)
        assert post(json.dumps({"texts": ["a" * 10] * 3}).encode(), settings).status_code == 200

    def test_a_slow_body_is_not_awaited(self, pair):
        async def slow():
            yield b'{"texts":'
            await asyncio.sleep(30)

        async def steps(client, _):
            return await client.post("/v1/predict", content=slow(), headers={"Content-Type": "application/json"})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("retainer.serve.guard.LINGER_SECONDS", 0.1)
            error_message(run(pair, steps, Settings(Limits(receive_seconds=0.2))), 408, "slow_body")


class Held:
    """A version that predicts only once it is set free."""

    def __init__(self, registry):
        self.free, self.given = threading.Event(), 0
        batches = registry.get().batches
        self.real, batches._predict = batches._predict, self

    def __call__(self, texts):
        self.given += len(texts)
        assert self.free.wait(30)
        return self.real(texts)


class TestManyClients:
    def test_too_many_at_once_are_asked_to_retry(self, pair):
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

        refused, probes, answers = run(pair, steps, Settings(Limits(requests=3)))
        error_message(refused, 503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert [answer.status_code for answer in (*probes, *answers)] == [200] * 7
        metrics = samples(probes[-1].text)
        assert total(metrics, "retainer_requests_in_flight") == 3 and total(metrics, "retainer_queue_texts") == 2
        assert total(metrics, "retainer_requests_total", route="/v1/predict", status="503") == 1

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

        first, second, later, given = run(pair, steps, Settings(Limits(answer_seconds=0.3)))
        for answer in (first, second):
            error_message(answer, 504, "timeout")
        assert later.status_code == 200 and given == 2, "the two texts of the client that gave up were not computed"

    def test_an_internal_error_reveals_no_text(self, pair):
        async def steps(client, registry):
            def fails(texts):
                raise ValueError(f"cannot do {texts}")

            registry.get().batches._predict = fails
            answer = await client.post("/v1/predict", json={"texts": "a secret"})
            return answer, list(registry.lines)

        answer, lines = run(pair, steps)
        error_message(answer, 500, "our_fault")
        assert len(lines) == 1 and "ValueError" in lines[0] and "secret" not in lines[0] + answer.text

    def test_batches_of_many_clients_are_counted(self, pair):
        async def steps(client, _):
            await asyncio.gather(*(client.post("/v1/predict", json={"texts": "play boston"}) for _ in range(64)))
            return samples((await client.get("/metrics")).text)

        metrics = run(pair, steps)
        texts, batches = total(metrics, "retainer_batch_texts_sum"), total(metrics, "retainer_batch_texts_count")
        assert texts == 64 and texts / batches > 4, "clients share batches"
        assert total(metrics, "retainer_texts_total", version="v1") == 64
        assert total(metrics, "retainer_request_seconds_count", route="/v1/predict") == 64
        assert total(metrics, "retainer_request_seconds_bucket", route="/v1/predict", le="+Inf") == 64
        assert total(metrics, "retainer_queue_texts") == 0 and total(metrics, "retainer_version_stale") == 0


class TestToken:
    @pytest.mark.parametrize(
        "sent",
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
    def test_without_the_right_one_nothing_is_revealed(self, applications, sent):
        options = {"headers": {} if sent is None else {"Authorization": sent.encode("latin-1")}}
        requests = [
            ("POST", "/v1/predict", {"json": {"texts": "a"}, **options}),
            ("POST", "/v1/reload", options),
            *[("GET", path, options) for path in ("/v1/versions", "/metrics", "/v1/nothing", "/page/x")],
        ]
        for response in applications.ask_all(requests, Settings(token=TOKEN)):
            error_message(response, 401, "unauthorised")
            assert response.headers["www-authenticate"] == "Bearer" and TOKEN not in response.text

    def test_with_it_everything_is_answered(self, applications):
        options = {"headers": {"Authorization": f"bearer {TOKEN}"}}
        requests = [
            ("POST", "/v1/predict", {"json": {"texts": "a"}, **options}),
            ("GET", "/metrics", options),
            *[("GET", path, {}) for path in ("/healthz", "/readyz", "/docs", "/docs.css", "/openapi.json")],
        ]
        responses = applications.ask_all(requests, Settings(token=TOKEN))
        assert [response.status_code for response in responses] == [200] * 7

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
    def test_every_response_has_the_headers(self, applications, method, path, status):
        response = applications.ask(method, path)
        assert response.status_code == status
        assert_headers(response)
        if status >= 400:
            assert set(response.json()["error"]) == {"code", "message"}

    def test_another_origin_is_admitted_only_if_it_is_configured(self, applications):
        ours, other = "https://page.example", "https://evil.example"
        preflight = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }

        def allowed(origin, settings):
            headers = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"}
            requests = [
                ("OPTIONS", "/v1/predict", {"headers": {"Origin": origin, **preflight}}),
                ("POST", "/v1/predict", {"json": {"texts": "a"}, "headers": headers}),
            ]
            responses = applications.ask_all(requests, settings)
            return [response.headers.get("access-control-allow-origin") for response in responses]

        assert allowed(ours, Settings()) == [None, None]
        assert allowed(ours, Settings(origins=(ours,), token=TOKEN)) == [ours, ours]
        assert allowed(other, Settings(origins=(ours,), token=TOKEN)) == [None, None]

    @pytest.mark.parametrize("origin", ["example.org", "https://example.org/", "https://a b", "javascript:1", ""])
    def test_what_is_not_an_origin_is_refused(self, origin):
        with pytest.raises(InputError):
            Settings(origins=(origin,))

    @pytest.mark.parametrize(
        ("host", "status"),
        [("127.0.0.1:8000", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:8000", 200),
         ("own.example:80", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421),
         ("evil.example:localhost", 421), ("", 421)],
    )  # fmt: skip
    def test_a_host_name_that_is_not_ours_is_refused(self, applications, host, status):
        """A page elsewhere may let its own name point to this machine."""
        settings = Settings(hosts=host_names("127.0.0.1", ("Own.example",)))
        response = applications.ask("GET", "/v1/versions", settings, headers={"Host": host})
        assert response.status_code == status
        if status == 421:
            error_message(response, 421, "unknown_host")

    def test_which_addresses_are_local(self):
        assert [is_local(host) for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8")] == [True] * 4
        assert [is_local(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org")] == [False] * 4
        assert host_names("0.0.0.0", ()) == () and host_names("0.0.0.0", ("A.b",)) == ("a.b",)

    @pytest.mark.parametrize("limit", [field.name for field in fields(Limits)])
    def test_limits_that_would_refuse_everything_are_refused(self, limit):
        with pytest.raises(InputError, match=limit):
            Limits(**{limit: 0})
