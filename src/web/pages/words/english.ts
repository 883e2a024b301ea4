/** The words of the pages in English. A language is one file: what has the same shape can stand in its place. */
import { howMany } from '../../../text/counts.ts';
import { durationWords } from '../../../text/duration-words.ts';
import { ago } from '../../../text/instant-words.ts';

export const ENGLISH = {
  /** The language as `lang` of a page names it. */
  language: 'en',

  time: {
    ago,
    lasting: (ms: number): string => durationWords(ms, 'one unit'),
    exact: (ms: number): string => durationWords(ms, 'exact'),
  },

  frame: {
    skip: 'Skip to the content',
    pages: 'Pages',
    overview: 'Overview',
    alerts: 'Alerts',
    birds: 'Birds',
    nests: 'Nests',
    events: 'Events',
    deliveries: 'Deliveries',
    silences: 'Silences',
    config: 'Configuration',
    search: 'Search',
    searchHint: 'Bird, Flight, id, message',
    asJson: 'as JSON',
    allTimes: 'All times in UTC',
    metrics: 'metrics',
  },

  health: {
    quiet: 'All quiet',
    unknown: 'The store does not answer',
    title: 'What impairs the watch',
    active: (count: number): string => howMany(count, 'active alert'),
    more: (count: number): string => `${count} more`,
    critical: 'critical',
    warning: 'warning',
    info: 'passing',
    since: 'since',
    noHeartbeat: 'The heartbeat stays out meanwhile.',
    watching: (birds: number, regions: number): string =>
      `Watching ${howMany(birds, 'Bird')} in ${howMany(regions, 'region')}.`,
    unread: (regions: string): string => `${regions} not read yet.`,
    allRead: 'The oldest reading was',
    acknowledged: (count: number): string =>
      `${howMany(count, 'alert')} ${count === 1 ? 'is' : 'are'} taken care of.`,
  },

  list: {
    filter: 'Filter',
    show: 'Show',
    showAll: 'Show all',
    any: 'any',
    region: 'Region',
    nest: 'Nest',
    bird: 'Bird',
    flight: 'Flight',
    name: 'Name',
    severity: 'Severity',
    text: 'Text',
    since: 'Since',
    until: 'Until',
    nestHint: 'name or id',
    birdHint: 'name or id',
    flightHint: 'id',
    textHint: 'any words',
    sinceHint: '2h, or 2026-07-02 13:00',
    untilHint: '30m, or 2026-07-02 14:00',
    pages: 'Further pages',
    first: 'First page',
    next: 'Next page',
    nothing: 'Nothing fits.',
  },

  count: {
    alerts: (count: number): string => howMany(count, 'alert'),
    events: (count: number): string => howMany(count, 'event'),
  },
};

/** What a language has to say. */
export type Words = typeof ENGLISH;
