// The rows of a stream: every source line wrapped to the width, the messages of faults below the row they end in.
// All rows have the same height, so that a million of them cost no more than those on the screen.

const HEAD = 0;
const TEXT = 1;
const SAID = 2;
const LANE = 3;
const EDGE = 4;

// A part ready for layout, with positions in UTF-16 units instead of code points.
function prepared(part, index) {
  const offsets = new Offsets(part.text, part.from, part.length);
  const odd = new Map(part.odd.map(([point, glyph]) => [offsets.toUnit(point), glyph]));
  const spans = part.spans.map(([kind, start, end, innerStart, innerEnd, word]) => ({
    kind,
    word,
    start: offsets.toUnit(start),
    end: offsets.toUnit(end),
    innerStart: offsets.toUnit(innerStart),
    innerEnd: offsets.toUnit(innerEnd),
  }));
  return { ...part, index, offsets, odd, spans };
}

// The rows of all parts for a width in cells; waits of at least `stall` seconds get a row, unless `stall` is 0.
function rowsOf(parts, cells, stall) {
  const rows = [];
  const room = Math.max(cells, 20);
  const folded = new Folded(room - 4);
  for (const part of parts) {
    rows.push({ kind: HEAD, part, start: 0, end: 0 });
    if (part.offsets.first > 0) rows.push({ kind: EDGE, part, start: 0, end: 0, isEnd: false });
    textRows(rows, part, room, stall && part.ends ? stallsOf(part, stall) : [], folded);
    const { length } = part.text;
    if (part.offsets.end < part.offsets.total) rows.push({ kind: EDGE, part, start: length, end: length, isEnd: true });
  }
  return rows;
}

function textRows(rows, part, cells, stalls, folded) {
  const { text } = part;
  let stalled = 0;
  const byEnd = [...part.marks.all].sort((a, b) => a.end - b.end || a.start - b.start);
  let nextMark = 0;
  let number = part.line;
  let lineStart = 0;
  const until = (end) => {
    for (; nextMark < byEnd.length && byEnd[nextMark].end <= end; nextMark += 1) sayRows(rows, part, byEnd[nextMark], folded);
  };
  do {
    let end = text.indexOf("\n", lineStart);
    if (end < 0) end = text.length;
    for (let start = lineStart, isFirst = true; isFirst || start < end; isFirst = false) {
      const next = cut(part, start, end, cells);
      rows.push({ kind: TEXT, part, start, end: next, number: isFirst ? number : 0, feeds: next === end && end < text.length });
      for (; stalled < stalls.length && stalls[stalled].unit < Math.max(next, start + 1); stalled += 1) {
        rows.push({ kind: LANE, part, start, end: next, stall: stalls[stalled] });
      }
      until(next === end ? end + 1 : next);
      start = next;
    }
    lineStart = end + 1;
    number += 1;
  } while (lineStart < text.length);
  until(Infinity);
}

// The end of a row that begins at `start`: after the last character that fits.
function cut(part, start, end, cells) {
  if (end - start <= cells && !/[^ -~]/.test(part.text.slice(start, end))) return end;
  let room = cells;
  let unit = start;
  while (unit < end) {
    const [wide, units] = cellsAt(part.text, unit, part.odd);
    if (wide > room && unit > start) return unit;
    room -= wide;
    unit += units;
  }
  return end;
}

function sayRows(rows, part, mark, folded) {
  const sentences = [folded.of(`${mark.severity}[${mark.code}] ${mark.name}: ${mark.message}`)];
  if (mark.hint) sentences.push(folded.of(`help: ${mark.hint}`));
  for (const lines of sentences) {
    for (const words of lines) rows.push({ kind: SAID, part, start: mark.start, end: mark.end, mark, words });
  }
}

// Wraps sentences to a width at their spaces, and caches the lines of each sentence.
class Folded {
  constructor(cells) {
    this.cells = cells;
    this.known = new Map();
  }

  of(sentence) {
    let lines = this.known.get(sentence);
    if (lines === undefined) this.known.set(sentence, (lines = this.fold(sentence)));
    return lines;
  }

  fold(sentence) {
    const lines = [];
    for (let rest = sentence; rest; ) {
      let length = rest.length;
      if (length > this.cells) {
        length = rest.lastIndexOf(" ", this.cells);
        const word = rest.slice(length + 1, length + 2 + this.cells); // and one more, if it goes on
        const isLong = word.length > this.cells && !word.includes(" ");
        if (length < 1 || (isLong && length < this.cells / 2)) length = this.cells;
      }
      lines.push(rest.slice(0, length));
      rest = rest.slice(length).trimStart();
    }
    return lines;
  }
}

// The number of cells between two positions of a row.
function cellsBetween(part, start, end) {
  let cells = 0;
  for (let unit = start; unit < end; ) {
    const [wide, units] = cellsAt(part.text, unit, part.odd);
    cells += wide;
    unit += units;
  }
  return cells;
}

// The index of the first row that shows a position of a part.
function rowAt(rows, partIndex, unit) {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const row = rows[middle];
    const isBefore = row.part.index < partIndex || (row.part.index === partIndex && before(row, unit));
    if (isBefore) low = middle;
    else high = middle - 1;
  }
  while (low > 0 && (rows[low].kind === SAID || rows[low].kind === LANE || rows[low].isEnd)) low -= 1;
  return low;
}

function before(row, unit) {
  if (row.kind === SAID) return row.mark.end <= unit;
  return row.kind === HEAD || row.start <= unit;
}
