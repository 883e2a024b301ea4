/** Facts with all their fields, and the minute by which they make an alert of each kind fire. */
import type { Fact } from '../../../src/domain/alert/fact.ts';
import type { AlertKind } from '../../../src/domain/kinds/kinds.ts';
import {
  birdDrift,
  birdIdle,
  birdLog,
  deadlineMissed,
  eventMatched,
  flight,
  flightsCounted,
  flightsSlow,
  inAir,
  minute,
  nestUnowned,
  notification,
  objectiveMeasured,
  regionHealth,
  schemaDrift,
  sharedError,
  watchHealth,
  wrote,
} from '../world.ts';

export const FIRES_AT = 540;

const entity = { type: 'Connection', id: '77', name: 'Acme CMS' };
const LONG_AGO = { sinceUs: minute(0), reason: 'it said so' };

export const RAISING_FACTS: Readonly<Record<AlertKind, readonly Fact[]>> = {
  FlightFailed: [flight('failed', { started: 0, at: 539, message: 'boom', errorType: 'PluginUnhandled' })],
  FlightStuck: [inAir(0, FIRES_AT, { usualMs: 60_000 })],
  BirdStale: [birdIdle(0, FIRES_AT, { usualMs: 60_000 })],
  BirdDeactivated: [birdLog('Deactivated', 539)],
  BirdTriggerFailing: [
    birdLog('EventError', 538, { message: 'boom' }),
    birdLog('EventError', 539, { message: 'boom' }),
  ],
  ConnectionDisconnected: [notification('ConnectionDisconnected', 539, { entity })],
  ServiceNotification: [notification('SomethingNew', 539, { entity })],
  RegionDown: [regionHealth('down', 0)],
  RegionUnauthorized: [regionHealth('unauthorized', 0)],
  FeedBehind: [{ fact: 'polling_pace', region: 'eu', kept: false, ...LONG_AGO }],
  FeedIncomplete: [{ fact: 'feed_gap', region: 'eu', feed: 'flight', missing: 1, sinceUs: minute(0) }],
  SchemaDrift: [schemaDrift(539)],
  DeliveryFailing: [
    {
      fact: 'delivery_health',
      receiver: 'ops',
      integration: 'email',
      through: 'email',
      accepts: false,
      ...LONG_AGO,
    },
  ],
  FlightOverdue: [deadlineMissed(500), deadlineMissed(560, { outcome: 'near', missed: 0 })],
  FlightSlow: [flightsSlow(539)],
  FlightsUnusual: [flightsCounted(539)],
  SharedCause: [sharedError(539, 5)],
  EventMatched: [eventMatched('bird_log.Published', 539)],
  ObjectiveBurning: [objectiveMeasured(539), objectiveMeasured(540, { level: 'warning' })],
  NestWithoutOwner: [nestUnowned()],
  BirdNotAsDeclared: [birdDrift('suspended, declared active')],
  FlightWaiting: [wrote(0, { at: 1, readAt: FIRES_AT })],
  WatchImpaired: [watchHealth('disk_low', { since: 539 })],
};
