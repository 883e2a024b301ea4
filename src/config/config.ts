import type { Matcher } from '../alerts/matcher.ts';
import type { Route } from '../alerts/route.ts';
import type { Rule } from '../alerts/rule.ts';
import type { Secret } from '../secret.ts';

/** The whole configuration, checked: every default is filled in, durations are milliseconds, secrets are wrapped. */
export interface Config {
  readonly regions: readonly RegionConfig[];
  readonly store: { readonly url: string; readonly retentionMs: number };
  readonly poll: PollConfig;
  /** The configured rules, then one default rule of each kind. */
  readonly rules: readonly Rule[];
  readonly route: Route;
  readonly receivers: readonly Receiver[];
  readonly forward: readonly Forward[];
  readonly web: WebConfig;
}

export interface RegionConfig {
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly token: Secret;
  /** Ceiling of the rate of requests. */
  readonly requestsPerSecond: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Globs on a Nest's name or id. */
  readonly nests: { readonly include: readonly string[]; readonly exclude: readonly string[] };
}

export interface PollConfig {
  readonly intervalMs: number;
  readonly minIntervalMs: number;
  readonly maxIntervalMs: number;
  readonly inventoryIntervalMs: number;
  readonly pageSize: number;
  readonly overlapMs: number;
  readonly initialLookbackMs: number;
  readonly auditIntervalMs: number;
}

export interface Receiver {
  readonly name: string;
  /** In the order of the file: emails first, then webhooks. An empty list tells nobody, as in Alertmanager. */
  readonly integrations: readonly Integration[];
}
export type Integration = EmailIntegration | WebhookIntegration;

export interface EmailIntegration {
  readonly kind: 'email';
  /** One or more addresses. */
  readonly to: readonly string[];
  readonly from: string;
  readonly smarthost: { readonly host: string; readonly port: number };
  readonly requireTls: boolean;
  readonly username: string;
  readonly password: Secret | null;
  /** The name given in EHLO; empty for the machine's own. */
  readonly hello: string;
  readonly tlsInsecureSkipVerify: boolean;
  readonly sendResolved: boolean;
}

export interface WebhookIntegration {
  readonly kind: 'webhook';
  /** A secret: the URL itself may hold a key. */
  readonly url: Secret;
  readonly format: 'alertmanager' | 'cloudevents';
  /** Standard Webhooks signing secret (`whsec_…` or base64); null: not signed. */
  readonly secret: Secret | null;
  readonly timeoutMs: number;
  readonly sendResolved: boolean;
  /** Alerts in one message at the most; 0: no limit but our own. */
  readonly maxAlerts: number;
}

/** Every matching event once, ungrouped. Labels of an event: `region, feed, type, nest_id, nest, bird_id, bird`. */
export interface Forward {
  readonly matchers: readonly Matcher[];
  readonly receiver: string;
}

export interface WebConfig {
  readonly host: string;
  readonly port: number;
  /** Without a trailing slash; what links in messages begin with. */
  readonly externalUrl: string;
  readonly bearerToken: Secret | null;
  readonly enableLifecycle: boolean;
}
