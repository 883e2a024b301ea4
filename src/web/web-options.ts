/** What the daemon's own HTTP is put together from: what the process has, and what it knows of the stages. */
import type { WebConfig } from '../config/sections/web-section.ts';
import type { ServiceLinks } from '../config/service-links.ts';
import type { FlightLog, FlightPlace } from '../domain/alert/flight-step.ts';
import type { HealthAnswer } from '../health/health.ts';
import type { AcknowledgeLinks } from '../operator/acknowledge-link.ts';
import type { ExplainConfig } from '../operator/explain.ts';
import type { AlertingConfig } from '../operator/routed-alert.ts';
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { Scrape } from './answer-scrape.ts';
import type { DeliveryMessages } from './delivery-messages.ts';
import type { StatusView } from './status-view.ts';

export interface WebOptions {
  readonly config: WebConfig;
  /** How many files the process may have open at once. */
  readonly openFiles: number;
  readonly alerting: AlertingConfig & ExplainConfig;
  readonly store: Store;
  /** Whether other processes use it at the same time. */
  readonly isShared?: boolean;
  readonly status: () => StatusView;
  readonly metrics: Scrape;
  readonly health: () => Health;
  /** What impairs the watch. */
  readonly impairments: () => Promise<HealthAnswer>;
  readonly links: AcknowledgeLinks;
  readonly serviceLinks: ServiceLinks;
  readonly messages: DeliveryMessages;
  /** Gives an unused UUID. */
  readonly newId: () => string;
  /** Called after something was written that the stages have to look at: silences, deliveries put back. */
  readonly changed: () => void;
  /** Has a region asked at once that is only probed now and then. */
  readonly probe: (region: string) => void;
  /** Asks the service for the log of a Flight. */
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
  /** Reads the configuration again; it never rejects. */
  readonly reload: () => Promise<Reloaded>;
  readonly clock: Clock;
  readonly report: Report;
}

export interface Health {
  /** False when only a restart can help. */
  readonly healthy: boolean;
  /** False while its work stands still, although it may go on by itself; true while it has only just started. */
  readonly working: boolean;
  /** False while it does not yet, or not now, do its work. */
  readonly ready: boolean;
  /** Why not, one sentence each. */
  readonly reasons: readonly string[];
}

interface Reloaded {
  /** Why it was refused; empty where it is in force. */
  readonly mistakes: readonly string[];
  /** Keys that changed and change nothing before a restart. */
  readonly needsRestart: readonly string[];
}
