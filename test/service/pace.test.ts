import { describe, expect, test } from 'vitest';
import { type Outcome, Pace, type Permit } from '../../src/service/pace.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const ANSWER: Outcome = { met: 'answer' };
const FAILURE: Outcome = { met: 'failure', reason: 'no answer' };

function start({ requestsPerSecond = 1000, concurrency = 4, startPerSecond = 1000 } = {}) {
  const clock = createVirtualClock();
  const rates: number[] = [];
  const pace = new Pace({
    requestsPerSecond,
    concurrency,
    startPerSecond,
    clock,
    random: () => 0,
    onRate: (level) => rates.push(level),
  });
  const served: string[] = [];
  return {
    clock,
    pace,
    rates,
    /** What was admitted, offered or refused, in order. */
    served,
    /** Requests a turn under a name; the permit has `settle`. */
    request(name: string): { settle(outcome?: Outcome): void } {
      let permit: Permit | undefined;
      pace.admit().then(
        (given) => {
          permit = given;
          served.push(name);
        },
        (error: { code: string }) => served.push(`${name}: ${error.code}`),
      );
      return { settle: (outcome = ANSWER) => permit!.settle(outcome) };
    },
    ready(name: string, signal?: AbortSignal) {
      pace.ready(signal).then(() => served.push(name));
    },
    /** Sends requests with this outcome, one after another, each when its turn has come. */
    async ends(times: number, outcome: Outcome): Promise<void> {
      for (let time = 0; time < times; time += 1) {
        let permit: Permit | undefined;
        pace.admit().then((given) => {
          permit = given;
        });
        await clock.advanceUntil(() => permit !== undefined);
        permit!.settle(outcome);
      }
    },
    /** Lets promises settle and a few tokens arrive. */
    settles: () => clock.advance(10),
  };
}

describe('turns', () => {
  test('come in the order of arrival, as many at once as there are slots', async () => {
    const { request, served, clock } = start({ concurrency: 2 });
    await clock.advance(1000);
    const [first, second] = ['a', 'b', 'c', 'd', 'e'].map(request);
    await clock.advance(1000);
    expect(served).toEqual(['a', 'b']);
    second!.settle();
    await clock.advance(1000);
    expect(served).toEqual(['a', 'b', 'c']);
    first!.settle();
    // Settling a permit twice frees one slot, not two.
    first!.settle();
    await clock.advance(1000);
    expect(served).toEqual(['a', 'b', 'c', 'd']);
  });

  test('are spaced by the rate', async () => {
    const { request, served, clock } = start({ requestsPerSecond: 2, startPerSecond: 2, concurrency: 9 });
    for (const name of ['a', 'b', 'c', 'd']) request(name);
    await clock.advance(0);
    expect(served).toHaveLength(1);
    await clock.advance(1000);
    expect(served).toHaveLength(3);
    await clock.advance(500);
    expect(served).toHaveLength(4);
  });

  test('rate changes are reported, small ones not', async () => {
    const { rates, clock, pace } = start({ startPerSecond: 2, requestsPerSecond: 8 });
    expect(rates).toEqual([2]);
    const sending = Array.from({ length: 60 }, async () => (await pace.admit()).settle(ANSWER));
    await clock.advance(10_000);
    await Promise.all(sending);
    expect(rates.length).toBeGreaterThan(3);
    expect(rates.at(-1)).toBe(8);
    expect(pace.rate()).toBe(8);
    const steps = rates.slice(1).map((level, at) => level / rates[at]!);
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(1.01);
  });
});

describe('ready', () => {
  test('resolves at once if a request could be sent, and leaves the turn to whoever asks next', async () => {
    const { ready, request, served, settles } = start();
    ready('ready');
    await settles();
    request('a');
    await settles();
    expect(served).toEqual(['ready', 'a']);
  });

  test('a turn is offered to one at a time, and to the next if nobody takes it', async () => {
    const { pace, ready, request, served, clock } = start({ requestsPerSecond: 1, startPerSecond: 1 });
    await pace.admit();
    pace.ready().then(() => request('taken by the first'));
    ready('the second');
    ready('the third');
    await clock.advance(1000);
    expect(served).toEqual(['taken by the first']);
    await clock.advance(1000);
    expect(served).toEqual(['taken by the first', 'the second', 'the third']);
  });

  test('a request that was offered a turn goes ahead of later ones', async () => {
    const { pace, request, served, clock } = start({ requestsPerSecond: 1, startPerSecond: 1 });
    await pace.admit();
    pace.ready().then(() => request('chosen'));
    request('b');
    request('c');
    await clock.advance(3000);
    expect(served).toEqual(['chosen', 'b', 'c']);
  });

  test('waits for a slot, and gives up with its signal', async () => {
    const { request, ready, served, settles } = start({ concurrency: 1 });
    const leaving = new AbortController();
    const first = request('a');
    await settles();
    ready('ready');
    ready('given up', leaving.signal);
    ready('aborted before', AbortSignal.abort());
    await settles();
    expect(served).toEqual(['a', 'aborted before']);
    leaving.abort();
    await settles();
    expect(served).toEqual(['a', 'aborted before', 'given up']);
    first.settle();
    await settles();
    expect(served.at(-1)).toBe('ready');
  });

  test('a signal that aborts after the turn was offered takes nobody else out of the queue', async () => {
    const { request, ready, served, settles } = start({ concurrency: 1 });
    const leaving = new AbortController();
    ready('ready', leaving.signal);
    await settles();
    const first = request('a');
    request('b');
    await settles();
    leaving.abort();
    first.settle();
    await settles();
    expect(served).toEqual(['ready', 'a', 'b']);
  });

  test('the next is served if the head of the queue gives up', async () => {
    const { pace, ready, request, served, settles } = start();
    const leaving = new AbortController();
    await pace.ready();
    // The offered turn holds the next one back for a moment.
    ready('held', leaving.signal);
    leaving.abort();
    request('a');
    await settles();
    expect(served).toEqual(['held', 'a']);
  });
});

describe('a region that does not answer', () => {
  test('requests that wait for their turn fail when the breaker opens', async () => {
    const { request, served, clock } = start({ requestsPerSecond: 1, startPerSecond: 1, concurrency: 9 });
    const five = ['1', '2', '3', '4', '5'].map(request);
    await clock.advance(4500);
    request('waiting');
    for (const one of five) one.settle(FAILURE);
    await clock.advance(0);
    expect(served.at(-1)).toBe('waiting: circuit_open');
  });
});

describe('refusals', () => {
  test('429s are not an outage, however many', async () => {
    const { pace, ends } = start();
    await ends(50, { met: 'refusal' });
    expect(pace.health().health).toBe('up');
  });

  test('a 429 shows that a region that was down answers', async () => {
    const { pace, clock, ends } = start();
    await ends(5, FAILURE);
    await clock.advance(2000);
    await ends(1, { met: 'refusal' });
    expect(pace.health().health).toBe('up');
  });

  test('a 429 says nothing about a refused token', async () => {
    const { pace, clock, ends } = start();
    await ends(2, { met: 'unauthorized', reason: '401' });
    await clock.advance(300_000);
    await ends(1, { met: 'refusal' });
    expect(pace.health().health).toBe('unauthorized');
  });

  test('503s are an outage if each follows a pause, not if they come in one burst', async () => {
    const { pace, clock, ends } = start({ concurrency: 8 });
    await clock.advance(1000);
    const burst = await Promise.all(Array.from({ length: 8 }, () => pace.admit()));
    for (const permit of burst) permit.settle({ met: 'refusal', reason: '503' });
    expect(pace.health().health).toBe('up');
    await ends(4, { met: 'refusal', reason: '503' });
    expect(pace.health()).toMatchObject({ health: 'down', reason: '503' });
  });
});

describe('slack', () => {
  test('exists while tokens, slots and health allow more than is requested', async () => {
    const { pace, request, clock, ends } = start({ concurrency: 4 });
    await clock.advance(1000);
    expect(pace.slack()).toBe(true);
    const first = request('a');
    await clock.advance(0);
    expect(pace.slack()).toBe(true);
    request('b');
    await clock.advance(10);
    expect(pace.slack()).toBe(false);
    first.settle();
    await clock.advance(1000);
    expect(pace.slack()).toBe(true);
    await ends(5, FAILURE);
    await clock.advance(1000);
    expect(pace.slack()).toBe(false);
  });

  test('does not exist while anything waits', async () => {
    const { pace, request, clock } = start({ requestsPerSecond: 2, startPerSecond: 2 });
    for (const name of ['a', 'b', 'c']) request(name);
    await clock.advance(0);
    expect(pace.slack()).toBe(false);
  });
});

describe('closing', () => {
  test('ends all waiting and resolves when running requests have ended', async () => {
    const { pace, request, ready, served, settles, clock } = start({ concurrency: 1 });
    const underWay = request('under way');
    request('waiting');
    ready('ready');
    await settles();
    const closed = pace.close().then(() => served.push('closed'));
    await settles();
    expect(served).toEqual(['under way', 'waiting: cancelled', 'ready']);
    request('late');
    ready('late ready');
    await settles();
    expect(served.slice(3).sort()).toEqual(['late ready', 'late: cancelled']);
    underWay.settle();
    await closed;
    expect(served.at(-1)).toBe('closed');
    expect(clock.pending()).toBe(0);
  });
});

test('an unknown region gets two requests a second at first', () => {
  const clock = createVirtualClock();
  const options = { requestsPerSecond: 50, concurrency: 4, random: () => 0, onRate: () => {} };
  expect(new Pace({ ...options, clock }).rate()).toBe(2);
});
