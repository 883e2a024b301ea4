import fc from 'fast-check';

/** Halves of surrogate pairs are not characters. */
const FIRST_HALF = 0xd800;
const HALVES = 0x800;
const LAST = 0x10ffff;

/**
 * Every Unicode character, all equally probable, for `fc.string({ unit: anyCharacter })`. fast-check's own `binary`
 * generates the same ones, but it first builds a map of all of them in each process, which takes a second and more
 * than 100 MiB permanently.
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
