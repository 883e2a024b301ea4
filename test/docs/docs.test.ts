// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configJsonSchema } from '../../src/config/effective.ts';
import { loadConfig, loadWarnings } from '../../src/config/load-config.ts';
import { withAll } from './example.ts';
import { BLOCK, blocksOf, EXAMPLE, entryOf, GENERATED } from './generated.ts';
import { keysOf, kindKeys, SECTIONS } from './schema.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('what is generated from the code', () => {
  test.each(GENERATED)('$file is as `npm run docs` writes it', ({ file, content }) => {
    expect(read(file)).toBe(content(read));
  });

  test('every section of the configuration is documented', () => {
    const text = read('config/README.md');
    const subjects = blocksOf(text).map(({ subject }) => subject);
    expect(SECTIONS.filter((section) => !subjects.includes(section))).toEqual([]);
    const headings = SECTIONS.filter((section) => text.includes(`\n## ${section}\n`));
    expect(headings.filter((section) => !text.includes(`[${section}](#${section})`))).toEqual([]);
  });

  test('every key of the configuration has a description', () => {
    const keys = [
      ...SECTIONS.flatMap((section) => keysOf(entryOf(section))),
      ...kindKeys().map(({ name, schema }) => ({ names: [name], schema })),
    ];
    const silent = keys
      .filter(({ schema }) => !schema.description && !schema.items?.description)
      .flatMap(({ names }) => names);
    expect(silent).toEqual([]);
  });

  test('metrics and error codes are documented', () => {
    const names = blocksOf(read('src/observe/README.md')).map(({ name }) => name);
    expect(names).toEqual(['metrics', 'errors', 'limits']);
  });
});

describe('the example', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

  test.each([
    ['as it stands', (text: string) => text],
    ['with every setting that is left out', withAll],
  ])('is valid and without a warning %s', (_, change) => {
    const source = {
      file: EXAMPLE,
      text: change(read(EXAMPLE)),
      environment: { NESTWATCH_EU_TOKEN: 'a', NESTWATCH_US_TOKEN: 'b' },
      readFile: (path: string) => (path.endsWith('.pem') ? key : 'https://hooks.example.com/secret'),
    };
    const config = loadConfig(source);
    expect(loadWarnings(source, config)).toEqual([]);
    expect(config.regions.map(({ name }) => name)).toEqual(['eu', 'us']);
    expect(config.receivers.map(({ name }) => name)).toEqual(['ops', 'pager', 'lake']);
  });

  test('comments out only settings', () => {
    expect(withAll(read(EXAMPLE))).not.toMatch(/^\s*#[^ \n]/m);
  });
});

describe('the JSON schema', () => {
  test('requires only regions and refuses unknown keys', () => {
    expect(configJsonSchema()).toMatchObject({ required: ['regions'], additionalProperties: false });
  });

  test('accepts a reference in place of a number, and shows defaults', () => {
    expect(configJsonSchema()).toMatchObject({
      properties: {
        poll: {
          properties: {
            min_interval: { default: '10s' },
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
});

describe('documents', () => {
  const documents = globSync('{*.md,config/**/*.md,src/**/*.md,test/**/*.md}', { cwd: ROOT });

  test.each(documents)('%s links to what exists', (document) => {
    const text = read(document).replaceAll(/^```[\s\S]*?^```/gm, '');
    const targets = [...text.matchAll(/(?<!!)\[[^\]]*\]\((?!https?:)([^)]+)\)/g)].map((match) => match[1]!);
    const broken = targets.filter((target) => {
      const [file, anchor] = target.split('#');
      const path = file ? join(dirname(document), file) : document;
      const found = globSync(path, { cwd: ROOT }).length > 0;
      return !found || (anchor !== undefined && !anchorsOf(read(path)).includes(anchor));
    });
    expect(broken).toEqual([]);
  });

  test.each(['README.md', 'config/README.md'])('%s shows configurations that load', (document) => {
    const text = read(document).replaceAll(BLOCK, '');
    const examples = [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, example = '']) => example);
    expect(examples).not.toEqual([]);
    for (const example of examples) {
      const regions = example.startsWith('regions:')
        ? ''
        : 'regions: { eu: { base_url: https://x, token: t } }\n';
      loadConfig({
        file: document,
        text: regions + example,
        environment: {},
        readFile: (path) => `the secret in ${path}`,
      });
    }
  });

  test('the README names the two commands', () => {
    expect(read('README.md')).toContain('npm ci && npm run demo');
    expect(read('README.md')).toContain('npm ci && npm test');
  });
});

/** As GitHub generates them from headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
