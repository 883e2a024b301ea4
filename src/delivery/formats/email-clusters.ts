import type { NotifiedAlert } from '../../alerts/group.ts';
import { commonLabels, type GroupNotification, placeWithin, sinceOf } from './alert-subject.ts';
import { stateWords } from './alert-words.ts';
import { plainLines } from './encode.ts';

export type Tone = 'critical' | 'warning' | 'resolved';

/** Several alerts of one kind, state and cause, told as one. */
export interface Cluster {
  readonly tone: Tone;
  readonly alerts: number;
  /** `Flight failed`, with the count before it when there are several. */
  readonly title: string;
  /** The last message of the first of them. */
  readonly cause: string;
  readonly places: readonly string[];
  readonly placesMore: number;
  readonly context: string;
}

const PLACES = 8;
export const LINE_CODE_POINTS = 200;
/** Severities that do not call for red. */
const MILD = new Set(['warning', 'info', 'none']);

/** The largest cluster first, open ones before resolved ones. */
export function clustersOf({ alerts, reason, createdAtUs }: GroupNotification): Cluster[] {
  const shared = commonLabels(alerts);
  const byCause = new Map<string, NotifiedAlert[]>();
  for (const alert of alerts) {
    const signature = alert.labels.error || causeOf(alert);
    const key = JSON.stringify([stateWords(alert, reason === 'repeat'), signature]);
    byCause.set(key, [...(byCause.get(key) ?? []), alert]);
  }
  const rank = (members: readonly NotifiedAlert[]) =>
    members.length + (members[0]!.status === 'firing' ? Number.MAX_SAFE_INTEGER / 2 : 0);
  return [...byCause.values()]
    .sort((a, b) => rank(b) - rank(a))
    .map((members) => {
      const places = [...new Set(members.map((alert) => placeWithin(alert, shared)))];
      const words = stateWords(members[0]!, reason === 'repeat');
      const total = members.reduce((count, alert) => count + alert.eventsTotal, 0);
      return {
        tone: toneOf(members),
        alerts: members.length,
        title: members.length > 1 ? `${members.length} × ${words}` : words,
        cause: causeOf(members[0]!),
        places: places.slice(0, PLACES),
        placesMore: Math.max(0, places.length - PLACES),
        context: `${sinceOf(members, createdAtUs)}${total > members.length ? ` · ${total} events` : ''}`,
      };
    });
}

/** The first line of what was said last. */
function causeOf(alert: NotifiedAlert): string {
  return plainLines(messageOf(alert) || alert.annotations.summary || '', 1, LINE_CODE_POINTS)[0] ?? '';
}

export function toneOf(alerts: readonly Pick<NotifiedAlert, 'status' | 'labels'>[]): Tone {
  const open = alerts.filter((alert) => alert.status === 'firing');
  if (open.length === 0) return 'resolved';
  return open.every((alert) => MILD.has(alert.labels.severity ?? '')) ? 'warning' : 'critical';
}

/** What was said last. */
export function messageOf(alert: NotifiedAlert): string {
  return alert.events.find((event) => event.message !== '')?.message || alert.annotations.description || '';
}
