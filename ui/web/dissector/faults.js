// The faults of a trace: all of them, and quickly those that touch a stretch of a part.

const IN_ROW = 120;

// Faults that Python gave as columns, as rows of the list at the left; `part` is -1 where their characters are not here.
// Those that begin before the characters that are here, and reach into them, are marked in `seen`.
function faultsOf(said, byName, orders) {
  const parts = said.parts.map(([turn, name]) => ({ turn, name, order: orderOf(orders, turn, name), part: byName.get(`${turn} ${name}`) }));
  return said.part.map((at, index) => {
    const { turn, name: partName, order, part } = parts[at];
    const [severity, code, name, glyph] = said.rules[said.rule[index]];
    const [message, hint] = [said.sentences[said.message[index]], said.sentences[said.hint[index]]];
    const [point, pointEnd] = [said.start[index], said.end[index]];
    const isHere = part !== undefined && part.offsets.holds(point);
    const isSeen = isHere || (part !== undefined && point < part.offsets.first && pointEnd > part.offsets.first);
    const start = isSeen ? part.offsets.toUnit(point) : 0;
    const end = isSeen ? Math.max(part.offsets.toUnit(pointEnd), start + 1) : 0;
    const place = { turn, order, partName, point, pointEnd, part: isHere ? part.index : -1, seen: isSeen ? part.index : -1, start, end };
    return { ...place, severity, code, name, glyph, message, hint, more: said.more[index] };
  });
}

// The row that leads to the other side of a difference between layers, where a fault has one.
function othersOf(said, index, byName, orders) {
  const row = (said.against || {})[index];
  return row ? withUnits(byName, [row], orders) : [];
}

// Each part is given those of the faults that touch its characters, in the order in which they begin.
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

// Ranges in the order of their starts. Halved again and again; `ends` holds the farthest end of each half, at its
// middle, so that halves that end before what is looked for are never entered, however far one range reaches.
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

  // Those that share a character with the stretch, in their order.
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
