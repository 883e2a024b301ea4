/** The states of each kind of alert in the words of a person who runs automations, not of one who runs monitors. */
import type { NotifiedAlert } from '../../domain/grouping/notification.ts';
import { plainText } from '../../text/plain-text.ts';

interface Words {
  readonly firing: string;
  /** In a reminder, and when more of the same came. */
  readonly still: string;
  /** It was seen that it is over. */
  readonly over: string;
  /** Nothing more was heard of it, which proves nothing. Absent where that never ends it. */
  readonly quiet?: string;
  /** It has become worse. Absent where nothing is worse. */
  readonly superseded?: string;
}

const WORDS: ReadonlyMap<string, Words> = new Map(
  Object.entries({
    FlightFailed: {
      firing: 'Flight failed',
      still: 'Flights still failing',
      over: 'Recovered',
      quiet: 'No new failures',
    },
    FlightStuck: { firing: 'Flight stuck', still: 'Flight still stuck', over: 'Flight ended' },
    BirdStale: {
      firing: 'No Flight in time',
      still: 'Still no Flight',
      over: 'Flying again',
      superseded: 'No longer active',
    },
    BirdDeactivated: {
      firing: 'Bird deactivated',
      still: 'Bird still deactivated',
      over: 'Bird active again',
      quiet: 'No longer reported deactivated',
      superseded: 'Deactivated by the service',
    },
    BirdTriggerFailing: {
      firing: 'Trigger failing',
      still: 'Trigger still failing',
      over: 'Trigger no longer failing',
      quiet: 'No new trigger failures',
      superseded: 'Deactivated after trigger failures',
    },
    ConnectionDisconnected: {
      firing: 'Connection lost',
      still: 'Connection still lost',
      over: 'Connection no longer lost',
      quiet: 'No longer reported lost',
      superseded: 'Connection given up',
    },
    ServiceNotification: {
      firing: 'Notice from the service',
      still: 'Notice from the service',
      over: 'Notice closed',
    },
    RegionDown: { firing: 'Region down', still: 'Region still down', over: 'Region up again' },
    RegionUnauthorized: {
      firing: 'Token refused',
      still: 'Token still refused',
      over: 'Token accepted again',
    },
    FeedBehind: { firing: 'News comes late', still: 'News still comes late', over: 'News in time again' },
    FeedIncomplete: {
      firing: 'Entries missing',
      still: 'Entries still missing',
      over: 'Nothing missing any more',
    },
    SchemaDrift: {
      firing: 'Entries unreadable',
      still: 'Entries still unreadable',
      over: 'No more unreadable entries',
    },
    DeliveryFailing: {
      firing: 'Receiver not reached',
      still: 'Receiver still not reached',
      over: 'Receiver reached again',
    },
  } satisfies Record<string, Words>),
);

/** Kinds of which the description is a sentence of our own, where others show what somebody answered. */
export const IN_OWN_WORDS: ReadonlySet<string> = new Set(['FlightStuck', 'BirdStale', 'FeedIncomplete']);

const ALERTNAME_CODE_POINTS = 60;

type Told = Pick<NotifiedAlert, 'status' | 'ending' | 'labels' | 'annotations'>;

/** What happened to it, in a few words. Kinds that are not known here keep their own name. */
export function stateWords(alert: Told, goesOn: boolean): string {
  const alertname = plainText(alert.labels.alertname ?? 'Alert', ALERTNAME_CODE_POINTS);
  const words: Words = WORDS.get(alertname) ?? {
    firing: alertname,
    still: `${alertname} (still)`,
    over: `${alertname}: resolved`,
  };
  if (alert.status === 'firing') {
    const now = goesOn ? words.still : words.firing;
    return alert.annotations.flapping === undefined ? now : `${now}, on and off`;
  }
  switch (alert.ending) {
    case 'over':
      return words.over;
    case 'superseded':
      return words.superseded ?? `${words.firing}: has become worse`;
    case 'moved':
      return `${words.firing}: told elsewhere now`;
    case 'gone':
      return `${words.firing}: no longer there`;
    case 'by_hand':
      return `${words.firing}: resolved by hand`;
    default:
      // Only a success is a recovery: failures that stopped coming have proven nothing.
      return words.quiet ?? words.over;
  }
}

/** True for an end that is no good news: it has become worse, goes on elsewhere, or is gone with what it was about. */
export function isNoRecovery({ ending }: Pick<NotifiedAlert, 'ending'>): boolean {
  return ending === 'superseded' || ending === 'moved' || ending === 'gone';
}

/** What the events of an alert are to people; undefined where their number says nothing. */
export function eventNoun(alertname: string | undefined): 'failure' | 'message' | undefined {
  if (alertname === 'FlightFailed' || alertname === 'BirdTriggerFailing') return 'failure';
  // The service tells of one deactivation in more than one place.
  return alertname === 'BirdDeactivated' ? undefined : 'message';
}
