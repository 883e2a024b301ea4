/** Defines what the daemon's HTTP interface needs from the process and its stages. */
import type { Presses } from '../channels/press.ts';
import type { FlyConfig, ServiceLinks } from '../config/sections/regions-section.ts';
import type { WebConfig } from '../config/sections/web-section.ts';
import type { FlightLog, FlightPlace } from '../domain/alert/fact.ts';
import type { ReportedObjective } from '../domain/digest/report-figures.ts';
import type { GroupNotification } from '../domain/grouping/notification.ts';
import type { Muting } from '../domain/muting/muting.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import type { HealthAnswer } from '../health/health.ts';
import type { AcknowledgeLinks } from '../operator/acknowledge-link.ts';
import type { AlertResolver, NoteWriter, SilenceEditor } from '../operator/act-on-alerts.ts';
import type { ExplainConfig } from '../operator/explain.ts';
import type { AlertingConfig } from '../operator/read-alerts.ts';
import type { RegionProgress } from '../region-progress.ts';
import type { Report } from '../report.ts';
import type { ClaimedDelivery, Delivery } from '../store/outbox-store.ts';
import type { DeadlineConfig } from '../store/read-history.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { Oidc } from './access/oidc.ts';
import type { Push } from './push.ts';

/** Renders all metrics, in parts. Rejects only before the first part. */
export type Scrape = (format: 'text' | 'openmetrics') => Promise<{
  readonly contentType: string;
  readonly body: Iterable<string> | AsyncIterable<string>;
}>;

export interface WebOptions {
  readonly config: WebConfig;
  /** How many files the process may have open at the same time. */
  readonly openFiles: number;
  readonly alerting: AlertingConfig &
    ExplainConfig &
    DeadlineConfig &
    FlyConfig & { readonly objectives?: readonly ReportedObjective[] };
  readonly store: Store;
  /** Whether other processes use the store at the same time. */
  readonly isShared?: boolean;
  readonly status: () => StatusView;
  readonly metrics: Scrape;
  readonly health: () => Health;
  /** What impairs the watch. */
  readonly impairments: () => Promise<HealthAnswer>;
  readonly links: AcknowledgeLinks;
  /** Present if people log in at an identity provider. */
  readonly oidc?: Oidc | undefined;
  readonly serviceLinks: ServiceLinks;
  readonly browsers: BrowserOptions;
  readonly messages: DeliveryMessages;
  /** Reads what people press in chats; absent if no message has buttons that act. */
  readonly presses?: Presses | undefined;
  /** Returns a new UUID. */
  readonly newId: () => string;
  /** Called after a write that the stages have to look at, such as a silence or a retried delivery. */
  readonly changed: () => void;
  /** Sends a request to a region at once, even if it is down and only probed from time to time. */
  readonly probe: (region: string) => void;
  /** Requests the log of a Flight from the service. */
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
  /** Reads the configuration again; never rejects. */
  readonly reload: () => Promise<Reloaded>;
  readonly clock: Clock;
  readonly report: Report;
}

/** What people need to subscribe their browsers. */
export interface BrowserOptions {
  /** By which push services know the sender, in base64url. */
  readonly publicKey: string;
  /** The receivers with `browser_configs`, each with its further push services. */
  readonly receivers: ReadonlyMap<string, readonly string[]>;
}

/** What the APIs need: what the process gives, and what is made of it for one configuration. */
export interface ApiOptions
  extends Pick<
    WebOptions,
    | ('store' | 'status' | 'impairments' | 'alerting' | 'serviceLinks' | 'messages')
    | ('flightLog' | 'newId' | 'changed' | 'clock' | 'report')
  > {
  readonly externalUrl: string;
  /** The watched regions. */
  readonly regions: () => readonly string[];
  /** Loads what is muted at an instant. */
  readonly muting: (tx: Transaction, nowUs: number) => Promise<Muting>;
  readonly recurrences: Recurrences;
  readonly silenceEditor: SilenceEditor;
  readonly alertResolver: AlertResolver;
  readonly noteWriter: NoteWriter;
  readonly push: Push;
}

export interface PagesOptions extends Omit<ApiOptions, 'push' | 'externalUrl'> {
  readonly config: WebConfig;
  readonly links: AcknowledgeLinks;
  readonly browsers: BrowserOptions;
}

export interface Health {
  /** False if only a restart can help. */
  readonly healthy: boolean;
  /** False while the work is interrupted, even if it may resume by itself. True while the process is only starting. */
  readonly working: boolean;
  /** False if it does not do its work, yet or at present. */
  readonly ready: boolean;
  /** Why not, one sentence each. */
  readonly reasons: readonly string[];
}

interface Reloaded {
  /** Why the configuration was refused; empty if it is in force. */
  readonly mistakes: readonly string[];
  /** Keys whose new values take effect only after a restart. */
  readonly needsRestart: readonly string[];
}

/** The name of a delivery's integration, told from others of its kind of the same receiver. */
export type NameOf = (delivery: Delivery) => string;

/** Names integrations, and shows and tests messages, by means of the configured channels, which the pages do not know. */
interface DeliveryMessages {
  readonly nameOf: NameOf;
  /** The message as it is sent; undefined if it cannot be shown. */
  messageOf(claimed: ClaimedDelivery): Promise<string | undefined>;
  /** A test notification for each integration of a receiver; none if the receiver notifies nobody or is unknown. */
  testsOf(receiver: string, nowUs: number): { notification: GroupNotification; deliveries: Delivery[] }[];
}

/** What the page and the API show besides the store: the status of the watch itself. */
export interface StatusView {
  readonly version: string;
  readonly startedAtUs: number;
  readonly configuration: ConfigurationView;
  readonly regions: readonly RegionProgress[];
  /** The number of this process among the replicas; undefined if it has its store to itself. */
  readonly replica?: number | undefined;
}

/** Which configuration is in force. */
export interface ConfigurationView {
  /** When it was read. */
  readonly readAtUs: number;
  /** When the last reload was tried; 0 for never. */
  readonly triedAtUs: number;
  /** Why that was refused, so that an older configuration is in force; empty if it was not. */
  readonly mistakes: readonly string[];
  /** Keys whose new values take effect only after a restart. */
  readonly needsRestart: readonly string[];
}

/**
 * `unlisted` if the region answers, but not with its Nests and Birds; otherwise `starting` until it was read once, unless it
 * is known to be in trouble.
 */
export type RegionState = 'starting' | 'unlisted' | RegionProgress['health']['health'];

export function stateOf({ health, started, unlisted }: RegionProgress): RegionState {
  if (health.health !== 'up') return health.health;
  if (unlisted) return 'unlisted';
  return started ? 'up' : 'starting';
}

/** Since when the region is in that state; 0 if that is not known. */
export function sinceOf({ health, unlisted }: RegionProgress): number {
  return (health.health === 'up' && unlisted?.sinceUs) || health.sinceUs;
}

/** Why the region is in that state, in a sentence by the service or by nestwatch. */
export function reasonOf({ health, unlisted }: RegionProgress): string {
  return (health.health === 'up' && unlisted?.said) || health.reason;
}
