/**
 * The only way in which anything gets onto the page. Whatever a text, a file or a type is called goes in as text, so
 * nothing of it can become markup.
 */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} made */
function dress(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

/** Make an element; strings among the children become text. */
export function node(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
export function drawn(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

/** Find an element of the page that must be there. */
export function part(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** Make a button that does something. */
export function button(label, act, attributes = {}) {
  const made = node("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

/**
 * Make a name fit to stand among our own words. It is kept apart from the direction of what is around it, and
 * characters that are not seen but turn text around are spelled out: "exe.fdp" must not look like "pdf.exe".
 */
export function name(text) {
  return node("bdi", {}, spelled(text));
}

/** Spell out what cannot be seen. */
export function spelled(text) {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** Say a number of things. */
export function amount(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
