import { beforeEach, describe, expect, test } from 'vitest';
import { ClockRollback } from '../../src/alerting/clock-rollback.ts';
import { NestwatchError } from '../../src/errors.ts';
import { ALERTING } from '../../src/store/ownership-store.ts';
import type { Store } from '../../src/store/store.ts';
import { alert, delivery, notification, SECOND_US } from '../store/contract/sample-records.ts';
import { openMemory, type TestStore, testStore } from '../store/test-store.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

const HOUR_MS = 3_600_000;
const HOUR_US = HOUR_MS * 1000;

let clock: VirtualClock;
let raw: TestStore;
let store: TestStore;
let rollback: ClockRollback;
let moved: number;

beforeEach(async () => {
  clock = createVirtualClock();
  raw = await openMemory(clock);
  moved = 0;
  rollback = new ClockRollback(clock, () => {
    moved += 1;
  });
  store = testStore(rollback.follow(raw));
});

/** Queues a delivery that is to be attempted this many seconds from now. */
async function queue(id: string, seconds: number, to = store): Promise<void> {
  await to.transaction((tx) => {
    const createdAtUs = clock.nowUs();
    const nextAttemptAtUs = createdAtUs + seconds * SECOND_US;
    return tx.outbox.enqueue(notification(`n-${id}`), [delivery(id, { createdAtUs, nextAttemptAtUs })]);
  });
}

/** In how many seconds each delivery is due. */
async function waits(...ids: string[]): Promise<number[]> {
  const found = await Promise.all(ids.map((id) => raw.outbox.find(id)));
  return found.map((one) => (one!.delivery.nextAttemptAtUs - clock.nowUs()) / SECOND_US);
}

test('what is written after the clock was set back waits as long as it should, and so does what was stored before', async () => {
  rollback.begin(raw);
  await queue('before', 60);
  clock.stepWall(-HOUR_MS);
  await queue('after', 20);
  expect(await waits('before', 'after')).toEqual([60, 20]);
  expect(moved).toBe(1);
});

test('several that write at the same moment are not moved, and what was stored before is moved once', async () => {
  rollback.begin(raw);
  await queue('before', 60);
  clock.stepWall(-HOUR_MS);
  await Promise.all([queue('one', 20), queue('two', 30)]);
  expect(await waits('before', 'one', 'two')).toEqual([60, 20, 30]);
  expect(moved).toBe(1);
});

test('passing time is no step, nor are corrections by NTP, nor a step ahead', async () => {
  rollback.begin(raw);
  await queue('before', 2 * 3600);
  await clock.advance(60_000);
  clock.stepWall(-4_000);
  await queue('after', 0);
  clock.stepWall(HOUR_MS);
  await queue('later', 0);
  expect(await waits('before')).toEqual([3600 - 60 + 4]);
  expect(moved).toBe(0);
});

test('what must last does so as long as it should after the clock was set ahead, whoever writes first', async () => {
  rollback.begin(raw);
  const dueInS = async () => {
    const found = await store.alerts.find('a');
    return (found!.dueAtUs! - clock.nowUs()) / SECOND_US;
  };
  await store.alerts.put([
    alert('a', {
      ...{ alertname: 'RegionDown', scope: 'eu', state: 'pending' },
      memory: { sinceUs: clock.nowUs(), reason: 'so' },
      dueAtUs: clock.nowUs() + 60 * SECOND_US,
    }),
  ]);
  clock.stepWall(HOUR_MS);
  expect(await Promise.all([dueInS(), dueInS()])).toEqual([60, 60]);
  await clock.advance(20_000);
  expect(await dueInS()).toBe(40);
  clock.stepWall(4_000);
  expect(await dueInS()).toBe(36);
});

test('a clock that was set back while nothing ran is noticed by what was written last', async () => {
  await queue('before', 60, raw);
  clock.stepWall(-HOUR_MS);
  rollback.begin(raw);
  await queue('after', 20);
  expect(await waits('before', 'after')).toEqual([60, 20]);
});

test('nothing is moved while the instants are of another clock', async () => {
  await queue('before', 60);
  clock.stepWall(-HOUR_MS);
  await queue('after', 20);
  expect(await waits('before', 'after')).toEqual([3660, 20]);
});

test('while something cannot be moved nothing is written, and it is moved once with what comes next', async () => {
  let refuses = false;
  const refusing: Store = {
    ...raw,
    transaction: (work) =>
      refuses ? Promise.reject(new NestwatchError('disk_full', 'full')) : raw.transaction(work),
  };
  rollback.begin(refusing);
  await queue('before', 60);
  clock.stepWall(-HOUR_MS);
  refuses = true;
  await expect(queue('refused', 20)).rejects.toThrow('full');
  await clock.advance(1_000);
  refuses = false;
  await queue('after', 20);
  expect(await waits('before', 'after')).toEqual([59, 20]);
  expect(await raw.outbox.find('refused')).toBeUndefined();
  expect(moved).toBe(1);
});

test('a replica that no longer alerts moves nothing, and its writes are not held up', async () => {
  const lost: Store = {
    ...raw,
    transaction: () => Promise.reject(new NestwatchError('lease_lost', 'another replica has it')),
  };
  rollback.begin(lost);
  await queue('one', 60);
  clock.stepWall(-HOUR_MS);
  await queue('two', 20);
  expect(await waits('one', 'two')).toEqual([60 + HOUR_US / SECOND_US, 20]);
  expect(moved).toBe(0);
});

test('a replica that begins to alert during an earlier move checks for itself, and continues it', async () => {
  const { promise: answer, reject: answers } = Promise.withResolvers<never>();
  let asked = 0;
  const paused: Store = {
    ...raw,
    transaction: () => {
      asked += 1;
      return answer;
    },
  };
  rollback = new ClockRollback(clock, () => {}, true);
  store = testStore(rollback.follow(raw));
  rollback.begin(raw);
  await queue('before', 60);
  rollback.begin(paused);
  const waiting = queue('one', 20);
  rollback.begin(raw);
  await queue('two', 20);
  answers(new NestwatchError('lease_lost', 'another replica had it'));
  await waiting;
  expect(asked).toBe(1);
  clock.stepWall(-HOUR_MS);
  await queue('three', 30);
  expect(await waits('before', 'one', 'two', 'three')).toEqual([60, 20, 20, 30]);
});

test('what was moved is not moved again when another configuration comes', async () => {
  rollback.begin(raw);
  await queue('before', 3600);
  clock.stepWall(-HOUR_MS);
  await store.transaction(async () => {});
  rollback.begin(raw);
  await store.transaction(async () => {});
  expect(await waits('before')).toEqual([3600]);
});

describe('with several replicas', () => {
  /** A replica that uses the store's clock; `alerts` makes it take over alerting and do something. */
  function replica() {
    const its = new ClockRollback(clock, () => {}, true);
    const to = testStore(its.follow(raw));
    return {
      async alerts() {
        its.begin(raw);
        await to.transaction(async () => {});
      },
      works: () => to.transaction(async () => {}),
      queues: (id: string, seconds: number) => queue(id, seconds, to),
    };
  }

  beforeEach(() => raw.ownership.take(ALERTING, 0));

  test('nothing is moved when another takes over, or another configuration comes', async () => {
    const [one, other] = [replica(), replica()];
    await one.alerts();
    await one.queues('one', 3600);
    await other.queues('other', 3600);
    for (let times = 0; times < 5; times += 1) {
      await other.alerts();
      await one.alerts();
      await one.alerts();
    }
    expect(await waits('one', 'other')).toEqual([3600, 3600]);
  });

  test("what waits is moved once, by the replica that alerts, when the store's clock is set back", async () => {
    const [first, second] = [replica(), replica()];
    await first.alerts();
    await first.queues('before', 3600);
    clock.stepWall(-HOUR_MS);
    await first.queues('after', 60);
    await second.alerts();
    await first.alerts();
    expect(await waits('before', 'after')).toEqual([3600, 60]);
  });

  test('if it was set back while nobody alerted, the next one notices it by the last note', async () => {
    const [first, second] = [replica(), replica()];
    await first.alerts();
    await first.queues('before', 3600);
    await clock.advance(59_000);
    await first.works();
    clock.stepWall(-HOUR_MS);
    await second.alerts();
    await first.alerts();
    // 59 seconds more than were left: nobody knows whether they passed since the delivery was noted.
    expect(await waits('before')).toEqual([3541 + 59]);
  });

  test('it is noted every minute', async () => {
    const [first, second] = [replica(), replica()];
    await first.alerts();
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await clock.advance(60_000);
      await first.works();
    }
    await first.queues('before', 3600);
    clock.stepWall(-HOUR_MS);
    await second.alerts();
    expect(await waits('before')).toEqual([3600]);
  });
});
