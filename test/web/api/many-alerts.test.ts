import { expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import { createMatcher } from '../../../src/domain/matchers/matcher.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  type AlertGroupJson,
  type GettableAlert,
  JsonInSlices,
} from '../../../src/web/api/alertmanager-json.ts';
import { countTurns } from '../../count-turns.ts';
import { changed } from '../../store/changed-transaction.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { anAlert, anAlertingConfig, NOW_US } from '../sample.ts';
import { serve } from '../served.ts';

const ALERTS = 2_000;
/** The most that are shown between two turns of the event loop. */
const MOST_SHOWN = 200;
/** The most that are read at once. */
const MOST_READ = 1_000;

/** The API with alerts that count how many of them are shown between two turns of the event loop. */
async function withAlerts(groupBy: readonly string[]) {
  let [shown, most] = [0, 0];
  let next = setImmediate(turn);
  function turn(): void {
    shown = 0;
    next = setImmediate(turn);
  }
  const alerts = Array.from({ length: ALERTS }, (_, at): Alert => {
    const labels = {
      alertname: 'FlightFailed',
      severity: at % 3 ? 'critical' : 'warning',
      bird: `Bird é ${at}`,
    };
    const { annotations, ...alert } = anAlert({ id: `a${at}`, labels, startsAtUs: NOW_US - at });
    return {
      ...alert,
      get annotations() {
        shown += 1;
        most = Math.max(most, shown);
        return annotations;
      },
    } as Alert;
  });
  const inner = await openSqliteStore({ path: ':memory:', clock: createVirtualClock() });
  const repositories = {
    list: async () => alerts,
    async firing(after: { readonly id: string } | undefined, limit: number) {
      expect(limit).toBeLessThanOrEqual(MOST_READ);
      const from = alerts.findIndex(({ id }) => id === after?.id) + 1;
      return alerts.slice(from, from + limit);
    },
  };
  const store: Store = {
    ...inner,
    transaction: (work) =>
      inner.transaction((tx) => work(changed(tx, { alerts: repositories as Partial<typeof tx.alerts> }))),
  };
  const { route, ...config } = anAlertingConfig();
  const served = await serve({ store, alerting: { ...config, route: { ...route, groupBy, routes: [] } } });
  const mostShown = () => {
    clearImmediate(next);
    return most;
  };
  return { ...served, mostShown };
}

test('thousands of alerts are shown in turns, in their order [long]', async () => {
  const { ask, mostShown } = await withAlerts(['alertname']);
  const { headers, body, json } = await ask<readonly GettableAlert[]>('/api/v2/alerts');
  expect(mostShown()).toBeLessThanOrEqual(MOST_SHOWN);
  expect(json).toHaveLength(ALERTS);
  const fingerprints = json.map((one) => one.fingerprint);
  expect(fingerprints).toEqual(fingerprints.toSorted());
  expect(body === JSON.stringify(json)).toBe(true);
  expect(headers['content-type']).toBe('application/json');
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
});

test.each([
  ['one group', ['alertname'], 1],
  ['a group for each', ['bird'], ALERTS],
  ['two groups', ['severity'], 2],
])('and so are those in %s [long]', async (_, groupBy, count) => {
  const { ask, mostShown } = await withAlerts(groupBy);
  const { body, json } = await ask<readonly AlertGroupJson[]>('/api/v2/alerts/groups');
  expect(mostShown()).toBeLessThanOrEqual(MOST_SHOWN);
  expect(json).toHaveLength(count);
  const labels = json.map((one) => JSON.stringify(one.labels));
  expect(labels).toEqual(labels.toSorted());
  for (const { alerts } of json) {
    const starts = alerts.map(({ startsAt }) => startsAt);
    expect(starts).toEqual(starts.toSorted().toReversed());
  }
  expect(json.reduce((sum, { alerts }) => sum + alerts.length, 0)).toBe(ALERTS);
  expect(Object.keys(json[0]!)).toEqual(['alerts', 'labels', 'receiver', 'routeLabels']);
  expect(body === JSON.stringify(json)).toBe(true);
});

test('JSON is written in slices, and equals JSON that is written at once', async () => {
  const lists = [[], [{ text: 'é\u2028"😀' }], Array.from({ length: 10 }, () => 'x'.repeat(400_000))];
  const json = new JsonInSlices();
  const turns = countTurns();
  await json.addList(lists, (list) => json.addList<unknown>(list, (one) => json.add(JSON.stringify(one))));
  expect(turns()).toBeGreaterThanOrEqual(9);
  const whole = await json.whole();
  expect(Buffer.from(whole).toString() === JSON.stringify(lists)).toBe(true);
});

test('long texts are built in slices, too [long]', async () => {
  const json = new JsonInSlices();
  for (let slice = 0; slice < 160; slice += 1) await json.add(String(slice % 10).repeat(300_000));
  const turns = countTurns();
  const whole = await json.whole();
  expect(turns()).toBeGreaterThanOrEqual(9);
  expect(whole).toHaveLength(160 * 300_000);
  expect([whole[0], whole.at(-1)]).toEqual([48, 57]);
});

/** The API with long silences that count how many of them are read between two turns of the event loop. */
async function withSilences() {
  let [read, most] = [0, 0];
  let next = setImmediate(turn);
  function turn(): void {
    read = 0;
    next = setImmediate(turn);
  }
  const matchers = Array.from({ length: 10 }, (_, at) => createMatcher('bird', '=', `${at}"é`.repeat(600)));
  const silences = Array.from({ length: 500 }, (_, at) => ({
    id: `s${String(at).padStart(3, '0')}`,
    startsAtUs: NOW_US - 1,
    endsAtUs: NOW_US + 1_000_000,
    updatedAtUs: NOW_US - 1,
    createdBy: 'ann',
    comment: '',
    recurrence: null,
    alertId: null,
    alertStartsAtUs: null,
    get matchers() {
      read += 1;
      most = Math.max(most, read);
      return matchers;
    },
  }));
  const inner = await openSqliteStore({ path: ':memory:', clock: createVirtualClock() });
  const store: Store = {
    ...inner,
    transaction: (work) =>
      inner.transaction((tx) =>
        work({
          ...changed(tx, { silences: { list: async () => silences } }),
          async pause() {
            read = 0;
          },
        }),
      ),
  };
  const served = await serve({ store });
  const mostRead = () => {
    clearImmediate(next);
    return most;
  };
  return { ...served, mostRead };
}

test.each([
  ['', 500],
  ['?filter=bird%3D%22x%22', 0],
])('hundreds of long silences are shown in turns: %s [long]', async (query, count) => {
  const { ask, mostRead } = await withSilences();
  const { status, body, json } = await ask<readonly { id: string }[]>(`/api/v2/silences${query}`);
  expect(mostRead()).toBeLessThanOrEqual(50);
  expect([status, json.length, body === JSON.stringify(json)]).toEqual([200, count, true]);
  const ids = json.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
});

test('hundreds of long silences are searched in turns [long]', async () => {
  const { ask, mostRead } = await withSilences();
  const { json } = await ask<readonly unknown[]>('/api/v2/silences?text=nothing');
  expect(json).toEqual([]);
  // Their cost per alert is counted once for all of them, without comparing anything.
  expect(mostRead()).toBeLessThanOrEqual(500 + 50);
});
