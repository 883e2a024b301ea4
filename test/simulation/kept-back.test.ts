import { describe, expect, test } from 'vitest';
import type { Suppression } from '../../src/domain/muting/suppression.ts';
import { OF_DEFAULT } from '../domain/world.ts';
import type { Expected } from './expected.ts';
import { mayBeKeptBack, type Untold } from './kept-back.ts';
import type { Plan } from './plan.ts';
import type { Arrival, ToldAlert } from './receivers.ts';
import type { Remains } from './run.ts';

const HOUR_US = 3_600e6;
const at = (hours: number) => 1e15 + hours * HOUR_US;
const ALERT = `FlightFailed/${OF_DEFAULT.FlightFailed}/eu/bird/1`;

const suppression = (reason: Suppression['reason'], atUs: number): Suppression => ({
  alertId: ALERT,
  afterSeq: 0,
  lastSeq: 1,
  groupKey: '{}',
  receiver: 'ops',
  reason,
  detail: '',
  atUs,
});
const event: Untold = {
  of: 'event',
  event: { key: 'eu/flight/1/failed', occurredAtUs: at(1), world: { region: 'eu' } } as Expected,
  alertname: 'FlightFailed',
  foundAtUs: at(8),
};
const summary = {
  isSummary: true,
  atUs: at(8.1),
  alerts: [{ labels: { alertname: 'FlightFailed', region: 'eu' } }],
} as unknown as Arrival;

interface World {
  readonly known?: readonly Suppression[];
  readonly arrivals?: readonly Arrival[];
  readonly region?: string;
  readonly aheadMs?: number;
  readonly endedAtUs?: number;
}

/** A world in which a region was down from 2 h to 3 h. */
function judge(
  untold: Untold,
  { known = [], arrivals = [], region = 'eu', aheadMs = 0, endedAtUs = at(10) }: World,
) {
  const alarm = { region, health: 'down', atUs: at(2), untilUs: at(3) };
  const remains: Pick<Remains, 'plan' | 'happenings' | 'endedAtUs'> = {
    endedAtUs,
    plan: { clockSteps: [], clockAheadMs: aheadMs } as unknown as Plan,
    happenings: { bugs: [], alarms: [alarm] },
  };
  const tx = {
    suppressions: {
      ofAlert: async (id: string) => known.filter(({ alertId }) => alertId === id),
      ofEvent: async () => [...known],
    },
  };
  return mayBeKeptBack(tx, untold, arrivals, remains);
}

describe('an event of which nobody was notified', () => {
  test.each<[string, boolean, World]>([
    ['has no excuse without a record', false, {}],
    ['is inhibited while its region is away', true, { known: [suppression('inhibited', at(2.5))] }],
    ['is inhibited a while longer', true, { known: [suppression('inhibited', at(3.2))] }],
    ['is not inhibited before', false, { known: [suppression('inhibited', at(1.5))] }],
    ['is not inhibited long after', false, { known: [suppression('inhibited', at(4))] }],
    [
      'is not inhibited by another region',
      false,
      { known: [suppression('inhibited', at(2.5))], region: 'us' },
    ],
    [
      'is on record by a clock that is wrong',
      true,
      { known: [suppression('inhibited', at(1.5))], aheadMs: -3.6e6 },
    ],
    ['is not silenced if nobody did that', false, { known: [suppression('silenced', at(2.5))] }],
  ])('%s', async (_what, expected, world) => {
    expect(await judge(event, world)).toBe(expected);
  });
});

describe('an event in a summary', () => {
  const known = [suppression('too_old', at(8))];

  test('is found there', async () => {
    expect(await judge(event, { known, arrivals: [summary] })).toBe(true);
  });

  test('is missing if the summary did not come', async () => {
    expect(await judge(event, { known })).toBe(false);
  });

  test('is missing if it was young', async () => {
    expect(await judge({ ...event, foundAtUs: at(6.5) } as Untold, { known, arrivals: [summary] })).toBe(
      false,
    );
  });
});

describe('the end of an alert of which nobody was notified', () => {
  const about = (alertname: string, birdId = '7') =>
    ({ labels: { alertname, region: 'eu', bird_id: birdId } }) as unknown as ToldAlert;
  const end: Untold = { of: 'end', alert: about('FlightFailed'), toldUs: at(3) };

  test('is due, whatever reason is recorded', async () => {
    expect(await judge(end, { known: [suppression('inhibited', at(2.5))] })).toBe(false);
  });

  test('may still wait if its region came back shortly before the end of the world', async () => {
    expect(await judge(end, { endedAtUs: at(3.5) })).toBe(true);
    expect(await judge(end, { endedAtUs: at(3.5), region: 'us' })).toBe(false);
  });

  test('is not due to people who are told of a worse one about its Bird', async () => {
    const failing: Untold = { of: 'end', alert: about('BirdTriggerFailing'), toldUs: at(3) };
    const told = (inbox: string, atUs: number, alert: ToldAlert) =>
      ({ inbox, atUs, alerts: [alert] }) as unknown as Arrival;
    const worse = about('BirdDeactivated');
    expect(await judge(failing, { arrivals: [told('mail', at(4), worse)] })).toBe(true);
    expect(await judge(failing, { arrivals: [told('mail', at(2), worse)] })).toBe(false);
    expect(await judge(failing, { arrivals: [told('hook', at(4), worse)] })).toBe(false);
    expect(await judge(failing, { arrivals: [told('mail', at(4), about('BirdDeactivated', '8'))] })).toBe(
      false,
    );
    expect(await judge(end, { arrivals: [told('mail', at(4), worse)] })).toBe(false);
  });
});
