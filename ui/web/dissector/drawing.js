// Draws one row as an element. Text from a trace is only ever assigned to `textContent`.

const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|\ud802[\udc00-\udfff]|\ud83a[\udd00-\udd5f]|\ud83b[\ude00-\udeff]/;
const RUN_FROM_RIGHT = new RegExp(`(?:${FROM_RIGHT.source})(?:[\\s\\u200c\\u200d]*(?:${FROM_RIGHT.source}))*`, "g");

function element(tag, kind, text) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  if (text !== undefined) node.textContent = text;
  return node;
}

function placed(part, unit, node) {
  node.dataset.part = part.index;
  node.dataset.unit = unit;
  return node;
}

function drawHead(row) {
  const node = element("div", "head");
  const { first, end, total } = row.part.offsets;
  const shown = end - first < total ? `characters ${(first + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${total.toLocaleString("en")}` : "";
  node.append(element("strong", "", row.part.title), element("span", "strong", shown), element("span", "dim", row.part.facts));
  return node;
}

// The row in place of the characters before or after the loaded ones; a click loads them.
function drawEdge(row) {
  const node = element("div", "edge");
  const count = Math.abs(row.isEnd ? row.part.offsets.total - row.part.offsets.end : row.part.offsets.first);
  node.append(element("span", "number", ""), element("span", "info", `… ${count.toLocaleString("en")} more characters ${row.isEnd ? "after" : "before"} these; click or press Enter to show them`));
  node.dataset.edge = row.isEnd ? "end" : "start";
  node.dataset.part = row.part.index;
  return node;
}

function drawSaid(row) {
  const node = element("div", "said");
  node.append(element("span", "number", ""), element("span", row.mark.severity, row.words));
  node.dataset.part = row.part.index;
  node.dataset.unit = row.mark.start;
  return node;
}

// A wait, below the character that arrived after it.
function drawLane(row) {
  const node = element("div", "lane");
  const wait = element("span", "warning", `▴ ${waitWords(row.stall.wait)}`);
  wait.style.marginInlineStart = `${cellsBetween(row.part, row.start, row.stall.unit)}ch`;
  node.append(element("span", "number", ""), element("span", "kind", "wait"), wait);
  return node;
}

function drawText(row, look) {
  const node = element("div", "text");
  const { part } = row;
  const span = spanAt(part, row.start);
  const number = element("span", "number", row.number ? String(row.number) : "");
  const named = span && (span.start === row.start || row.number === 1) ? span.word : "";
  node.append(number, element("span", `kind ${span ? span.kind : ""}`, named), drawPieces(row, look));
  return node;
}

// The index of the top-level span that contains a position; spans tile the text.
function spanIndexAt(part, unit) {
  let low = 0;
  let high = part.spans.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (part.spans[middle].start <= unit) low = middle;
    else high = middle - 1;
  }
  return low;
}

function spanAt(part, unit) {
  return part.spans[spanIndexAt(part, unit)];
}

function drawPieces(row, look) {
  const { part, start, end } = row;
  const node = element("span", "stream");
  node.dataset.part = part.index;
  node.dataset.end = row.feeds ? end + 1 : end;
  const shown = {
    ...look,
    marks: part.marks.touching(start, Math.max(end, start + 1)),
    matches: look.matches ? matchesIn(look.matches(), part.index, start, end) : [],
  };
  const cuts = cutsIn(row, shown);
  for (let index = 0; index + 1 < cuts.length; index += 1) node.append(drawPiece(part, cuts[index], cuts[index + 1], shown));
  if (row.feeds && look.blanks) node.append(glyphed(part, end, 1, "blank", "⏎"));
  const beyond = shown.marks.filter((mark) => mark.start >= end);
  if (cuts.length < 2 && beyond.length) node.append(placed(part, end, element("span", `fault ${beyond[0].severity}`, " ")));
  if (cuts.length < 2 && !node.childNodes.length) node.append(placed(part, end, element("span", "", "")));
  return node;
}

// The positions where the pieces of a row begin and end: wherever the style of the text changes.
function cutsIn(row, shown) {
  const { part, start, end } = row;
  const cuts = new Set([start, end]);
  const add = (...units) => units.forEach((unit) => unit > start && unit < end && cuts.add(unit));
  for (let index = spanIndexAt(part, start); index < part.spans.length && part.spans[index].start < end; index += 1) {
    const span = part.spans[index];
    add(span.start, span.innerStart, span.innerEnd);
  }
  for (const range of [...shown.marks, ...shown.matches]) add(range.start, range.end);
  if (shown.selected && shown.selected.part === part.index) add(shown.selected.start, shown.selected.end);
  if ((shown.chunks || shown.odds) && part.ends) {
    for (let chunk = chunkAt(part, start); chunk < part.ends.length; chunk += 1) {
      const unit = part.offsets.toUnit(part.ends[chunk]);
      if (unit >= end) break;
      add(unit);
    }
  }
  return [...cuts].sort((a, b) => a - b);
}

function drawPiece(part, start, end, shown) {
  const node = placed(part, start, element("span", kindsOf(part, start, end, shown).join(" ")));
  fill(node, part, start, end, shown);
  return node;
}

function kindsOf(part, start, end, shown) {
  const span = spanAt(part, start);
  const kinds = ["piece"];
  if (span) kinds.push(start >= span.innerStart && start < span.innerEnd ? span.kind : "marker");
  const contains = (range) => range.start <= start && range.end > start;
  const worst = ["error", "warning", "info"].find((severity) => shown.marks.some((mark) => mark.severity === severity && contains(mark)));
  if (worst) kinds.push("fault", worst);
  if (shown.matches.some(contains)) kinds.push("found");
  const { selected } = shown;
  if (selected && selected.part === part.index && selected.start <= start && end <= selected.end) kinds.push("selected");
  if (!part.ends) return kinds;
  if (shown.odds) kinds.push(oddsAt(part, start) || "likely");
  if (shown.chunks && start > 0 && part.ends[chunkAt(part, start) - 1] === part.offsets.toPoint(start)) kinds.push("arrived");
  return kinds;
}

// The characters of a piece. A character that needs a glyph has its own element, so that positions stay exact. So does
// right-to-left text, so that it does not reverse the order of the text between its words.
function fill(node, part, start, end, look) {
  const { text, odd } = part;
  const whole = text.slice(start, end);
  if (!look.blanks && !UNSEEN.test(whole) && !/[\ufffd\ud834\udb40-\udbff]/.test(whole) && !FROM_RIGHT.test(whole)) {
    node.textContent = whole;
    return;
  }
  let from = start;
  const flush = (until) => until > from && node.append(...directed(part, from, text.slice(from, until)));
  for (let unit = start; unit < end; ) {
    const units = Math.min(cellsAt(text, unit, odd)[1], end - unit);
    const glyph = look.blanks && text[unit] === " " ? "·" : glyphAt(text, unit, odd);
    if (glyph !== null) {
      flush(unit);
      node.append(glyphed(part, unit, units, glyph === "·" ? "blank" : "control", glyph));
      from = unit + units;
    }
    unit += units;
  }
  flush(end);
}

function glyphed(part, unit, units, kind, glyph) {
  const node = placed(part, unit, element("span", kind, glyph));
  node.dataset.units = units;
  return node;
}

function* directed(part, start, text) {
  let from = 0;
  for (const run of text.matchAll(RUN_FROM_RIGHT)) {
    if (run.index > from) yield placed(part, start + from, element("span", "", text.slice(from, run.index)));
    yield placed(part, start + run.index, element("bdi", "", run[0]));
    from = run.index + run[0].length;
  }
  if (from < text.length) yield placed(part, start + from, element("span", "", text.slice(from)));
}
