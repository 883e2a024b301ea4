/** The words of the pages, all in one catalogue: pages take every sentence from it. */
import { eventTitle } from '../../../domain/alert/labels.ts';
import {
  alertsSince,
  ENDING_WORDS,
  figureName,
  figureText,
  monthName,
} from '../../../domain/digest/report-figures.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import { isSuppressionReason, type SuppressionReason } from '../../../domain/muting/suppression.ts';
import { ENGLISH_FINDINGS } from '../../../health/finding.ts';
import { sayNoAlert } from '../../../operator/no-alert.ts';
import type { WriteRecord } from '../../../report.ts';
import {
  ago,
  durationWords,
  exactTime,
  exactZoneTime,
  howMany,
  percentWords,
} from '../../../text/instant-words.ts';
import { sayMistake } from '../../requests/query.ts';

const REASONS = new Map([
  ['first', 'first of its group'],
  ['new_alerts', 'new alerts'],
  ['others', 'new alerts beside this one'],
  ['new_events', 'new events'],
  ['resolved', 'resolved'],
  ['repeat', 'reminder'],
]);

/** A success ends them. */
const FLIGHT_ALERTS = new Set(['FlightFailed', 'FlightOverdue']);

const SUPPRESSIONS: Readonly<Record<SuppressionReason, string>> = {
  silenced: 'silenced',
  inhibited: 'inhibited',
  time_interval: 'muted by a time interval',
  receiver_cap: "held back by the receiver's limit",
  too_old: 'counted in a summary',
  no_integration: 'no integration accepts it',
  at_delivery: 'suppressed when it was to be sent',
};

/** Names of kinds and types of events become what the pages call them. */
function withoutCodes(text: string): string {
  return text
    .replaceAll(/`?\b([A-Z][a-z]+[A-Z]\w+)\b`?/g, (code, name) => kindOf(name)?.words.firing ?? code)
    .replaceAll(
      /\b(?:flight|bird_log|notification|inventory|action)\.\w+/g,
      (type) => eventTitle(type) ?? type,
    );
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

export const ENGLISH = {
  time: {
    ago,
    /** Before how long something lasts. */
    for: 'for',
    /** `98 to 110 s ago`, of two such times. */
    between: (newer: string, older: string): string => {
      const [, number, unit] = /^(\d+)( .*)$/.exec(newer) ?? [];
      return unit !== undefined && older.endsWith(unit) ? `${number} to ${older}` : `${newer} to ${older}`;
    },
    lasting: (ms: number): string => durationWords(ms, 'one unit'),
    /** How long something has lasted until now; follows `for`. */
    soFar: (ms: number): string => durationWords(ms, 'one unit'),
    exact: (ms: number): string => durationWords(Math.round(ms), 'exact'),
    took: (ms: number): string => durationWords(ms, 'rounded'),
    /** An instant to the second, with its zone. */
    instant: (us: number, zone: string): string => (zone === 'UTC' ? exactTime(us) : exactZoneTime(us, zone)),
    /** Never 100 if one failed. */
    percent: percentWords,
  },

  frame: {
    skip: 'Skip to the content',
    noAddress: 'There is nothing at this address',
    noAddressLead:
      'The link may be old or cut short. Search for what you look for, or begin at the overview.',
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
    logOut: 'Log out',
    pause: 'Pause updates',
    stale: {
      title: 'nestwatch: not updated',
      since: 'nestwatch does not answer this page, which shows how it was at',
      act: 'It keeps trying. Reload it to see why, and check that nestwatch runs.',
    },
    searchHint: 'Bird, Flight, id, message',
    keysTitle: 'Keys',
    keys: {
      '/': 'search',
      'j k': 'next and previous entry',
      a: 'acknowledge the entry, or the alert of the page',
      s: 'silence it',
      x: 'choose it, in the list of alerts',
      '?': 'this help',
    },
    keysOff: 'Turn keys off',
    close: 'Close',
    asJson: 'as JSON',
    times: (zone: string): string => `Times in ${zone}`,
    metrics: 'metrics',
    running: (version: string, duration: string): string => `nestwatch ${version}, running for ${duration}`,
    allRegions: 'all regions',
    somebody: 'somebody',
  },

  overview: {
    live: (seconds: number): string => `updates every ${seconds} s`,
    pause: 'pause',
    paused: 'paused',
    resume: 'resume',
    notKnown: 'Not known while the store does not answer.',
    open: 'Anyone who can reach this address can read everything and silence alerts: set `web.auth`, or listen on 127.0.0.1.',
    mistakes: {
      before: 'The configuration file has mistakes, so the configuration read',
      after: 'stays in force:',
    },
    actionsPaused: (by: string, instant: string): string =>
      `Rules start no Bird again since ${instant}: paused by ${by}. \`nestwatch actions resume\` lets them go on.`,
    needsRestart: 'Changed in the configuration, but takes effect only after a restart:',
    wall: 'for a screen on a wall',
    alerts: 'Active alerts',
    allAlerts: (count: number): string => `all ${count}`,
    restOfAlerts: (count: number): string => `All ${count} active alerts`,
    allEvents: 'all events',
    allNests: 'all Nests',
    noSilences: 'No silences.',
    newSilence: 'new silence',
    regions: 'Regions',
    replicas: {
      title: 'Replicas',
      name: 'Host',
      version: 'Version',
      runs: 'Runs',
      does: 'Does',
      region: (region: string, epoch: number): string => `reads ${region} (epoch ${epoch})`,
      alerting: 'alerts',
      nothing: 'serves and sends',
      leaving: 'is stopping',
      silent: 'not heard of',
      answers: 'this one',
    },
    size: (birds: number, nests: number): string => `${howMany(birds, 'Bird')} in ${howMany(nests, 'Nest')}`,
    rate: (requests: number): string => `up to ${howMany(requests, 'request')} a second`,
    streams: 'Streams',
    oldestReading: 'Oldest reading',
    notYet: 'not yet',
    nothingToRead: 'nothing to read',
    activeFlights: (count: number): string => `${count} active`,
    overdue: (count: number): string => `${count} overdue`,
    tile: (birds: number, alerts: number, off: number): string =>
      [
        howMany(birds, 'Bird'),
        ...(alerts > 0 ? [howMany(alerts, 'alert')] : []),
        ...(off > 0 ? [`${off} off`] : []),
      ].join(', '),
    happened: 'What happened',
    orMore: 'or more',
    otherBirds: (count: number): string => `and ${howMany(count, 'other Bird')}`,
    nothingHappened: 'Nothing but Flights that succeeded.',
    watch: 'The watch: regions, silences and replicas',
  },

  strip: {
    ends: (flights: number, failed: number): string =>
      `${howMany(flights, 'Flight')}${failed > 0 ? `, ${failed} failed` : ''}`,
    worst: (failed: number): string => `the most, ${failed}, from`,
    marks: (publishes: number, isBlind: boolean): string =>
      `${publishes > 0 ? `; ${howMany(publishes, 'publish', 'publishes')}` : ''}${isBlind ? '; not all could be read (shaded)' : ''}`,
    day: 'Last 24 hours',
    ofNests: (count: number) => (count === 1 ? 'Its Nest in 24 h' : 'Its Nests in 24 h'),
    quarter: 'Last 90 days',
  },

  flights: {
    title: 'Flights',
    lead: 'The latest start first.',
  },

  nest: {
    unknown: 'No such Nest is known',
    within: (time: string): string => `Within ${time}`,
    day: '24 h',
    week: '7 days',
    month: '30 days',
    watchedSince: (region: string, lasting: string): string => `${region} watched for ${lasting}`,
    succeeded: (share: string): string => `${share} succeeded`,
    problems: 'Problems',
    noProblems: 'No alert about it fires.',
    members: 'Members',
    badge: 'Its badge, to copy:',
    birds: 'all Birds',
  },

  report: {
    thisMonth: 'This month',
    title: (month: string, isOver: boolean): string => `Report for ${month}${isOver ? '' : ', so far'}`,
    /** Of `2026-11`. */
    monthName,
    /** Names of tables, figures and parts are words. */
    named: figureName,
    figure: figureText,
    csv: 'as CSV',
    watchedSince: (region: string, instant: string): string => `${region}: watched since ${instant}.`,
    flightsSince: (instant: string): string => `Flights are counted from ${instant} on.`,
    alertsSince,
  },

  /** What is so once it is over. */
  kindOver: (alertname: string): string | undefined => kindOf(alertname)?.words.over,
  /** What an alert is about, by its kind; undefined for an unknown kind. */
  kind: (alertname: string): string | undefined => kindOf(alertname)?.words.firing,
  /** What to look at and to do, by the alert's kind. */
  look: (alertname: string): string => withoutCodes(kindOf(alertname)?.runbook.look ?? ''),
  act: (alertname: string): string => withoutCodes(kindOf(alertname)?.runbook.act ?? ''),
  /** What happened, by the type of the event. */
  eventType: (type: string): string | undefined => eventTitle(type),
  suppression: (reason: string, detail: string): string =>
    withoutCodes(
      `${isSuppressionReason(reason) ? SUPPRESSIONS[reason] : reason.replaceAll('_', ' ')} ${detail}`,
    ),

  /** Why an event is part of no alert. */
  whyNoAlert: (...given: Parameters<typeof sayNoAlert>): string => withoutCodes(sayNoAlert(...given)),

  feeds: {
    notification: 'Notifications',
    bird_log: 'Bird logs',
    flight: 'Flights',
    inventory: 'Nests and Birds',
    action: 'What nestwatch did',
  },
  severities: { critical: 'critical', warning: 'warning', info: 'info' },
  birdStatuses: { active: 'active', unpublished: 'unpublished', suspended: 'suspended' },
  regionStates: {
    starting: 'Starting',
    unlisted: 'Not listed',
    up: 'Up',
    down: 'Down',
    unauthorized: 'Token refused',
  },
  deliveryStates: {
    pending: 'Waiting',
    leased: 'Being sent',
    delivered: 'Delivered',
    retry: 'Retry',
    ambiguous: 'Unclear, retry',
    dead: 'Given up',
    suppressed: 'Not needed',
  },

  findings: ENGLISH_FINDINGS,

  health: {
    quiet: 'All quiet',
    unknown: 'The store does not answer',
    title: 'What impairs the watch',
    fresh: (count: number): string => howMany(count, 'new alert'),
    known: (count: number): string => howMany(count, 'known alert'),
    acknowledgedBy: (count: number, who: string): string => `${count} acknowledged by ${who}.`,
    critical: 'critical',
    warning: 'warning',
    info: 'passing',
    more: (count: number): string => `${count} more`,
    mostly: (alerts: number, kind: string): string => `Most have one cause: ${alerts} × ${kind}. `,
    watching: (birds: number, regions: number): string =>
      `Watching ${howMany(birds, 'Bird')} in ${howMany(regions, 'region')}.`,
    unread: (regions: string): string => `${regions} not read yet.`,
    allRead: 'The oldest reading was',
    acknowledged: (count: number): string =>
      `${howMany(count, 'alert')} ${isOrAre(count)} acknowledged, silenced or inhibited.`,
  },

  birds: {
    standing: 'Standing',
    status: 'Status',
    trigger: 'Trigger',
    latest: 'Last Flights',
    last: 'Last one',
    never: 'none seen',
    alerting: 'Alerting',
    failing: 'Failing',
    off: 'Off',
    flights: 'Flights within 24 h',
    success: 'Success within 24 h',
    none: 'No Birds match.',
    noNests: 'No Nests match.',
    publicPage: 'public page',
    lead: 'Those in trouble first, then the most recently active.',
    nestsLead:
      'The worst first: by alerts, then by Birds whose last Flight failed, then by Birds that are off.',
    standings: {
      alerting: 'Alert',
      acknowledged: 'Alert, acknowledged',
      failing: 'Last Flight failed',
      off: 'Switched off',
      unpublished: 'Not published',
      well: 'Well',
    },
    succeeded: (count: number): string => `${count} succeeded`,
    failed: (count: number): string => `${count} failed`,
    cancelled: (count: number): string => `${count} cancelled`,
    active: (count: number): string => `${count} active`,
    other: (count: number): string => `${count} of another status`,
    outOf: (count: number): string => `of ${howMany(count, 'Flight')}`,
    noFlights: 'No Flights were seen.',
    unknown: 'No such Bird is known',
    unknownLead: 'The service has not listed it within the time for which the store keeps history.',
    notListed: 'The service no longer lists it.',
    statusSince: 'this status first seen',
    every: (duration: string): string => `about every ${duration}`,
    overdue: 'It was due then.',
    deadlines: 'Deadlines',
    nextDeadline: (time: string, place: string): string => `Next deadline ${time} (${place})`,
    lastDeadlines: (count: number, outcomes: string): string => `last ${count}: ${outcomes}`,
    notJudged: (time: string, since: string): string => `${time} not judged: watched only since ${since}`,
    ofRule: (rule: string): string => `rule ${rule}`,
    switchedOff: 'Switched off',
    landed: 'Last landed',
    failingSince: 'Failing since',
    successRate: 'Success',
    hours: (hours: number): string => (hours <= 24 ? `${hours} h` : `${hours / 24} d`),
    unusual: 'Unusual',
    durations: 'Duration',
    p50: (duration: string): string => `half within ${duration}`,
    p95: (duration: string): string => `95 % within ${duration}`,
    ofSucceeded: (count: number): string =>
      `the last ${count === 1 ? 'Flight' : `${count} Flights`} that succeeded`,
    asTable: 'As a table',
    causes: 'Why Flights failed',
    times: 'Times',
    noMessage: 'without a message',
    log: 'Its log',
    noLog: 'No entries of its log were seen.',
    allEvents: 'all its events',
    inService: 'Open in the service',
  },

  /** A Bird's Flights as bars. */
  chart: {
    legend: 'Each bar is a Flight, the latest on the right: up and as high as it took, or down if it failed.',
    median: (duration: string): string => `The dashed line is the median, ${duration}.`,
    marked: 'Marked:',
    by: 'by',
  },

  flight: {
    statuses: {
      succeeded: 'Flight succeeded',
      failed: 'Flight failed',
      cancelled: 'Flight cancelled',
      active: 'Flight active',
    },
    words: { succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled', active: 'active' },
    otherStatus: (status: string): string => `Flight: ${status}`,
    started: 'Started',
    took: 'Took',
    underWay: 'so far',
    notKnown: 'not known',
    step: 'Step',
    beside: 'Flights of the Bird before and after it',
    previous: 'Previous Flight',
    next: 'Next Flight',
    errorType: 'Error type',
    errorTypes: {
      PluginMisconfiguration: 'configuration error',
      PluginApplication: 'the connected app did not respond',
      CorePlatform: 'unexpected app issue',
      PluginUnhandled: 'unexpected app issue',
      RequestTimeOut: 'it took too long',
      OutOfMemory: 'it needed too much memory',
      FileSizeLimit: 'the file is too large',
    },
    error: 'Error',
    noError: 'The service gave no message.',
    noEvent: 'The event of its end is not stored.',
    log: 'Its log in the service',
    readLog: 'Read it from the service',
    noLog: 'The service returned no entries.',
    olderEntries: (count: number): string =>
      `${count} older ${count === 1 ? 'entry is' : 'entries are'} not shown.`,
    entry: 'Entry',
    entries: {
      start: 'Take-off',
      end: 'Landing',
      stopped: 'Stopped',
      log: 'Log',
      error: 'Error',
      other: 'Other',
    },
    skipped: 'skipped',
    retried: 'tried again',
    noAlerts: 'It is part of no stored alert.',
    notified: 'Who was notified',
    nobody: 'Nobody was notified about it.',
    receiver: 'Receiver',
    at: 'At',
    why: 'Why, or why not: what became of it',
    unknown: 'No such Flight is stored',
    unknownLead: 'It was never seen, or it ended before the history that the store keeps.',
  },

  list: {
    filter: 'Filter',
    filters: 'All filters',
    presets: 'Often asked for',
    line: 'Find by name:value or words',
    lineHint: 'nest:Legal since:24h words',
    find: 'Find',
    without: (what: string): string => `Without ${what}`,
    show: 'Show',
    showAll: 'Show all',
    any: 'any',
    region: 'Region',
    nest: 'Nest',
    bird: 'Bird',
    flight: 'Flight',
    name: 'Name',
    severity: 'Severity',
    state: 'State',
    feed: 'Feed',
    type: 'Type',
    message: 'Message',
    ended: 'Ended',
    by: 'By',
    text: 'Text',
    since: (zone: string): string => `Since (${zone})`,
    until: (zone: string): string => `Until (${zone})`,
    nameHint: 'name or id',
    idHint: 'id',
    textHint: 'any words',
    sinceHint: '2h, 2026-07-02',
    untilHint: '30m, 2026-07-03',
    pages: 'Further pages',
    first: 'First page',
    next: 'Next page',
    nothing: 'Nothing matches.',
    yes: 'yes',
    no: 'no',
  },

  alerts: {
    stateFiring: 'active',
    stateResolved: 'over',
    stateAll: 'active or over',
    lastNight: 'last night',
    today: 'today',
    sevenDays: '7 days',
    severalCauses: (first: string): string =>
      first === '' ? 'Several causes, the newest:' : `Several causes, first "${first}", the newest:`,
    times: (count: number): string => howMany(count, 'time'),
    active: (count: number, fresh: number): string =>
      count === 0 ? 'None is active.' : `${count} active: ${fresh} new, ${count - fresh} known.`,
    none: 'No active alerts.',
    acknowledged: 'Acknowledged',
    silenced: 'Silenced',
    inhibited: 'Inhibited',
    inhibitedWhy:
      'The alert that explains it is active: who is notified of that is not notified of this one.',
    acknowledge: 'Acknowledge',
    silence: 'Silence',
    resolve: 'Resolve',
    askAgain: 'Ask again',
    last: 'last',
    lasted: (duration: string): string => `lasted ${duration}`,
    resolvedAt: 'ended',
    cause: 'Cause',
    sameCause: 'as shown',
    all: (what: string, count: number): string => `${what} all ${count}`,
    choose: (what: string): string => `Choose ${what}`,
    acknowledgeChosen: 'Acknowledge chosen',
    silenceChosen: 'Silence chosen',
  },

  events: {
    lead: "The newest first. Each event's page shows what became of it.",
    lookFurther: 'Nothing matches among the events searched so far; there are older ones.',
  },

  event: {
    unknown: 'No such event is stored',
    unknownLead:
      'Enter the short id or the key as shown in the message. Events are kept for `store.retention`.',
    shortId: 'short id',
    way: 'What became of it',
    seen: 'Seen',
    seenAt: (at: string, delay: string): string => `${at}, ${delay} after it occurred.`,
    historic: 'It occurred before the watch began.',
    rule: 'Rule',
    deadline: 'Deadline',
    noRule: 'none matches',
    ruleNumber: (number: number, name = ''): string =>
      `decided by rule ${name && `${name}, number `}${number}`,
    alert: 'Alert',
    seq: (seq: number): string => `event ${seq} of it`,
    noAlert: 'No alert',
    alsoCounted: 'Also counted',
    waiting: 'Waiting',
    notNow: 'Muted',
    next: 'next message',
    unlessAcknowledged: 'unless it is resolved or acknowledged first',
    counted: 'counted but not listed',
    putOff: 'Put off',
    never: 'Not notified',
    forwarded: 'Forwarded',
    waits: 'waits',
    notSent: 'not sent',
    about: 'What it is about',
    details: 'Details',
    key: 'Key',
  },

  deliveries: {
    lead: 'What was or will be sent, the newest first.',
    none: 'No delivery matches.',
    about: 'About',
    queued: 'Queued',
    tries: 'Tries',
    error: 'Last error',
    test: 'Test a receiver',
    testHelp: 'A sample notification is queued for each of its integrations. It says that it is a test.',
    sendTest: 'Send a test',
  },

  delivery: {
    title: (receiver: string, integration: string): string => `Delivery to ${receiver} by ${integration}`,
    unknown: 'No such delivery is stored',
    unknownLead: 'Deliveries are kept for `store.retention` after they ended.',
    nextTry: 'Next attempt',
    refusedBy: 'Not sent to',
    remaining: 'Not reached yet',
    id: 'Id',
    retry: 'Send it again',
    notNeeded:
      'If nobody needs it any more, acknowledge the alert about it: there are no more reminders, and it resolves by itself after seven days.',
    asNow: 'As it would be sent with the current configuration, without secrets.',
    noMessage: 'Its message cannot be shown: it is not about alerts, or its integration no longer exists.',
    digest: (name: string, from: string, to: string): string => `The digest ${name} of ${from} to ${to}.`,
  },

  silences: {
    lead: 'While a silence lasts, nobody is notified of the alerts that it matches.',
    now: 'Active or upcoming',
    none: 'There is none.',
    birdHint: 'its full name',
    look: 'Show what that mutes',
    byMatchers: 'By matchers',
    matchers: 'Matchers',
    why: 'Who and why',
    whatSilenced: (by: string): string => `silenced by ${by}`,
    whatAcknowledged: (by: string): string => `acknowledged by ${by}`,
    untilResolved: 'until it is resolved',
    begins: 'begins',
    ends: 'ends',
    recurring: (duration: string, cron: string, zone: string): string =>
      `for ${duration} at each ${cron} (${zone})`,
    notYet: 'Not yet',
    hides: (count: number): string => `Mutes ${howMany(count, 'alert')}`,
    end: 'End now',
    endThat: (what: string): string => `End the silence ${what}`,
    more: (count: number): string =>
      `${count} more ${isOrAre(count)} not listed: \`nestwatch silence list\` has all of them.`,
    hidesNothing: 'No alert that is active now. Alerts that start while it lasts will be muted.',
    moreAlerts: (count: number): string => `and ${howMany(count, 'more alert')}`,
  },

  silence: {
    title: 'Silence alerts',
    lead: 'While a silence lasts, nobody is notified of the alerts that it matches. Alerts that still fire when it ends are sent then.',
    matchers: 'Matchers, all of which must match',
    matchersHelp: 'One in each line: `nest="Marketing"`, `severity!="critical"`, `bird=~"Translate.*"`.',
    scope: 'What',
    thisBird: (place: string): string => `This Bird: ${place}`,
    thisError: 'Only this error of it',
    thisCause: 'This error in all Birds',
    thisAlert: 'Only this alert',
    thisNest: (place: string): string => `The whole Nest: ${place}`,
    asListed: 'All that is listed below, even if it was not chosen',
    ownMatchers: 'The matchers below',
    until: 'For how long',
    untils: {
      '1h': '1 h',
      tomorrow: 'until tomorrow, 08:00',
      monday: 'until Monday, 08:00',
      landed:
        'until it lands, or is resolved otherwise: acknowledges what fires now, and nothing that follows',
      typed: 'the duration below',
    },
    more: 'Matchers, duration and start',
    duration: 'For how long',
    start: (zone: string): string => `Start (${zone})`,
    startHint: 'now',
    reason: 'Reason',
    times: 'Only at certain times',
    cron: 'Begins at (cron)',
    window: 'Each time for',
    zone: 'Time zone',
    acknowledgeTitle: 'Acknowledge alerts',
    acknowledged: (alerts: number): string => `What will be acknowledged: ${howMany(alerts, 'alert')}`,
    show: 'Show what it mutes',
    preview: 'What it mutes',
    previewNow: 'What it mutes now',
    previewFrom: (instant: string): string => `What it would mute from ${instant} on`,
    correct: 'Correct your input to see this.',
    nameOne: 'Enter a matcher to see this.',
    tooShort: 'Nothing: it ends before it mutes anything. Choose a longer duration.',
  },

  /** What is wrong with what a person typed. */
  mistakes: {
    query: sayMistake,
    noName: 'Your name is missing: it shows others who did this.',
    tooLong: 'Your name or the comment is too long.',
    noReason: 'Reason: say why, so that others know.',
    noMatcher: 'Matchers: name at least one, such as bird="Translate blog".',
    noAlert: 'Matchers: no alert that is active now fits them.',
    matchers: (problem: string): string => `Matchers: ${problem}${problem.endsWith('?') ? '' : '.'}`,
    start: (zone: string): string =>
      `Start: write it as 2026-07-02 13:59:34 (${zone}), or leave it empty for now.`,
    duration: 'For how long: write a duration such as 30m, 2h or 3d.',
    window: 'Each time for: write a duration such as 30m, 2h or 3d.',
    oldLink: 'This link is no longer valid: open the page instead.',
    noReceiver: 'There is no receiver of this name that notifies anybody.',
    noBrowserReceiver: 'There is no receiver of this name with `browser_configs`.',
    pushService: (host: string): string =>
      `This browser has its messages sent through ${host || 'no known address'}, which is not a known push service: if it can be trusted, add it to \`push_services\` of the receiver.`,
    pushInsecure: 'This browser has its messages sent to an address without https, which is refused.',
    pushKeys: 'This browser sent keys that cannot be used for Web Push.',
    manyBrowsers: (most: number): string => `${most} browsers are subscribed already: remove one first.`,
  },

  browsers: {
    title: 'Notifications in browsers',
    lead: 'A subscribed browser shows what its receiver is told, also while this page is closed.',
    noReceiver:
      'No receiver has `browser_configs`: add them to one in the configuration, and route alerts to it.',
    noScript: 'A browser can be subscribed only with JavaScript turned on. Removing one works without.',
    cannot: {
      insecure: 'This browser can be subscribed only if this page is opened over HTTPS.',
      unable: 'This browser cannot be subscribed: it has no Web Push.',
      refused: 'You have not allowed this page to notify you: allow it in the settings of the browser.',
      unreached: 'This browser could not be subscribed: its push service cannot be reached.',
    },
    receiver: 'What is told to receiver',
    help: 'The browser asks whether to allow it. A test shows that a notification arrives.',
    subscribe: 'Notify me in this browser',
    thisOne: 'this browser',
    noSuch: 'no such receiver',
    since: 'subscribed',
    remove: 'Remove',
    removeThat: (name: string, receiver: string): string => `Remove ${name} from ${receiver}`,
  },

  signature: {
    name: 'Your name',
    optional: '(optional)',
    cancel: 'Cancel',
  },

  acknowledge: {
    title: 'Acknowledge an alert',
    questionOf: (alerts: number): string =>
      alerts === 1 ? 'Acknowledge this alert?' : `Acknowledge these ${alerts} alerts?`,
    over: 'This alert is over',
    nothing: 'There is nothing left to acknowledge',
    done: (alerts: number): string => (alerts > 1 ? `Acknowledged ${alerts} alerts` : 'Acknowledged'),
    areOver: 'What was chosen is over, or is no longer known.',
    wasResolved: 'It has been resolved since the message was sent.',
    anew: 'This alert is active again',
    anewLead: 'What you were shown was resolved, and the alert has fired anew since.',
    toAlert: 'Look at it as it is now.',
    endIsSent: 'People will be notified that it is resolved.',
    lead: 'Until it is resolved, there are no reminders and no messages about new events in it. People are notified when it resolves, and when it fires again.',
    leadOfMany:
      'Until each is resolved, there are no reminders and no messages about new events in it. People are notified when it resolves, and when it fires again.',
    why: 'What you are doing about it',
    undo: (isOneOfMany: boolean): string => (isOneOfMany ? 'Undo only this one' : 'Undo'),
    undoAll: (alerts: number): string => `Undo all ${alerts}`,
  },

  fly: {
    button: 'Fly again',
    approve: 'Approve flying again',
    question: 'Fly again:',
    starts: (bird: string): string => `This starts a new Flight of ${bird} from its beginning.`,
    again: 'Steps that the failed Flight had done are done again',
    failedAt: 'it failed in step',
    manualOnly: 'The interface starts Birds with a manual trigger only.',
    last: 'Flown again',
    before: 'This failed Flight was flown again already:',
    inAir: (since: string): string => `A Flight of this Bird is in the air since ${since}.`,
    noScope: (name: string): string =>
      `${name === '' ? 'This' : name} needs the scope \`fly\` to start Birds: \`web.auth\` gives it.`,
    oldForm: 'This form is no longer valid: open the page again.',
  },

  note: {
    title: 'Add a note',
    text: 'What was found, or is being done',
    isPublic: 'Show it on the public page while this alert is active, in place of the one before',
    button: 'Add',
  },

  resolve: {
    title: 'Resolve an alert',
    question: 'Resolve this alert?',
    askAgain: 'Ask the region again?',
    askLead:
      'nestwatch tries the region at once instead of at the next probe. The alert resolves when the region answers as it should.',
    lead: 'Do this if the problem is over but the service does not report it. People are notified at once that it is resolved, with your name. If it happens again, the alert fires anew.',
    ended: 'It ended:',
    resolved: 'It was resolved.',
    why: 'How it was fixed',
  },

  search: {
    title: (text: string): string => `Found for “${text}”`,
    help: 'A name, any id, the short id from a message, or words from an error.',
    nothing: 'Nothing found. The events page also searches older messages.',
    all: 'all of them',
  },

  config: {
    lead: 'The configuration in force, with all defaults and without secrets.',
  },

  writes: {
    title: 'Who changed what',
    lead: 'Every HTTP request to change something, the newest first. They are in the log of the daemon, too.',
    at: 'When',
    who: 'Who',
    action: 'Asked for',
    outcome: 'Outcome',
    textHint: 'part of what was asked for',
    done: 'done',
    refused: (status: number): string => `refused (${status})`,
    by: {
      proxy: 'by a trusted proxy',
      user: 'with a password',
      token: 'with a token',
      link: 'with a link of a mail',
      rule: 'a rule of `actions`',
      oidc: 'logged in at the identity provider',
      slack: 'by a button in Slack',
      nobody_asked: 'without authentication',
    } satisfies Record<WriteRecord['by'], string>,
  },

  alert: {
    noneChosen: 'No alert was chosen',
    noneChosenLead: 'Choose one on the page of alerts, or open one there.',
    unknown: 'This alert is not known',
    unknownLead: 'There is no such id, or its last episode ended before the history that the store keeps.',
    isFiring: 'Active',
    happened: 'Happened',
    isOver: 'Over',
    isPending: 'Not yet firing',
    began: 'began',
    lastFlight: 'The Flight that failed last',
    reasons: 'Why',
    atStep: 'It failed in the step',
    often: 'Since when, how often',
    before: (episodes: number): string => `${howMany(episodes, 'time')} before`,
    help: 'What to do',
    look: 'Look:',
    act: 'Do:',
    published: 'Last published',
    members: 'Members of the Nest',
    told: (receiver: string): string => `Message to ${receiver}`,
    notTold: (receiver: string): string => `Nothing to ${receiver}`,
    details: 'Labels, ids and annotations',
    notedBy: (author: string): string => `Note of ${author}`,
    isPublicNote: 'for everybody',
    moreEvents: (count: number): string => `${count} more ${isOrAre(count)} not shown.`,
    letGo: 'It is resolved and no longer stored. This is what is known of its last episode.',
    noReceiver: 'nobody: its labels lead to no receiver',
    history: 'Earlier episodes',
    beganColumn: 'Began',
    lastedColumn: 'Lasted',
    ending: 'Ended because',
    receiver: 'Notified',
    why: (reason: string): string => REASONS.get(reason) ?? reason,
    ended: (ending: string, alertname: string): string =>
      ending === 'over' && FLIGHT_ALERTS.has(alertname)
        ? 'a Flight landed'
        : (ENDING_WORDS.get(ending) ?? ''),
  },

  /** For pages and badges that everybody may see. */
  open: {
    states: {
      well: 'All Birds are well',
      failing: 'Some Birds are failing',
      late: 'The readings are late',
      unknown: 'Currently unknown',
    },
    lastKnown: {
      late: 'The watch goes on, but its readings are late. This is the last known state.',
      unknown: 'The watch is interrupted. This is the last known state.',
    },
    notes: 'What is being done',
    birds: { well: 'well', failing: 'failing', off: 'off' },
    counts: ({ well, failing, off }: { well: number; failing: number; off: number }): string =>
      [
        `${well} well`,
        ...(failing > 0 ? [`${failing} failing`] : []),
        ...(off > 0 ? [`${off} off`] : []),
      ].join(', '),
    more: (count: number): string => `${count} more ${isOrAre(count)} not listed.`,
    badge: { well: 'well', late: 'late', unknown: 'unknown' },
    badgeFailing: (failing: number, total: number): string => `${failing} of ${total} failing`,
  },

  count: {
    more: (count: number): string => `and ${count} more`,
    alerts: (count: number): string => howMany(count, 'alert'),
    events: (count: number): string => howMany(count, 'event'),
  },
};

export type Words = typeof ENGLISH;
