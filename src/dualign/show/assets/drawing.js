// A sentence pair as lines with curves between them, and as a matrix. Both call `point(what)` with a word
// {side, at}, a cell {i, j}, or null, when the mouse or the keyboard is there.

const BETWEEN = 10;  // pixels from word to word, as in the style sheet
const UNFILLED = 4;  // how many links one may break rather than leave a row empty

/** Two sentences, cut into as many rows as the pane needs, with curves between them; links is a list of {i, j, kind, p}. */
function linesOf(source, target, links, { point, pick }) {
  const svg = drawn("svg", { "aria-hidden": "true" });
  const box = element("div", { class: "lines" }, svg);
  const directions = [directionOf(source), directionOf(target)];
  const sides = [source, target].map((tokens, side) => wordsOf(tokens, side, links));
  const curves = links.map((link) => {
    const curve = drawn("path", { class: `curve ${link.kind}` });
    if (!Number.isNaN(link.p) && link.p !== undefined) curve.style.strokeOpacity = 0.35 + 0.65 * link.p;
    svg.append(curve);
    return curve;
  });
  const place = (cuts) => {
    let i = 0, j = 0;
    box.replaceChildren(svg, ...cuts.map(([a, b]) => {
      const rows = [sides[0].slice(i, a), sides[1].slice(j, b)];
      [i, j] = [a, b];
      const [above, below] = rows.map((row, side) => element("div", { class: "sentence", dir: directions[side] }, ...row));
      return element("div", { class: "rows" }, above, element("div", { class: "between" }), below);
    }));
    box.classList.toggle("wrapped", cuts.length > 1);
  };
  let widths = null, cuts = "";
  const layOut = () => {
    if (widths === null) {
      place([[source.length, target.length]]);
      widths = sides.map((words) => words.map((word) => word.getBoundingClientRect().width));
    }
    const wanted = cutsOf(widths, links, box.clientWidth);
    if (cuts !== String(wanted)) place(wanted);
    cuts = String(wanted);
    const corner = box.getBoundingClientRect();
    const at = sides.map((words) => words.map((word) => word.getBoundingClientRect()));
    links.forEach((link, k) => {
      const from = at[0][link.i], to = at[1][link.j], down = from.top < to.top;
      const x = from.left + from.width / 2 - corner.left, u = to.left + to.width / 2 - corner.left;
      const y = (down ? from.bottom : from.top) - corner.top, v = (down ? to.top : to.bottom) - corner.top;
      curves[k].setAttribute("d", `M${x},${y} C${x},${y + 0.55 * (v - y)} ${u},${y + 0.45 * (v - y)} ${u},${v}`);
    });
  };
  const mark = (what, picked) => {
    box.classList.toggle("pointing", what !== null);
    const near = [new Set(), new Set()];
    links.forEach((link, k) => {
      const on = what !== null && touches(what, link);
      curves[k].classList.toggle("near", on);
      if (on) { near[0].add(link.i); near[1].add(link.j); }
    });
    const is = (one, side, at) => one !== null && one.side === side && one.at === at;
    sides.forEach((words, side) => words.forEach((word, at) => {
      word.classList.toggle("near", near[side].has(at));
      word.classList.toggle("here", is(what, side, at));
      word.classList.toggle("picked", is(picked, side, at));
    }));
  };
  for (const event of ["mouseover", "focusin"]) box.addEventListener(event, ({ target: node }) => point(wordAt(node)));
  box.addEventListener("mouseleave", () => point(null));
  box.addEventListener("click", ({ target: node }) => pick(wordAt(node)));
  return { box, layOut, mark };
}

/** Where rows end: [words of the source, of the target] up to the end of each.
 *
 * As many words as the room allows, or fewer where that keeps linked words in the same row.
 */
function cutsOf(widths, links, room) {
  const size = widths.map((side) => side.length), cuts = [];
  const reach = (side, from) => {
    let end = from, used = 0;
    while (end < size[side] && (end === from || used + widths[side][end] <= room)) used += widths[side][end++] + BETWEEN;
    return end;
  };
  for (let i = 0, j = 0; i < size[0] || j < size[1]; [i, j] = cuts.at(-1)) {
    const most = [reach(0, i), reach(1, j)];
    if (most[0] === size[0] && most[1] === size[1]) { cuts.push(most); break; }
    const ahead = links.filter((link) => link.i >= i && link.j >= j);
    let best = most, least = Infinity;
    for (let a = most[0]; a >= i; a--) {
      for (let b = most[1]; b >= j && (a > i || b > j); b--) {
        let cost = UNFILLED * ((most[0] - a) / Math.max(1, most[0] - i) + (most[1] - b) / Math.max(1, most[1] - j));
        for (const link of ahead) if (link.i < a !== link.j < b) cost++;
        if (cost < least) { least = cost; best = [a, b]; }
      }
    }
    cuts.push(best);
  }
  return cuts;
}

function touches(what, link) {
  if (what.side === 0) return link.i === what.at;
  if (what.side === 1) return link.j === what.at;
  return link.i === what.i && link.j === what.j;
}

function wordAt(node) {
  const word = node.closest(".word");
  return word ? { side: Number(word.dataset.side), at: Number(word.dataset.at) } : null;
}

function wordsOf(tokens, side, links) {
  const linked = new Set(links.map((link) => (side === 0 ? link.i : link.j)));
  return tokens.map((token, at) => element(
    "span",
    { class: linked.has(at) ? "word" : "word null", dir: "auto", tabindex: "-1", "data-side": side, "data-at": at },
    token,
  ));
}

/** A matrix of cells, source words as rows; `decorate(draw)` puts marks in with draw.square, draw.disc … */
function matrixOf(source, target, options, decorate, point) {
  const I = source.length, J = target.length;
  const cell = options.cell || (J > 60 || I > 60 ? 15 : J > 36 ? 18 : 22);
  const letters = Math.max(10, Math.min(14, cell - 6));
  const longest = (tokens) => Math.max(...tokens.map((token) => token.length), 1);
  const top = Math.min(9 * letters, longest(target) * letters * 0.66 + 10);
  const left = Math.min(13 * letters, longest(source) * letters * 0.72 + 14);
  const mirrored = directionOf(target) === "rtl";
  const column = (j) => (mirrored ? J - 1 - j : j) * cell;
  const svg = drawn("svg", {
    class: "cells", width: J * cell + 1, height: I * cell + 1,
    tabindex: options.reachable ? "0" : null, role: "img", "aria-label": options.label,
  });
  for (let k = 0; k <= Math.max(I, J); k++) {
    const kind = k % 5 === 0 ? "ruler fifth" : "ruler";
    if (k <= I) svg.append(drawn("line", { class: kind, x1: 0, x2: J * cell, y1: k * cell + 0.5, y2: k * cell + 0.5 }));
    const x = (mirrored ? J - k : k) * cell + 0.5;
    if (k <= J) svg.append(drawn("line", { class: kind, y1: 0, y2: I * cell, x1: x, x2: x }));
  }
  const layer = drawn("g");
  const aims = [drawn("rect", { class: "aim", width: J * cell, height: cell }), drawn("rect", { class: "aim", width: cell, height: I * cell })];
  const cursor = drawn("rect", { class: "cursor", width: cell, height: cell, rx: 2 });
  svg.append(layer, ...aims, cursor);
  const heads = element("div", { class: "heads" });
  const names = element("div", { class: "names" });
  target.forEach((token, j) => {
    const word = element("span", { class: "word", title: token, "data-side": 1, "data-at": j }, token);
    word.style.left = `${column(j)}px`;
    heads.append(word);
  });
  source.forEach((token, i) => {
    const word = element("span", { class: "word", dir: "auto", title: token, "data-side": 0, "data-at": i }, token);
    word.style.top = `${i * cell}px`;
    names.append(word);
  });
  const box = element("div", { class: "matrix" }, element("span", { class: "corner" }), heads, names, svg);
  box.style.gridTemplateColumns = `${left}px ${J * cell + 1}px`;
  for (const [name, value] of [["--cell", cell], ["--top", top], ["--left", left], ["--letters", letters]]) {
    box.style.setProperty(name, `${value}px`);
  }
  const draw = {
    square: (i, j, kind) => layer.append(drawn("rect", {
      class: kind, x: column(j) + 2, y: i * cell + 2, width: cell - 3, height: cell - 3, rx: 2,
    })),
    disc: (i, j, kind, p = 1) => layer.append(drawn("circle", {
      class: `mark ${kind}`, cx: column(j) + cell / 2 + 0.5, cy: i * cell + cell / 2 + 0.5,
      r: (cell / 2 - 2.5) * Math.sqrt(Math.max(p, 0.02)),
    })),
    diamond: (i, j, kind) => {
      const x = column(j) + cell / 2 + 0.5, y = i * cell + cell / 2 + 0.5, r = cell / 2 - 3;
      layer.append(drawn("path", { class: `mark ${kind}`, d: `M${x},${y - r} L${x + r},${y} L${x},${y + r} L${x - r},${y} Z` }));
    },
    cross: (i, j) => {
      const x = column(j) + cell / 2 + 0.5, y = i * cell + cell / 2 + 0.5, r = cell / 6;
      layer.append(drawn("path", { class: "cross", d: `M${x - r},${y - r} L${x + r},${y + r} M${x - r},${y + r} L${x + r},${y - r}` }));
    },
  };
  const redraw = () => { layer.replaceChildren(); decorate(draw); };
  const place = (node, visible, x, y) => {
    node.style.display = visible ? "" : "none";
    node.setAttribute("x", x);
    node.setAttribute("y", y);
  };
  const mark = (what) => {
    const i = what === null ? -1 : what.side === 0 ? what.at : what.i ?? -1;
    const j = what === null ? -1 : what.side === 1 ? what.at : what.j ?? -1;
    place(aims[0], i >= 0, 0, i * cell);
    place(aims[1], j >= 0, column(j), 0);
    place(cursor, i >= 0 && j >= 0, column(j), i * cell);
    [...names.children].forEach((word, at) => word.classList.toggle("near", at === i));
    [...heads.children].forEach((word, at) => word.classList.toggle("near", at === j));
  };
  const cellAt = (event) => {
    const corner = svg.getBoundingClientRect();
    const x = Math.floor((event.clientX - corner.left) / cell), i = Math.floor((event.clientY - corner.top) / cell);
    const j = mirrored ? J - 1 - x : x;
    return i >= 0 && i < I && j >= 0 && j < J ? { i, j } : null;
  };
  svg.addEventListener("mousemove", (event) => point(cellAt(event)));
  box.addEventListener("mouseleave", () => point(null));
  for (const words of [heads, names]) words.addEventListener("mouseover", (event) => point(wordAt(event.target)));
  redraw();
  mark(null);
  return { box, svg, mark, redraw, cellAt, mirrored };
}

/** Bound and score by round; points are [bound, score …]. */
function traceOf(points) {
  const wide = 520, high = 190, left = 64, bottom = 26, topEdge = 8, right = 10;
  const values = points.flatMap((point) => [point[0], point[1]]).filter((value) => typeof value === "number");
  let low = Math.min(...values), up = Math.max(...values);
  if (low === up) { low -= 1; up += 1; }
  const x = (k) => left + (wide - left - right) * (points.length > 1 ? k / (points.length - 1) : 0.5);
  const y = (value) => topEdge + (high - topEdge - bottom) * (up - value) / (up - low);
  const path = (at) => {
    let open = false, d = "";
    points.forEach((point, k) => {
      if (typeof point[at] !== "number") { open = false; return; }
      d += `${open ? "L" : "M"}${x(k).toFixed(1)},${y(point[at]).toFixed(1)} `;
      open = true;
    });
    return d;
  };
  const svg = drawn("svg", { class: "chart", width: wide, height: high, role: "img", "aria-label": "Bound and score by round" });
  for (let k = 0; k <= 4; k++) {
    const value = low + (up - low) * k / 4;
    svg.append(
      drawn("line", { class: "axis", x1: left, x2: wide - right, y1: y(value), y2: y(value) }),
      drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toPrecision(5)),
    );
  }
  for (const k of new Set([0, Math.floor((points.length - 1) / 2), points.length - 1])) {
    svg.append(drawn("text", { x: x(k), y: high - 8, "text-anchor": "middle" }, `${k + 1}`));
  }
  svg.append(drawn("path", { class: "bound", d: path(0) }), drawn("path", { class: "score", d: path(1) }));
  // One round makes no line.
  if (points.length === 1) {
    const mark = (at, r) => typeof points[0][at] === "number" && svg.append(drawn("circle", { class: at ? "score" : "bound", cx: x(0), cy: y(points[0][at]), r }));
    mark(0, 6);
    mark(1, 3);
  }
  return svg;
}
