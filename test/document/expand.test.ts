// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expand } from '../../src/document/read-file.ts';

const ENVIRONMENT = { NAME: 'value', EMPTY: '', TRICKY: 'a$$b${NAME}#[' };

const BROKEN = '`${` must go on as `NAME}` or `NAME:-default}`; a dollar alone is `$$`';

describe('expansion', () => {
  test.each([
    ['plain', 'plain', false],
    ['${NAME}', 'value', true],
    ['<${NAME}>${NAME}', '<value>value', true],
    ['${MISSING:-other}', 'other', true],
    ['${EMPTY:-other}', 'other', true],
    ['${NAME:-other}', 'value', true],
    ['${MISSING:-}', '', true],
    ['${EMPTY}', '', true],
    ['$$', '$', false],
    ['$${NAME}', '${NAME}', false],
    ['$NAME costs 5$', '$NAME costs 5$', false],
    ['${TRICKY}', 'a$$b${NAME}#[', true],
  ])('%s becomes %s', (text, expanded, isExpanded) => {
    expect(expand(text, ENVIRONMENT)).toEqual({ ok: true, text: expanded, isExpanded });
  });

  test.each([
    ['${MISSING}', '$MISSING is not set in the environment'],
    ['${A}${NAME}${B}', '$A, $B are not set in the environment'],
    ['${', BROKEN],
    ['${NAME', BROKEN],
    ['${1A}', BROKEN],
  ])('%s is refused', (text, message) => {
    expect(expand(text, ENVIRONMENT)).toEqual({ ok: false, message });
  });

  test('what comes from the environment arrives unchanged, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        expect(expand('${X}', { X: value })).toEqual({ ok: true, text: value, isExpanded: true });
      }),
    );
  });
});
