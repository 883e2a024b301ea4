/** How the page says things: for people who run automations, not for those who run monitors. */
import type { Labels } from '../../../domain/alert/alert.ts';
import type { Feed } from '../../../domain/alert/event.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { DeliveryState } from '../../../store/outbox-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { RegionState } from '../../status-view.ts';

/** Longest name and message that are shown, in code points. */
export const NAME_LENGTH = 80;
export const MESSAGE_LENGTH = 300;

interface Place {
  readonly nest: string;
  readonly nestId: string;
  readonly bird: string;
  readonly birdId: string;
}

/** `Marketing / Translate blog`, with ids where names are unknown; empty for what concerns a whole region. */
export function placeName({ nest, nestId, bird, birdId }: Place): string {
  const nestName = plainText(nest, NAME_LENGTH) || (nestId && `Nest ${nestId}`);
  const birdName = plainText(bird, NAME_LENGTH) || (birdId && `Bird ${birdId}`);
  return [nestName, birdName].filter(Boolean).join(' / ');
}

/** Where an alert is, from its labels. */
export function alertPlace(labels: Labels): string {
  const place = placeName({
    nest: labels.nest ?? '',
    nestId: labels.nest_id ?? '',
    bird: labels.bird ?? '',
    birdId: labels.bird_id ?? '',
  });
  // What is about a Bird is named by it already.
  const entity = labels.bird_id ? '' : plainText(labels.entity_name ?? '', NAME_LENGTH);
  return [place, entity].filter(Boolean).join(' / ');
}

export function alertTitle(alertname: string): string {
  return kindOf(alertname)?.words.firing ?? plainText(alertname, NAME_LENGTH);
}

/** Who it is and why, for an alert that it hides. */
export function silenceWords({ alertId, createdBy, comment }: Silence): string {
  const what = alertId === null ? 'silenced' : 'acknowledged';
  const reason = comment ? `: ${comment}` : '';
  return plainText(`${what} by ${createdBy || 'somebody'}${reason}`, MESSAGE_LENGTH);
}

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['flight.failed', 'Flight failed'],
  ['flight.succeeded', 'Flight succeeded'],
  ['flight.cancelled', 'Flight cancelled'],
  ['bird_log.Published', 'Bird published'],
  ['bird_log.Saved', 'Bird saved'],
  ['bird_log.Discarded', 'Changes discarded'],
  ['bird_log.Suspended', 'Bird suspended'],
  ['bird_log.Activated', 'Bird activated'],
  ['bird_log.Deactivated', 'Bird deactivated'],
  ['bird_log.EventError', 'Trigger error'],
  ['notification.ConnectionDisconnected', 'Connection lost'],
  ['notification.FlowDeactivated', 'Bird deactivated'],
  ['notification.FlowSuspended', 'Bird suspended'],
]);

export function eventTitle(type: string): string {
  return EVENTS.get(type) ?? plainText(type, NAME_LENGTH);
}

export type Tone = 'good' | 'warn' | 'bad' | 'quiet';

const BAD_EVENTS = /\.(failed|EventError|Deactivated|FlowDeactivated|ConnectionDisconnected)$/;

export function eventTone(type: string): Tone {
  if (BAD_EVENTS.test(type)) return 'bad';
  if (type === 'flight.succeeded' || type === 'bird_log.Activated') return 'good';
  return /Suspended$|\.cancelled$/.test(type) ? 'warn' : 'quiet';
}

export function severityTone(severity: string): Tone {
  if (severity === 'critical' || severity === 'error') return 'bad';
  return severity === 'warning' ? 'warn' : 'quiet';
}

export const FEED_NAMES: Readonly<Record<Feed, string>> = {
  notification: 'Notifications',
  bird_log: 'Bird logs',
  flight: 'Flights',
};

export const REGION_STATES: Readonly<Record<RegionState, { readonly words: string; readonly tone: Tone }>> = {
  starting: { words: 'Starting', tone: 'quiet' },
  up: { words: 'Up', tone: 'good' },
  down: { words: 'Down', tone: 'bad' },
  unauthorized: { words: 'Token refused', tone: 'bad' },
};

export const DELIVERY_STATES: Readonly<
  Record<DeliveryState, { readonly words: string; readonly tone: Tone }>
> = {
  pending: { words: 'Waiting', tone: 'quiet' },
  leased: { words: 'Being sent', tone: 'quiet' },
  delivered: { words: 'Delivered', tone: 'good' },
  retry: { words: 'Retry', tone: 'warn' },
  ambiguous: { words: 'Unclear, retry', tone: 'warn' },
  dead: { words: 'Given up', tone: 'bad' },
  suppressed: { words: 'Not needed', tone: 'quiet' },
};
