/** Says what has become of an alert, in the words of its kind. */
import type { Labels } from '../../domain/alert/alert.ts';
import type { NotifiedAlert } from '../../domain/grouping/notification.ts';
import type { Words } from '../../domain/kinds/kind.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import { plainText } from '../../text/plain-text.ts';

const ALERTNAME_CODE_POINTS = 60;

type Stated = Pick<NotifiedAlert, 'status' | 'ending' | 'labels' | 'annotations'>;

/** What happened to it, in a few words. An unknown kind is called by its own name. */
export function stateWords(alert: Stated, goesOn: boolean): string {
  const alertname = plainText(alert.labels.alertname ?? 'Alert', ALERTNAME_CODE_POINTS);
  const words: Words = kindOf(alertname)?.words ?? {
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
      return `${words.firing}: continues elsewhere`;
    case 'gone':
      return `${words.firing}: no longer exists`;
    case 'by_hand':
      return `${words.firing}: resolved by hand`;
    default:
      // Only a success is a recovery: that failures stopped proves nothing.
      return words.quiet ?? words.over;
  }
}

/** True if its end is not good news: it became worse, goes on elsewhere, or is gone together with its subject. */
export function isNoRecovery({ ending }: Pick<NotifiedAlert, 'ending'>): boolean {
  return ending === 'superseded' || ending === 'moved' || ending === 'gone';
}

/** What people call the events of an alert; undefined if their number says nothing. */
export function eventNoun(alertname = ''): 'failure' | 'message' | undefined {
  const noun = kindOf(alertname)?.words.events;
  return noun === null ? undefined : (noun ?? 'message');
}

/** Whether the description is a sentence of our own. For other kinds it is what the service answered. */
export function hasOwnDescription({ alertname = '' }: Labels): boolean {
  return kindOf(alertname)?.words.hasOwnDescription === true;
}
