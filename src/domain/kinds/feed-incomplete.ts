/** The service counts entries of a feed that it does not show, so nobody knows what they say. */
import { regionName } from '../../text/plain-text.ts';
import { resolve } from '../alert/alert.ts';
import type { Feed } from '../alert/event.ts';
import { defineKind, FEED_ENTRIES, fireMeasured } from './kind.ts';

interface Memory {
  readonly missing: number;
}

export const feedIncomplete = defineKind({
  name: 'FeedIncomplete',
  fires:
    'the service counts entries that it does not return, or so many Flights started at once that no response can hold them',
  resolves: 'an audit or a re-read finds that nothing is missing any more',
  words: {
    firing: 'Entries missing',
    still: 'Entries still missing',
    over: 'Nothing missing any more',
    hasOwnDescription: true,
  },
  runbook: {
    look: 'which feed, since when, and how many.',
    act: "compare with the service's own pages for that time. nestwatch keeps asking and resolves the alert when nothing is missing any more.",
  },
  parameters: {},
  severities: ['warning'],
  labels: ['feed', 'region'],
  impairsWatch: true,
  isResolvableByHand: () => false,
  remembers: { missing: 'number' },

  raisedBy: ['feed_gap'],
  observes: ['feed_gap'],

  topic({ region, feed, missing }) {
    if (missing === 0) return undefined;
    return { subject: subjectOf(feed), labels: { region, feed } };
  },

  raise(alert, fact, context) {
    const { feed, missing, region } = fact;
    if (alert.state === 'firing' && (alert.memory as Memory | null)?.missing === missing) return undefined;
    const [one, many] = FEED_ENTRIES[feed];
    const what = missing === 1 ? `1 ${one} is` : `${missing} ${many} are`;
    const summary = `${what} missing in region ${regionName(region)}`;
    const description =
      feed === 'flight'
        ? 'There may be more: so many started at once, or with such long messages, that no answer of the service can hold them. Look them up in the service.'
        : 'The service counts them but does not return them. Look them up in the service.';
    const memory: Memory = { missing };
    return fireMeasured(alert, { startsAtUs: fact.sinceUs, summary, description, memory }, context);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.missing > 0 || alert.state !== 'firing') return undefined;
    if (alert.subject !== subjectOf(fact.feed)) return undefined;
    return resolve(alert, nowUs, 'nothing that the service counts is missing any more', nowUs);
  },
});

function subjectOf(feed: Feed): string {
  return `feed/${feed}`;
}
