/** What a summary of old news counts, and says (`catching-up.ts`). */
export interface Summary {
  /** When the first and the last of its events occurred. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly events: number;
  readonly alerts: number;
  /** Alerts that still fire. */
  readonly firing: number;
  /** The one with the most events first. */
  readonly kinds: readonly KindCount[];
}

export interface KindCount {
  readonly alertname: string;
  readonly events: number;
  readonly alerts: number;
  readonly firing: number;
}

/** `Caught up: 312 events of 240 alerts, 12 still open`: all of it in one line. */
export function summaryTitle({ events, alerts, firing }: Summary): string {
  const open = firing === 0 ? 'all over' : `${firing} still open`;
  return `Caught up: ${counted(events, 'event')} of ${counted(alerts, 'alert')}, ${open}`;
}

/** The summary in sentences for people, for formats that know no more of it. */
export function summaryWords({ fromUs, toUs, events, kinds }: Summary): string[] {
  const when = fromUs === toUs ? `at ${minuteOf(fromUs)}` : `from ${minuteOf(fromUs)} to ${minuteOf(toUs)}`;
  return [
    `${counted(events, 'event')} ${when} could be read only long after, and ${events === 1 ? 'is' : 'are'} summed up here.`,
    ...kinds.map(
      (kind) =>
        `${kind.alertname}: ${counted(kind.events, 'event')} of ${counted(kind.alerts, 'alert')}, ${kind.firing === 0 ? 'all over' : `${kind.firing} still open`}.`,
    ),
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function minuteOf(us: number): string {
  return `${new Date(us / 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
