/** The sets of characters that a regular expression names, as RE2 has them. */

/** Tells whether a code point is in a set. */
export type CharTest = (codePoint: number) => boolean;

const DIGIT: CharTest = (c) => c >= 48 && c <= 57;
const SPACE: CharTest = (c) => c === 9 || c === 10 || c === 12 || c === 13 || c === 32;
const UPPER: CharTest = (c) => c >= 65 && c <= 90;
const LOWER: CharTest = (c) => c >= 97 && c <= 122;
const ALPHA: CharTest = (c) => UPPER(c) || LOWER(c);
export const isAlphanumeric: CharTest = (c) => ALPHA(c) || DIGIT(c);
const PUNCT: CharTest = (c) => c > 32 && c < 127 && !isAlphanumeric(c);
export const isWordChar: CharTest = (c) => isAlphanumeric(c) || c === 95;

/** Perl's classes, in ASCII as RE2 has them. */
export const PERL_CLASSES: Readonly<Record<string, CharTest>> = { d: DIGIT, s: SPACE, w: isWordChar };

export const POSIX_CLASSES: Readonly<Record<string, CharTest>> = {
  alnum: isAlphanumeric,
  alpha: ALPHA,
  ascii: (c) => c < 128,
  blank: (c) => c === 9 || c === 32,
  cntrl: (c) => c < 32 || c === 127,
  digit: DIGIT,
  graph: (c) => c > 32 && c < 127,
  lower: LOWER,
  print: (c) => c >= 32 && c < 127,
  punct: PUNCT,
  space: (c) => SPACE(c) || c === 11,
  upper: UPPER,
  word: isWordChar,
  xdigit: (c) => DIGIT(c) || (c >= 65 && c <= 70) || (c >= 97 && c <= 102),
};

/** Tries a character's other cases as well; `ſ` and `K` (Kelvin) count as s and k, as in RE2. */
export function ignoringCase(test: CharTest): CharTest {
  return (codePoint) => {
    if (test(codePoint)) return true;
    const char = String.fromCodePoint(codePoint);
    const [upper, lower] = [char.toUpperCase(), char.toLowerCase()];
    const cases = [
      upper,
      lower,
      upper.toLowerCase(),
      lower.toUpperCase(),
      ...(KELVIN_AND_LONG_S[lower] ?? []),
    ];
    return cases.some((one) => [...one].length === 1 && test(one.codePointAt(0)!));
  };
}

const KELVIN_AND_LONG_S: Readonly<Record<string, readonly string[]>> = {
  k: ['\u212a'],
  s: ['\u017f'],
};

/** A general category or a script, by JavaScript's own tables; undefined for neither. */
export function unicodeClass(name: string): CharTest | undefined {
  for (const property of [`General_Category=${name}`, `Script=${name}`]) {
    try {
      const regex = new RegExp(`^\\p{${property}}$`, 'u');
      return (c) => regex.test(String.fromCodePoint(c));
    } catch {
      // Not of this sort.
    }
  }
  return name === 'Any' ? () => true : undefined;
}
