// Glyphs for characters that are invisible or that would change the direction of the text.

const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff]/;
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/;

// The glyph for the character at a position, or null if the character is visible. A tab is shown as an arrow.
function glyphAt(text, unit, odd) {
  const code = text.charCodeAt(unit);
  if (code < 0x20) return code === 9 ? "→   " : String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code === 0xfffd && odd !== undefined && odd.has(unit)) return odd.get(unit);
  if (code >= 0xd800 && code < 0xdc00) {
    const point = text.codePointAt(unit);
    const isHidden = (point >= 0xe0000 && point < 0xe1000) || (point >= 0x1d173 && point < 0x1d17b);
    return isHidden ? `\\U${point.toString(16).padStart(8, "0")}` : null;
  }
  if (!UNSEEN.test(text[unit]) || (code >= 0xdc00 && code < 0xe000)) return null;
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

const NARROW = [1, 1];
const BROAD = [2, 1];

// The number of cells of a fixed-width font, and of UTF-16 units, that the character at a position takes.
function cellsAt(text, unit, odd) {
  const code = text.charCodeAt(unit);
  if (code >= 0x20 && code < 0x7f) return NARROW;
  if (code >= 0x3041 && code < 0xa000 && code !== 0x3164) return BROAD; // this line and the next only save time
  if (code > 0xad && code < 0x34f) return NARROW;
  const glyph = glyphAt(text, unit, odd);
  const units = code >= 0xd800 && code < 0xdc00 ? 2 : 1;
  if (glyph !== null) return [glyph.length, units];
  return [units === 2 || WIDE.test(text[unit]) ? 2 : 1, units];
}
