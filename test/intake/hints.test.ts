import { beforeEach, describe, expect, test } from 'vitest';
import type { Feed } from '../../src/domain/alert/event.ts';
import { NestwatchError } from '../../src/errors.ts';
import { createHints, type Hints } from '../../src/intake/polls.ts';
import { event as sample } from '../store/contract/sample-records.ts';
import { createVirtualClock } from '../virtual-clock.ts';

let hinted: string[];
let hasRoom: boolean;
let read: string[];
let hints: Hints;

beforeEach(() => {
  hinted = [];
  hasRoom = true;
  read = [];
  hints = createHints({
    region: 'eu',
    schedule: { hint: (name) => void hinted.push(name), isAimKept: () => hasRoom },
    inventory: {
      async pollBird(birdId) {
        read.push(birdId);
        if (birdId === 'gone') throw new NestwatchError('not_found', 'no such Bird');
      },
    },
    watchedSinceUs: (birdId) => (birdId === 'new' ? 1 : 0),
    clock: createVirtualClock(),
    report: (happening) => {
      throw happening;
    },
  });
});

const event = (feed: Feed, type: string, birdId: string) =>
  sample(type, { feed, type, birdId, occurredAtUs: 0 });

const deactivated = (birdId: string) => event('bird_log', 'bird_log.Deactivated', birdId);
const notified = (birdId: string) => event('notification', 'notification.FlowDeactivated', birdId);
const birds = (count: number) => Array.from({ length: count }, (_, at) => `${at}`);

describe('news of a Bird', () => {
  test('brings its streams forward if something failed, and has it read if its status may have changed', async () => {
    await hints.follow([
      event('flight', 'flight.failed', '1'),
      event('flight', 'flight.succeeded', '2'),
      event('bird_log', 'bird_log.Saved', '3'),
      event('notification', 'notification.ConnectionDisconnected', ''),
      deactivated('4'),
      notified('5'),
    ]);
    expect(hinted).toEqual(['logs/1', 'flights/1', 'logs/5', 'flights/5']);
    expect(read).toEqual(['4', '5']);
  });

  test('about a failed Flight brings only the log forward if the rate is too low for every interval', async () => {
    hasRoom = false;
    await hints.follow([event('flight', 'flight.failed', '1'), notified('5')]);
    expect(hinted).toEqual(['logs/1', 'logs/5', 'flights/5']);
  });

  test('from before its watch, which the inventory and the lists show anyway, brings nothing forward', async () => {
    await hints.follow([event('flight', 'flight.failed', 'new'), deactivated('new')]);
    expect([hinted, read]).toEqual([[], []]);
  });

  test('has it read once, however much there is, and is no problem if it is deleted', async () => {
    await hints.follow([notified('gone'), notified('gone'), deactivated('gone'), deactivated('1')]);
    expect(read).toEqual(['gone', '1']);
  });
});

describe('news of many Birds at once', () => {
  test('has the inventory read instead of each Bird', async () => {
    await hints.follow(birds(20).map(deactivated));
    expect([read.length, hinted]).toEqual([20, []]);
    await hints.follow(birds(21).map(deactivated));
    expect([read.length, hinted]).toEqual([20, ['inventory']]);
  });

  test('has no Bird read before that reading, but those that are hinted at after it began', async () => {
    await hints.follow(birds(300).map(deactivated));
    await hints.follow([deactivated('1')]);
    expect(read).toEqual([]);
    hints.inventoryBegins();
    await hints.follow([deactivated('1')]);
    expect(read).toEqual(['1']);
    expect(hinted).toEqual(['inventory']);
  });
});
