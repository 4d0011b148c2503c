/**
 * Makes every element of the page. Texts, file names and names of types enter as text nodes, so they can never become
 * markup.
 */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} element */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Make an element; strings among the children become text. */
export function node(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
export function svgNode(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Return an element of the page that must be there. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** Make a button. */
export function button(label, onClick, attributes = {}) {
  const element = node("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", onClick);
  return element;
}

/** Make a button that opens a text of the project by its number. */
export function textLink(id, onOpen) {
  return button(`Text ${id}`, () => onOpen(id), { class: "link" });
}

/**
 * Make a name safe to stand among our own words: its direction does not affect what is around it, and invisible
 * characters that turn text around are spelled out, so that "exe.fdp" cannot look like "pdf.exe".
 */
export function nameNode(text) {
  return node("bdi", {}, visible(text));
}

/** Spell out invisible characters. */
export function visible(text) {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** Return a count with its noun: "1 text", "2 texts". */
export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
