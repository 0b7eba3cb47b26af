// The page: state, toolbar, keyboard.

const FILTERS = [
  ["all", "all pairs"], ["low", "low confidence"], ["errors", "errors against gold"], ["differences", "differences"],
  ["uncertified", "not certified"], ["unlinked", "no links"], ["edited", "edited"],
];
const SORTS = [
  ["line", "by line"], ["confidence", "least confident first"], ["-confidence", "most confident first"],
  ["-errors", "most errors first"], ["-differences", "most differences first"], ["-gap", "largest gap first"],
  ["-length", "longest first"], ["length", "shortest first"],
];
const KEYS = [
  ["↑ ↓ or k j", "previous, next pair"], ["PageUp PageDown Home End", "a page back or on, first, last"], ["/", "search; Esc leaves it"],
  ["f  o  l  c", "the next filter, order, system, comparison"], ["1 2 3", "lines, matrix, posteriors on or off"],
  ["w", "walk the words: ← → along, ↑ ↓ to the other sentence, Esc back"], ["m", "walk the matrix: arrows; Esc back"],
  ["e", "edit mode on or off"], ["Space or Enter", "editing, on a cell of the matrix, or on one word and then another: none, sure, possible, none …"],
  ["s p x", "the same, editing: sure, possible, none"], ["a", "editing: take the links of the system for this pair"],
  ["z or u, y", "undo, redo (also Ctrl+Z, Ctrl+Y)"], ["h n", "export gold links in Pharaoh, NAACL format"], ["b v", "export all links with my corrections, only the pairs I corrected (edited, or taken with a)"], ["g", "go to a line"], ["t", "theme: like the system, light, dark"], ["?", "this list"],
];

const MARKS = { s: "-", p: "?", x: "", Delete: "", Backspace: "" };

class Viewer {
  constructor(corpus) {
    this.corpus = corpus;
    const one = corpus.systems.length ? 0 : NONE;
    const two = corpus.base !== null ? GOLD : corpus.systems.length > 1 ? 1 : NONE;
    this.state = { one, two, editing: false, views: { lines: true, matrix: true, posteriors: corpus.live || corpus.posteriors !== null } };
    this.editor = new Editor(corpus, (n) => this.goldChanged(n), () => this.tellLost());
    this.pair = NONE;
    this.parts = [];
    this.cells = null;
    this.list = new PairList(byId("list"), (row, n) => this.fillRow(row, n), (n) => this.open(n));
    this.pointed = null;
    this.picked = null;  // a word that waits for its partner
    this.found = null;
    this.fillToolbar();
    this.listen();
    const restored = this.editor.restore();
    if (restored) this.offerDiscard(restored);
    window.addEventListener("storage", (event) => { if (event.key === this.editor.key || event.key === null) this.editor.follow(); });
    this.arrange(this.lineInAddress());
    byId("list").focus({ preventScroll: true });
    setTimeout(() => corpus.countLinks(one, () => this.refreshCard()), 300);
  }

  // ——— toolbar ———

  fillToolbar() {
    const { corpus, state } = this;
    byId("title").textContent = byId("title").title = corpus.names[0] === corpus.names[1] ? corpus.names[0] : corpus.names.join(" – ");
    byId("export-name").textContent = state.one >= 0 ? ` of ${corpus.systems[state.one].name}` : "";
    const fill = (select, items) => select.replaceChildren(...items.map(([value, text, off]) => element("option", { value, disabled: off === true }, text)));
    const known = corpus.systems.map((system, k) => [k, system.name]);
    fill(byId("one"), known.length ? known : [[NONE, "none"]]);
    fill(byId("two"), [[NONE, "nothing"], [GOLD, "gold", !corpus.hasGold && !state.editing], ...known]);
    byId("one").value = state.one;
    byId("two").value = state.two;
    const several = corpus.systems.length > 1;
    const scored = corpus.systems.some((system) => system.scored || system.records);
    const reported = corpus.systems.some((system) => system.records);
    const without = {
      low: !scored, confidence: !scored, "-confidence": !scored, errors: !corpus.hasGold || !known.length, "-errors": !corpus.hasGold || !known.length,
      differences: !several, "-differences": !several, uncertified: !reported, "-gap": !reported, unlinked: !known.length,
    };
    for (const [id, items] of [["filter", FILTERS], ["sort", SORTS]]) {
      const kept = byId(id).value || items[0][0];
      fill(byId(id), items.map(([value, text]) => [value, text, without[value] === true]));
      byId(id).value = kept;
    }
    byId("toggle-posteriors").disabled = !corpus.live && corpus.posteriors === null;
    byId("limit-box").hidden = byId("filter").value !== "low";
    byId("limit-box").style.display = byId("filter").value === "low" ? "" : "none";
    for (const [name, on] of Object.entries(state.views)) byId(`toggle-${name}`).setAttribute("aria-pressed", String(on));
    byId("edit").setAttribute("aria-pressed", String(state.editing));
    document.body.classList.toggle("editing", state.editing);
    this.refreshButtons();
  }

  refreshButtons() {
    byId("undo").disabled = this.editor.past.length === 0;
    byId("redo").disabled = this.editor.future.length === 0;
    byId("export-pharaoh").disabled = byId("export-naacl").disabled = !this.corpus.hasGold;
    byId("export-all").disabled = this.state.one < 0;
    byId("export-looked").disabled = this.corpus.edits.size === 0;
  }

  listen() {
    const on = (id, what, act) => byId(id).addEventListener(what, act);
    let waiting = 0;
    on("search", "input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.arrange(), 120); });
    for (const id of ["filter", "limit", "shortest", "longest"]) on(id, "change", () => { this.fillToolbar(); this.arrange(); });
    on("sort", "change", () => this.arrange(NONE));  // who sorts wants to see the top
    on("one", "change", () => this.choose("one", Number(byId("one").value)));
    on("two", "change", () => this.choose("two", Number(byId("two").value)));
    for (const name of Object.keys(this.state.views)) on(`toggle-${name}`, "click", () => this.toggle(name));
    on("edit", "click", () => this.setEditing(!this.state.editing));
    on("undo", "click", () => this.follow(this.editor.undo()));
    on("redo", "click", () => this.follow(this.editor.redo()));
    on("export-pharaoh", "click", () => this.export("pharaoh"));
    on("export-naacl", "click", () => this.export("naacl"));
    on("export-all", "click", () => this.exportCorrected());
    on("export-looked", "click", () => this.exportLooked());
    on("exports", "click", ({ target: node }) => { if (node.closest("button")) byId("exports").open = false; });
    document.addEventListener("click", ({ target: node }) => { if (!byId("exports").contains(node)) byId("exports").open = false; });
    on("theme", "click", () => nextTheme());
    on("help-button", "click", () => this.help());
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => { const n = this.lineInAddress(); if (n !== NONE) this.go(n); });
    new ResizeObserver(() => this.parts.forEach((part) => part.layOut && part.layOut())).observe(byId("detail"));
  }

  choose(which, system) {
    this.state[which] = system;
    byId(which).value = system;
    this.fillToolbar();
    if (which === "one") this.corpus.countLinks(system, () => this.refreshCard());
    this.arrange();
  }

  toggle(name) {
    if (byId(`toggle-${name}`).disabled) return;
    this.state.views[name] = !this.state.views[name];
    this.fillToolbar();
    this.open(this.pair);
  }

  setEditing(on) {
    this.state.editing = on;
    if (on) {
      if (!this.state.views.lines) this.state.views.matrix = true;
      this.state.two = GOLD;
    }
    this.fillToolbar();
    this.open(this.pair);
    if (!on) return;
    if (this.matrix) this.focusMatrix();
    else this.focusWord(0, 0);
  }

  export(format) {
    if (this.corpus.hasGold) download(`gold.${format === "naacl" ? "naacl" : "links"}`, this.editor[format]());
  }

  exportCorrected() {
    if (this.state.one >= 0) download("corrected.links", this.editor.corrected(this.state.one));
  }

  exportLooked() {
    if (this.corpus.edits.size > 0) download("corrections.tsv", this.editor.looked());
  }

  notice(text, ...more) {
    byId("notice").replaceChildren(text, " ", ...more);
    byId("notice").hidden = false;
  }

  tellLost() {
    this.notice("This browser cannot store your edits (its storage is full or off): export them before you close the page.");
  }

  offerDiscard(pairs) {
    const keep = element("button", {}, "Keep"), drop = element("button", {}, "Discard");
    keep.addEventListener("click", () => { byId("notice").hidden = true; });
    drop.addEventListener("click", () => { this.editor.discard(); byId("notice").hidden = true; });
    this.notice(`Restored ${pairs} ${pairs === 1 ? "pair" : "pairs"} edited in this browser; no file has these edits unless you exported them.`, keep, " ", drop);
    this.fillToolbar();
  }

  help() {
    byId("keys").replaceChildren(...KEYS.map(([keys, what]) => element("tr", {}, element("td", {}, element("kbd", {}, keys)), element("td", {}, what))));
    byId("help").showModal();
  }

  // ——— the list ———

  /** Filter and sort; then show the selected pair, or the first there is. */
  arrange(wanted = this.pair) {
    const { corpus, state } = this;
    const filter = byId("filter").value, limit = Number(byId("limit").value);
    const tests = [];
    this.found = corpus.matcher(byId("search").value);
    if (this.found) tests.push(this.found.pair);
    if (filter === "low") { const v = corpus.measure("confidence", state.one, 0); tests.push((n) => v[n] < limit); }
    if (filter === "errors") { const v = corpus.measure("errors", state.one, 0); tests.push((n) => v[n] > 0); }
    if (filter === "differences") { const other = this.otherSystem(); const v = corpus.measure("differences", state.one, other); tests.push((n) => v[n] > 0); }
    if (filter === "uncertified") { const v = corpus.measure("uncertified", state.one, 0); tests.push((n) => v[n] > 0); }
    if (filter === "unlinked") tests.push((n) => !corpus.systems[state.one].links[n].includes("-"));
    if (filter === "edited") tests.push((n) => corpus.edits.has(n));
    const least = byId("shortest").valueAsNumber, most = byId("longest").valueAsNumber;
    if (!Number.isNaN(least) || !Number.isNaN(most)) {
      const v = corpus.measure("length", 0, 0);
      tests.push((n) => !(v[n] < least) && !(v[n] > most));
    }
    let order = [];
    for (let n = 0; n < corpus.size; n++) if (tests.every((test) => test(n))) order.push(n);
    const sort = byId("sort").value;
    if (sort !== "line") {
      const falling = sort.startsWith("-") ? -1 : 1;
      const values = corpus.measure(sort.replace("-", ""), state.one, this.otherSystem());
      const unknown = order.filter((n) => Number.isNaN(values[n]));
      order = order.filter((n) => !Number.isNaN(values[n])).sort((x, y) => falling * (values[x] - values[y]) || x - y).concat(unknown);
    }
    const all = corpus.size.toLocaleString("en"), some = order.length.toLocaleString("en");
    byId("count").textContent = (order.length === corpus.size ? all : `${some} of ${all}`) + (corpus.size === 1 ? " pair" : " pairs");
    const at = order.indexOf(wanted);
    this.list.show(order, at === -1 ? order.length ? order[0] : NONE : wanted);
    this.list.reveal(Math.max(at, 0));
    this.open(this.list.selected);
  }

  otherSystem() {
    const { one, two } = this.state;
    return two >= 0 ? two : this.corpus.systems.length > 1 ? (one === 0 ? 1 : 0) : one;
  }

  fillRow(row, n) {
    const { corpus, state } = this;
    if (row.children.length === 0) {
      row.append(element("div", { class: "at" }), element("div", { class: "text" }, element("div", { dir: "auto" }), element("div", { dir: "auto" })), element("div", { class: "marks" }));
    }
    const [at, text, marks] = row.children;
    at.textContent = (n + 1).toLocaleString("en");
    corpus.sides.forEach((side, k) => text.children[k].replaceChildren(...(side[n] === "" ? ["(empty)"] : this.excerpt(side[n], k))));
    const confidence = corpus.confidence(state.one, n), errors = corpus.errors(state.one, n);
    const first = element("div", {}, Number.isNaN(confidence) ? "" : percent(confidence));
    if (corpus.uncertified(state.one, n)) first.prepend(element("span", { class: "open", title: "not certified" }, "○ "));
    const second = element("div", {}, corpus.edits.has(n) ? "✎ " : "");
    if (state.two >= 0) {
      const differences = corpus.differences(state.one, state.two, n);
      if (differences > 0) second.append(element("span", { class: "differ", title: "links of only one of the two" }, `${differences} ≠`));
    } else if (errors > 0) second.append(element("span", { class: "wrong", title: "errors against gold" }, `${errors} ✗`));
    marks.replaceChildren(first, second);
  }

  /** A line of the text for the list, what was searched for highlighted, and in sight. */
  excerpt(line, side) {
    if (this.found === null) return [line.slice(0, 240)];
    const parts = [];
    let before = "", room = 240;
    for (const token of words(line)) {
      const hit = this.found.hit(token, side);
      if (hit) {
        if (parts.length === 0 && before.length > 24) before = `… ${before.slice(-16)}`;
        parts.push(before + token.slice(0, hit[0]), element("mark", {}, token.slice(...hit)));
        before = `${token.slice(hit[1])} `;
      } else before += `${token} `;
      if ((parts.length > 0 || before.length > 2000) && (room -= token.length + 1) < 0) break;
    }
    return [...parts, before.slice(0, 240)];
  }

  /** Highlight what was searched for among the words of the pair. */
  markHits(box) {
    if (this.found === null) return;
    for (const word of box.querySelectorAll(".word")) word.classList.toggle("hit", this.found.hit(word.textContent, Number(word.dataset.side)) !== null);
  }

  // ——— the pair ———

  open(n) {
    this.pair = n;
    this.parts = [];
    this.cells = null;
    this.matrix = null;
    this.picked = null;
    const pane = byId("detail");
    if (n === NONE) {
      pane.replaceChildren(element("p", { class: "message" }, "No pair matches. Change the search, the filter or the lengths."));
      this.point(null);
      return;
    }
    const { corpus, state } = this;
    history.replaceState(null, "", `#${n + 1}`);
    const source = corpus.words(n, 0), target = corpus.words(n, 1);
    const gold = corpus.gold(n);
    const header = element("header", {}, element("h1", {}, `Pair ${(n + 1).toLocaleString("en")}`), element("span", { class: "soft" }, `${source.length} and ${target.length} words`));
    if (corpus.ids !== null) header.append(element("bdi", { id: "pair-id" }, corpus.ids[n]));
    const confidence = corpus.confidence(state.one, n);
    if (!Number.isNaN(confidence)) header.append(element("span", { class: "soft" }, `confidence ${percent(confidence)}`));
    const rates = corpus.rates(state.one, n);
    if (rates !== null) {
      const { aer, precision, recall } = rates;
      header.append(element("span", { class: "soft", id: "rates" }, `AER ${percent(aer)}, precision ${percent(precision)}, recall ${percent(recall)}`));
    }
    pane.replaceChildren(header);
    if (source.length === 0 || target.length === 0) {
      const which = source.length + target.length === 0 ? "Both sides are" : source.length === 0 ? "The source is" : "The target is";
      pane.append(element("p", { class: "message" }, `${which} empty: nothing can be linked here.`));
      for (const tokens of [source, target]) if (tokens.length) pane.append(element("p", { dir: "auto" }, tokens.join(" ")));
    } else {
      const point = (what) => this.point(what);
      if (state.views.lines || state.views.matrix) pane.append(legendOf(corpus, state.one, state.two, gold));
      if (state.views.lines) {
        const lines = linesOf(source, target, comparedLinks(corpus, n, state.one, state.two === GOLD && gold === null ? NONE : state.two), { point, pick: (what) => this.pick(what) });
        pane.append(lines.box);
        lines.layOut();
        this.parts.push(lines);
      }
      if (state.views.matrix) {
        const label = "Matrix of links; arrow keys move, in edit mode space changes a cell";
        this.matrix = matrixOf(source, target, { label, reachable: true }, (draw) => decorateMatrix(corpus, n, state, draw), point);
        this.matrix.svg.addEventListener("click", (event) => this.clickCell(this.matrix.cellAt(event)));
        pane.append(element("h2", {}, state.editing ? "Matrix: editing gold" : "Matrix"), this.matrix.box);
        this.parts.push(this.matrix);
      }
      if (state.views.posteriors) this.addPosteriors(n, pane);
    }
    const record = corpus.record(state.one, n);
    if (record !== null) pane.append(certificateOf(record));
    this.markHits(pane);
    this.point(null);
  }

  addPosteriors(n, pane) {
    const place = element("section", { id: "posteriors" }, element("h2", {}, "Posteriors"), element("p", { class: "soft" }, "…"));
    pane.append(place);
    posteriorsOf(this.corpus, n).then((cells) => {
      if (this.pair !== n || !place.isConnected) return;
      if (cells === null) {
        place.lastChild.textContent = `This file has the posteriors of the first ${this.corpus.posteriors ? this.corpus.posteriors.length : 0} pairs; write it with --posteriors N for more.`;
        return;
      }
      const panels = posteriorPanels(this.corpus, n, cells, (what) => this.point(what));
      this.cells = cells;
      this.parts.push(panels);
      place.lastChild.replaceWith(panels.box);
      this.markHits(panels.box);
    }).catch((error) => { if (place.isConnected) place.lastChild.textContent = `No posteriors: ${error.message}`; });
  }

  /** A word or a cell is under the mouse or the cursor. */
  point(what) {
    this.pointed = what;
    for (const part of this.parts) part.mark(what, this.picked);
    this.refreshCard();
  }

  refreshCard() {
    const card = byId("card"), what = this.pointed;
    if (this.pair === NONE) card.replaceChildren();
    else if (what === null) {
      const hint = this.picked ? "Now click a word of the other sentence, or press Space on it: none, sure, possible."
        : this.state.editing ? "Click a cell, or one word and then another, or press Space there: none, sure, possible. a takes the system's links." : "Point at a word or a cell, or press w or m to move with the keyboard. ? lists all keys.";
      card.replaceChildren(element("span", { class: "soft" }, hint));
    } else if (what.side !== undefined) card.replaceChildren(...describeWord(this.corpus, this.pair, this.state, what));
    else {
      card.replaceChildren(...describeCell(this.corpus, this.pair, this.state, what));
      if (this.cells) card.append(describePosteriors(this.cells, what, this.corpus.projection !== "none"));
    }
  }

  // ——— editing ———

  clickCell(cell) {
    if (!this.state.editing || cell === null) return;
    this.editor.next(this.pair, cell.i, cell.j);
  }

  /** A word was chosen: the second one sets the link between the two. */
  pick(what, mark = null) {
    if (!this.state.editing || what === null) return;
    const one = this.picked;
    if (one === null || one.side === what.side) {
      this.picked = one !== null && one.at === what.at ? null : what;
      this.point(this.picked === null ? what : null);
      return;
    }
    const [i, j] = what.side === 1 ? [one.at, what.at] : [what.at, one.at];
    this.picked = null;
    if (mark === null) this.editor.next(this.pair, i, j);
    else this.editor.set(this.pair, i, j, mark);
  }

  goldChanged(n) {
    this.refreshButtons();
    this.fillToolbar();
    if (n !== this.pair) { this.list.draw(true); return; }
    const pointed = this.pointed, inMatrix = this.matrix && document.activeElement === this.matrix.svg;
    const word = document.activeElement ? wordAt(document.activeElement) : null;
    const pane = byId("detail"), scroll = [pane.scrollLeft, pane.scrollTop];
    this.open(n);
    [pane.scrollLeft, pane.scrollTop] = scroll;
    if (inMatrix) this.matrix.svg.focus({ preventScroll: true });
    if (word) this.focusWord(word.side, word.at);
    this.point(pointed);
    this.list.draw(true);
  }

  follow(n) { if (n !== NONE && n !== this.pair) this.go(n); }

  // ——— keyboard ———

  go(n) {
    const at = this.list.order.indexOf(n);
    if (at >= 0) this.list.choose(at);
    else { byId("search").value = ""; byId("filter").value = "all"; byId("shortest").value = byId("longest").value = ""; this.arrange(n); }
  }

  lineInAddress() {
    const n = Number(location.hash.slice(1)) - 1;
    return Number.isInteger(n) && n >= 0 && n < this.corpus.size ? n : NONE;
  }

  focusMatrix() {
    if (!this.matrix) return;
    this.matrix.svg.focus();
    this.matrix.svg.scrollIntoView({ block: "nearest" });
    if (this.pointed === null || this.pointed.i === undefined) this.point({ i: 0, j: 0 });
  }

  cycle(id) {
    const select = byId(id), options = [...select.options].filter((option) => !option.disabled);
    if (!options.length) return;
    const at = options.findIndex((option) => option.value === select.value);
    select.value = options[(at + 1) % options.length].value;
    select.dispatchEvent(new Event("change"));
  }

  key(event) {
    const focus = document.activeElement;
    if (byId("help").open) return;
    const typing = focus && (focus.tagName === "INPUT" || focus.tagName === "SELECT");
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") {
      if (focus === byId("search") && byId("search").value !== "") return;  // the browser clears it first
      byId("exports").open = false;
      this.picked = null;
      byId("list").focus({ preventScroll: true });
      this.point(null);
      return;
    }
    if (typing) {
      if (event.key === "Enter" && focus === byId("search")) byId("list").focus({ preventScroll: true });
      return;
    }
    if (event.altKey || (command && !"zyZ".includes(event.key))) return;
    if (this.matrix && focus === this.matrix.svg && this.matrixKey(event)) { event.preventDefault(); return; }
    if (focus && focus.classList.contains("word") && this.wordKey(event, focus)) { event.preventDefault(); return; }
    if (focus && ["BUTTON", "SUMMARY"].includes(focus.tagName) && (event.key === " " || event.key === "Enter")) return;
    const act = this.actions()[event.key];
    if (act) { act(); event.preventDefault(); }
  }

  actions() {
    const list = this.list, end = list.order.length - 1;
    return {
      ArrowDown: () => list.move(1), j: () => list.move(1), ArrowUp: () => list.move(-1), k: () => list.move(-1),
      PageDown: () => list.move(list.page), PageUp: () => list.move(-list.page), Home: () => list.choose(0), End: () => list.choose(end),
      "/": () => byId("search").focus(), f: () => this.cycle("filter"), o: () => this.cycle("sort"), l: () => this.cycle("one"), c: () => this.cycle("two"),
      1: () => this.toggle("lines"), 2: () => this.toggle("matrix"), 3: () => this.toggle("posteriors"),
      e: () => this.setEditing(!this.state.editing), m: () => this.focusMatrix(), w: () => this.focusWord(0, 0),
      a: () => { if (this.state.editing && this.state.one >= 0 && this.pair !== NONE) this.editor.take(this.pair, this.state.one); },
      z: () => this.follow(this.editor.undo()), u: () => this.follow(this.editor.undo()), y: () => this.follow(this.editor.redo()), Z: () => this.follow(this.editor.redo()),
      h: () => this.export("pharaoh"), n: () => this.export("naacl"), b: () => this.exportCorrected(), v: () => this.exportLooked(), t: () => nextTheme(), "?": () => this.help(),
      g: () => { const line = Number(prompt("Line number", "")); if (line >= 1 && line <= this.corpus.size) this.go(line - 1); },
    };
  }

  matrixKey(event) {
    const I = this.corpus.words(this.pair, 0).length, J = this.corpus.words(this.pair, 1).length;
    const at = this.pointed && this.pointed.i !== undefined ? this.pointed : { i: 0, j: 0 };
    const right = this.matrix.mirrored ? -1 : 1;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -right], ArrowRight: [0, right] };
    if (moves[event.key]) {
      const [down, across] = moves[event.key];
      this.point({ i: Math.max(0, Math.min(I - 1, at.i + down)), j: Math.max(0, Math.min(J - 1, at.j + across)) });
      this.matrix.svg.querySelector(".cursor").scrollIntoView({ block: "nearest", inline: "nearest" });
      return true;
    }
    if (!this.state.editing) return false;
    if (event.key === " " || event.key === "Enter") this.editor.next(this.pair, at.i, at.j);
    else if (event.key in MARKS && !event.ctrlKey) this.editor.set(this.pair, at.i, at.j, MARKS[event.key]);
    else return false;
    return true;
  }

  focusWord(side, at) {
    const found = byId("detail").querySelector(`.lines .word[data-side="${side}"][data-at="${at}"]`);
    if (found) { found.focus(); found.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  }

  wordKey(event, word) {
    const { side, at } = wordAt(word);
    const along = word.parentElement.dir === "rtl" ? -1 : 1;
    const last = this.corpus.words(this.pair, side).length - 1;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      this.focusWord(side, Math.max(0, Math.min(last, at + (event.key === "ArrowRight" ? along : -along))));
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const other = event.key === "ArrowUp" ? 0 : 1;
      if (other === side) return true;
      const link = comparedLinks(this.corpus, this.pair, this.state.one, this.state.two).find((cell) => (side === 0 ? cell.i : cell.j) === at);
      const there = link ? (side === 0 ? link.j : link.i) : Math.min(at, this.corpus.words(this.pair, other).length - 1);
      this.focusWord(other, there);
    } else if (this.state.editing && (event.key === " " || event.key === "Enter")) this.pick({ side, at });
    else if (this.picked !== null && event.key in MARKS && !event.ctrlKey) this.pick({ side, at }, MARKS[event.key]);
    else return false;
    return true;
  }
}

const THEMES = ["", "light", "dark"];
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "") + 1) % THEMES.length];
  setTheme(theme);
  try { localStorage.setItem("dualign theme", theme); } catch { /* it holds for this page */ }
}

function fail(error) {
  byId("count").textContent = "";
  byId("detail").replaceChildren(element("p", { class: "message", role: "alert" }, `The page cannot be shown: ${error.message || error}`));
}

try { setTheme(localStorage.getItem("dualign theme") || ""); } catch { /* as the system */ }
window.addEventListener("unhandledrejection", (event) => fail(event.reason));
try {
  const data = JSON.parse(byId("data").textContent);
  byId("data").remove();
  new Viewer(new Corpus(data));
  document.documentElement.dataset.ready = Math.round(performance.now());
} catch (error) { fail(error); }
