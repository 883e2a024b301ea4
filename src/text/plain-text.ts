/**
 * Text from outside, made fit to be shown, kept and compared, by one rule for all of nestwatch:
 *
 * - removed: what is invisible or turns the direction of what follows (zero-width and format characters, bidi
 *   controls, tags, fillers, annotation marks, variation selectors);
 * - kept: joiners and the two selectors that words and emoji need, at most two behind a character that is seen;
 * - a space instead: control characters, so that no two words become a new one; on one line also every line end;
 * - U+FFFD instead: half a surrogate pair.
 *
 * Every function gives its own result back unchanged, and looks only at the beginning of a text of megabytes. Markup
 * is not the concern of these functions: a format (HTML, headers, JSON) still has to escape.
 */

/** On one line, every run of white space a single space; cut at `maxCodePoints` with a last `…`. */
export function plainText(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints && PLAIN.test(text)) return text;
  return cleaned(text, maxCodePoints, (visible) => visible.replace(SPACES_AND_CONTROLS, ' '));
}

/** The same with its tabs, spaces and line ends, which become line feeds. */
export function manyLines(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints && PLAIN_LINES.test(text)) return text;
  return cleaned(text, maxCodePoints, (visible) =>
    visible.replace(LINE_END, '\n').replace(CONTROLS_WITHIN_LINES, ' '),
  );
}

/** The first lines that say something, each as `plainText`; a last line `…` stands for what is left out. */
export function firstLines(text: string, maxLines: number, maxCodePoints: number): string[] {
  const bounded = text.slice(0, maxLines * boundOf(maxCodePoints));
  const lines = bounded
    .split(LINE_END)
    .map((line) => plainText(line, maxCodePoints))
    .filter((line) => line !== '');
  const isCut = lines.length > maxLines || bounded.length < text.length;
  return isCut ? [...lines.slice(0, maxLines), '…'] : lines;
}

/** At most `maxCodePoints` code points; the last one is `…` where something was cut. Nothing else changes. */
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

function cleaned(text: string, maxCodePoints: number, layOut: (visible: string) => string): string {
  const bounded = text.slice(0, boundOf(maxCodePoints));
  const visible = bounded.toWellFormed().replace(HIDDEN, '').replace(IDLE_JOINERS, '');
  const clean = layOut(visible).trim();
  return cap(bounded.length < text.length ? `${clean}…` : clean, maxCodePoints);
}

/** How much of a text is looked at: code points have up to two units, and some are removed. */
function boundOf(maxCodePoints: number): number {
  return 4 * maxCodePoints + 1000;
}

/** What most texts are, and what nothing needs to be done to: one test in place of many replacements. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;
const PLAIN_LINES = /^[!-~](?:[ -~\n]*[!-~])?$/;

const HIDDEN = /[[\p{Cf}\p{Default_Ignorable_Code_Point}]--[\u200C\u200D\uFE0E\uFE0F]]/gv;
/** Where they join nothing, and more of them than any script or emoji needs. */
const IDLE_JOINERS = /(?<=^|[\s\p{Cc}]|[\u200C\u200D\uFE0E\uFE0F]{2})[\u200C\u200D\uFE0E\uFE0F]+/gv;
const SPACES_AND_CONTROLS = /[\p{Cc}\s]+/gv;
const CONTROLS_WITHIN_LINES = /[\p{Cc}--[\n\t]]+/gv;
const LINE_END = /\r\n?|[\n\u0085\u2028\u2029]/g;
