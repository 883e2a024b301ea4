import { expect, test } from 'vitest';
import { continueAfterSummary } from '../../src/alerting/flush/gathered-groups.ts';
import { flushGroups } from '../../src/alerting/flush-groups.ts';
import { joinGroups } from '../../src/alerting/join-groups.ts';
import { endRemovedRegions } from '../../src/alerting/new-configuration.ts';
import type { Alert } from '../../src/domain/alert/alert.ts';
import type { GroupMember } from '../../src/domain/grouping/group.ts';
import { createRecurrences } from '../../src/domain/muting/silence.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { pausing } from '../../src/time/clock.ts';
import { changed, countInARow } from '../store/changed-transaction.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';
import { anAlert, anAlertingConfig, NOW_US } from '../web/sample.ts';

const ALERTS = 1_000;
/** The most writes of alerts and of group members between two turns of the event loop. */
const MOST_WRITES = 200;

const base = anAlertingConfig();
const config = {
  ...base,
  route: { ...base.route, groupWaitMs: 0, groupBy: ['alertname'], routes: [] },
  regions: [{ name: 'eu' }],
};

/** A store with alerts that fire in one group. */
async function openAlerts(): Promise<TestStore> {
  const store = await openMemory();
  await store.transaction(async (tx) => {
    await tx.alerts.put(
      Array.from({ length: ALERTS }, (_, at) => {
        const labels = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', bird: `Bird ${at}` };
        return anAlert({ id: `a${at}`, scope: `eu/bird/${at}`, labels, eventsTotal: 1, lastSeq: 1 });
      }),
    );
    for (let done = 0; done < ALERTS; done += 200) {
      await joinGroups(tx, config, () => 1e12, new Map(), NOW_US);
    }
  });
  return store;
}

/** The most alerts and members that the work writes between two pauses, and the total. */
async function writesInARow(store: Store, work: (tx: Transaction) => Promise<unknown>) {
  const { count, pause, done } = countInARow();
  await store.transaction((tx) => {
    const put = (alerts: readonly Alert[]) => {
      count(alerts.length);
      return tx.alerts.put(alerts);
    };
    const putMembers = (members: readonly GroupMember[]) => {
      count(members.length);
      return tx.groups.putMembers(members);
    };
    return work({ ...changed(tx, { alerts: { put }, groups: { putMembers } }), pause });
  });
  return done;
}

test('other work continues while the alerts of a region that is no longer watched are ended [long]', async () => {
  const store = await openAlerts();
  const { most, all } = await writesInARow(store, async (tx) => {
    const { happenings } = await endRemovedRegions(tx, [{ name: 'us' }], base.rules, NOW_US);
    expect(happenings).toHaveLength(ALERTS);
  });
  expect(all).toBe(ALERTS);
  expect(most).toBeLessThanOrEqual(MOST_WRITES);
  const counts = await store.alerts.count();
  expect(counts).toMatchObject([{ state: 'resolved', count: ALERTS }]);
});

test('other work continues while a large group is moved to other routes [long]', async () => {
  const store = await openAlerts();
  const { route } = config;
  const moved = { ...config, route: { ...route, path: '1', key: '{moved}', groupBy: ['severity'] } };
  const which = { everyGroup: true, growth: new Map() };
  const { most, all } = await writesInARow(store, (tx) =>
    flushGroups(tx, moved, createRecurrences(), which, NOW_US),
  );
  expect(all).toBe(ALERTS);
  expect(most).toBeLessThanOrEqual(MOST_WRITES);
  const groups = await store.groups.due(Number.MAX_SAFE_INTEGER, 10);
  expect(groups).toMatchObject([{ labels: { severity: 'critical' } }]);
});

test('other work continues while groups continue after a large summary', async () => {
  const store = await openAlerts();
  const { most, all } = await writesInARow(store, async (tx) => {
    const [group] = await tx.groups.due(Number.MAX_SAFE_INTEGER, 10);
    const inGroup = await tx.groups.members(group!.key);
    const left = inGroup.map(({ alert, member }) => ({
      alert,
      member: { ...member, notifiedState: 'summary' as const },
    }));
    for (let from = 0; from < ALERTS; from += MOST_WRITES) {
      await tx.groups.putMembers(left.slice(from, from + MOST_WRITES).map(({ member }) => member));
      await tx.pause();
    }
    const context = { tx, config, pauseAfter: pausing(tx), nowUs: NOW_US } as never;
    await continueAfterSummary(context, { ...group!, sort: 'catch_up' }, left);
  });
  expect(all).toBe(2 * ALERTS);
  expect(most).toBeLessThanOrEqual(MOST_WRITES);
});

test('an alert that joins by itself, since another of its batch fails, counts once for its group', async () => {
  const store = await openMemory();
  const growth = new Map<string, number>();
  await store.transaction(async (tx) => {
    await tx.alerts.put(
      ['eu', 'us'].map((region) => {
        const labels = { alertname: 'FlightFailed', severity: 'critical', region };
        return anAlert({ id: region, scope: `${region}/bird/1`, labels, eventsTotal: 1, lastSeq: 1 });
      }),
    );
    const maxAgeUs = (region: string) => {
      if (region === 'us') throw new TypeError('no age');
      return 1e12;
    };
    await joinGroups(tx, config, maxAgeUs, growth, NOW_US);
  });
  expect([...growth.values()]).toEqual([1]);
});

test('an escalation is not folded into one that waits for an alert that has yet to join', async () => {
  const store = await openMemory();
  const escalation = { afterMs: 60_000, receiver: 'boss' };
  const receivers = [...config.receivers, { ...config.receivers[0]!, name: 'boss' }];
  const escalating = { ...config, receivers, route: { ...config.route, groupBy: ['bird'], escalation } };
  const told = await store.transaction(async (tx) => {
    await tx.alerts.put(
      ['A', 'B'].map((bird) => {
        const labels = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', bird };
        return anAlert({ id: bird, scope: `eu/bird/${bird}`, labels, eventsTotal: 1, lastSeq: 1 });
      }),
    );
    await joinGroups(tx, escalating, () => 1e12, new Map(), NOW_US);
    const which = { everyGroup: false, growth: new Map() };
    await flushGroups(tx, escalating, createRecurrences(), which, NOW_US);
    const dueUs = NOW_US + 60_000_000;
    const [first, second] = await tx.groups.due(dueUs, 10);
    const [waiting] = await tx.groups.members(first!.key);
    await tx.alerts.joinAgain([waiting!.alert.id]);
    const due = { ...which, joinedUntilUs: dueUs + 1 };
    await flushGroups(tx, escalating, createRecurrences(), due, dueUs);
    return [await tx.groups.list([first!.key]), await tx.groups.list([second!.key])];
  });
  expect(told).toMatchObject([[{ notifications: 0 }], [{ notifications: 1 }]]);
});
