/** The way to each alert of a message about several: its page, and where it can be acknowledged. */
import { MAX_ACKNOWLEDGE_LINKS, type NotifiedAlert } from '../../../domain/grouping/notification.ts';
import { alertPath } from '../../../http/page-path.ts';
import { commonLabels, placeWithin } from '../alert-subject.ts';
import { linkable } from '../encode.ts';

export interface EachAlert {
  /** Its Bird or entity, with its Nest and region where those differ. */
  readonly name: string;
  readonly url: string;
  /** Absent where it cannot be acknowledged by a link. */
  readonly acknowledgeUrl?: string;
}

/** Of the first that fire, more are reached by the page; empty where there is no page to link to. */
export function eachAlert(alerts: readonly NotifiedAlert[], externalUrl: string): readonly EachAlert[] {
  const open = alerts.filter(({ status }) => status === 'firing');
  // The links of the whole message lead to the only one.
  if (open.length < 2) return [];
  const shared = commonLabels(alerts);
  return open.slice(0, MAX_ACKNOWLEDGE_LINKS).flatMap((alert) => {
    const url = linkable(`${externalUrl}/${alertPath(alert.id)}`);
    const acknowledgeUrl = alert.acknowledgeUrl && linkable(alert.acknowledgeUrl);
    return url === undefined
      ? []
      : [{ name: placeWithin(alert, shared), url, ...(acknowledgeUrl && { acknowledgeUrl }) }];
  });
}
