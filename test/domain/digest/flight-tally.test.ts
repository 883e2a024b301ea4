import { describe, expect, test } from 'vitest';
import { createFlightTally, type EndedFlight } from '../../../src/domain/digest/flight-tally.ts';

const flight = (changes: Partial<EndedFlight> = {}): EndedFlight => ({
  occurredAtUs: 0,
  status: 'failed',
  region: 'eu',
  nest: 'Marketing',
  nestId: '682',
  bird: 'Translate blog',
  birdId: '1',
  message: 'quota of 1000 words exceeded',
  durationUs: null,
  ...changes,
});

function tallyOf(...flights: readonly (readonly [Partial<EndedFlight>, number?, boolean?])[]) {
  const tally = createFlightTally();
  for (const [changes, times = 1, isCurrent = true] of flights) {
    for (let count = 0; count < times; count += 1) tally.add(flight(changes), isCurrent);
  }
  return tally.result(2);
}

describe('the tally of Flights', () => {
  test('of none is empty', () => {
    expect(tallyOf()).toEqual({
      ...{ failed: 0, succeeded: 0, cancelled: 0, nests: [], nestsFailing: 0, birds: [], birdsFailing: 0 },
      ...{ causes: [], causesTotal: 0, slowest: [] },
    });
  });

  test('puts the Birds and Nests with the most failures first, and counts those it does not list', () => {
    const result = tallyOf(
      [{}, 2],
      [{ status: 'succeeded' }],
      [{ birdId: '2', bird: 'Contracts', nestId: '7', nest: 'Legal' }, 3],
      [{ birdId: '1', region: 'us' }],
      [{ birdId: '4', bird: 'Calm', status: 'succeeded' }],
      [{ birdId: '5', bird: 'Stopped', status: 'cancelled' }, 2],
      [{ status: 'cancelled' }, 1, false],
      [{}, 3, false],
    );
    expect(result.before).toEqual({ failed: 3, succeeded: 0 });
    expect(result).toMatchObject({ failed: 6, succeeded: 2, cancelled: 2, birdsFailing: 3, nestsFailing: 3 });
    expect(result.birds).toEqual([
      { region: 'eu', nest: 'Legal', bird: 'Contracts', birdId: '2', failed: 3, succeeded: 0 },
      { region: 'eu', nest: 'Marketing', bird: 'Translate blog', birdId: '1', failed: 2, succeeded: 1 },
    ]);
    expect(result.nests.map(({ nest, bird, failed, succeeded }) => [nest, bird, failed, succeeded])).toEqual([
      ['Legal', '', 3, 0],
      ['Marketing', '', 2, 2],
    ]);
  });

  test('treats messages that differ in numbers as one cause, and counts its Birds', () => {
    const { causes, causesTotal } = tallyOf(
      [{ message: 'quota of 1000 words exceeded' }],
      [{ message: 'quota of 3 words exceeded', birdId: '2', bird: 'Contracts' }],
      [{ message: '' }],
      [{ message: 'timed out' }],
    );
    expect(causesTotal).toBe(3);
    expect(causes[0]).toMatchObject({
      error: 'quota of # words exceeded',
      message: 'quota of 3 words exceeded',
      failed: 2,
      birds: 2,
    });
    expect(causes[0]!.examples.map(({ bird }) => bird)).toEqual(['Translate blog', 'Contracts']);
  });

  test('limits the number of sorts of errors', () => {
    const tally = createFlightTally();
    const letters = (number: number) =>
      [...String(number)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
    for (let count = 0; count < 1500; count += 1) tally.add(flight({ message: `x${letters(count)}` }), true);
    const { causes, causesTotal } = tally.result(1);
    expect(causesTotal).toBe(1001);
    expect(causes[0]).toMatchObject({ error: 'other errors', message: '', failed: 500 });
  });

  test('lists the slowest Birds of five Flights and more, beside the previous period, within 5 %', () => {
    const slow = { status: 'succeeded', birdId: '2', bird: 'Slow' } as const;
    const { slowest, succeeded } = tallyOf(
      [{ ...slow, durationUs: 60e6 }, 95],
      [{ ...slow, durationUs: 600e6 }, 5],
      [{ ...slow, durationUs: 30e6 }, 5, false],
      [{ status: 'succeeded', durationUs: 10e6 }, 5],
      [{ status: 'succeeded', birdId: '3', durationUs: 900e6 }, 4],
      [{ birdId: '4', durationUs: 900e6 }, 9],
    );
    expect(succeeded).toBe(109);
    expect(slowest.map(({ bird, beforeUs }) => [bird, beforeUs !== null])).toEqual([
      ['Slow', true],
      ['Translate blog', false],
    ]);
    expect(slowest[0]!.p95Us / 60e6).toBeGreaterThanOrEqual(1);
    expect(slowest[0]!.p95Us / 60e6).toBeLessThan(1.05);
    expect(slowest[0]!.beforeUs! / 30e6).toBeCloseTo(1, 1);
  });
});
