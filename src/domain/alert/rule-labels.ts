import type { AlertKind } from './rule.ts';

const PLACE = ['bird', 'bird_id', 'nest', 'nest_id', 'region'] as const;
const ENTITY = ['entity_id', 'entity_name', 'entity_type'] as const;

/**
 * The labels that the matchers of a kind's rules see beside `alertname`, those of its topics; a label that does not
 * apply is empty. There is no `severity` among them: it follows from the rule.
 */
export const RULE_LABELS: Readonly<Record<AlertKind, readonly string[]>> = {
  FlightFailed: [...PLACE, 'error'],
  FlightStuck: [...PLACE, 'flight_id'],
  BirdStale: PLACE,
  BirdDeactivated: PLACE,
  BirdTriggerFailing: [...PLACE, 'error'],
  ConnectionDisconnected: [...PLACE, ...ENTITY],
  ServiceNotification: [...PLACE, ...ENTITY, 'type'],
  RegionDown: ['region'],
  RegionUnauthorized: ['region'],
  FeedBehind: ['region'],
  FeedIncomplete: ['feed', 'region'],
  SchemaDrift: ['feed', 'region'],
  DeliveryFailing: ['integration', 'receiver', 'region'],
};
