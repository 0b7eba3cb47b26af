// Two sentences are typed; the server finds their links; they are drawn as curves, fainter where less probable.

const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const GAP = 14, TOP = 20, HEIGHT = 150;

function drawn(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Put the words of a side on a line; returns the middle of each. */
function row(svg, words, y) {
  let x = GAP;
  return words.map((word) => {
    const text = svg.appendChild(drawn("text", { x, y }, word));
    const width = text.getComputedTextLength();
    x += width + GAP;
    svg.setAttribute("width", Math.max(Number(svg.getAttribute("width")), x));
    return x - GAP - width / 2;
  });
}

function draw(source, target, { links, probabilities }) {
  const svg = drawn("svg", { width: 0, height: HEIGHT + 2 * TOP, role: "img", "aria-label": "Links" });
  byId("drawing").replaceChildren(svg);
  const above = row(svg, source, TOP), below = row(svg, target, HEIGHT + TOP);
  const a = TOP + 6, b = HEIGHT + TOP - 16, middle = (a + b) / 2;
  links.forEach(([i, j], n) => {
    const curve = drawn("path", {
      d: `M${above[i]},${a} C${above[i]},${middle} ${below[j]},${middle} ${below[j]},${b}`,
      opacity: Math.max(0.15, probabilities[n]),
    });
    curve.append(drawn("title", {}, `${source[i]} – ${target[j]}: ${probabilities[n]}`));
    svg.append(curve);
  });
}

/** The words as the server sees them, unless it tells its own tokens. */
const words = (text) => text.split(/\s+/u).filter((word) => word !== "");
const withoutTags = (text) => text.replace(/<[^<>]*>/gu, "");

async function align(event) {
  event.preventDefault();
  const source = byId("source").value, target = byId("target").value, markup = byId("markup").checked;
  const asked = markup ? { source, target, markup } : { source: words(source).join(" "), target: words(target).join(" ") };
  const headers = { "Content-Type": "application/json" };
  if (location.hash.length > 1) headers.Authorization = `Bearer ${location.hash.slice(1)}`;
  try {
    const response = await fetch("align", { method: "POST", headers, body: JSON.stringify(asked) });
    const answer = await response.json();
    byId("message").textContent = answer.error || "";
    if (answer.error) return;
    const tokens = answer.tokens || [words(markup ? withoutTags(source) : source), words(target)];
    draw(...tokens, answer);
    const { target_given_source: there, source_given_target: back, mean_probability: mean, unlinked } = answer.score;
    const shown = (value) => (value === null ? "–" : value.toFixed(3));
    byId("score").textContent = `log p(target | source) per word ${shown(there)}, log p(source | target) ${shown(back)}; `
      + `mean link probability ${shown(mean)}; ${(100 * unlinked).toFixed(0)} % of the words unlinked`;
    byId("carried").textContent = answer.markup || "";
    byId("carried").hidden = answer.markup === undefined;
  } catch (error) {
    byId("message").textContent = `The server does not answer: ${error.message}`;
  }
}

byId("form").addEventListener("submit", align);
for (const id of ["source", "target"]) {
  byId(id).addEventListener("keydown", (event) => { if (event.key === "Enter") align(event); });
}
