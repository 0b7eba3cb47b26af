// The data in memory: lines, looked into when they are needed; and what can be measured of each pair.

const NONE = -1, GOLD = -2;

class Corpus {
  constructor(data) {
    const lines = (text) => (text === null || text === undefined ? null : text.split("\n"));
    this.size = data.pairs;
    this.id = data.id;
    this.names = data.names;
    this.ids = lines(data.ids);
    this.sides = [lines(data.source), lines(data.target)];
    this.base = lines(data.gold);
    this.systems = data.systems.map((system) => ({
      ...system, links: lines(system.links), records: lines(system.records),
    }));
    this.posteriors = lines(data.posteriors);
    this.projection = data.projection;
    this.live = data.live === true;
    this.edits = new Map();  // pair -> map of cells, sure "-" or possible "?"
    this.measured = new Map();
    this.lower = null;
    this.candidateLines = data.candidates || null;
    this.counts = null;
  }

  words(n, side) { return words(this.sides[side][n]); }

  get hasGold() { return this.base !== null || this.edits.size > 0; }

  /** Gold of a pair as a map of cells; null if it has none. */
  gold(n) {
    const edited = this.edits.get(n);
    if (edited) return edited;
    return this.base === null || this.base[n] === "!" ? null : parseLinks(this.base[n]);
  }

  links(system, n) { return parseLinks(this.systems[system].links[n]); }

  record(system, n) {
    const lines = system >= 0 ? this.systems[system].records : null;
    return lines && lines[n] ? JSON.parse(lines[n]) : null;
  }

  /** Mean probability of a pair's links, NaN where unknown. */
  confidence(system, n) {
    if (system < 0) return NaN;
    if (!this.systems[system].scored) {
      const record = this.record(system, n);
      return record && typeof record.mean_probability === "number" ? record.mean_probability : NaN;
    }
    let sum = 0, count = 0;
    eachLink(this.systems[system].links[n], (i, j, mark, p) => {
      if (mark === "-" && !Number.isNaN(p)) { sum += p; count++; }
    });
    return count ? sum / count : NaN;
  }

  /** How the sure links A of a system stand to gold: |A|, |S|, |A∩S|, |A∩P|; null without gold. */
  compared(system, n) {
    if (system < 0) return null;
    const edited = this.edits.get(n);
    if (edited === undefined && (this.base === null || this.base[n] === "!")) return null;
    const gold = edited === undefined ? FIRST.read(this.base[n]) : FIRST.take(edited);
    const found = SECOND.read(this.systems[system].links[n]);
    let answered = 0, sure = 0, sureHits = 0, hits = 0, g = 0;
    for (let k = 0; k < gold.size; k++) if (!gold.possible[k]) sure++;
    for (let k = 0; k < found.size; k++) {
      if (found.possible[k]) continue;
      answered++;
      while (g < gold.size && gold.keys[g] < found.keys[k]) g++;
      if (g < gold.size && gold.keys[g] === found.keys[k]) {
        hits++;
        if (!gold.possible[g]) sureHits++;
      }
    }
    return { answered, sure, sureHits, hits };
  }

  /** Links that gold does not allow, and sure ones that are missing; NaN without gold. */
  errors(system, n) {
    const counts = this.compared(system, n);
    return counts === null ? NaN : counts.answered - counts.hits + counts.sure - counts.sureHits;
  }

  /** AER, precision and recall of a pair, as dualign.measure.link_counts defines them; null without gold. */
  rates(system, n) {
    const counts = this.compared(system, n);
    if (counts === null) return null;
    const { answered, sure, sureHits, hits } = counts;
    return {
      aer: answered + sure ? 1 - (sureHits + hits) / (answered + sure) : 0,
      precision: answered ? hits / answered : 1,
      recall: sure ? sureHits / sure : 1,
    };
  }

  /** Links that only one of two systems has. */
  differences(one, two, n) {
    if (one < 0 || two < 0) return NaN;
    const first = FIRST.read(this.systems[one].links[n]), second = SECOND.read(this.systems[two].links[n]);
    let shared = 0, a = 0, b = 0;
    while (a < first.size && b < second.size) {
      if (first.keys[a] === second.keys[b]) { shared++; a++; b++; }
      else if (first.keys[a] < second.keys[b]) a++;
      else b++;
    }
    return first.size + second.size - 2 * shared;
  }

  gap(system, n) {
    const record = this.record(system, n);
    return record && typeof record.bound === "number" && typeof record.score === "number" ? record.bound - record.score : NaN;
  }

  uncertified(system, n) {
    const record = this.record(system, n);
    return record !== null && record.certified === false;
  }

  length(n) { return Math.max(this.words(n, 0).length, this.words(n, 1).length); }

  /** A measure of all pairs, Float32Array; worked out once. */
  measure(name, one, two) {
    const key = `${name} ${one} ${two}`;
    if (!this.measured.has(key)) {
      const values = new Float32Array(this.size);
      for (let n = 0; n < this.size; n++) values[n] = this.value(name, one, two, n);
      this.measured.set(key, { name, one, two, values });
    }
    return this.measured.get(key).values;
  }

  value(name, one, two, n) {
    switch (name) {
      case "confidence": return this.confidence(one, n);
      case "errors": return this.errors(one, n);
      case "differences": return this.differences(one, two, n);
      case "gap": return this.gap(one, n);
      case "uncertified": return this.uncertified(one, n) ? 1 : 0;
      default: return this.length(n);
    }
  }

  /** Gold of a pair has changed. */
  changed(n) {
    for (const { name, one, two, values } of this.measured.values()) {
      if (name === "errors") values[n] = this.value(name, one, two, n);
    }
  }

  /** A query: substrings, `=word` a whole word, `s:` and `t:` one side only. Null if it asks for nothing.
   *
   * `pair(n)` says whether a pair has all its words; `hit(token, side)` where it is in a token, as [begin, end], or null.
   */
  matcher(query) {
    const terms = query.toLowerCase().split(/\s+/).filter(Boolean).map((term) => {
      const side = term.startsWith("s:") ? 0 : term.startsWith("t:") ? 1 : NONE;
      const rest = side === NONE ? term : term.slice(2);
      return rest.startsWith("=") && rest.length > 1 ? { side, whole: ` ${rest.slice(1)} ` } : { side, part: rest };
    }).filter((term) => term.whole || term.part);
    if (terms.length === 0) return null;
    if (this.lower === null) this.lower = this.sides.map((side) => side.map((line) => ` ${line.toLowerCase()} `));
    const has = (term, n) => {
      const wanted = term.whole || term.part;
      return (term.side !== 1 && this.lower[0][n].includes(wanted)) || (term.side !== 0 && this.lower[1][n].includes(wanted));
    };
    const hit = (token, side) => {
      const low = token.toLowerCase();
      for (const { side: only, whole, part } of terms) {
        if (only === 1 - side) continue;
        if (whole && whole.trim() === low) return [0, token.length];
        const at = whole ? -1 : low.indexOf(part);
        if (at >= 0) return [at, at + part.length];
      }
      return null;
    };
    return { pair: (n) => terms.every((term) => has(term, n)), hit };
  }

  /** The dictionary that came along, unpacked when first asked for. */
  get lexicon() {
    if (this.candidateLines) this.unpacked ??= this.candidateLines.map(lexiconOf);
    return this.unpacked || null;
  }

  /** The best translations of a word: [[translation, share] …], and how many pairs the shares are from. */
  candidates(word, side) {
    if (this.lexicon) return { best: this.lexicon[side].get(word.toLowerCase()) || this.lexicon[side].get(word) || [], pairs: NaN };
    if (this.counts === null) return { best: [], pairs: 0 };
    const found = this.counts.tables[side].get(word.toLowerCase());
    if (!found) return { best: [], pairs: this.counts.done };
    let total = 0;
    for (const count of found.values()) total += count;
    const best = [...found].sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 6);
    return { best: best.map(([other, count]) => [other, count / total]), pairs: this.counts.done };
  }

  /** Count who is linked to whom, a few milliseconds at a time, while there is nothing else to do. */
  countLinks(system, told) {
    if (this.candidateLines || system < 0) return;
    const counts = { system, done: 0, tables: [new Map(), new Map()] };
    this.counts = counts;
    const add = (table, word, other) => {
      let row = table.get(word);
      if (row === undefined) table.set(word, (row = new Map()));
      row.set(other, (row.get(other) || 0) + 1);
    };
    const later = window.requestIdleCallback || ((task) => setTimeout(() => task({ timeRemaining: () => 6 }), 20));
    const step = (deadline) => {
      if (this.counts !== counts) return;
      const end = performance.now() + Math.min(12, Math.max(3, deadline.timeRemaining()));
      while (counts.done < this.size && performance.now() < end) {
        const stop = Math.min(this.size, counts.done + 50);
        for (; counts.done < stop; counts.done++) {
          const line = this.systems[system].links[counts.done];
          if (line === "") continue;
          const source = words(this.sides[0][counts.done].toLowerCase());
          const target = words(this.sides[1][counts.done].toLowerCase());
          eachLink(line, (i, j, mark) => {
            if (mark !== "-") return;
            add(counts.tables[0], source[i], target[j]);
            add(counts.tables[1], target[j], source[i]);
          });
        }
      }
      if (counts.done < this.size) later(step);
      else told();
    };
    later(step);
  }
}

/** Lines `word<TAB>translation<TAB>thousandths …` as a map. */
function lexiconOf(text) {
  const lexicon = new Map();
  if (text === "") return lexicon;
  for (const line of text.split("\n")) {
    const [word, ...rest] = line.split("\t");
    const best = [];
    for (let k = 0; k + 1 < rest.length; k += 2) if (Number(rest[k + 1]) >= 5) best.push([rest[k], Number(rest[k + 1]) / 1000]);
    lexicon.set(word, best);
  }
  return lexicon;
}
