/** What happens to alerts and silences, written once and played both to Alertmanager and to nestwatch. */
import type { Labels } from '../../../src/domain/alert/alert.ts';

export interface Story {
  readonly name: string;
  /** The configuration of both: `route` and, if the story needs them, `inhibit_rules` and `time_intervals`. */
  readonly config: string;
  /** Each has one webhook. */
  readonly receivers: readonly string[];
  readonly steps: readonly Step[];
  /** How long to wait for notifications, in seconds, like every instant of a story. */
  readonly lasts: number;
}

export interface Step {
  readonly at: number;
  readonly fire?: readonly Labels[];
  readonly resolve?: readonly Labels[];
  /** Matchers of a silence that outlasts the story. */
  readonly silence?: readonly SilenceMatcher[];
  /** Expires the silences made so far. */
  readonly expire?: true;
}

export interface SilenceMatcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

/** A notification as its receiver saw it, without differences that do not matter. */
export interface Heard {
  readonly receiver: string;
  readonly at: number;
  readonly groupKey: string;
  readonly groupLabels: Labels;
  readonly commonLabels: Labels;
  readonly status: string;
  readonly truncatedAlerts: number;
  readonly alerts: readonly { readonly status: string; readonly labels: Labels }[];
}

/** The configuration file of a story; both programs get the same text. */
export function configOf({ config, receivers }: Story, port: number): string {
  const list = receivers.map(
    (name) =>
      `  - name: ${name}\n    webhook_configs: [{ url: "http://127.0.0.1:${port}/${name}", send_resolved: true }]\n`,
  );
  return `${config.trimEnd()}\nreceivers:\n${list.join('')}`;
}

/** Reads a webhook body of version 4. */
export function heard(receiver: string, at: number, body: string): Heard {
  const message = JSON.parse(body) as Heard;
  const alerts = message.alerts
    .map(({ status, labels }) => ({ status, labels: sorted(labels) }))
    .toSorted((a, b) => (JSON.stringify(a.labels) < JSON.stringify(b.labels) ? -1 : 1));
  return {
    receiver,
    at,
    groupKey: message.groupKey,
    groupLabels: sorted(message.groupLabels),
    commonLabels: sorted(message.commonLabels),
    status: message.status,
    truncatedAlerts: message.truncatedAlerts,
    alerts,
  };
}

function sorted(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
