/** The keys of a review, and the buttons that do the same. */

export const BUTTONS = {
  "review-accept": "a",
  "review-reject": "r",
  "review-other": "s",
  "review-undo": "u",
  "review-next": "j",
  "review-previous": "k",
  "review-end-back": "ArrowLeft",
  "review-end-on": "ArrowRight",
  "review-start-back": "Shift+ArrowLeft",
  "review-start-on": "Shift+ArrowRight",
  "review-mark": "m",
  "review-unmark": "Escape",
  "review-text-previous": "p",
  "review-text-next": "n",
  "review-complete-all": "c",
};

/** @param {import("./review.js").Review} review @returns {Record<string, () => void>} */
export function reviewKeys(review) {
  const numbers = Array.from({ length: 9 }, (_, at) => [
    String(at + 1),
    () => review.choice.types[at] && review.choose(review.choice.types[at]),
  ]);
  return {
    a: () => review.apply((queue) => queue.accept(), "Accepted."),
    r: () => review.apply((queue) => queue.reject(), "Rejected."),
    s: () => review.apply((queue) => queue.swap(), "Reading swapped."),
    u: () => review.undo(),
    j: () => review.apply((queue) => queue.go(1)),
    k: () => review.apply((queue) => queue.go(-1)),
    n: () => review.apply((queue) => queue.goText(1)),
    p: () => review.apply((queue) => queue.goText(-1)),
    c: () => review.completeness.toggle(),
    m: () => review.beginMarking(),
    t: () => review.choice.field.focus(),
    ...(review.marking.span ? markingKeys(review.marking) : movingKeys(review)),
    ...Object.fromEntries(numbers),
  };
}

/**
 * Those of the workbench: they save as well.
 * @param {import("./look.js").Look} look
 */
export function lookKeys(look) {
  return {
    ...reviewKeys(look),
    d: () => look.act(() => look.decide()),
    D: () => look.act(() => look.decideRest()),
    n: () => look.act(() => look.next()),
    p: () => look.act(() => look.previous()),
    y: () => look.act(() => look.redo()),
  };
}

/** While words are chosen, the arrows go from word to word, and with Shift choose more of them. */
function markingKeys(marking) {
  return {
    ArrowRight: () => marking.move(1),
    ArrowLeft: () => marking.move(-1),
    "Shift+ArrowRight": () => marking.extend(1),
    "Shift+ArrowLeft": () => marking.extend(-1),
    Escape: () => marking.choose(null),
  };
}

/** Otherwise they move the edges of the current entity. */
function movingKeys(review) {
  return {
    ArrowRight: () => review.apply((queue) => queue.move("end", 1), "End moved."),
    ArrowLeft: () => review.apply((queue) => queue.move("end", -1), "End moved."),
    "Shift+ArrowRight": () => review.apply((queue) => queue.move("start", 1), "Start moved."),
    "Shift+ArrowLeft": () => review.apply((queue) => queue.move("start", -1), "Start moved."),
  };
}
