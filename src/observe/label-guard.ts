/** What a value becomes that finds no room. */
const OTHER = 'other';

/** The service's own words look like this; anything else is no name for a series. */
const WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/**
 * Keeps the values of one label few, although the service may send any: the known ones pass, then the first `room`
 * new ones that look like a word. For the rest `refused` is called and `other` is given.
 */
export function createLabelGuard(
  known: readonly string[],
  room: number,
  refused: () => void,
): (value: string) => string {
  const allowed = new Set(known);
  return (value) => {
    if (allowed.has(value)) return value;
    if (allowed.size < known.length + room && WORD.test(value)) {
      allowed.add(value);
      return value;
    }
    refused();
    return OTHER;
  };
}
