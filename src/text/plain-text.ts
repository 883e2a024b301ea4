/**
 * Cleans text from outside for display, storage and comparison, by one rule for all of nestwatch:
 *
 * - removed: characters that are invisible or change the direction of text (zero-width and format characters, bidi
 *   controls, tags, fillers, annotation marks, variation selectors);
 * - kept: joiners and the two selectors that words and emoji need, at most two after a visible character;
 * - replaced by a space: control characters, so that words do not run together; on one line also line ends;
 * - replaced by U+FFFD: half a surrogate pair.
 *
 * Every function returns its own result unchanged when applied again, and reads only the beginning of a very long
 * text. These functions do not escape markup: each format (HTML, headers, JSON) still has to.
 */

/** One line, with each run of white space reduced to one space; cut at `maxCodePoints`, ending in `…`. */
export function plainText(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints && PLAIN.test(text)) return text;
  return cleaned(text, maxCodePoints, (visible) => visible.replace(SPACES_AND_CONTROLS, ' '));
}

/** The same, but keeps tabs, spaces and line ends; the latter become line feeds. */
export function manyLines(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints && PLAIN_LINES.test(text)) return text;
  return cleaned(text, maxCodePoints, (visible) =>
    visible.replace(LINE_END, '\n').replace(CONTROLS_WITHIN_LINES, ' '),
  );
}

/** The first non-empty lines, each as `plainText`; a last line `…` stands for what is left out. */
export function firstLines(text: string, maxLines: number, maxCodePoints: number): string[] {
  const bounded = text.slice(0, maxLines * boundOf(maxCodePoints));
  const lines = bounded
    .split(LINE_END)
    .map((line) => plainText(line, maxCodePoints))
    .filter((line) => line !== '');
  const isCut = lines.length > maxLines || bounded.length < text.length;
  return isCut ? [...lines.slice(0, maxLines), '…'] : lines;
}

/** At most `maxCodePoints` code points, ending in `…` if the text was cut; otherwise unchanged. */
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

/** How many UTF-16 units are read: a code point has up to two, and some are removed. */
function boundOf(maxCodePoints: number): number {
  return 4 * maxCodePoints + 1000;
}

/** Most texts already have this form and need no change: one test instead of many replacements. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;
const PLAIN_LINES = /^[!-~](?:[ -~\n]*[!-~])?$/;

const HIDDEN = /[[\p{Cf}\p{Default_Ignorable_Code_Point}]--[\u200C\u200D\uFE0E\uFE0F]]/gv;
/** Joiners and selectors after nothing visible, or more than any script or emoji needs. */
const IDLE_JOINERS = /(?<=^|[\s\p{Cc}]|[\u200C\u200D\uFE0E\uFE0F]{2})[\u200C\u200D\uFE0E\uFE0F]+/gv;
const SPACES_AND_CONTROLS = /[\p{Cc}\s]+/gv;
const CONTROLS_WITHIN_LINES = /[\p{Cc}--[\n\t]]+/gv;
const LINE_END = /\r\n?|[\n\u0085\u2028\u2029]/g;

/**
 * Folds names for searching, and what is searched for: to lower case, and without characters for which a store would
 * encode the whole text differently from a part of it.
 */
export function foldedText(text: string): string {
  return text.toWellFormed().toLowerCase().replaceAll('"', "'").replaceAll('\0', ' ');
}

// Ids, and the names of regions, as people see and type them.

const GUID = /^[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/** The form in which ids are kept and compared: a GUID means the same in either case, any other id may not. */
export function foldedGuid(id: string): string {
  return GUID.test(id) ? id.toLowerCase() : id;
}

/** A GUID by its first eight signs, for people; any other id whole. */
export function shortGuid(id: string): string {
  return GUID.test(id) ? id.slice(0, 8) : id;
}

export const isGuid = (text: string): boolean => GUID.test(text);

const MAX_CODE_POINTS = 80;

/** A region's name for people: `EU`. The name `all` is not a region; it stands for nestwatch itself. */
export function regionName(region: string): string {
  return region === 'all' ? 'all regions' : plainText(region, MAX_CODE_POINTS).toUpperCase();
}
