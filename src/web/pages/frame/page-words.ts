/** Chooses the words of the page: for people who run automations, not for people who run monitoring. */

import type { Alert, Labels } from '../../../domain/alert/alert.ts';
import { signatureWords } from '../../../domain/alert/error-signature.ts';
import type { Place } from '../../../domain/alert/fact.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { DeliveryState } from '../../../store/outbox-store.ts';
import { isGuid } from '../../../text/guid.ts';
import { instantsIn } from '../../../text/instant-words.ts';
import { plainText } from '../../../text/plain-text.ts';
import { regionName } from '../../../text/region-name.ts';
import type { RegionState } from '../../status-view.ts';
import type { Words } from './words.ts';

/** The longest name and message shown, in code points. */
export const NAME_LENGTH = 80;
export const MESSAGE_LENGTH = 300;

/** `Marketing / Translate blog`, with ids if names are unknown; empty for what concerns a whole region. */
export function placeName({ nest, nestId, bird, birdId }: Omit<Place, 'region'>): string {
  const nestName = plainText(nest, NAME_LENGTH) || (nestId && `Nest ${briefId(nestId)}`);
  const birdName = plainText(bird, NAME_LENGTH) || (birdId && `Bird ${briefId(birdId)}`);
  return [nestName, birdName].filter(Boolean).join(' / ');
}

/** An id within text that has no room for the whole. */
export function briefId(id: string): string {
  return isGuid(id) ? id.slice(0, 8) : plainText(id, NAME_LENGTH);
}

/** An alert whose texts say instants in the reader's zone. They are stored in UTC. */
export function inReadersZone<A extends Pick<Alert, 'annotations'>>(zone: string, alert: A): A {
  if (zone === 'UTC') return alert;
  const said = Object.entries(alert.annotations).map(([name, text]) => [name, instantsIn(text, zone)]);
  return { ...alert, annotations: Object.fromEntries(said) };
}

/** The place of an alert, from its labels; the error of one that many Birds share. */
export function alertPlace(labels: Labels): string {
  const place = placeName({
    nest: labels.nest ?? '',
    nestId: labels.nest_id ?? '',
    bird: labels.bird ?? '',
    birdId: labels.bird_id ?? '',
  });
  // The entity of a Bird's alert is the Bird itself.
  const entity = labels.bird_id ? '' : plainText(labels.entity_name ?? '', NAME_LENGTH);
  const error = listsEvents(labels) ? plainText(signatureWords(labels.error ?? ''), MESSAGE_LENGTH) : '';
  return [place, entity, error].filter(Boolean).join(' / ');
}

/** Whether the alert lists what its events are about. */
export function listsEvents({ alertname = '' }: Labels): boolean {
  return kindOf(alertname)?.words.listsEvents === true;
}

/** Alerts about a moment are called what their rule calls them. */
export function alertTitle({ kind }: Words, alertname: string, { title }: Labels = {}): string {
  if (title !== undefined && kindOf(alertname)?.words.isMoment) return plainText(title, NAME_LENGTH);
  return kind(alertname) ?? plainText(alertname, NAME_LENGTH);
}

/** A severity that only the configuration knows is shown unchanged. */
export function severityWord({ severities }: Words, severity: string): string {
  return isKnown(severities, severity) ? severities[severity] : plainText(severity, NAME_LENGTH);
}

/** Whether there is a word for what the service or a configuration says. */
export function isKnown<Known extends object>(known: Known, name: string): name is string & keyof Known {
  return Object.hasOwn(known, name);
}

/** The region's name for people. */
export function regionWord({ frame }: Words, region: string): string {
  return region === 'all' ? frame.allRegions : regionName(region);
}

/** Who silenced or acknowledged an alert, and why. */
export function silenceWords({ silences, frame }: Words, { alertId, createdBy, comment }: Silence): string {
  const by = createdBy || frame.somebody;
  const what = alertId === null ? silences.whatSilenced(by) : silences.whatAcknowledged(by);
  return plainText(comment ? `${what}: ${comment}` : what, MESSAGE_LENGTH);
}

/** Why nobody was notified. */
export function suppressionWords({ suppression }: Words, reason: string, detail: string): string {
  return plainText(`${suppression(reason)} ${detail}`, MESSAGE_LENGTH);
}

export function eventTitle({ eventType }: Words, type: string): string {
  return eventType(type) ?? plainText(type, NAME_LENGTH);
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

export const REGION_TONES: Readonly<Record<RegionState, Tone>> = {
  starting: 'quiet',
  unlisted: 'bad',
  up: 'good',
  down: 'bad',
  unauthorized: 'bad',
};

export const DELIVERY_TONES: Readonly<Record<DeliveryState, Tone>> = {
  pending: 'quiet',
  leased: 'quiet',
  delivered: 'good',
  retry: 'warn',
  ambiguous: 'warn',
  dead: 'bad',
  suppressed: 'quiet',
};
