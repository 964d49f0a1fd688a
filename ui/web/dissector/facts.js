// What is known of the place under the pointer: its span, its chunk with the time, its token and probability.

function factsAt(part, unit) {
  const point = part.offsets.toPoint(unit);
  const said = [`turn ${part.turn} · ${part.part} · character ${point.toLocaleString("en")}`];
  const span = spanAt(part, unit);
  if (span) said.push(span.kind);
  if (part.ends && part.ends.length) said.push(...chunkFacts(part, chunkAt(part, unit)));
  for (const mark of part.marks) if (mark.start <= unit && unit < mark.end) said.push(`${mark.code} ${mark.name}`);
  return said.join(" · ");
}

function chunkFacts(part, chunk) {
  if (chunk >= part.ends.length) return [];
  const said = [`chunk ${chunk + 1} of ${part.ends.length.toLocaleString("en")}`];
  const time = part.times && part.times[chunk];
  if (typeof time === "number") {
    const earlier = chunk > 0 ? part.times[chunk - 1] : null;
    const gap = typeof earlier === "number" ? ` (+${Math.round((time - earlier) * 1000)} ms)` : "";
    said.push(`${time.toFixed(3)} s${gap}`);
  }
  const ids = part.ids && part.ids[chunk];
  if (ids && ids.length) said.push(`token ${ids.slice(0, 4).join(" ")}${ids.length > 4 ? " …" : ""}`);
  const logs = part.logprobs && part.logprobs[chunk];
  if (logs && logs.length) said.push(`p ${logs.slice(0, 4).map((log) => Math.exp(log).toFixed(3)).join(" ")}`);
  return said;
}
