import type { WebConfig } from '../../../config/sections/web-section.ts';
import type { ServiceLinks } from '../../../config/service-links.ts';
import type { FlightLog, FlightPlace } from '../../../domain/alert/flight-step.ts';
import type { Recurrences } from '../../../domain/muting/silence.ts';
import type { HealthAnswer } from '../../../health/health.ts';
import type { AcknowledgeLinks } from '../../../operator/acknowledge-link.ts';
import type { SilenceEditor } from '../../../operator/edit-silences.ts';
import type { ExplainConfig } from '../../../operator/explain.ts';
import type { AlertResolver } from '../../../operator/resolve-alerts.ts';
import type { AlertingConfig } from '../../../operator/routed-alert.ts';
import type { Report } from '../../../report.ts';
import type { Store } from '../../../store/store.ts';
import type { Clock } from '../../../time/clock.ts';
import type { DeliveryMessages } from '../../delivery-messages.ts';
import type { StatusView } from '../../status-view.ts';

/** What the pages need. Each takes a selection of it. */
export interface PagesOptions {
  readonly config: WebConfig;
  readonly store: Store;
  readonly status: () => StatusView;
  /** What impairs the watch. */
  readonly impairments: () => Promise<HealthAnswer>;
  readonly alerting: AlertingConfig & ExplainConfig;
  readonly recurrences: Recurrences;
  readonly silenceEditor: SilenceEditor;
  readonly alertResolver: AlertResolver;
  readonly links: AcknowledgeLinks;
  readonly serviceLinks: ServiceLinks;
  readonly messages: DeliveryMessages;
  /** Called after deliveries were queued, for the first time or again. */
  readonly changed: () => void;
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
  readonly clock: Clock;
  readonly report: Report;
}
