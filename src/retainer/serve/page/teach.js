/** Teach: what the data say about themselves first, then a job that learns from them, watched as it goes. */

import { byId, nameNode, node, plural, textLink, visible } from "./dom.js";
import { JobProgress } from "./job_progress.js";
import { get, post } from "./server.js";
import { dateNode } from "./version_facts.js";

export class Teach {
  /** @param {(version: string) => void} onTaught @param {(id: number) => void} onOpen */
  constructor(project, notices, onTaught, onOpen) {
    Object.assign(this, { project, notices, onOpen });
    this.progress = new JobProgress(project, notices, {
      onBegin: () => this.drawJobs(),
      onEnd: async (version) => {
        byId("teach-findings").replaceChildren();
        byId("teach-form").hidden = true;
        if (version) await onTaught(version);
        await this.drawJobs();
      },
    });
    project.onChange(() => this.drawTitle());
    byId("teach-check").addEventListener("click", () => this.check());
    byId("teach-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.teach();
    });
  }

  /** Show what there is, and follow a job that runs. */
  async show() {
    await this.notices.during("", async () => {
      await this.drawJobs();
    });
  }

  check() {
    return this.notices.during("Checking the texts with a decision …", async () => {
      const answer = await post("v1/project/check", {});
      this.drawCheck(answer);
      byId("teach-form").hidden = !answer.ready;
      const count = answer.findings.length;
      const found = count ? `${plural(count, "warning")}; you can still teach.` : "Nothing is odd; you can teach.";
      this.notices.report(answer.ready ? found : "There is nothing to teach yet.");
    });
  }

  /** Say what would be taught: the version in use, or the first one of all. */
  drawTitle() {
    byId("teach-title").textContent = this.project.in_use
      ? "Teach the version in use what you decided"
      : "Teach a first version what you decided";
  }

  drawCheck({ findings, train, pool, held_back: heldBack, new_types: fresh, incomplete, why_not: whyNot }) {
    const entities = counted(train.entities);
    const open = counted(incomplete);
    const decided = plural(train.texts + heldBack, "decided text");
    const facts = [
      [decided, [`${train.texts} to teach from, ${heldBack} held back to compare versions on`]],
      ...(entities.length ? [["entities to teach from", entities]] : []),
      ["new types", fresh.length ? fresh.flatMap((type, at) => [at ? ", " : "", nameNode(type)]) : ["none"]],
      ["pool of texts without a decision", [plural(pool, "text")]],
      ...(open.length ? [["decided, but not complete for", open]] : []),
    ];
    byId("teach-findings").replaceChildren(
      node(
        "dl",
        { class: "facts" },
        facts.map(([term, value]) => node("div", {}, node("dt", {}, term), node("dd", {}, value))),
      ),
      node("ul", { class: "findings" }, findings.map((one) => this.finding(one))),
      whyNot ? node("p", { class: "reason" }, `${sentence(whyNot)}.`) : "",
    );
  }

  teach() {
    return this.notices.during("Asking for the job …", async () => {
      await this.project.change("teach", {
        method: byId("teach-method").value,
        epochs: Number(byId("teach-epochs").value),
        text: byId("teach-pool").checked,
        seed: Number(byId("teach-seed").value),
      });
      byId("teach-form").hidden = true;
      await this.project.refresh();
      await this.drawJobs();
    });
  }

  /** Show all jobs, and follow the one that runs or comes next. */
  async drawJobs() {
    const { jobs } = await get("v1/project/jobs");
    const waiting = jobs.filter((job) => job.state === "queued").length;
    byId("teach-queue").textContent = waiting ? `${plural(waiting, "job")} waiting.` : "";
    byId("teach-jobs").replaceChildren(...jobs.map((job) => this.job(job)));
    byId("teach-jobs-title").hidden = !jobs.length;
    const next = jobs.findLast((job) => job.state === "running" || job.state === "queued");
    if (next) this.progress.follow(next);
  }

  job({ id, state, who, when, version, message, request }) {
    const result = version && state === "done" ? [": ", nameNode(version)] : message ? [`: ${visible(message)}`] : [];
    return node(
      "li",
      {},
      `Job ${id}, ${state}`,
      ...result,
      node("span", { class: "muted" }, ` ${request?.method ?? ""}, asked for by `, nameNode(who), " ", dateNode(when)),
    );
  }

  /** Draw something that check found; a click on a text opens it. */
  finding({ kind, message, count, advice, places }) {
    const some = places.map((place) => node("li", { class: "muted" }, ...this.place(place)));
    return node(
      "li",
      { class: kind === "mend" ? "mend" : null },
      `${sentence(message)}${count > 1 ? ` (${count})` : ""}: ${visible(advice ?? "")}`,
      some.length ? node("ul", {}, some) : "",
    );
  }

  place({ texts, more, quote, remark }) {
    const links = texts.flatMap((id, at) => [at ? ", " : "", textLink(id, this.onOpen)]);
    const rest = [more ? ` and ${more} more` : "", quote ? `: “${visible(quote)}”` : ""];
    return [...links, ...rest, remark ? ` (${visible(remark)})` : ""];
  }
}

/** Draw numbers by type. */
function counted(numbers) {
  return Object.entries(numbers).flatMap(([type, count], at) => [at ? ", " : "", nameNode(type), ` ${count}`]);
}

/** Begin with a capital letter. */
function sentence(text) {
  const [first = "", ...rest] = visible(text);
  return first.toUpperCase() + rest.join("");
}
