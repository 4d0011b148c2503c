/** The project of the workbench: what the server knows of it, and the requests that change it. */

import { Conflict } from "./errors.js";
import { get, portions, post } from "./server.js";

const HUES = 7;
const GREY = 6;

export class Project {
  /** @param {() => Promise<string>} who asks for the name of the person, once */
  constructor(who) {
    this.who = who;
    this.listeners = [];
  }

  /** Call back whenever the project is known anew. */
  onChange(listener) {
    this.listeners.push(listener);
  }

  /** Ask what the project holds now. */
  async refresh() {
    const { change, ...known } = await get("v1/project");
    Object.assign(this, known, { newestChange: change });
    for (const listener of this.listeners) listener();
  }

  /** How many texts with a decision are not complete for a type. */
  openFor(name) {
    return this.texts.decided - (this.types.find((type) => type.name === name)?.complete ?? 0);
  }

  get typeNames() {
    return this.types.map((type) => type.name);
  }

  /** The style of a type, by its colour in the project; what the project does not know is grey. */
  style(name) {
    const type = this.types.find((one) => one.name === name);
    return { hue: type ? type.colour % HUES : GREY };
  }

  /** Return the next text to look at, if there is one. */
  async next(skipped) {
    const skip = skipped.length ? `&skip=${skipped.join(",")}` : "";
    return (await get(`v1/project/next?limit=1${skip}`)).items[0] ?? null;
  }

  text(id) {
    return get(`v1/project/texts/${id}`);
  }

  /** Return texts from a place in the list on: all, those with some words in them, those with or without a decision. */
  page({ at, search, decided, incomplete, limit }) {
    const query = new URLSearchParams({ at, limit });
    if (search) query.set("search", search);
    if (decided) query.set("decided", decided);
    if (incomplete) query.set("incomplete", incomplete);
    return get(`v1/project/texts?${query}`);
  }

  changes(after) {
    return get(`v1/project/changes?after=${after}`);
  }

  /** Add texts; return how many are new, and how many were there. */
  async addTexts(texts, source, onProgress) {
    const sum = { new: 0, known: 0 };
    let done = 0;
    for (const some of portions(texts)) {
      onProgress(done);
      const answer = await post("v1/project/texts", { texts: some, source });
      sum.new += answer.new;
      sum.known += answer.known;
      done += some.length;
    }
    return sum;
  }

  /** Send a change, with who makes it. */
  async change(path, request) {
    try {
      return await post(`v1/project/${path}`, { ...request, who: await this.who() });
    } catch (error) {
      if (error instanceof Conflict) error.way = path;
      throw error;
    }
  }

  async changeType(request) {
    this.types = (await this.change("types", request)).types;
    for (const listener of this.listeners) listener();
  }

  /** Return versions to choose from: the one in use first, then the latest. */
  get latest() {
    return this.versions.findLast((version) => !version.in_use) ?? null;
  }
}
