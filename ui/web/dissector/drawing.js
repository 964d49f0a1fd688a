// One row as an element. Text from a trace only ever becomes `textContent`.

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawHead(row) {
  const made = element("div", "head");
  made.append(element("strong", "", row.part.title), element("span", "dim", row.part.facts));
  return made;
}

function drawSaid(row) {
  const made = element("div", "said");
  made.append(element("span", "gutter", ""), element("span", row.mark.severity, row.words));
  made.dataset.part = row.part.index;
  made.dataset.unit = row.mark.start;
  return made;
}

function drawText(row, look) {
  const made = element("div", "text");
  const { part } = row;
  const span = spanAt(part, row.start);
  const gutter = element("span", "gutter", row.number ? String(row.number) : "");
  const named = span && (span.start === row.start || row.number === 1) ? span.label || span.kind : "";
  made.append(gutter, element("span", `kind ${span ? span.kind : ""}`, named), drawPieces(row, look));
  return made;
}

// The top-level span that holds a place; spans tile the text.
function spanAt(part, unit) {
  let low = 0;
  let high = part.spans.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (part.spans[middle].start <= unit) low = middle;
    else high = middle - 1;
  }
  return part.spans[low];
}

function drawPieces(row, look) {
  const { part, start, end } = row;
  const made = element("span", "stream");
  const marks = part.marks.filter((mark) => mark.start < Math.max(end, start + 1) && mark.end > start);
  const cuts = cutsIn(row, marks, look);
  for (let index = 0; index + 1 < cuts.length; index += 1) {
    made.append(drawPiece(part, cuts[index], cuts[index + 1], marks, look));
  }
  if (row.feeds && look.blanks) made.append(placed(part, end, element("span", "blank", "⏎")));
  const beyond = marks.filter((mark) => mark.start >= end && mark.start <= end && row.feeds !== false);
  if (cuts.length < 2 && beyond.length) made.append(placed(part, end, element("span", `fault ${beyond[0].severity}`, " ")));
  return made;
}

// Where the pieces of a row begin and end: wherever something about the text changes.
function cutsIn(row, marks, look) {
  const { part, start, end } = row;
  const cuts = new Set([start, end]);
  const add = (...places) => places.forEach((at) => at > start && at < end && cuts.add(at));
  for (let index = part.spans.indexOf(spanAt(part, start)); index < part.spans.length; index += 1) {
    const span = part.spans[index];
    if (span.start >= end) break;
    add(span.start, span.innerStart, span.innerEnd);
  }
  for (const mark of marks) add(mark.start, mark.end);
  if (look.selected && look.selected.part === part.index) add(look.selected.start, look.selected.end);
  if (look.chunks && part.ends) {
    for (let at = chunkAt(part, start); at < part.ends.length; at += 1) {
      const unit = part.offsets.toUnit(part.ends[at]);
      if (unit >= end) break;
      add(unit);
    }
  }
  return [...cuts].sort((a, b) => a - b);
}

function chunkAt(part, unit) {
  return countBelow(part.ends, part.offsets.toPoint(unit) + 1);
}

function drawPiece(part, start, end, marks, look) {
  const span = spanAt(part, start);
  const kinds = ["piece"];
  if (span) kinds.push(start >= span.innerStart && start < span.innerEnd ? span.kind : "marker");
  const worst = ["error", "warning", "info"].find((severity) =>
    marks.some((mark) => mark.severity === severity && mark.start <= start && mark.end > start),
  );
  if (worst) kinds.push("fault", worst);
  const { selected } = look;
  if (selected && selected.part === part.index && selected.start <= start && end <= selected.end) kinds.push("selected");
  if (look.chunks && part.ends && start > 0 && part.ends[chunkAt(part, start) - 1] === part.offsets.toPoint(start)) {
    kinds.push("arrived");
  }
  const made = placed(part, start, element("span", kinds.join(" ")));
  fill(made, part, start, end, look);
  return made;
}

// The characters of a piece; each that needs a glyph stands in an element of its own, so that places stay true.
function fill(made, part, start, end, look) {
  const { text, odd } = part;
  const plain = text.slice(start, end);
  if (!look.blanks && !UNSEEN.test(plain) && !/[\ufffd\ud834\udb40-\udbff]/.test(plain)) {
    made.textContent = plain;
    return;
  }
  let from = start;
  const flush = (until) => until > from && made.append(placed(part, from, element("span", "", text.slice(from, until))));
  for (let at = start; at < end; ) {
    const units = Math.min(cellsAt(text, at, odd)[1], end - at);
    const glyph = look.blanks && text[at] === " " ? "·" : glyphAt(text, at, odd);
    if (glyph !== null) {
      flush(at);
      made.append(placed(part, at, element("span", glyph === "·" ? "blank" : "control", glyph)));
      from = at + units;
    }
    at += units;
  }
  flush(end);
}

function placed(part, unit, made) {
  made.dataset.part = part.index;
  made.dataset.unit = unit;
  return made;
}
