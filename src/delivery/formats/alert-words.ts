/** The states of each kind of alert in the words of a person who runs automations, not of one who runs monitors. */
import type { NotifiedAlert } from '../../alerts/group.ts';
import { plainText } from '../../plain-text.ts';

interface Words {
  readonly firing: string;
  /** In a reminder, and when more of the same came. */
  readonly still: string;
  readonly resolved: string;
}

const WORDS: ReadonlyMap<string, Words> = new Map(
  Object.entries({
    FlightFailed: { firing: 'Flight failed', still: 'Flights still failing', resolved: 'Recovered' },
    BirdDeactivated: {
      firing: 'Bird deactivated',
      still: 'Bird still deactivated',
      resolved: 'No longer deactivated',
    },
    BirdTriggerFailing: {
      firing: 'Trigger failing',
      still: 'Trigger still failing',
      resolved: 'Trigger no longer failing',
    },
    ConnectionDisconnected: {
      firing: 'Connection lost',
      still: 'Connection still lost',
      resolved: 'No longer reported lost',
    },
    ServiceNotification: {
      firing: 'Notice from the service',
      still: 'Notice from the service',
      resolved: 'Notice closed',
    },
    RegionDown: { firing: 'Region down', still: 'Region still down', resolved: 'Region up again' },
    RegionUnauthorized: {
      firing: 'Token refused',
      still: 'Token still refused',
      resolved: 'Token accepted again',
    },
    FeedBehind: {
      firing: 'News comes late',
      still: 'News still comes late',
      resolved: 'News in time again',
    },
    FeedIncomplete: {
      firing: 'Entries missing',
      still: 'Entries still missing',
      resolved: 'Nothing missing any more',
    },
    FlightStuck: { firing: 'Flight stuck', still: 'Flight still stuck', resolved: 'No longer stuck' },
    BirdStale: { firing: 'No Flight in time', still: 'Still no Flight', resolved: 'A Flight started again' },
    SchemaDrift: {
      firing: 'Entries unreadable',
      still: 'Entries still unreadable',
      resolved: 'No more unreadable entries',
    },
    DeliveryFailing: {
      firing: 'Receiver not reached',
      still: 'Receiver still not reached',
      resolved: 'Receiver reached again',
    },
  }),
);

const ALERTNAME_CODE_POINTS = 60;

type Told = Pick<NotifiedAlert, 'status' | 'labels' | 'annotations'>;

/** What happened to it, in two to four words. Kinds that are not known here keep their own name. */
export function stateWords(alert: Told, goesOn: boolean): string {
  const alertname = plainText(alert.labels.alertname ?? 'Alert', ALERTNAME_CODE_POINTS);
  const words = WORDS.get(alertname) ?? {
    firing: alertname,
    still: `${alertname} (still)`,
    resolved: `${alertname}: resolved`,
  };
  if (alert.status === 'firing') return goesOn ? words.still : words.firing;
  // An alert says what ended it. Only a success is a recovery: failures that stopped coming have proven nothing.
  const by = alert.annotations.resolved_by ?? '';
  if (/^(superseded|it goes on)/.test(by)) return 'Superseded';
  return alertname === 'FlightFailed' && !by.endsWith('/succeeded') ? 'No new failures' : words.resolved;
}
