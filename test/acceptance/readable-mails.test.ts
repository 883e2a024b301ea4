/** Acceptance: no mail that people read has a pattern of an error, an id of 36 signs or a code, but in links. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { codesIn } from '../web/pages/read.ts';

const FOLDER = `${import.meta.dirname}/mails`;

test.each(readdirSync(FOLDER).filter((name) => name.endsWith('.txt')))('%s', (name) => {
  const text = readFileSync(`${FOLDER}/${name}`, 'utf8').replace(/https?:\/\/\S+/g, '');
  expect(codesIn(text)).toEqual([]);
});
