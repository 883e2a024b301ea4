import { expect, test } from 'vitest';
import type { Config } from '../src/config/config.ts';
import { effectiveOf } from '../src/config/effective.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { configDigest, isSameSetting } from '../src/config/same-setting.ts';
import { ConfigError } from '../src/document/problem.ts';
import { createReloading } from '../src/reload.ts';
import type { Happening } from '../src/report.ts';
import { secret, secretFrom } from '../src/secret.ts';
import { stageConfig } from './acceptance/stage-config.ts';
import { createVirtualClock } from './virtual-clock.ts';

const BASE = stageConfig(['eu']);

function open(read: () => Config, apply: (config: Config) => Promise<void> = async () => {}) {
  const clock = createVirtualClock();
  const reported: Happening[] = [];
  const applied: Config[] = [];
  const reloading = createReloading({
    config: BASE,
    read,
    async apply(config) {
      await apply(config);
      applied.push(config);
    },
    clock,
    report: (one) => reported.push(one),
  });
  return { ...reloading, clock, reported, applied };
}

test('a good configuration is put in force and reported', async () => {
  const next = { ...BASE, digests: [] };
  const { reload, view, applied, reported, clock } = open(() => next);
  await clock.advance(60_000);
  expect(await reload()).toEqual({ mistakes: [], needsRestart: [] });
  expect(applied).toEqual([next]);
  expect(view()).toMatchObject({ readAtUs: clock.nowUs(), triedAtUs: clock.nowUs() });
  expect(reported).toMatchObject([{ what: 'config_reload', success: true, mistakes: [] }]);
});

test('one with mistakes changes nothing, and each is reported', async () => {
  let isBad = true;
  const problem = { line: 4, column: 1, path: 'receiver', message: 'unknown key' };
  const { reload, view, applied, reported, clock } = open(() => {
    if (isBad) throw new ConfigError('n.yaml', [problem, { ...problem, line: 9 }]);
    return BASE;
  });
  const before = view().readAtUs;
  await clock.advance(60_000);
  const mistakes = ['n.yaml:4:1: receiver: unknown key', 'n.yaml:9:1: receiver: unknown key'];
  expect(await reload()).toEqual({ mistakes, needsRestart: [] });
  expect(applied).toEqual([]);
  expect(view()).toEqual({ readAtUs: before, triedAtUs: clock.nowUs(), mistakes, needsRestart: [] });
  expect(reported).toMatchObject([{ what: 'config_reload', success: false, mistakes }]);
  isBad = false;
  expect((await reload()).mistakes).toEqual([]);
});

test('one that cannot be put in force is refused as well', async () => {
  const { reload, view } = open(
    () => BASE,
    () => Promise.reject(new Error('no more sockets')),
  );
  expect((await reload()).mistakes).toEqual(['no more sockets']);
  expect(view().mistakes).toEqual(['no more sockets']);
});

test('what is fixed at the start stays as it was and is reported', async () => {
  const { reload, applied } = open(() => ({
    ...BASE,
    store: { url: 'sqlite:other.db', retentionMs: 86_400_000 },
    web: { ...BASE.web, port: 9465, externalUrl: 'http://other.example' },
  }));
  expect(await reload()).toEqual({ mistakes: [], needsRestart: ['store.url', 'web'] });
  expect(applied[0]).toMatchObject({
    store: { url: BASE.store.url, retentionMs: 86_400_000 },
    web: BASE.web,
  });
});

test('a new address that waits for a restart leaves the page as the last reload made it', async () => {
  const revoked = { ...BASE.web, externalUrl: 'http://second.example' };
  let web = revoked;
  const { reload, applied } = open(() => ({ ...BASE, web }));
  await reload();
  web = { ...revoked, port: 9465 };
  expect((await reload()).needsRestart).toEqual(['web']);
  expect(applied[1]!.web).toEqual(revoked);
});

test('what is in force can be shown, and compared with that of other replicas, also after a reload [long]', async () => {
  const read = (more: string) =>
    loadConfig({
      file: 'n.yaml',
      text: `regions: { eu: { base_url: https://x/api-rest, token: t } }\n${more}`,
      environment: {},
      readFile: () => '',
    });
  const started = 'store: { url: "sqlite:a.db", retention: 40d }\nweb: { listen: "127.0.0.1:1" }\n';
  const changed = 'store: { url: "sqlite:b.db", retention: 9d }\nweb: { listen: "127.0.0.1:2" }\n';
  const applied: Config[] = [];
  const { reload } = createReloading({
    config: read(started),
    read: () => read(`${changed}poll: { max_interval: 40s }\n`),
    apply: async (config) => void applied.push(config),
    clock: createVirtualClock(),
    report() {},
  });
  expect((await reload()).needsRestart).toEqual(['store.url', 'web']);
  const same = read(`${started.replace('40d', '9d')}poll: { max_interval: 40s }\n`);
  expect(effectiveOf(applied[0]!)).toEqual(effectiveOf(same));
  expect(configDigest(applied[0]!)).toBe(configDigest(same));
  expect(configDigest(same)).not.toBe(configDigest(read(started)));
});

test('replicas whose files of declared Birds differ have different configurations', () => {
  const read = (birds: string) =>
    loadConfig({
      file: 'n.yaml',
      text: `regions: { eu: { base_url: https://x/api-rest, token: t } }
rules: [{ kind: BirdNotAsDeclared, declared: birds.yaml }]`,
      environment: {},
      readFile: () => `birds: [${birds}]`,
    });
  const one = '{ region: eu, nest: A, bird: B }';
  expect(configDigest(read(one))).toBe(configDigest(read(one)));
  expect(configDigest(read(one))).not.toBe(configDigest(read('')));
});

test('each key of a store on PostgreSQL that needs a restart is reported', async () => {
  const text = (more: string) => `regions: { eu: { base_url: https://x/api-rest, token: t } }
store: { url: "postgres://u@h/d", ${more} }`;
  const read = (more: string) =>
    loadConfig({ file: 'n.yaml', text: text(more), environment: {}, readFile: () => '' });
  const named = async (more: string) => {
    const { reload } = createReloading({
      config: read('password: first, schema: one, statement_timeout: 10s'),
      read: () => read(more),
      apply: async () => {},
      clock: createVirtualClock(),
      report() {},
    });
    return (await reload()).needsRestart;
  };
  expect(await named('password: first, schema: one, statement_timeout: 10s, retention: 9d')).toEqual([]);
  expect(await named('password: other, schema: one, statement_timeout: 10s')).toEqual(['store.password']);
  expect(await named('password: first, schema: two, statement_timeout: 20s')).toEqual([
    'store.schema',
    'store.statement_timeout',
  ]);
});

test('reloads run one after another, and those that wait are merged', async () => {
  let reads = 0;
  const { promise: first, resolve: go } = Promise.withResolvers<void>();
  const { reload } = open(
    () => {
      reads += 1;
      return BASE;
    },
    () => first,
  );
  const under = reload();
  await Promise.resolve();
  await Promise.resolve();
  expect(reads).toBe(1);
  const waiting = [reload(), reload(), reload()];
  go();
  await Promise.all([under, ...waiting]);
  expect(reads).toBe(2);
});

test.each([
  ['the same texts and numbers', { a: 1, b: ['x', { c: null }] }, { a: 1, b: ['x', { c: null }] }, true],
  ['another order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ['another value', { a: 1 }, { a: 2 }, false],
  ['one key more', { a: 1 }, { a: 1, b: undefined }, false],
  ['one item more', ['a'], ['a', 'b'], false],
  ['a secret of the same text', { t: secret('abc') }, { t: secret('abc') }, true],
  ['a secret of another text', { t: secret('abc') }, { t: secret('abd') }, false],
  ['a secret of the same file', secretFrom(() => 'a', 'file x'), secretFrom(() => 'b', 'file x'), true],
  ['a secret that is a text now', secretFrom(() => 'abc', 'file x'), secret('abc'), false],
  ['what cannot be compared', new Map(), new Map(), false],
])('two settings: %s', (_what, a, b, same) => {
  expect(isSameSetting(a, b)).toBe(same);
});
