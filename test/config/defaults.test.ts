import { expect, test } from 'vitest';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { BUILT_IN_INHIBITIONS } from '../../src/domain/muting/muting.ts';
import { load, REGION } from './load.ts';

test('one region is a whole configuration: everything else has its default', () => {
  const config = load(REGION);
  expect({ ...config, rules: config.rules.map(({ kind }) => kind) }).toEqual({
    regions: [
      {
        name: 'eu',
        baseUrl: 'https://eu.example.com/api-rest',
        token: expect.objectContaining({ reveal: expect.any(Function) }),
        requestsPerSecond: 5,
        concurrency: 8,
        timeoutMs: 15_000,
        nests: { include: ['*'], exclude: [] },
      },
    ],
    store: { url: 'sqlite:data/nestwatch.db', retentionMs: 30 * 86_400_000 },
    poll: {
      intervalMs: 30_000,
      minIntervalMs: 10_000,
      maxIntervalMs: 300_000,
      inventoryIntervalMs: 300_000,
      pageSize: 100,
      overlapMs: 120_000,
      initialLookbackMs: 3_600_000,
      auditIntervalMs: 600_000,
      maxAlertAgeMs: 6 * 3_600_000,
    },
    rules: DEFAULT_RULES.map(({ kind }) => kind),
    route: {
      path: '0',
      key: '{}',
      receiver: 'default',
      matchers: [],
      continue: false,
      groupBy: [],
      groupWaitMs: 30_000,
      groupIntervalMs: 300_000,
      repeatIntervalMs: 14_400_000,
      routes: [],
    },
    receivers: [{ name: 'default', integrations: [] }],
    inhibitRules: BUILT_IN_INHIBITIONS,
    timeIntervals: new Map(),
    forward: [],
    digests: [],
    context: {
      show: ['change', 'novelty', 'who_acts', 'also_failing', 'connection'],
      backAfterMs: 7 * 86_400_000,
    },
    metrics: { birds: 'all', maxBirds: 10_000 },
    web: {
      host: '127.0.0.1',
      port: 9465,
      externalUrl: 'http://127.0.0.1:9465',
      hasDefaultUrl: true,
      bearerToken: null,
      enableLifecycle: false,
    },
  });
});

test('a mail and a webhook have their defaults', () => {
  const { receivers } = load(`${REGION}
global: { smtp_smarthost: "mail.example.com:587", smtp_from: n@example.com }
route: { receiver: ops }
receivers:
  - name: ops
    webhook_configs: [{ url: "http://127.0.0.1:9000/hook" }]
    email_configs: [{ to: 'ops@example.com, "Loc, team" <loc@example.com>' }]
`);
  const isSecret = expect.objectContaining({ reveal: expect.any(Function) });
  expect(receivers).toEqual([
    {
      name: 'ops',
      integrations: [
        {
          kind: 'email',
          to: ['ops@example.com', '"Loc, team" <loc@example.com>'],
          from: 'n@example.com',
          smarthost: { host: 'mail.example.com', port: 587 },
          requireTls: true,
          username: '',
          password: null,
          hello: '',
          isImplicitTls: false,
          sendResolved: false,
        },
        {
          kind: 'webhook',
          url: isSecret,
          format: 'alertmanager',
          secret: null,
          timeoutMs: 10_000,
          sendResolved: true,
          maxAlerts: 0,
        },
      ],
    },
  ]);
});

test.each([
  ['FlightFailed', { forEach: 'bird', threshold: 1, windowMs: 600_000, resolveAfterMs: 86_400_000 }],
  ['BirdDeactivated', { resolveAfterMs: null }],
  ['BirdTriggerFailing', { threshold: 2, resolveAfterMs: 7_200_000 }],
  ['ConnectionDisconnected', { resolveAfterMs: 93_600_000 }],
  ['ServiceNotification', { resolveAfterMs: 3_600_000 }],
  ['RegionDown', { forMs: 60_000, resolveAfterMs: null }],
  ['RegionUnauthorized', { forMs: 0, resolveAfterMs: null }],
  ['FeedBehind', { forMs: 300_000, resolveAfterMs: null }],
  ['FeedIncomplete', { resolveAfterMs: null }],
  ['DeliveryFailing', { forMs: 300_000, resolveAfterMs: null }],
  ['FlightStuck', { keepFiringForMs: 0 }],
  ['BirdStale', { flapping: { changes: 4, withinMs: 3_600_000, calmMs: 1_800_000 } }],
  ['SchemaDrift', { resolveAfterMs: 86_400_000 }],
  ['WatchImpaired', { forMs: 10_000, resolveAfterMs: null }],
])('a rule of kind %s without anything else is the default rule', (kind, values) => {
  const { rules } = load(`${REGION}rules: [{ kind: ${kind} }]`);
  // Rules have different ids: the one that can decide anything has the plain one.
  expect({ ...rules[0], id: `${rules[0]!.id}-2` }).toEqual(rules.findLast((rule) => rule.kind === kind));
  expect(rules[0]).toMatchObject({ kind, match: [], labels: {}, annotations: {}, ...values });
});
