// How the text came: its chunks, the waits between them, and how probable their tokens were.

const ODDS = [[0.01, "odd3"], [0.1, "odd2"], [0.5, "odd1"]];

// The chunk that brought the character at a place.
function chunkAt(part, unit) {
  return countBelow(part.ends, part.offsets.toPoint(unit) + 1);
}

function chunkStart(part, chunk) {
  return chunk > 0 ? part.offsets.toUnit(part.ends[chunk - 1]) : 0;
}

// How long the stream had stood still when a chunk came, in seconds; null where no time was kept.
function waitBefore(part, chunk) {
  const [earlier, now] = part.times_ms ? [part.times_ms[chunk - 1], part.times_ms[chunk]] : [];
  return typeof earlier === "number" && typeof now === "number" ? (now - earlier) / 1000 : null;
}

// The stalls of a part in order: where the late chunk begins, and how long the wait was.
function stallsOf(part, bound) {
  const found = [];
  if (!part.times_ms) return found;
  for (let chunk = 1; chunk < part.ends.length; chunk += 1) {
    const wait = part.offsets.holds(part.ends[chunk - 1]) ? waitBefore(part, chunk) : null;
    if (wait !== null && wait >= bound) found.push({ unit: chunkStart(part, chunk), wait });
  }
  return found;
}

function waitWords(wait) {
  return wait < 1 ? `${Math.round(wait * 1000)} ms!` : `${wait.toFixed(1)} s!`;
}

// The class of the least probable token of the chunk at a place; empty where it was likely or is not known.
function oddsAt(part, unit) {
  const logs = part.logprobs && part.logprobs[chunkAt(part, unit)];
  if (!logs || !logs.length) return "";
  const least = Math.exp(Math.min(...logs));
  const found = ODDS.find(([bound]) => least < bound);
  return found ? found[1] : "";
}
