// The faults of a trace, with a fast search for those that overlap a range of a part.

const IN_ROW = 120;

// Turn the columns of faults from Python into rows of the list at the left; `part` is -1 if the start of a fault is not
// loaded. `seen` is the index of the part also if a fault begins before the loaded characters and reaches into them.
function faultsOf(columns, byName, orders) {
  const parts = columns.parts.map(([turn, name]) => ({ turn, name, order: orderOf(orders, turn, name), part: byName.get(`${turn} ${name}`) }));
  return columns.part.map((at, index) => {
    const { turn, name: partName, order, part } = parts[at];
    const [severity, code, name, glyph] = columns.rules[columns.rule[index]];
    const [message, hint] = [columns.sentences[columns.message[index]], columns.sentences[columns.hint[index]]];
    const [point, pointEnd] = [columns.start[index], columns.end[index]];
    const isHere = part !== undefined && part.offsets.isLoaded(point);
    const isSeen = isHere || (part !== undefined && point < part.offsets.first && pointEnd > part.offsets.first);
    const start = isSeen ? part.offsets.toUnit(point) : 0;
    const end = isSeen ? Math.max(part.offsets.toUnit(pointEnd), start + 1) : 0;
    const place = { turn, order, partName, point, pointEnd, part: isHere ? part.index : -1, seen: isSeen ? part.index : -1, start, end };
    return { ...place, severity, code, name, glyph, message, hint, more: columns.more[index] };
  });
}

// The row for the other side of a difference between layers, if the fault has one.
function othersOf(columns, index, byName, orders) {
  const row = (columns.against || {})[index];
  return row ? withUnits(byName, [row], orders) : [];
}

// Give each part the faults that overlap its characters, ordered by their starts.
function shareFaults(parts, faults) {
  const own = parts.map(() => []);
  for (const one of faults) if (one.seen >= 0) own[one.seen].push(one);
  parts.forEach((part, index) => (part.marks = new Marks(own[index])));
}

function faultRuns(one) {
  return [
    [one.severity, `${one.glyph} ${one.code} ${one.name}`],
    ["dim", `  turn ${one.turn}  `],
    ["strong", one.more ? `(and ${one.more} more of this kind) ` : ""],
    ["", one.message.slice(0, IN_ROW)],
  ];
}

// Ranges in the order of their starts, as an implicit interval tree: `ends` has the farthest end of each half, at the
// index of its middle, so that a search skips halves that end before its range, however far a single range reaches.
class Marks {
  constructor(all) {
    this.all = all;
    this.ends = new Array(all.length);
    this.farthest(0, all.length);
  }

  farthest(from, to) {
    if (from >= to) return -1;
    const middle = (from + to) >> 1;
    this.ends[middle] = Math.max(this.all[middle].end, this.farthest(from, middle), this.farthest(middle + 1, to));
    return this.ends[middle];
  }

  // The ranges that share a character with start..end, in order.
  touching(start, end) {
    const found = [];
    const look = (from, to) => {
      if (from >= to) return;
      const middle = (from + to) >> 1;
      if (this.ends[middle] <= start) return;
      look(from, middle);
      const one = this.all[middle];
      if (one.start >= end) return;
      if (one.end > start) found.push(one);
      look(middle + 1, to);
    };
    look(0, this.all.length);
    return found;
  }
}
