/**
 * Makes text from outside fit to be shown on one line: control characters and line ends become a space, characters
 * that are invisible or turn the direction of what follows are removed (the two joiners stay, words and emoji need
 * them), and half a surrogate pair becomes U+FFFD. Markup is not its concern: a format still has to escape.
 */
export function plainText(text: string, maxCodePoints: number): string {
  // A code point has two units at the most, so nothing that could be shown is cut off here.
  const bounded = text.slice(0, BOUND_FACTOR * maxCodePoints).toWellFormed();
  const clean = bounded.replace(INVISIBLE, '').replace(BREAKS, ' ').trim();
  const isWhole = bounded.length === text.length;
  if (isWhole && clean.length <= maxCodePoints) return clean;
  const points = [...clean];
  if (isWhole && points.length <= maxCodePoints) return clean;
  return `${points.slice(0, maxCodePoints - 1).join('')}…`;
}

/** Room for code points of two units and for characters that are removed. */
const BOUND_FACTOR = 4;

const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;
const INVISIBLE = /[\p{Cf}--[\u200C\u200D]]/gv;
