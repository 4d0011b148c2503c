/**
 * A text whose offsets count code points, as the server and every file of retainer do. JavaScript counts UTF-16 units,
 * of which an emoji has two; all conversions are in this file.
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

  /** The number of code points. */
  get length() {
    return this.units ? this.units.length - 1 : this.plain.length;
  }

  /** The part between two offsets. */
  slice(start, end = this.length) {
    return this.units ? this.plain.slice(this.units[start], this.units[end]) : this.plain.slice(start, end);
  }

  /** Start and end of each word, as retainer splits words: letters, digits and the marks on them. */
  words() {
    const words = [];
    let unit = 0;
    let point = 0;
    for (const match of this.plain.matchAll(/\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}])+|[^\s]/gu)) {
      point += countPoints(this.plain, unit, match.index);
      const end = point + countPoints(match[0], 0, match[0].length);
      words.push([point, end]);
      unit = match.index + match[0].length;
      point = end;
    }
    return words;
  }
}

/** Count the code points between two units. */
function countPoints(plain, from, to) {
  let points = 0;
  for (let at = from; at < to; at += plain.codePointAt(at) > 0xffff ? 2 : 1) points += 1;
  return points;
}
