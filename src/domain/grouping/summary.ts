import { howMany } from '../../text/counts.ts';
import { dayAndTime } from '../../text/instant-words.ts';

/** What a summary of old news counts (`sorts/catch-up-sort.ts`). */
export interface Summary {
  /** When the first and the last of its events occurred. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly events: number;
  readonly alerts: number;
  /** Alerts that still fire. */
  readonly firing: number;
  /** The kind with the most events first. */
  readonly kinds: readonly KindCount[];
}

export interface KindCount {
  readonly alertname: string;
  readonly events: number;
  readonly alerts: number;
  readonly firing: number;
}

/** `Caught up: 312 events of 240 alerts, 12 still open`: the summary in one line. */
export function summaryTitle({ events, alerts, firing }: Summary): string {
  const open = firing === 0 ? 'all over' : `${firing} still open`;
  return `Caught up: ${howMany(events, 'event')} of ${howMany(alerts, 'alert')}, ${open}`;
}

/** The summary in sentences, for formats that have no layout of their own for it. */
export function summaryWords({ fromUs, toUs, events, kinds }: Summary): string[] {
  const from = dayAndTime(fromUs);
  const to = dayAndTime(toUs);
  const when = from === to ? `on ${from}` : `from ${from} to ${to}`;
  const that =
    events === 1
      ? 'It is counted here instead of being sent separately'
      : 'They are counted here instead of being sent one by one';
  return [
    `${howMany(events, 'event')} ${when} could be read only much later. ${that}.`,
    ...kinds.map(
      (kind) =>
        `${kind.alertname}: ${howMany(kind.events, 'event')} of ${howMany(kind.alerts, 'alert')}, ${kind.firing === 0 ? 'all over' : `${kind.firing} still open`}.`,
    ),
  ];
}
