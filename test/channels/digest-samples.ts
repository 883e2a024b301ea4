import type { Alert } from '../../src/domain/alert/alert.ts';
import { type Digest, digestOf, type Episode } from '../../src/domain/digest/digest.ts';
import { createFlightTally } from '../../src/domain/digest/flight-tally.ts';
import type { DigestNotification } from '../../src/domain/grouping/notification.ts';
import { NOW_US } from './sample-notifications.ts';

const DAY_US = 86_400e6;
const HOUR_US = 3_600e6;

/** A day's digest, with this text in every place that comes from outside. */
export function digest(text = 'Translate blog', count = 3): Digest {
  const tally = createFlightTally();
  for (let bird = 0; bird < count; bird += 1) {
    const place = { region: 'eu', nest: text, nestId: String(bird % 2), bird: text, birdId: String(bird) };
    const flight = { ...place, occurredAtUs: NOW_US, message: `${text} ${'x'.repeat(bird % 26)}` };
    for (let flights = 0; flights < 6; flights += 1) {
      tally.add({ ...flight, status: 'succeeded', durationUs: 90e6 }, true);
      tally.add({ ...flight, status: 'succeeded', durationUs: 60e6 }, false);
    }
    tally.add({ ...flight, status: 'failed', durationUs: null }, true);
  }
  const firing = (alertname: string, number: number) => ({
    id: `${alertname}/${number}`,
    alertname,
    labels: {
      alertname,
      severity: 'warning',
      region: 'eu',
      nest: text,
      bird: text,
      bird_id: String(number),
      entity_name: text,
    },
    startsAtUs: NOW_US - HOUR_US,
  });
  const list = (alertname: string) => Array.from({ length: count }, (_, number) => firing(alertname, number));
  const alerts = ['FlightFailed', 'ConnectionDisconnected', 'BirdDeactivated'].flatMap(list);
  const episodes: Episode[] = [
    { ...firing('RegionDown', 1), alertId: 'r', endsAtUs: NOW_US - HOUR_US / 2, events: 0, ending: 'over' },
    { ...firing('FlightFailed', 1), alertId: 'f', endsAtUs: NOW_US, events: 1, ending: 'over' },
    { ...firing('FlightFailed', 2), alertId: 'q', endsAtUs: NOW_US, events: 1, ending: 'quiet' },
  ];
  return digestOf({
    name: text,
    fromUs: NOW_US - DAY_US,
    toUs: NOW_US,
    tally,
    lateUs: new Set(),
    firing: alerts as unknown as Alert[],
    firingTotal: alerts.length + 5,
    episodes,
    hidden: new Map([
      ['FlightFailed/0', 'silenced'],
      ['FlightFailed/1', 'acknowledged'],
    ]),
    unusual: [],
    endedSilenced: {
      list: list('BirdStale').map((one, number) => ({ ...one, alertId: `s${number}`, times: number + 1 })),
      total: count,
    },
    suppressed: [{ reason: 'silenced', count: 4 }],
    acted: {
      flown: 3,
      healed: 0,
      withheld: { shared_cause: 4, at_most: 2 },
    },
    deadlines: [],
    dead: 1,
    regions: [
      { region: 'eu', verifiedUntilUs: NOW_US - HOUR_US },
      { region: 'us', verifiedUntilUs: 0 },
    ],
  });
}

export function digestNotification(text?: string, count?: number): DigestNotification {
  return {
    kind: 'digest',
    id: 'digest-1',
    receiver: 'ops',
    createdAtUs: NOW_US,
    digest: digest(text, count),
  };
}
