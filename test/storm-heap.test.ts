import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createStormHeap } from '../src/storm-heap.ts';

const SRC = `file://${join(import.meta.dirname, '../src')}`;

/** The room for new objects, in MiB, once this many alerts have changed, this many milliseconds apart. */
function roomAfter(alerts: number, everyMs: number): number {
  const program = `
    await import('${SRC}/small-heap.ts');
    const { createStormHeap } = await import('${SRC}/storm-heap.ts');
    const { getHeapSpaceStatistics } = await import('node:v8');
    let nowMs = 0;
    const hear = createStormHeap({ monotonicMs: () => nowMs });
    for (let at = 0; at < ${alerts}; at += 1) {
      hear({ what: 'alert', alertname: 'FlightFailed', region: 'eu', state: 'firing', alertId: String(at) });
      nowMs += ${everyMs};
    }
    const space = getHeapSpaceStatistics().find((one) => one.space_name === 'new_space');
    console.log((space.space_used_size + space.space_available_size) / 2 ** 20);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }),
  );
}

test('there is room for new objects in a storm of alerts, and little without one [long]', () => {
  expect(roomAfter(99, 1)).toBeLessThan(2);
  expect(roomAfter(500, 20)).toBeLessThan(2);
  expect(roomAfter(500, 1)).toBeGreaterThan(5);
});

test('speed is favoured over size from the beginning of a storm until a minute after its last alert', () => {
  const flags: string[] = [];
  let nowMs = 0;
  let usedMiB = 30;
  const engine = { setFlag: (flag: string) => void flags.push(flag), usedBytes: () => usedMiB * 2 ** 20 };
  const hear = createStormHeap({ monotonicMs: () => nowMs }, engine);
  const ofSpeed = ['--no-optimize-for-size', '--maglev', '--heap-growing-percent=60'];
  const ofSize = ['--optimize-for-size', '--no-maglev', '--heap-growing-percent=12'];
  const smallHeap = readFileSync(join(import.meta.dirname, '../src/small-heap.ts'), 'utf8');
  for (const flag of ofSize) expect(smallHeap).toContain(`setFlagsFromString('${flag}');`);
  const change = (alerts: number) => {
    for (let at = 0; at < alerts; at += 1)
      hear({ what: 'alert', alertname: 'FlightFailed', region: 'eu', state: 'firing', alertId: String(at) });
  };
  change(99);
  expect(flags).toEqual([]);
  change(1);
  expect(flags).toEqual(ofSpeed);
  nowMs = 50_000;
  change(100);
  nowMs = 109_999;
  change(1);
  expect(flags).toEqual([...ofSpeed, ...ofSpeed]);
  nowMs = 110_000;
  hear({ what: 'trouble', stage: 'store', error: undefined });
  expect(flags.slice(6)).toEqual(ofSize);
  nowMs = 200_000;
  change(99);
  expect(flags).toHaveLength(9);
  // The larger the heap, the smaller its relative growth: it grows by at most 20 MiB.
  usedMiB = 50;
  change(1);
  expect(flags.at(-1)).toBe('--heap-growing-percent=40');
  usedMiB = 500;
  nowMs = 300_000;
  change(100);
  expect(flags.at(-1)).toBe('--heap-growing-percent=12');
});
