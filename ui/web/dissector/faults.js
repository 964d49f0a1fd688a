// The faults of a trace, with a fast search for those that overlap a range of a part.

const IN_ROW = 120;

// Turn the columns of faults from Python into rows of the list at the left; `part` is -1 if the start of a fault is not
// loaded. `seen` is the index of the part also if a fault begins before the loaded characters and reaches into them.
function faultsOf(columns, byName, orders) {
  const parts = columns.parts.map(([turn, name]) => ({ turn, name, order: orderOf(orders, turn, name), part: byName.get(`${turn} ${name}`) }));
  return columns.part.map((number, index) => {
    const { turn, name: partName, order, part } = parts[number];
    const [severity, code, name, glyph] = columns.rules[columns.rule[index]];
    const [message, hint] = [columns.sentences[columns.message[index]], columns.sentences[columns.hint[index]]];
    const [point, pointEnd] = [columns.start[index], columns.end[index]];
    const isHere = part !== undefined && part.offsets.isLoaded(point);
    const isSeen = isHere || (part !== undefined && point < part.offsets.first && pointEnd > part.offsets.first);
    const start = isSeen ? part.offsets.toUnit(point) : 0;
    const end = isSeen ? Math.max(part.offsets.toUnit(pointEnd), start + 1) : 0;
    const location = { turn, order, partName, point, pointEnd, part: isHere ? part.index : -1, seen: isSeen ? part.index : -1, start, end };
    return { ...location, severity, code, name, glyph, message, hint, more: columns.more[index] };
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
  for (const fault of faults) if (fault.seen >= 0) own[fault.seen].push(fault);
  parts.forEach((part, index) => (part.marks = new Marks(own[index])));
}

function faultRuns(fault) {
  return [
    [fault.severity, `${fault.glyph} ${fault.code} ${fault.name}`],
    ["dim", `  turn ${fault.turn}  `],
    ["strong", fault.more ? `(and ${fault.more} more of this kind) ` : ""],
    ["", fault.message.slice(0, IN_ROW)],
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
    const touched = [];
    const look = (from, to) => {
      if (from >= to) return;
      const middle = (from + to) >> 1;
      if (this.ends[middle] <= start) return;
      look(from, middle);
      const mark = this.all[middle];
      if (mark.start >= end) return;
      if (mark.end > start) touched.push(mark);
      look(middle + 1, to);
    };
    look(0, this.all.length);
    return touched;
  }
}
