/** Reads everything known about one alert, even after it has been deleted and only its episodes remain. */
import type { Alert, Note } from '../domain/alert/alert.ts';
import { contextOf, type Finding } from '../domain/context/findings.ts';
import type { Episode } from '../domain/digest/digest.ts';
import type { Link } from '../domain/evaluate/decide.ts';
import type { Muting } from '../domain/muting/muting.ts';
import type { Silence } from '../domain/muting/silence.ts';
import { isPutOff, type Suppression } from '../domain/muting/suppression.ts';
import { routesFor } from '../domain/routing/route.ts';
import type { SentNotification } from '../store/outbox-store.ts';
import { readPast } from '../store/read-context.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';
import type { AlertingConfig } from './routed-alert.ts';

export interface AlertRecord {
  readonly alert: Alert;
  /** False if only its episodes are known. */
  readonly isKept: boolean;
  /** The silences that mute it now. */
  readonly silencedBy: readonly Silence[];
  /** The acknowledgements of any of its episodes that are still kept. */
  readonly acknowledgements: readonly Silence[];
  /** What people wrote about any of its episodes, newest first. */
  readonly notes: readonly Note[];
  /** Fingerprints of the alerts that inhibit it now. */
  readonly inhibitedBy: readonly string[];
  /** The receivers that it is routed to. */
  readonly receivers: readonly string[];
  /** Why it fires now and who can act: what was looked for. Empty if nothing was. */
  readonly findings: readonly Finding[];
  /** Newest first. */
  readonly events: readonly Link[];
  /** Episodes that have ended, latest first. */
  readonly episodes: readonly Episode[];
  /** Newest first. */
  readonly notifications: readonly SentNotification[];
  /** What nobody was or will be notified of, latest first. */
  readonly suppressions: readonly Suppression[];
}

const SHOWN_EVENTS = 50;
const SHOWN_EPISODES = 50;
const SHOWN_NOTIFICATIONS = 30;
const SHOWN_SUPPRESSIONS = 20;
/** All: one alert may have no more. */
export const SHOWN_NOTES = 100;

/** Undefined if nothing is known about it any more. */
export async function readAlertRecord(
  tx: Transaction,
  id: string,
  { route, context }: AlertingConfig,
  muting: Muting,
): Promise<AlertRecord | undefined> {
  const episodes = await tx.alerts.episodes(id, SHOWN_EPISODES);
  const [last] = episodes;
  const kept = await tx.alerts.find(id);
  const alert = kept ?? (last && alertOfEpisode(last));
  if (!alert) return undefined;
  const { silencedBy, inhibitedBy } = await muting.of(alert, pausing(tx));
  const suppressions = (await tx.suppressions.ofAlert(id)).filter((one) => !isPutOff(one));
  return {
    alert,
    isKept: kept !== undefined,
    silencedBy,
    acknowledgements: (await tx.silences.list()).filter(({ alertId }) => alertId === alert.id),
    notes: await tx.notes.ofAlert(id, SHOWN_NOTES),
    inhibitedBy,
    receivers: [...new Set(routesFor(route, alert.labels).map(({ receiver }) => receiver))],
    findings: await contextOf(alert, context.show, readPast(tx)),
    events: await tx.alerts.events(id, 0, SHOWN_EVENTS, alert.lastSeq),
    episodes,
    notifications: await tx.outbox.notificationsOfAlert(id, SHOWN_NOTIFICATIONS),
    suppressions: suppressions.toReversed().slice(0, SHOWN_SUPPRESSIONS),
  };
}

/** An alert that is no longer kept, reconstructed from its last episode. */
export function alertOfEpisode({ alertId, events, ending, ...episode }: Episode): Alert {
  return {
    ...episode,
    id: alertId,
    scope: '',
    subject: '',
    rule: '',
    firstRule: '',
    state: 'resolved',
    annotations: {},
    ...(ending !== null && { ending }),
    updatedAtUs: episode.endsAtUs,
    eventsTotal: events,
    lastSeq: 0,
    memory: null,
    dueAtUs: null,
  };
}
