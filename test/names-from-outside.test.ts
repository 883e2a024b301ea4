// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe, expect, test } from 'vitest';
import { expand } from '../src/document/read-file.ts';
import { createMatcher } from '../src/domain/matchers/matcher.ts';
import { openQuery } from '../src/simulator/answers/answer-operations.ts';
import { compileTemplate, TemplateError } from '../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../src/templates/variables.ts';
import { eventTitle } from '../src/web/pages/frame/page-words.ts';
import { ENGLISH } from '../src/web/pages/frame/words.ts';
import { nestwatch } from './cli/test-io.ts';
import { problemsOf, REGION } from './config/load.ts';

/** Every JavaScript object has these names, so finding one in it does not mean that somebody gave it. */
const INHERITED = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', '__defineGetter__'];

describe.each(INHERITED)('%s is a name like any other', (name) => {
  test('of an unset variable', () => {
    expect(expand(`\${${name}}`, {})).toEqual({
      ok: false,
      message: `$${name} is not set in the environment`,
    });
    expect(expand(`\${${name}:-else}`, {})).toMatchObject({ ok: true, text: 'else' });
  });

  // No object can hold this one: it is refused as a key of any map.
  const refusal = name === '__proto__' ? 'cannot be a name here' : undefined;

  test('of an unknown key of the configuration', () => {
    expect(problemsOf(`${REGION}${name}: 1`)).toEqual([expect.stringContaining(refusal ?? 'unknown key')]);
    expect(problemsOf(`${REGION}web: { ${name}: { a: 1 } }`)).toEqual([
      expect.stringContaining(refusal ?? 'unknown key; known here: listen'),
    ]);
  });

  test('of a header of a mail', () => {
    const text = `${REGION}route: { receiver: a }\nreceivers: [{ name: a, email_configs: [{ to: a@b.example, from: c@d.example, smarthost: "127.0.0.1:25", headers: { ${name}: x } }] }]`;
    const isHeader = /^[A-Za-z0-9-]+$/.test(name);
    expect(problemsOf(text)).toEqual(
      isHeader
        ? []
        : [expect.stringContaining(`headers.${name}: ${refusal ?? 'is not the name of a header'}`)],
    );
  });

  test('of a filter and a tag of a template: it does not exist', () => {
    for (const text of [`{{ status | ${name} }}`, `{% ${name} %}`]) {
      expect(() => compileTemplate(text, 'text', SAMPLE_VARIABLES)).toThrow(TemplateError);
      expect(() => compileTemplate(text, 'text', SAMPLE_VARIABLES)).toThrow(/undefined filter|not found/);
    }
  });

  test('of a class of characters in a regular expression', () => {
    for (const value of [`[[:${name}:]]`, `\\p{${name}}`]) {
      expect(() => createMatcher('bird', '=~', value)).toThrow('invalid character class range');
    }
  });

  test('of a parameter on the command line', async () => {
    const { stderr } = await nestwatch(['api', 'searchNests', `--${name}`, 'x']);
    expect(stderr).toContain(`there is no parameter "${name}"`);
  });

  test('of a type of event on the page', () => {
    expect(eventTitle(ENGLISH, name)).toBe(name);
  });

  test('of a flag in a query of the simulated service', () => {
    const query = openQuery(`ascending=${name}`);
    expect(query.flag('ascending')).toBe(undefined);
    expect(query.errors()).toHaveProperty('ascending');
  });
});
