import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { configJsonSchema } from '../../src/config/json-schema.ts';

test('config/nestwatch.schema.json is what `nestwatch schema` prints', () => {
  const file = resolve(import.meta.dirname, '../../config/nestwatch.schema.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(configJsonSchema());
});

test('the schema asks for regions alone and refuses unknown keys', () => {
  expect(configJsonSchema()).toMatchObject({ required: ['regions'], additionalProperties: false });
});

test('a reference may stand in for a number, and defaults are shown', () => {
  expect(configJsonSchema()).toMatchObject({
    properties: {
      poll: {
        properties: {
          page_size: {
            default: 100,
            anyOf: [
              { type: 'integer', minimum: 1, maximum: 10_000 },
              { type: 'string', pattern: '\\$\\{' },
            ],
          },
        },
      },
    },
  });
});
