/**
 * The configuration of a stage. It does not depend on the test runner, so others can use it with a stage of their
 * own.
 */
import type { EmailIntegration } from '../../src/channels/email/email-config.ts';
import type { WebhookIntegration } from '../../src/channels/webhook/webhook-channel.ts';
import type { Config } from '../../src/config/config.ts';
import type { Forward } from '../../src/config/sections/forward-section.ts';
import type { PollConfig } from '../../src/config/sections/poll-section.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { FINDING_SORTS } from '../../src/domain/context/findings.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { BUILT_IN_INHIBITIONS } from '../../src/domain/muting/muting.ts';
import { secret } from '../../src/secret.ts';

export interface ConfigOptions {
  readonly poll?: Partial<PollConfig>;
  readonly route?: Partial<Config['route']>;
  /** Before the default rules. */
  readonly rules?: readonly Rule[];
  /** Absent for the built-in ones. */
  readonly inhibitRules?: Config['inhibitRules'];
  readonly timeIntervals?: Config['timeIntervals'];
  /** Folds what `ops` is notified of in a storm. */
  readonly foldStormsMs?: number;
  /** Folds what `ops` is notified of that only goes on or ends. */
  readonly foldEndsMs?: number;
  /** Whether the webhook of `ops` wants to know that moments are over. */
  readonly endsMoments?: true;
  /** True if the mails of `ops` go only to the members of Nests. */
  readonly toNestMembers?: boolean;
  /** If absent, everything is forwarded to the lake. */
  readonly forward?: readonly Forward[];
  readonly digests?: Config['digests'];
  readonly objectives?: NonNullable<Config['objectives']>;
  readonly actions?: NonNullable<Config['actions']>;
  readonly heartbeat?: NonNullable<Config['heartbeat']>;
  readonly requestsPerSecond?: number;
  /** Whether Birds may be started again. */
  readonly fly?: true;
  /** Globs of Nests that are not watched. */
  readonly excludedNests?: readonly string[];
}

const BASE: PollConfig = {
  intervalMs: 30_000,
  minIntervalMs: 10_000,
  maxIntervalMs: 300_000,
  inventoryIntervalMs: 300_000,
  pageSize: 100,
  overlapMs: 120_000,
  initialLookbackMs: 3_600_000,
  auditIntervalMs: 600_000,
  maxAlertAgeMs: 6 * 3_600_000,
};

const webhook = (url: string, format: WebhookIntegration['format']): WebhookIntegration => ({
  kind: 'webhook',
  url: secret(url),
  format,
  secret: null,
  timeoutMs: 10_000,
  sendResolved: true,
  maxAlerts: 0,
});

const email: EmailIntegration = {
  kind: 'email',
  to: ['ops@example.com'],
  from: 'nestwatch@example.com',
  smarthost: { host: 'mail.example.com', port: 25 },
  requireTls: false,
  username: '',
  password: null,
  hello: '',
  isImplicitTls: false,
  sendResolved: true,
};

/** The address of a region's service. */
export const baseUrl = (region: string) => `https://${region}.example/api-rest`;

/** Regions of these names; a mail and a webhook `ops` for alerts, and a webhook `lake` for every event. */
export function stageConfig(regions: readonly string[], options: ConfigOptions = {}): Config {
  return {
    regions: regions.map((name) => ({
      name,
      baseUrl: baseUrl(name),
      token: secret('token'),
      requestsPerSecond: options.requestsPerSecond ?? 50,
      concurrency: 8,
      timeoutMs: 15_000,
      nests: { include: ['*'], exclude: options.excludedNests ?? [] },
      ...(options.fly && { fly: options.fly }),
    })),
    store: { url: 'sqlite::memory:', retentionMs: 30 * 86_400_000 },
    poll: { ...BASE, ...options.poll },
    context: { show: FINDING_SORTS, backAfterMs: 7 * 86_400_000 },
    rules: [...(options.rules ?? []), ...DEFAULT_RULES],
    route: {
      path: '0',
      key: '{}',
      receiver: 'ops',
      matchers: [],
      continue: false,
      groupBy: ['alertname', 'region', 'nest'],
      groupWaitMs: 10_000,
      groupIntervalMs: 60_000,
      repeatIntervalMs: 4 * 3_600_000,
      routes: [],
      ...options.route,
    },
    receivers: [
      {
        name: 'ops',
        integrations: [
          options.toNestMembers ? { ...email, to: [], toNestMembers: true } : email,
          {
            ...webhook('http://hook.example/alerts', 'alertmanager'),
            ...(options.endsMoments && { endsMoments: options.endsMoments }),
          },
        ],
        ...(options.foldStormsMs !== undefined && { foldStormsMs: options.foldStormsMs }),
        ...(options.foldEndsMs !== undefined && { foldEndsMs: options.foldEndsMs }),
      },
      { name: 'lake', integrations: [webhook('http://hook.example/lake', 'cloudevents')] },
    ],
    inhibitRules: options.inhibitRules ?? BUILT_IN_INHIBITIONS,
    timeIntervals: options.timeIntervals ?? new Map(),
    forward: options.forward ?? [{ matchers: [], receiver: 'lake' }],
    digests: options.digests ?? [],
    ...(options.actions && { actions: options.actions }),
    ...(options.objectives && { objectives: options.objectives }),
    ...(options.heartbeat && { heartbeat: options.heartbeat }),
    metrics: { birds: 'all', maxBirds: 10_000 },
    web: {
      host: '127.0.0.1',
      port: 0,
      externalUrl: 'http://nestwatch.example',
      bearerToken: null,
      enableLifecycle: false,
    },
  };
}
