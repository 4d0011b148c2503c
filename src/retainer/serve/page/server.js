/** Questions to the server. Whatever it answers but a result becomes one sentence of words. */

import { askToken } from "./token.js";
import { Trouble } from "./notices.js";

let token = "";
/** Kept in memory alone: whoever loads the page anew is asked again. */

export const limits = { texts: 256, characters: 50000, body: 2 ** 20, token: false };

const ROOM = 0.8;
/** How much of a request's bytes the texts may take; the rest is for what is around them. */

/** Learn what the server allows. */
export async function learnLimits() {
  Object.assign(limits, await (await reach("page/limits.json")).json());
}

/** Ask for a document. */
export async function get(path) {
  return answered(path, () => ({ headers: authorised({}) }));
}

/** Put a question. */
export async function post(path, question) {
  const body = JSON.stringify(question);
  return answered(path, () => ({ method: "POST", headers: authorised({ "Content-Type": "application/json" }), body }));
}

/** Put a question about many texts, in as many requests as the limits ask for; `told` hears how far it is. */
export async function postAll(path, question, texts, told = () => {}) {
  const answers = [];
  let done = 0;
  for (const some of portions(texts)) {
    told(done, texts.length);
    answers.push(await post(path, { ...question, texts: some }));
    done += some.length;
  }
  return answers;
}

/** Cut a list of texts into portions that one request may hold. */
export function portions(texts) {
  const made = [];
  let room = 0;
  for (const text of texts) {
    const size = new Blob([JSON.stringify(text)]).size + 1;
    if (!made.length || made.at(-1).length >= Math.min(limits.texts, 64) || size > room) {
      made.push([]);
      room = limits.body * ROOM;
    }
    made.at(-1).push(text);
    room -= size;
  }
  return made;
}

function authorised(headers) {
  return token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
}

async function answered(path, request) {
  for (let tries = 0; ; tries += 1) {
    const response = await reach(path, request());
    if (response.ok) return await whole(response);
    if (response.status !== 401) throw await refused(response);
    token = await askToken(tries > 0 || token !== "");
  }
}

async function reach(path, request = {}) {
  try {
    return await fetch(path, { ...request, cache: "no-cache", credentials: "same-origin", redirect: "error" });
  } catch {
    throw new Trouble(
      "The server cannot be reached. It may have stopped, or the network is gone; nothing on this page is lost. " +
        "Try again in a moment.",
    );
  }
}

async function whole(response) {
  try {
    return await response.json();
  } catch {
    throw new Trouble("The answer of the server broke off. Try again.");
  }
}

async function refused(response) {
  const said = await response.json().then(
    (document) => document.error.message,
    () => "",
  );
  const what = said ? `: ${said}.` : ` (status ${response.status}).`;
  if (response.status === 503) return new Trouble(`The server has no time just now${what} Try again in a moment.`);
  if (response.status === 504) return new Trouble(`The server took too long${what} Try a shorter text.`);
  if (response.status >= 500) return new Trouble(`The server failed${what}`);
  return new Trouble(`The server refused${what}`);
}
