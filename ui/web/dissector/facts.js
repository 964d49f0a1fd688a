// Facts about the position under the pointer: its span, its chunk with the time, its token and probability.

function factsAt(part, unit) {
  const point = part.offsets.toPoint(unit);
  const facts = [`turn ${part.turn} · ${part.part} · character ${point.toLocaleString("en")}`];
  const span = spanAt(part, unit);
  if (span) facts.push(span.word);
  if (part.ends && part.ends.length) facts.push(...chunkFacts(part, chunkAt(part, unit)));
  for (const mark of part.marks.touching(unit, unit + 1)) facts.push(`${mark.code} ${mark.name}`);
  return facts.join(" · ");
}

function chunkFacts(part, chunk) {
  if (chunk >= part.ends.length) return [];
  const facts = [`chunk ${(chunk + 1).toLocaleString("en")} of ${part.ends.length.toLocaleString("en")}`];
  const time = part.times_ms && part.times_ms[chunk];
  if (typeof time === "number") {
    const wait = waitBefore(part, chunk);
    facts.push(`${(time / 1000).toFixed(3)} s${wait === null ? "" : ` (+${Math.round(wait * 1000)} ms)`}`);
  }
  const ids = part.ids && part.ids[chunk];
  if (ids && ids.length) facts.push(`token ${ids.slice(0, 4).join(" ")}${ids.length > 4 ? " …" : ""}`);
  const logs = part.logprobs && part.logprobs[chunk];
  if (logs && logs.length) {
    const some = logs.slice(0, 4).map((log) => `${log.toFixed(2)} (p ${Math.exp(log).toFixed(3)})`);
    facts.push(`logprob ${some.join(" ")}${logs.length > 4 ? " …" : ""}`);
  }
  return facts;
}
