import type { Rule } from '../domain/alert/rule.ts';
import type { InhibitRule } from '../domain/muting/inhibit.ts';
import type { Route } from '../domain/muting/route.ts';
import type { TimeIntervals } from '../domain/muting/time-interval.ts';
import type { Secret } from '../secret.ts';
import type { Template } from '../templates/liquid.ts';
import type { DigestConfig } from './sections/digests-section.ts';
import type { Forward } from './sections/forward-section.ts';
import type { HeartbeatConfig } from './sections/heartbeat-section.ts';
import type { PollConfig } from './sections/poll-section.ts';
import type { RegionConfig } from './sections/regions-section.ts';
import type { StoreConfig } from './sections/store-section.ts';
import type { WebConfig } from './sections/web-section.ts';

/** The whole configuration, checked: every default is filled in, durations are milliseconds, secrets are wrapped. */
export interface Config {
  readonly regions: readonly RegionConfig[];
  readonly store: StoreConfig;
  readonly poll: PollConfig;
  /** The configured rules, then one default rule of each kind. */
  readonly rules: readonly Rule[];
  readonly route: Route;
  readonly receivers: readonly Receiver[];
  /** The configured ones, then those that are built in. */
  readonly inhibitRules: readonly InhibitRule[];
  readonly timeIntervals: TimeIntervals;
  readonly forward: readonly Forward[];
  readonly digests: readonly DigestConfig[];
  /** Absent for none. */
  readonly heartbeat?: HeartbeatConfig;
  readonly web: WebConfig;
}

export interface Receiver {
  readonly name: string;
  /** By kind, in the order of the union below; within one in the order of the file. An empty list tells nobody, as in Alertmanager. */
  readonly integrations: readonly Integration[];
  /** The receiver that gets what this one does not accept as well. */
  readonly fallback?: string;
  /** Notifications told in any hour at the most; absent for all. */
  readonly maxNotificationsPerHour?: number;
  /** What comes in a storm is told as one, once in this time; absent: each by itself. */
  readonly foldStormsMs?: number;
}
export type Integration =
  | EmailIntegration
  | WebhookIntegration
  | SlackIntegration
  | TeamsIntegration
  | PagerdutyIntegration
  | AlertmanagerIntegration;

export interface EmailIntegration {
  readonly kind: 'email';
  /** One or more addresses; none where it goes to members alone. */
  readonly to: readonly string[];
  /** True when the active members of the alerts' Nests are told, each Nest in a mail of its own. */
  readonly toNestMembers?: boolean;
  readonly from: string;
  readonly smarthost: { readonly host: string; readonly port: number };
  readonly requireTls: boolean;
  readonly username: string;
  readonly password: Secret | null;
  /** The name given in EHLO; empty for the machine's own. */
  readonly hello: string;
  readonly tlsInsecureSkipVerify: boolean;
  readonly sendResolved: boolean;
  /** Logs in with XOAUTH2 in place of the password. */
  readonly oauth2?: MailOauth2;
  /** Signs every mail. */
  readonly dkim?: { readonly domain: string; readonly selector: string; readonly privateKey: Secret };
  /** What is sent in place of the built-in message. */
  readonly templates?: MailTemplates;
}

/** An access token that another program keeps fresh in its file, or what it takes to ask for one. */
export type MailOauth2 =
  | { readonly accessToken: Secret }
  | {
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly refreshToken: Secret;
      readonly tokenUrl: string;
    };

export interface MailTemplates {
  readonly subject?: Template;
  readonly text?: Template;
  readonly html?: Template;
  readonly headers: Readonly<Record<string, Template>>;
}

export interface WebhookIntegration {
  readonly kind: 'webhook';
  /** A secret: the URL itself may hold a key. */
  readonly url: Secret;
  readonly format: 'alertmanager' | 'cloudevents' | 'template';
  /** The body; with `format: template` alone. */
  readonly template?: Template;
  /** Standard Webhooks signing secret (`whsec_…` or base64); null: not signed. */
  readonly secret: Secret | null;
  /** Signs as well, while receivers change over from it to `secret`. */
  readonly previousSecret?: Secret;
  readonly timeoutMs: number;
  readonly sendResolved: boolean;
  /** Alerts in one message at the most; 0: no limit but our own. */
  readonly maxAlerts: number;
}

export interface SlackIntegration {
  readonly kind: 'slack';
  /** An incoming webhook. */
  readonly url: Secret;
  /** Empty for what the webhook itself says; so are the next three. */
  readonly channel: string;
  readonly username: string;
  readonly iconEmoji: string;
  readonly iconUrl: string;
  readonly title?: Template;
  readonly text?: Template;
  readonly timeoutMs: number;
  readonly sendResolved: boolean;
}

export interface TeamsIntegration {
  readonly kind: 'msteamsv2';
  readonly url: Secret;
  readonly title?: Template;
  readonly text?: Template;
  readonly timeoutMs: number;
  readonly sendResolved: boolean;
}

export interface PagerdutyIntegration {
  readonly kind: 'pagerduty';
  readonly url: Secret;
  readonly routingKey: Secret;
  /** In place of what the alerts say; null for theirs. */
  readonly severity: 'critical' | 'error' | 'warning' | 'info' | null;
  readonly description?: Template;
  readonly timeoutMs: number;
  readonly sendResolved: boolean;
}

export interface AlertmanagerIntegration {
  readonly kind: 'alertmanager';
  /** Its address without `/api/v2/alerts` and without a trailing slash. */
  readonly url: Secret;
  readonly timeoutMs: number;
  readonly sendResolved: boolean;
}
