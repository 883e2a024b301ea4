/** Makes what `test-receiver` and `render` send and print: a failure that never happened, and says so. */

import { signature } from '../domain/alert/error-signature.ts';
import type { Event } from '../domain/alert/event.ts';
import { ruleId } from '../domain/alert/rule.ts';
import type { GroupNotification, NotifiedAlert } from '../domain/grouping/notification.ts';
import { formatInstant } from '../time/instant.ts';

const MINUTE_US = 60_000_000;
const MESSAGE = 'This is a sample: the provider answered 429 "Too Many Requests" <retry later>';
const PLACE = { region: 'eu', nest_id: '682', nest: 'Sample Nest', bird_id: '148890', bird: 'Sample Bird' };

/**
 * A sample for one receiver, as if queued at `nowUs`. The resolved one resolves the incident that the firing one opens.
 */
export function sampleNotification(receiver: string, isResolved: boolean, nowUs: number): GroupNotification {
  const startsAtUs = nowUs - 4 * MINUTE_US;
  const alert: NotifiedAlert = {
    id: `FlightFailed/${ruleId('FlightFailed', [])}/${PLACE.region}/bird/${PLACE.bird_id}`,
    status: isResolved ? 'resolved' : 'firing',
    labels: {
      alertname: 'FlightFailed',
      severity: 'critical',
      ...PLACE,
      error: signature(MESSAGE),
    },
    annotations: {
      summary: 'Sample: a Flight of Sample Bird failed in Sample Nest (EU)',
      description: MESSAGE,
      ...(isResolved && { resolved_by: 'a later Flight succeeded' }),
    },
    startsAtUs,
    endsAtUs: isResolved ? nowUs : 0,
    ...(isResolved && { ending: 'over' as const }),
    fingerprint: '5a3b1e0000000000',
    events: [sampleEvent(startsAtUs)],
    eventsTotal: 1,
    eventsOmitted: 0,
    history: ['succeeded', 'succeeded', 'failed', ...(isResolved ? (['succeeded'] as const) : [])],
  };
  return {
    kind: 'group',
    id: `test-${nowUs}`,
    receiver,
    createdAtUs: nowUs,
    reason: isResolved ? 'resolved' : 'first',
    groupKey: `nestwatch test of receiver ${receiver}`,
    groupSort: 'route',
    groupLabels: { alertname: 'FlightFailed', region: PLACE.region, nest: PLACE.nest, bird: PLACE.bird },
    status: alert.status,
    alerts: [alert],
    truncatedAlerts: 0,
    firingTotal: isResolved ? 0 : 1,
    resolvedTotal: isResolved ? 1 : 0,
    thread: `test-${nowUs}`,
    threadPosition: 0,
    notices: ['This is a test of the receiver: nothing has failed.'],
  };
}

function sampleEvent(occurredAtUs: number): Event {
  const flightId = '00000000-0000-4000-8000-000000000001';
  return {
    key: `eu/flight/${flightId}/failed`,
    region: PLACE.region,
    feed: 'flight',
    type: 'flight.failed',
    occurredAt: formatInstant(occurredAtUs),
    occurredAtUs,
    observedAtUs: occurredAtUs,
    nestId: PLACE.nest_id,
    nest: PLACE.nest,
    birdId: PLACE.bird_id,
    bird: PLACE.bird,
    message: MESSAGE,
    attributes: { flight_id: flightId, status: 'failed', scope: 'Sample' },
  };
}
