// Lines of the data, as dualign.show.payload wrote them.

const WIDTH = 1 << 16;
const cellOf = (i, j) => i * WIDTH + j;

/** Call visit(i, j, mark, probability) for each link of a line; the probability is NaN where unknown. */
function eachLink(line, visit) {
  const end = line.length;
  let at = 0;
  while (at < end) {
    let i = 0, j = 0, p = NaN, c;
    while ((c = line.charCodeAt(at)) >= 48 && c <= 57) { i = 10 * i + c - 48; at++; }
    const mark = line[at++];
    while ((c = line.charCodeAt(at)) >= 48 && c <= 57) { j = 10 * j + c - 48; at++; }
    if (c === 58) {
      at++;
      p = 0;
      while ((c = line.charCodeAt(at)) >= 48 && c <= 57) { p = 10 * p + c - 48; at++; }
      p /= 1000;
    }
    at++;
    visit(i, j, mark, p);
  }
}

/** The cells of a line's links, rising; those of possible ones are in `possible`. Arrays are reused: copy to keep. */
class Cells {
  constructor() {
    this.keys = [];
    this.possible = [];
    this.size = 0;
  }

  read(line) {
    this.size = 0;
    eachLink(line, (i, j, mark) => { if (mark !== "~") this.add(i, j, mark); });
    return this;
  }

  /** The same of a map as `parseLinks` makes it. */
  take(cells) {
    this.size = 0;
    for (const { i, j, mark } of [...cells.values()].sort((x, y) => x.i - y.i || x.j - y.j)) this.add(i, j, mark);
    return this;
  }

  add(i, j, mark) {
    this.keys[this.size] = cellOf(i, j);
    this.possible[this.size++] = mark === "?";
  }
}

const FIRST = new Cells(), SECOND = new Cells();

/** A line as a map from cell to {i, j, mark, p}. */
function parseLinks(line) {
  const cells = new Map();
  eachLink(line, (i, j, mark, p) => cells.set(cellOf(i, j), { i, j, mark, p }));
  return cells;
}

const words = (line) => (line === "" ? [] : line.split(" "));

// Hebrew, Arabic, Syriac, Thaana, N'Ko, Samaritan, Mandaic and the presentation forms; Adlam and its neighbours.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]|\ud802|\ud803|\ud83a/;
const LEFT_TO_RIGHT = /[A-Za-z\u00c0-\u058f\u0900-\u1fff\u2c00-\ud7ff]/;

/** "rtl" if most words that have a direction run from right to left. */
function directionOf(tokens) {
  let right = 0, left = 0;
  for (const token of tokens) {
    if (RIGHT_TO_LEFT.test(token)) right++;
    else if (LEFT_TO_RIGHT.test(token)) left++;
  }
  return right > left ? "rtl" : "ltr";
}

const percent = (p) => (Number.isNaN(p) ? "" : `${(100 * p).toFixed(p === 1 || p === 0 ? 0 : 1)} %`);

/** An element with text, attributes and children; text is never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return furnished(made, attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return furnished(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function furnished(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);
