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

  /** Whether there is no word in it. */
  get isBlank() {
    return this.plain.search(WORD) < 0;
  }

  /** The part between two offsets. */
  slice(start, end = this.length) {
    return this.units ? this.plain.slice(this.units[start], this.units[end]) : this.plain.slice(start, end);
  }

  /** Start and end of each word, exactly as retainer splits words: letters, digits and the marks on them. */
  words() {
    const words = [];
    let unit = 0;
    let point = 0;
    for (const match of this.plain.matchAll(WORD)) {
      point += countPoints(this.plain, unit, match.index);
      const end = point + countPoints(match[0], 0, match[0].length);
      words.push([point, end]);
      unit = match.index + match[0].length;
      point = end;
    }
    return words;
  }
}

const HAN = "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{2fa1f}";
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = new RegExp(`(?:(?![${HAN}])[\\p{L}\\p{N}\\p{M}])+|[^${SPACE}]`, "gu");
/** What Python takes for white space, and the Han characters of data/words.py: JavaScript's own classes differ. */

/** Count the code points between two units. */
function countPoints(plain, from, to) {
  let points = 0;
  for (let at = from; at < to; at += plain.codePointAt(at) > 0xffff ? 2 : 1) points += 1;
  return points;
}
