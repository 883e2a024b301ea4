import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SRC = `file://${join(import.meta.dirname, '../src')}`;

/** What new objects may take, in MiB, once so many alerts have changed, each so many milliseconds after the other. */
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

test('there is room for new objects in a storm of alerts, and little without one', () => {
  expect(roomAfter(99, 1)).toBeLessThan(2);
  expect(roomAfter(500, 20)).toBeLessThan(2);
  expect(roomAfter(500, 1)).toBeGreaterThan(7);
});
