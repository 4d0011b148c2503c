/** Requests to the server. Every response that is not a result becomes an error with one sentence. */

import { Conflict, UserError } from "./errors.js";
import { askToken } from "./token.js";

let token = "";
/** Kept in memory only: after a reload the page asks again. */

export const limits = { texts: 256, characters: 50000, body: 2 ** 20, token: false, workbench: false };

const TEXT_SHARE = 0.8;
/** How much of a request's bytes the texts may take; the rest is for the other fields. */
const MAX_TEXTS = 64;
/** Texts per request, so that progress can be shown. */

const LOST = "nothing on this page is lost. Try again in a moment.";
const STOPPED = `The server was stopped before it could answer; ${LOST}`;

/** Ask the server for its limits. */
export async function loadLimits() {
  Object.assign(limits, await (await send("page/limits.json")).json());
}

let onAnswer = () => {};

/** Pass every answer to a request on, which names the versions that gave it. */
export function watchAnswers(callback) {
  onAnswer = callback;
}

/** Return name and hash of the versions that are served now; none where the server does not say. */
export async function servedNow() {
  try {
    return (await (await fetch("readyz", { cache: "no-store", redirect: "error" })).json()).versions;
  } catch {
    return [];
  }
}

/** Request a document. */
export async function get(path) {
  return result(path, () => ({ headers: authorised({}) }));
}

/** Send a request with a body. */
export async function post(path, request) {
  const body = JSON.stringify(request);
  const headers = { "Content-Type": "application/json" };
  const answer = await result(path, () => ({ method: "POST", headers: authorised(headers), body }));
  onAnswer(answer);
  return answer;
}

/** Send many texts, in as many requests as the limits require; `onProgress` gets the texts done and their total. */
export async function postAll(path, request, texts, onProgress = () => {}) {
  const results = [];
  let done = 0;
  for (const some of portions(texts)) {
    onProgress(done, texts.length);
    results.push(await post(path, { ...request, texts: some }));
    done += some.length;
  }
  return results;
}

/** Split a list of texts into portions that one request may hold. */
export function portions(texts) {
  const all = [];
  let room = 0;
  for (const text of texts) {
    const size = new Blob([JSON.stringify(text)]).size + 1;
    if (!all.length || all.at(-1).length >= Math.min(limits.texts, MAX_TEXTS) || size > room) {
      all.push([]);
      room = limits.body * TEXT_SHARE;
    }
    all.at(-1).push(text);
    room -= size;
  }
  return all;
}

function authorised(headers) {
  return token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
}

/** Read an answer of JSON lines as they come, until it ends or `signal` ends it. */
export async function follow(path, onLine, signal) {
  const response = await success(path, () => ({ headers: authorised({}), signal }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.trim()) onLine(JSON.parse(line));
  }
}

/** Return the document of a successful response. */
async function result(path, options) {
  return parsed(await success(path, options));
}

/** Return a successful response; ask for the token as often as the server wants it. */
async function success(path, options) {
  if (limits.token && !token && path.startsWith("v1/")) token = await askToken(false);
  for (let tries = 0; ; tries += 1) {
    const response = await send(path, options());
    if (response.ok) return response;
    if (response.status !== 401) throw await errorOf(response);
    token = await askToken(tries > 0 || token !== "");
  }
}

async function send(path, options = {}) {
  try {
    return await fetch(path, { ...options, cache: "no-cache", credentials: "same-origin", redirect: "error" });
  } catch {
    throw new UserError(`The server cannot be reached. It may have stopped, or the network is down; ${LOST}`);
  }
}

async function parsed(response) {
  try {
    return await response.json();
  } catch {
    throw new UserError("The response of the server broke off. Try again.");
  }
}

async function errorOf(response) {
  const answer = await response.json().catch(() => ({}));
  const { code, message } = answer.error ?? {};
  const detail = message ? `: ${message}.` : ` (status ${response.status}).`;
  if (code === "conflict") return new Conflict(`${message}.`, answer);
  if (code === "stopping") return new UserError(STOPPED);
  if (response.status === 503) return new UserError(`The server is busy${detail} Try again in a moment.`);
  if (response.status === 504) return new UserError(`The server took too long${detail} Try a shorter text.`);
  if (response.status >= 500) return new UserError(`The server failed${detail}`);
  return new UserError(`The server refused${detail}`);
}
