// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { expect, test } from 'vitest';
import { readDeclaredBirds } from '../../src/config/declared-birds.ts';
import { ConfigError } from '../../src/document/problem.ts';

const bird = (rest: string) => `  - { region: eu, nest: Prod, ${rest} }\n`;

function problemsOf(text: string, regions = ['eu', 'us']): string[] {
  try {
    readDeclaredBirds('b.yaml', text, regions);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n');
  }
}

test.each([
  ['no YAML', 'birds: [', /^b\.yaml:1:9: the indentation is wrong, or a bracket is not closed$/],
  ['no map', '- a', /^b\.yaml:1:1: must be a map of keys and values$/],
  ['no Birds', 'brids: []', /^b\.yaml:1:1: brids: unknown key; did you mean `birds`\?|birds: is missing$/],
  [
    'an unknown key',
    `birds:\n${bird('bird: A, statu: active')}`,
    /^b\.yaml:2:40: birds\[0\].statu: unknown key; did you mean `status`\?$/,
  ],
  ['a Bird without a name', `birds:\n${bird('id: 1')}`, /^b\.yaml:2:5: birds\[0\]\.bird: is missing$/],
  [
    'a status with a slip',
    `birds:\n${bird('bird: A, status: actve')}`,
    /birds\[0\]\.status: unknown; did you mean active\?$/,
  ],
  [
    'a region with a slip',
    'birds:\n  - { region: ue, nest: Prod, bird: A }',
    /^b\.yaml:2:15: birds\[0\]\.region: there is no such region; did you mean eu\?$/,
  ],
  [
    'an id twice',
    `birds:\n${bird('bird: A, id: 1')}${bird('bird: B, id: "1"')}`,
    /^b\.yaml:3:37: birds\[1\]\.bird: is declared twice: another entry has this `id`$/,
  ],
  [
    'a name twice, once without an id',
    `birds:\n${bird('bird: A, id: 1')}${bird('bird: A')}`,
    /^b\.yaml:3:37: birds\[1\]\.bird: is declared twice: if two Birds of the Nest have this name, give the `id` of each$/,
  ],
  ['a reference to the environment', `birds:\n${bird('bird: "${HOME}"')}`, /\$HOME is not set/],
])('refuses %s', (_, text, expected) => {
  expect(problemsOf(text)[0]).toMatch(expected);
});

test('reads two Birds of one name with their ids, and words that the service may have later', () => {
  const text = `birds:\n${bird('bird: "Cost $$5", id: 1')}${bird('bird: "Cost $$5", id: "2", status: archived')}`;
  expect(problemsOf(text)).toEqual([]);
  expect(readDeclaredBirds('b.yaml', text).birds).toEqual([
    { region: 'eu', nest: 'Prod', bird: 'Cost $5', id: '1' },
    { region: 'eu', nest: 'Prod', bird: 'Cost $5', id: '2', status: 'archived' },
  ]);
});

test('says all mistakes of a file at once', () => {
  const entries = ['bird: A, statu: x', 'bird: B, status: actve', 'id: 1', 'bird: C', 'bird: C'].map(bird);
  const text = `birds:\n${entries.join('')}  - { region: ue, nest: Prod, bird: D }\nbrids: []`;
  expect(problemsOf(text).map((line) => /: ([a-z].*?): /.exec(line)![1])).toEqual([
    'birds[0].statu',
    'birds[1].status',
    'birds[2].bird',
    'birds[4].bird',
    'birds[5].region',
    'brids',
  ]);
});
