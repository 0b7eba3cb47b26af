// One sentence pair in the detail pane: which links to draw, in which colour, and what to say about a word.

/** How the links of `one` stand to those of `two`: a list of {i, j, kind, p, mark}.
 *
 * kind "both": in both, or nothing to compare with; against gold "a": wrong, "b": missed, "maybe": possible
 * and not in the first; against a system, which may be just as right, "first" and "second": only in that one.
 */
function comparedLinks(corpus, n, one, two) {
  const first = one >= 0 ? corpus.links(one, n) : new Map();
  const second = two >= 0 ? corpus.links(two, n) : two === GOLD ? corpus.gold(n) : null;
  const links = [], [mine, theirs] = two >= 0 ? ["first", "second"] : ["a", "b"];
  for (const [key, cell] of first) {
    if (cell.mark === "~") continue;
    const there = second === null ? undefined : second.get(key);
    const agreed = second === null || (there !== undefined && there.mark !== "~");
    links.push({ ...cell, kind: cell.mark === "?" ? "maybe" : agreed ? "both" : mine });
  }
  if (second !== null) {
    for (const [key, cell] of second) {
      if (cell.mark === "~") continue;
      const there = first.get(key);
      if (there !== undefined && there.mark !== "~") continue;
      const possible = cell.mark === "?";
      links.push({ ...cell, p: NaN, kind: possible ? "maybe" : one >= 0 ? theirs : "both" });
    }
  }
  return links;
}

function legendOf(corpus, one, two, gold) {
  const box = element("div", { class: "legend" });
  const add = (draw, text) => {
    const svg = drawn("svg", { width: 26, height: 16 });
    svg.append(...draw);
    box.append(element("span", {}, svg, text));
  };
  const disc = (kind) => drawn("circle", { class: `mark ${kind}`, cx: 20, cy: 8, r: 5 });
  const curve = (kind) => drawn("path", { class: `curve ${kind}`, d: "M0,14 C6,14 6,2 12,2" });
  const firstName = one >= 0 ? corpus.systems[one].name : "";
  if (one >= 0 && two !== NONE) {
    const other = two === GOLD ? "gold" : corpus.systems[two].name;
    add([curve("both"), disc("both")], `${firstName} and ${other}`);
    const diamond = (kind) => drawn("path", { class: `mark ${kind}`, d: "M20,3 L25,8 L20,13 L15,8 Z" });
    if (two === GOLD) {
      add([curve("a"), disc("a"), drawn("path", { class: "cross", d: "M18,6 L22,10 M18,10 L22,6" })], `${firstName}, not in gold`);
      add([curve("b"), diamond("b")], "gold, missed");
    } else {
      add([curve("first"), disc("first")], `only ${firstName}`);
      add([curve("second"), diamond("second")], `only ${other}`);
    }
  } else if (one >= 0) add([curve("both"), disc("both")], firstName);
  if (gold !== null) {
    add([drawn("rect", { class: "sure", x: 13, y: 2, width: 12, height: 12, rx: 2 })], "gold, sure");
    add([drawn("rect", { class: "possible", x: 13, y: 2, width: 12, height: 12, rx: 2 })], "gold, possible");
  }
  if (one >= 0 && corpus.systems[one].scored) box.append(element("span", {}, "larger and stronger: more probable"));
  return box;
}

/** Marks of the matrix: gold as squares, links as discs (first) and diamonds (only second). */
function decorateMatrix(corpus, n, state, draw) {
  const gold = corpus.gold(n);
  if (gold !== null) for (const { i, j, mark } of gold.values()) draw.square(i, j, mark === "-" ? "sure" : "possible");
  for (const { i, j, kind, p, mark } of comparedLinks(corpus, n, state.one, state.two)) {
    if (kind === "b" && state.two === GOLD && state.editing) continue;  // the empty square says it
    if (kind === "b" || kind === "second") draw.diamond(i, j, kind);
    else if (kind === "maybe" && mark === "?" && state.two === GOLD) continue;
    else if (kind === "maybe") draw.disc(i, j, "faint", 0.5);
    else if (state.one >= 0 || state.two !== GOLD) {
      draw.disc(i, j, kind, Number.isNaN(p) ? 0.8 : p);
      if (kind === "a") draw.cross(i, j);
    }
  }
  if (state.one >= 0 && corpus.systems[state.one].scored) {
    for (const { i, j, mark, p } of corpus.links(state.one, n).values()) if (mark === "~") draw.disc(i, j, "faint", p);
  }
}

const GOLD_WORDS = { "-": "sure", "?": "possible" };

/** What the card says of a cell. */
function describeCell(corpus, n, state, what) {
  const source = corpus.words(n, 0)[what.i], target = corpus.words(n, 1)[what.j];
  const facts = [];
  corpus.systems.forEach((system, k) => {
    const cell = corpus.links(k, n).get(cellOf(what.i, what.j));
    if (cell && cell.mark !== "~") facts.push(`${system.name}: linked${Number.isNaN(cell.p) ? "" : `, ${percent(cell.p)}`}`);
    else facts.push(`${system.name}: not linked${cell ? `, ${percent(cell.p)}` : ""}`);
  });
  const gold = corpus.gold(n);
  if (gold !== null) {
    const cell = gold.get(cellOf(what.i, what.j));
    facts.push(`gold: ${cell ? GOLD_WORDS[cell.mark] : "none"}`);
  }
  return [
    element("div", { class: "line" }, element("bdi", {}, element("b", {}, source)), "–", element("bdi", {}, element("b", {}, target)),
      element("span", { class: "soft number" }, `${what.i}-${what.j}`)),
    element("div", { class: "line" }, ...facts.map((fact) => element("span", {}, fact))),
  ];
}

/** What the card says of a word: its links, their probabilities, and what it is mostly linked to. */
function describeWord(corpus, n, state, what) {
  const tokens = corpus.words(n, what.side), others = corpus.words(n, 1 - what.side);
  const linked = element("div", { class: "line" });
  const partner = (cell) => others[what.side === 0 ? cell.j : cell.i];
  const mine = (cell) => (what.side === 0 ? cell.i : cell.j) === what.at;
  corpus.systems.forEach((system, k) => {
    const found = [...corpus.links(k, n).values()].filter((cell) => mine(cell) && cell.mark !== "~");
    const item = element("span", {}, element("span", { class: "soft" }, `${system.name}: `));
    if (found.length === 0) item.append("not linked");
    found.forEach((cell, at) => item.append(at ? ", " : "", element("bdi", {}, partner(cell)), Number.isNaN(cell.p) ? "" : ` ${percent(cell.p)}`));
    linked.append(item);
  });
  const gold = corpus.gold(n);
  if (gold !== null) {
    const found = [...gold.values()].filter(mine);
    const item = element("span", {}, element("span", { class: "soft" }, "gold: "));
    if (found.length === 0) item.append("not linked");
    found.forEach((cell, at) => item.append(at ? ", " : "", element("bdi", {}, partner(cell)), cell.mark === "?" ? " (possible)" : ""));
    linked.append(item);
  }
  const { best, pairs } = corpus.candidates(tokens[what.at], what.side);
  const candidates = element("div", { class: "line" });
  if (best.length) {
    const origin = Number.isNaN(pairs) ? "the model translates it as" : pairs < corpus.size ? `linked so far (${pairs.toLocaleString("en")} pairs) to` : "linked in the whole text to";
    candidates.append(element("span", { class: "soft" }, origin));
    for (const [other, share] of best) candidates.append(element("span", {}, element("bdi", {}, other), ` ${percent(share)}`));
  }
  return [
    element("div", { class: "line" }, element("bdi", {}, element("b", {}, tokens[what.at])),
      element("span", { class: "soft number" }, `${what.side === 0 ? "source" : "target"} word ${what.at}`)),
    linked,
    candidates,
  ];
}

/** Score, bound and whatever else a report says of the pair. */
function certificateOf(record) {
  const box = element("section", { id: "certificate" }, element("h2", {}, "Certificate"));
  const state = record.certified === true ? element("b", { class: "proved" }, "✓ certified: optimal for the model's scores")
    : record.certified === false ? element("b", { class: "open" }, "○ not certified: other links may have a higher score") : "";
  box.append(element("p", {}, state));
  const table = element("table");
  const row = (name, text) => table.append(element("tr", {}, element("th", {}, name), element("td", { class: "number" }, text)));
  for (const [name, value] of Object.entries(record)) {
    if (name === "line" || name === "trace" || name === "certified") continue;
    row(name, typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "unknown"));
  }
  if (typeof record.score === "number" && typeof record.bound === "number") row("gap", String(Math.max(0, record.bound - record.score)));
  box.append(table);
  if (Array.isArray(record.trace) && record.trace.length) {
    box.append(
      element("div", { class: "legend" }, "Bound (dashed) and best score (solid) by round"),
      traceOf(record.trace),
    );
  }
  return box;
}
