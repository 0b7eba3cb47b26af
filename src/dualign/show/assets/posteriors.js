// Posteriors of both directions, before and after projection (Graça et al. 2010, Figures 1 and 9).

/** A line of `i,j,b,a,b',a'` in thousandths as a list of {i, j, values}. */
function parsePosteriors(line) {
  return line === "" ? [] : line.split(" ").map((item) => {
    const [i, j, ...values] = item.split(",").map(Number);
    return { i, j, values: values.map((value) => value / 1000) };
  });
}

const VISIBLE_CHANGE = 0.01;

async function posteriorsOf(corpus, n) {
  if (corpus.posteriors !== null && n < corpus.posteriors.length) return parsePosteriors(corpus.posteriors[n]);
  if (!corpus.live) return null;
  const answer = await fetch(`posteriors/${n}`);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}; is the command still running?`);
  return parsePosteriors(await answer.text());
}

function posteriorPanels(corpus, n, cells, point) {
  const source = corpus.words(n, 0), target = corpus.words(n, 1);
  const gold = corpus.gold(n);
  const projected = corpus.projection !== "none";
  const titles = [["target words choose", "source words choose"], [`after ${corpus.projection} projection`, `after ${corpus.projection} projection`]];
  const panels = element("div", { class: "panels" });
  const marks = [];
  for (const stage of projected ? [0, 1] : [0]) {
    for (const direction of [0, 1]) {
      const matrix = matrixOf(source, target, { cell: source.length > 30 || target.length > 30 ? 13 : 17, label: titles[stage][direction] }, (draw) => {
        if (gold !== null) for (const { i, j, mark } of gold.values()) draw.square(i, j, mark === "-" ? "sure" : "possible");
        for (const { i, j, values } of cells) {
          const p = values[2 * stage + direction], before = values[direction];
          if (p < 0.005 && (stage === 0 || before - p < VISIBLE_CHANGE)) continue;
          if (stage === 0 || Math.abs(p - before) < VISIBLE_CHANGE) draw.disc(i, j, "both", p);
          else if (p > before) draw.disc(i, j, "gain", p);
          else draw.disc(i, j, "loss", p);
        }
      }, point);
      marks.push(matrix.mark);
      const when = stage === 0 ? (projected ? "before projection: " : "") : "";
      panels.append(element("figure", { "data-stage": stage, "data-direction": direction },
        element("figcaption", {}, when + titles[stage][direction] + (stage ? `: ${titles[0][direction]}` : "")), matrix.box));
    }
  }
  const legend = element("div", { class: "legend" });
  const add = (kind, text) => {
    const svg = drawn("svg", { width: 14, height: 16 });
    svg.append(drawn("circle", { class: `mark ${kind}`, cx: 7, cy: 8, r: 5 }));
    legend.append(element("span", {}, svg, text));
  };
  add("both", "posterior by area");
  if (projected) { add("gain", "grew by projection (full)"); add("loss", "shrank (hollow)"); }
  return { box: element("div", {}, legend, panels), mark: (what) => marks.forEach((mark) => mark(what)) };
}

/** What the card adds about a cell. */
function describePosteriors(cells, what, projected) {
  const found = cells.find((cell) => cell.i === what.i && cell.j === what.j);
  const value = (k) => percent(found ? found.values[k] : 0);
  const change = (k) => (projected ? `${value(k)} → ${value(k + 2)}` : value(k));
  return element("div", { class: "line" },
    element("span", {}, `target word chooses: ${change(0)}`), element("span", {}, `source word chooses: ${change(1)}`));
}
