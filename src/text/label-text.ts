/**
 * Text from the service as it may stand in labels and annotations: without what only deceives the eye or breaks a
 * line, and not without end. Encoding for a format (HTML, headers, JSON) is that format's own work.
 */

/** Controls but line feed and tab, and invisible marks; the two joiners stay, words and emoji need them. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g;

/** One line: every run of white space is a single space. */
export function oneLine(text: string, maxCodePoints: number): string {
  return cap(text.replace(/\s+/g, ' ').replace(HIDDEN, '').toWellFormed().trim(), maxCodePoints);
}

/** Keeps line breaks and tabs. */
export function manyLines(text: string, maxCodePoints: number): string {
  return cap(text.replace(/\r\n?/g, '\n').replace(HIDDEN, '').toWellFormed().trim(), maxCodePoints);
}

/** At most `maxCodePoints` code points; the last one is `…` where something was cut. */
export function cap(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints) return text;
  let units = 0;
  let kept = 0;
  let unitsOfCut = 0;
  for (const char of text) {
    kept += 1;
    if (kept === maxCodePoints) unitsOfCut = units;
    if (kept > maxCodePoints) return `${text.slice(0, unitsOfCut)}…`;
    units += char.length;
  }
  return text;
}
