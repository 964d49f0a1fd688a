// How the text arrived: its chunks, the waits between them, and the probabilities of their tokens.

const ODDS = [[0.01, "odd3"], [0.1, "odd2"], [0.5, "odd1"]];

// The index of the chunk with the character at a position.
function chunkAt(part, unit) {
  return countBelow(part.ends, part.offsets.toPoint(unit) + 1);
}

function chunkStart(part, chunk) {
  return chunk > 0 ? part.offsets.toUnit(part.ends[chunk - 1]) : 0;
}

// The wait before a chunk, in seconds; null if no times were kept.
function waitBefore(part, chunk) {
  const [earlier, now] = part.times_ms ? [part.times_ms[chunk - 1], part.times_ms[chunk]] : [];
  return typeof earlier === "number" && typeof now === "number" ? (now - earlier) / 1000 : null;
}

// The stalls of a part in order: the start of the late chunk, and the wait for it.
function stallsOf(part, bound) {
  const stalls = [];
  if (!part.times_ms) return stalls;
  for (let chunk = 1; chunk < part.ends.length; chunk += 1) {
    const wait = part.offsets.isLoaded(part.ends[chunk - 1]) ? waitBefore(part, chunk) : null;
    if (wait !== null && wait >= bound) stalls.push({ unit: chunkStart(part, chunk), wait });
  }
  return stalls;
}

function waitWords(wait) {
  return wait < 1 ? `${Math.round(wait * 1000)} ms!` : `${wait.toFixed(1)} s!`;
}

// The CSS class for the least probable token of the chunk at a position; empty if it is likely or unknown.
function oddsAt(part, unit) {
  const logs = part.logprobs && part.logprobs[chunkAt(part, unit)];
  if (!logs || !logs.length) return "";
  const least = Math.exp(Math.min(...logs));
  const odds = ODDS.find(([bound]) => least < bound);
  return odds ? odds[1] : "";
}
