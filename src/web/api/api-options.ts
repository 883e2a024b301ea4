import type { ServiceLinks } from '../../config/service-links.ts';
import type { FlightLog, FlightPlace } from '../../domain/alert/flight-step.ts';
import type { Recurrences } from '../../domain/muting/silence.ts';
import type { HealthAnswer } from '../../health/health.ts';
import type { SilenceEditor } from '../../operator/edit-silences.ts';
import type { ExplainConfig } from '../../operator/explain.ts';
import type { AlertResolver } from '../../operator/resolve-alerts.ts';
import type { AlertingConfig } from '../../operator/routed-alert.ts';
import type { Report } from '../../report.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';
import type { DeliveryMessages } from '../delivery-messages.ts';
import type { Push } from '../push.ts';
import type { StatusView } from '../status-view.ts';

/** What the JSON API needs. Each part takes a selection of it. */
export interface ApiOptions {
  readonly store: Store;
  readonly status: () => StatusView;
  /** What impairs the watch. */
  readonly impairments: () => Promise<HealthAnswer>;
  readonly report: Report;
  readonly alerting: AlertingConfig & ExplainConfig;
  readonly recurrences: Recurrences;
  readonly messages: DeliveryMessages;
  readonly clock: Clock;
  readonly externalUrl: string;
  readonly serviceLinks: ServiceLinks;
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
  readonly silenceEditor: SilenceEditor;
  readonly alertResolver: AlertResolver;
  readonly push: Push;
  /** Called after deliveries were queued again. */
  readonly changed: () => void;
}
