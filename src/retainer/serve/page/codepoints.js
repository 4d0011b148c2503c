/**
 * A text whose places are counted in code points, as the server and every file of retainer count. JavaScript counts
 * UTF-16 units, in which an emoji is two; all conversions are in this file.
 */
export class Text {
  /** @param {string} plain */
  constructor(plain) {
    this.plain = plain;
    this.units = null;
    if (/[\ud800-\udfff]/.test(plain)) {
      this.units = [];
      let at = 0;
      for (const point of plain) {
        this.units.push(at);
        at += point.length;
      }
      this.units.push(at);
    }
  }

  /** How many code points it has. */
  get length() {
    return this.units ? this.units.length - 1 : this.plain.length;
  }

  /** The part between two places. */
  slice(start, end = this.length) {
    return this.units ? this.plain.slice(this.units[start], this.units[end]) : this.plain.slice(start, end);
  }

  /** Where its words begin and end. A word is what retainer takes for one: letters, digits and the marks on them. */
  words() {
    const found = [];
    let unit = 0;
    let point = 0;
    for (const match of this.plain.matchAll(/\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}])+|[^\s]/gu)) {
      point += count(this.plain, unit, match.index);
      const end = point + count(match[0], 0, match[0].length);
      found.push([point, end]);
      unit = match.index + match[0].length;
      point = end;
    }
    return found;
  }
}

/** Count the code points between two units. */
function count(plain, from, to) {
  let points = 0;
  for (let at = from; at < to; at += plain.codePointAt(at) > 0xffff ? 2 : 1) points += 1;
  return points;
}
