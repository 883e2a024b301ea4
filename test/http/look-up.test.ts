/** Names whose DNS servers are silent occupy threads of the process; everybody else must still get answers. */
import type { LookupAddress } from 'node:dns';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLookUp } from '../../src/http/look-up.ts';
import { openTransport } from '../../src/http/transport.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { serveHttp } from './servers.ts';

const ADDRESSES: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];

/** A resolver that answers when a test tells it to. */
function resolver() {
  const clock = createVirtualClock();
  const asked: { readonly name: string; readonly answer: (error?: Error) => void }[] = [];
  const lookUp = createLookUp({
    clock,
    ask: (name, _, answered) =>
      asked.push({ name, answer: (error) => answered(error ?? null, error ? [] : ADDRESSES) }),
  });
  const found: string[] = [];
  return {
    clock,
    found,
    /** Names being looked up, in the order in which that began. */
    underWay: () => asked.map(({ name }) => name),
    find: (name: string) =>
      lookUp(name, { all: true }, (error) => found.push(error ? `${name}: none` : name)),
    answer(name: string, error?: Error): void {
      const at = asked.findIndex((one) => one.name === name);
      asked.splice(at, 1)[0]!.answer(error);
    },
    /** Checks that it is looked up at once. */
    prove(name: string): void {
      this.find(name);
      this.answer(name);
      found.length = 0;
    },
  };
}

describe('looking up names', () => {
  test('requests for the same name share one query', () => {
    const { find, underWay, answer, found } = resolver();
    for (let tries = 0; tries < 8; tries += 1) find('silent.example');
    expect(underWay()).toEqual(['silent.example']);
    answer('silent.example', new Error('EAI_AGAIN'));
    expect(found).toEqual(Array.from({ length: 8 }, () => 'silent.example: none'));
  });

  test('silent names leave room for one that was looked up quickly', () => {
    const world = resolver();
    world.prove('eu.example');
    for (const name of ['silent-1.example', 'silent-2.example', 'silent-3.example']) world.find(name);
    expect(world.underWay()).toEqual(['silent-1.example', 'silent-2.example']);
    world.find('eu.example');
    world.answer('eu.example');
    expect(world.found).toEqual(['eu.example']);
  });

  test('a name that was slow the last time no longer counts as quick', async () => {
    const world = resolver();
    for (const name of ['a.example', 'b.example', 'c.example']) world.prove(name);
    for (const name of ['a.example', 'b.example', 'c.example']) world.find(name);
    expect(world.underWay()).toHaveLength(3);
    await world.clock.advance(20_000);
    for (const name of ['a.example', 'b.example', 'c.example']) world.answer(name, new Error('EAI_AGAIN'));
    for (const name of ['a.example', 'b.example', 'c.example']) world.find(name);
    expect(world.underWay()).toEqual(['a.example', 'b.example']);
    world.answer('a.example', new Error('ENOTFOUND'));
    expect(world.underWay()).toEqual(['b.example', 'c.example']);
  });

  test('a slow result is kept for a minute, since whoever asked for it has given up', async () => {
    const world = resolver();
    world.find('slow.example');
    await world.clock.advance(12_000);
    world.answer('slow.example');
    world.find('slow.example');
    await new Promise(process.nextTick);
    expect(world.found).toEqual(['slow.example', 'slow.example']);
    expect(world.underWay()).toEqual([]);
    await world.clock.advance(60_000);
    world.find('slow.example');
    expect(world.underWay()).toEqual(['slow.example']);
  });

  test('another kind of look-up is a separate query', () => {
    const questions: unknown[] = [];
    const lookUp = createLookUp({
      clock: createVirtualClock(),
      ask: (_, options) => questions.push(options),
    });
    for (const options of [{ all: true }, { all: false }, { all: true, family: 6 }])
      lookUp('a.example', options, () => {});
    expect(questions).toEqual([{ all: true }, { all: false }]);
  });

  test('a transport connects to the address found', async () => {
    const { url, close } = await serveHttp(() => ({ status: 200, body: 'here' }));
    onTestFinished(close);
    const transport = openTransport({
      connections: 1,
      timeoutMs: 5_000,
      maxBodyBytes: 1_000,
      lookUp: (_name, _options, answered) => answered(null, ADDRESSES),
    });
    onTestFinished(() => transport.close());
    const address = `http://nowhere.example:${new URL(url).port}/`;
    expect((await transport.send({ method: 'GET', url: address, headers: {} })).body).toBe('here');
  });
});
