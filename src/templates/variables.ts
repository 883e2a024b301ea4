/**
 * What a template may use: the body of Alertmanager's webhook under its own names, and what nestwatch's own messages
 * say. Texts are clean and capped; times are RFC 3339.
 */
export interface TemplateVariables {
  /** `firing` or `resolved`. */
  readonly status: string;
  /** The headline: `Flight failed: Translate blog`. */
  readonly title: string;
  /** Where, since when and for how long. */
  readonly context: string;
  /** What the only alert, or the largest cause, says; empty where there is nothing. */
  readonly message: string;
  /** The subject of a mail. */
  readonly subject: string;
  readonly receiver: string;
  readonly groupKey: string;
  readonly groupLabels: object;
  readonly commonLabels: object;
  readonly commonAnnotations: object;
  readonly externalURL: string;
  readonly truncatedAlerts: number;
  readonly alerts: readonly object[];
  /** Those of `alerts` that fire, and that are over. */
  readonly firing: readonly object[];
  readonly resolved: readonly object[];
  readonly notices: readonly string[];
}

const LABELS = {
  alertname: 'FlightFailed',
  severity: 'critical',
  region: 'eu',
  nest_id: '682',
  nest: 'Marketing',
  bird_id: '148890',
  bird: 'Translate blog',
};

const ANNOTATIONS = {
  summary: 'Flight of Translate blog failed in Marketing (EU)',
  description: 'Translation failed: the provider answered 429 "Too Many Requests"',
  runbook_url: 'https://wiki.example.com/flights',
};

const ALERT = {
  status: 'firing',
  labels: { ...LABELS, error: 'Translation failed: the provider answered <n> "Too Many Requests"' },
  annotations: ANNOTATIONS,
  startsAt: '2026-07-02T12:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://127.0.0.1:9465/',
  fingerprint: '0123456789abcdef',
  events: [],
  events_total: 1,
  events_omitted: 0,
};

/** What templates are tried with when the configuration is read. */
export const SAMPLE_VARIABLES: TemplateVariables = {
  status: 'firing',
  title: 'Flight failed: Translate blog',
  context: 'EU · Marketing · since 2 Jul 2026, 12:00 UTC, for 4 min',
  message: ANNOTATIONS.description,
  subject: '[nestwatch] EU · Marketing / Translate blog: FlightFailed',
  receiver: 'ops',
  groupKey: '{}:{alertname="FlightFailed"}',
  groupLabels: { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing' },
  commonLabels: LABELS,
  commonAnnotations: ANNOTATIONS,
  externalURL: 'http://127.0.0.1:9465',
  truncatedAlerts: 0,
  alerts: [ALERT, { ...ALERT, labels: { ...ALERT.labels, bird_id: '148891', bird: 'Translate news' } }],
  firing: [ALERT],
  resolved: [],
  notices: [],
};
