/**
 * Defines what a template may use: the body of Alertmanager's webhook under its own names, and the texts of
 * nestwatch's own messages. Texts are cleaned and limited in length; times are RFC 3339.
 */
export interface TemplateVariables {
  /** `firing` or `resolved`. */
  readonly status: string;
  /** The headline: `Flight failed: Translate blog`. */
  readonly title: string;
  /** Where, since when and for how long. */
  readonly context: string;
  /** The text of the only alert, or of the most frequent cause; empty if there is none. */
  readonly message: string;
  /** The stable subject of a mail. */
  readonly subject: string;
  readonly receiver: string;
  readonly groupKey: string;
  readonly groupLabels: object;
  readonly commonLabels: object;
  readonly commonAnnotations: object;
  readonly externalURL: string;
  readonly notification_reason: string;
  readonly routeLabels: object;
  readonly truncatedAlerts: number;
  readonly alerts: readonly object[];
  /** The alerts that fire, and those that are resolved. */
  readonly firing: readonly object[];
  readonly resolved: readonly object[];
  readonly notices: readonly string[];
}

const COMMON_LABELS = {
  alertname: 'FlightFailed',
  severity: 'critical',
  region: 'eu',
  nest_id: '682',
  nest: 'Marketing',
};

const ANNOTATIONS = {
  summary: 'Flight of Translate blog failed in Marketing (EU)',
  description: 'Translation failed: the provider answered 429 "Too Many Requests"',
  runbook_url: 'https://wiki.example.com/flights',
};

const ALERT = {
  status: 'firing',
  labels: {
    ...COMMON_LABELS,
    bird_id: '148890',
    bird: 'Translate blog',
    error: 'Translation failed: the provider answered # …',
  },
  annotations: ANNOTATIONS,
  startsAt: '2026-07-02T12:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://127.0.0.1:9465/',
  fingerprint: '0123456789abcdef',
  events: [],
  events_total: 1,
  events_omitted: 0,
};

const OTHER_ALERT = { ...ALERT, labels: { ...ALERT.labels, bird_id: '148891', bird: 'Translate news' } };

/** The sample with which templates are tried when the configuration is read: one alert. */
export const SAMPLE_VARIABLES: TemplateVariables = {
  status: 'firing',
  title: 'Translate blog failed',
  context: 'EU · Marketing · since 2 Jul 2026, 12:00 UTC, for 4 min',
  message: ANNOTATIONS.description,
  subject: '[nestwatch] EU - Marketing / Translate blog: FlightFailed',
  receiver: 'ops',
  groupKey: '{}:{alertname="FlightFailed"}',
  groupLabels: { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing' },
  commonLabels: ALERT.labels,
  commonAnnotations: ANNOTATIONS,
  externalURL: 'http://127.0.0.1:9465',
  notification_reason: 'first notification',
  routeLabels: {},
  truncatedAlerts: 0,
  alerts: [ALERT],
  firing: [ALERT],
  resolved: [],
  notices: [],
};

/** A second sample: a group of two Birds, where labels that differ are not in `commonLabels`. */
export const SAMPLE_OF_SEVERAL: TemplateVariables = {
  ...SAMPLE_VARIABLES,
  title: '2 Birds failed',
  context: 'EU · Marketing · since 2 Jul 2026, 12:00 UTC, for 4 min',
  subject: '[nestwatch] EU - Marketing: FlightFailed',
  commonLabels: { ...COMMON_LABELS, error: ALERT.labels.error },
  alerts: [ALERT, OTHER_ALERT],
  firing: [ALERT, OTHER_ALERT],
};
