/** A job that runs: epochs, losses, F1 and time left as they come; a lost connection goes on where it was. */

import { byId, node, plural, visible } from "./dom.js";
import { follow } from "./server.js";

const RETRY_MS = 1000;
const ENDS = ["done", "failed", "cancelled"];

export class JobProgress {
  /** @param {{ onBegin: () => void, onEnd: (version: string | null) => void }} called when a job begins and ends */
  constructor(project, notices, { onBegin, onEnd }) {
    Object.assign(this, { project, notices, onBegin, onEnd, job: null });
    byId("job-cancel").addEventListener("click", () => this.cancel());
  }

  /** Follow a job from its beginning to its end. */
  async follow({ id, request }) {
    if (this.job === id) return;
    Object.assign(this, { job: id, seen: 0, epochs: request?.epochs ?? 0, ended: false });
    byId("job").hidden = false;
    byId("job-title").textContent = `Job ${id}`;
    byId("job-epochs").replaceChildren();
    byId("job-table").hidden = true;
    byId("job-notes").replaceChildren();
    byId("job-bar").removeAttribute("value");
    Object.assign(byId("job-cancel"), { disabled: false, hidden: false });
    byId("job-compare").hidden = true;
    byId("job-now").textContent = "It waits for its turn …";
    while (this.job === id && !this.ended) await this.read(id);
  }

  async read(id) {
    try {
      await follow(`v1/project/jobs/${id}/events?after=${this.seen}&follow=true`, (event) => this.on(event));
    } catch (error) {
      this.notices.reportError(error);
    }
    if (!this.ended) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }

  on(event) {
    if (event.seq !== undefined) this.seen = Math.max(this.seen, event.seq);
    if (event.kind === "start") this.onStart(event);
    else if (event.kind === "epoch") this.onEpoch(event);
    else if (event.kind === "step") this.onStep(event);
    else if (event.kind === "note" || event.kind === "warn") this.onNote(event);
    else if (ENDS.includes(event.kind)) this.end(event);
  }

  onStart({ epochs, texts }) {
    this.epochs = epochs ?? this.epochs;
    byId("job-bar").max = this.epochs || 1;
    byId("job-bar").value = 0;
    this.say(`Teaching from ${texts === undefined ? "the texts" : plural(texts, "text")} has begun …`);
    this.onBegin();
  }

  onStep({ step, steps, seconds_left: left }) {
    if (steps) byId("job-bar").value = (step / steps) * byId("job-bar").max;
    byId("job-now").textContent = `Step ${step} of at most ${steps}.${timeLeft(left)}`;
  }

  onEpoch(event) {
    const { epoch, epochs, losses, f1, best, seconds_left: left } = event;
    Object.assign(byId("job-bar"), { max: epochs, value: epoch });
    const loss = Object.values(losses ?? {}).reduce((sum, one) => sum + one, 0);
    const score = f1 === null || f1 === undefined ? "–" : f1.toFixed(1);
    const title = Object.entries(losses ?? {})
      .map(([name, value]) => `${name} ${value.toFixed(3)}`)
      .join(", ");
    const cells = [String(epoch), title || loss.toFixed(3), best ? `${score} best` : score];
    byId("job-table").hidden = false;
    byId("job-epochs").append(node("tr", {}, cells.map((cell, at) => node(at ? "td" : "th", {}, cell))));
    const found = score === "–" ? "" : `, F1 ${score}`;
    this.say(`Epoch ${epoch} of at most ${epochs}: loss ${loss.toFixed(3)}${found}.${timeLeft(left)}`);
  }

  onNote({ message }) {
    const list = byId("job-notes");
    list.append(node("li", {}, visible(message ?? "")));
    byId("job-now").textContent ||= message ?? "";
  }

  end({ kind, version, message }) {
    this.ended = true;
    byId("job-bar").value = kind === "done" ? byId("job-bar").max : byId("job-bar").value;
    byId("job-cancel").hidden = true;
    byId("job-compare").hidden = kind !== "done";
    const why = message ? `: ${visible(message)}.` : ".";
    const done = `Done: ${visible(version ?? "the version")} is ready.`;
    this.say(kind === "done" ? done : `The job ${ENDINGS[kind]}${why}`);
    this.job = null;
    this.onEnd(kind === "done" ? version : null);
  }

  say(message) {
    byId("job-now").textContent = message;
    this.notices.report(message);
  }

  cancel() {
    const { job } = this;
    if (job === null) return;
    byId("job-cancel").disabled = true;
    this.notices.during("Cancelling …", () => this.project.change(`jobs/${job}/cancel`, {}));
  }
}

const ENDINGS = { failed: "failed", cancelled: "was cancelled" };

/** Say how long it still takes. */
function timeLeft(seconds) {
  if (!seconds || seconds < 1) return "";
  if (seconds < 90) return ` At most ${Math.round(seconds)} seconds left.`;
  return ` At most ${Math.round(seconds / 60)} minutes left.`;
}
