import fc from 'fast-check';

/** Half of a surrogate pair is no character. */
const FIRST_HALF = 0xd800;
const HALVES = 0x800;
const LAST = 0x10ffff;

/**
 * Each character that there is, as probable as each other: for `fc.string({ unit: anyCharacter })`. That of fast-check by
 * the name `binary` gives the same ones; but it makes a map of all of them, in each process that it is used in, which
 * takes a second and more than 100 MiB for good.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(LAST - HALVES).map(
  (number) => String.fromCodePoint(number < FIRST_HALF ? number : number + HALVES),
  (character) => {
    const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character || !character.isWellFormed())
      throw new Error('is no character');
    return code < FIRST_HALF ? code : code - HALVES;
  },
);
