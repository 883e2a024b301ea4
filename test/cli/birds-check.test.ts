// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the dollar is what is tested.
/** `birds export` and `birds check`, against the daemon's API. */
import { describe, expect, test } from 'vitest';
import type { BirdRecord } from '../../src/store/sql/watched/nests-and-birds.ts';
import { aStatus } from '../web/sample.ts';
import { putBirds } from '../web/sample-birds.ts';
import { type ServeOptions, serve } from '../web/served.ts';
import { containing, done, failed, nestwatch, tempFile } from './test-io.ts';

async function daemon(options: ServeOptions = {}) {
  const { web, store, clock } = await serve(options);
  await putBirds(store);
  const run = (...args: string[]) => nestwatch(['birds', ...args, '--url', web.url], { clock });
  const change = (birdId: string, change: Partial<BirdRecord>) =>
    store.transaction(async (tx) => {
      const birds = [...(await tx.inventory.birds('eu')), ...(await tx.inventory.birds('us'))];
      const bird = birds.find((one) => one.birdId === birdId) ?? birds[0]!;
      await tx.inventory.putBirds([{ ...bird, birdId, ...change }]);
    });
  const exported = async (...args: string[]) => (await run('export', ...args)).stdout;
  return { run, change, exported };
}

describe('birds export', () => {
  test('prints all Birds in order, so that a check finds no difference', async () => {
    const { run, exported } = await daemon();
    const text = await exported();
    expect(text.split('\n  - ')[1]).toBe(
      [
        ...['region: eu', 'nest: Marketing', 'bird: Post news', 'id: "2"'],
        ...['status: active', 'trigger: scheduled', 'published: true'],
      ].join('\n    '),
    );
    expect(await run('check', tempFile('birds.yaml', text))).toEqual(done());
    const json = tempFile('birds.json', await exported('--json'));
    expect((await run('check', json)).exit).toBe(0);
  });

  test('only of the Nests that are asked for', async () => {
    const { exported } = await daemon();
    expect([...(await exported('--nest', 'Mark*')).matchAll(/nest: (.*)/g)].map(([, nest]) => nest)).toEqual(
      Array(2).fill('Marketing'),
    );
    expect(await exported('--nest', 'none')).toBe('birds: []\n');
  });

  test('names that YAML, a terminal or the reader of the file would take for something else', async () => {
    const { run, change, exported } = await daemon();
    for (const [at, name] of [
      'true',
      'no',
      'On',
      '1: 2 # $$',
      '- ~',
      '${HOME}',
      '\u202eevil\u0000',
      '"',
      '',
    ].entries())
      await change(`9${at}`, { name });
    const text = await exported();
    // Readers of YAML 1.1 would take these for booleans.
    expect(text).not.toMatch(/bird: (?:no|on)$/im);
    expect(text).not.toMatch(/\p{Bidi_Control}|\0|\uFFFD/u);
    expect(await run('check', tempFile('birds.yaml', text))).toEqual(done());
  });

  test('nothing while a region was not read since the start', async () => {
    const regions = aStatus().regions.map((one) => ({ ...one, started: one.region === 'us' }));
    const { run } = await daemon({ status: () => aStatus({ regions }) });
    expect(await run('export')).toEqual(
      failed(containing('the Birds of eu were not read since nestwatch started')),
    );
  });
});

describe('birds check', () => {
  test('one suspended, one renamed, one deleted, one added: a line each, and exit 1 [long]', async () => {
    const { run, change, exported } = await daemon();
    const file = tempFile('birds.yaml', await exported());
    await change('3', { status: 'active' });
    const { stdout: active } = await run('check', file);
    expect(active).toMatch(/^us Sales \/ Old one: active, declared suspended\n$/);
    await change('3', { status: 'suspended' });
    await change('2', { status: 'unpublished' });
    await change('148890', { name: 'Translate all' });
    await change('3', { present: false });
    await change('55', { name: 'New one', present: true, status: 'active' });
    const { exit, stdout } = await run('check', file);
    expect(exit).toBe(1);
    expect(stdout.split('\n')).toEqual([
      'eu Marketing / New one is not declared',
      'eu Marketing / Post news: unpublished, declared active',
      'eu Marketing / Translate blog: its name is Translate all',
      'us Sales / Old one is missing',
      '',
    ]);
    const { drifts } = JSON.parse((await run('check', file, '--json')).stdout);
    expect(drifts.map(({ what, id }: { what: string; id: string }) => `${what} ${id}`)).toEqual([
      ...['undeclared 55', 'differs 2', 'differs 148890', 'missing 3'],
    ]);
  });

  test('a daemon that cannot be asked, or has not read the region, is no difference: exit 4', async () => {
    const file = tempFile('b.yaml', 'birds:\n  - { region: eu, nest: Marketing, bird: Translate blog }\n');
    const regions = aStatus().regions.map((one) => ({ ...one, started: false }));
    const { run } = await daemon({ status: () => aStatus({ regions }) });
    expect(await run('check', file)).toEqual(failed(containing('the Birds of eu were not read'), 4));
    expect(await nestwatch(['birds', 'check', file, '--url', 'http://127.0.0.1:1'])).toEqual(
      failed(containing('is nestwatch running there?'), 4),
    );
  });

  test('who suspended it, as its log says [long]', async () => {
    const { run, exported } = await daemon();
    const file = tempFile('b.yaml', (await exported()).replace('status: suspended', 'status: active'));
    expect((await run('check', file)).stdout).toBe(
      'us Sales / Old one: suspended, declared active (since 2026-07-02 11:59:00 UTC, by anna@example.com)\n',
    );
  });

  test('a name that two Birds have, a region that nobody watches, and a file that is not there [long]', async () => {
    const { run, change } = await daemon();
    await change('2', { name: 'Translate blog' });
    const check = async (entry: string) => run('check', tempFile('b.yaml', `birds:\n  - ${entry}\n`));
    const twice = await check('{ region: eu, nest: Marketing, bird: Translate blog }');
    expect(twice.exit).toBe(2);
    expect(twice.stderr).toMatch(
      /b\.yaml:2:42: birds\[0\]\.bird: 2 Birds of this Nest have this name: give the id\n/,
    );
    const elsewhere = await check('{ region: ue, nest: Marketing, bird: Translate blog }');
    expect(elsewhere.exit).toBe(2);
    expect(elsewhere.stderr).toMatch(
      /b\.yaml:2:15: birds\[0\]\.region: there is no such region; did you mean eu\?\n/,
    );
    const both = await check(
      '{ region: ue, nest: M, bird: T }\n  - { region: eu, nest: Marketing, bird: Translate blog }',
    );
    expect(both.stderr).toMatch(/b\.yaml:2:15: .*\n.*b\.yaml:3:42: /);
    const none = await run('check', '/nowhere/b.yaml');
    expect([none.exit, none.stderr.split('\n')[0]]).toEqual([
      2,
      '/nowhere/b.yaml:1:1: the file does not exist',
    ]);
  });
});
