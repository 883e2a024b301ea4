/** Defines findings: observations about the watch as facts, and the words for each. */
import type { Feed } from '../domain/alert/event.ts';
import { durationWords, howMany } from '../text/instant-words.ts';
import { regionName } from '../text/plain-text.ts';

/** Texts from outside are already cleaned and cut. */
interface Findings {
  readonly store_full: object;
  readonly store_fails: { readonly message: string };
  readonly store_away: { readonly message: string };
  readonly disk_low: { readonly freeMib: number; readonly usedMib: number };
  readonly nobody_notified: object;
  readonly dead_end: { readonly receiver: string; readonly path: string };
  /**
   * `first` is the first mistake with its place. `replicas` names the replicas that refuse the file; empty without
   * replicas.
   */
  readonly config_refused: {
    readonly mistakes: number;
    readonly first: string;
    readonly replicas: string;
    readonly many: boolean;
  };
  /** The file of the secret at `path` cannot be read again; `problem` names the file and says why. */
  readonly secret_unread: { readonly path: string; readonly problem: string };
  /** `replicas` use another configuration than `newest`, the replica that loaded its configuration last. */
  readonly configs_differ: { readonly replicas: string; readonly many: boolean; readonly newest: string };
  /**
   * `integration` names the one that has failed longest, `failures` times in a row; `others` names the others that
   * fail, empty for none. `failing` of the receiver's integrations fail, `among` is how many it has.
   */
  readonly receiver_failing: {
    readonly receiver: string;
    readonly integration: string;
    readonly others: string;
    readonly failing: number;
    readonly among: number;
    readonly failures: number;
    readonly lastError: string;
  };
  readonly deliveries_dead: { readonly receiver: string; readonly count: number };
  readonly quarantined: OfRegion & { readonly feed: Feed | 'inventory'; readonly count: number };
  readonly set_aside: { readonly count: number; readonly first: string };
  readonly region_down: OfRegion & { readonly said: string };
  readonly region_unauthorized: OfRegion & { readonly said: string };
  /** `known` counts the Birds known from before the start. `address` is the service's, as configured. */
  readonly unlisted: OfRegion & {
    readonly what: 'Nests' | 'Birds';
    readonly said: string;
    readonly address: string;
    readonly known: number;
  };
  /** `progress` is undefined until the streams are counted. `untilUs` is its estimated end, if it can be estimated. */
  readonly first_pass: OfRegion & {
    readonly progress:
      | { readonly read: number; readonly streams: number; readonly untilUs: number | undefined }
      | undefined;
  };
  /** `globs` are some of the `nests.include` patterns. */
  readonly no_birds: OfRegion & {
    readonly nests: number;
    readonly excludedNests: number;
    readonly globs: string;
  };
  /** `oldestMs` is the age of the oldest reading; undefined if something was never read. */
  readonly overdue: OfRegion & {
    readonly feed: Feed | 'inventory';
    readonly streams: number;
    readonly late: number;
    readonly oldestMs: number | undefined;
  };
  readonly being_proven: OfRegion;
  /** `sinceUs` is undefined if it was never proven. */
  readonly not_proven: OfRegion & { readonly feed: Feed; readonly sinceUs: number | undefined };
  readonly clock_wrong: OfRegion & {
    /** True with replicas: they date everything by the clock of the store's server. */
    readonly isServers: boolean;
    readonly byMs: number;
    readonly isBehind: boolean;
  };
}

interface OfRegion {
  /** As named in the configuration. */
  readonly region: string;
}

export type Finding = {
  readonly [Sort in keyof Findings]: { readonly sort: Sort; readonly facts: Findings[Sort] };
}[keyof Findings];

/** A finding in words. */
export interface Said {
  /** A headline of a few words, without a full stop. */
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  /** What a person can do, in one or two sentences. */
  readonly action: string;
}

/** The words of a language for each finding; `instant` formats an instant. */
type FindingWords = {
  readonly [Sort in keyof Findings]: (facts: Findings[Sort], instant: (us: number) => string) => Said;
};

export function sayFinding<Sort extends keyof Findings>(
  words: FindingWords,
  { sort, facts }: { readonly sort: Sort; readonly facts: Findings[Sort] },
  instant: (us: number) => string,
): Said {
  return words[sort](facts, instant);
}

const FEEDS = {
  inventory: 'The inventory',
  notification: 'The notifications',
  bird_log: 'The Bird logs',
  flight: 'The Flights',
} as const;

export const ENGLISH_FINDINGS: FindingWords = {
  store_full: () => ({
    title: 'the store is full',
    summary: 'The store has no space left to grow: nothing new can be kept or sent.',
    action:
      'Free some space on the disk of store.url. Reading then continues automatically and catches up on everything.',
  }),
  store_fails: ({ message }) => ({
    title: 'the store fails',
    summary: `The store fails, so nothing new can be kept or sent: ${message}`,
    action: 'Check the disk and the permissions; the log has the full error.',
  }),
  store_away: ({ message }) => ({
    title: 'the store is unavailable',
    summary: `The store does not answer or refuses access, so nothing new can be kept or sent: ${message}`,
    action:
      'Bring the server of store.url back, or end the program that has locked its file. Everything continues automatically.',
  }),
  disk_low: ({ freeMib, usedMib }) => ({
    title: `only ${freeMib} MiB free for the store`,
    summary: `Only ${freeMib} MiB are free on the disk of the store, which takes ${usedMib} MiB.`,
    action:
      'Free some space, or shorten store.retention. When the disk is full, nothing new can be kept or sent.',
  }),
  nobody_notified: () => ({
    title: 'nobody is notified',
    summary: 'Nobody is notified of alerts: no route leads to a receiver that can notify anybody.',
    action: 'Give a receiver email_configs, webhook_configs or the like, and name it in a route.',
  }),
  dead_end: ({ receiver, path }) => ({
    title: `receiver ${receiver} notifies nobody`,
    summary: `Alerts of ${path} go to receiver ${receiver}, which notifies nobody.`,
    action:
      'Give it an integration, such as email_configs. If it is meant to notify nobody, name it null or blackhole.',
  }),
  config_refused: ({ mistakes, first, replicas, many }) => ({
    title: `the new configuration is not in force${replicas && ` at replica${many ? 's' : ''} ${replicas}`}`,
    summary: `The configuration file ${replicas && `of replica${many ? 's' : ''} ${replicas} `}has ${mistakes === 1 ? 'a mistake' : `${howMany(mistakes, 'mistake')}, the first`} at ${first}`,
    action: 'The previous configuration stays in force. List all mistakes with: nestwatch check-config',
  }),
  secret_unread: ({ path, problem }) => ({
    title: `the file of ${path} cannot be used`,
    summary: `The file of ${path} cannot be used, so the secret that was last read stays in use: ${ended(problem)}`,
    action: 'Put a readable file with the secret there. It is read again every few seconds.',
  }),
  configs_differ: ({ replicas, many, newest }) => ({
    title: `replica${many ? 's' : ''} ${replicas} ${many ? 'use' : 'uses'} another configuration than ${newest}`,
    summary: `Replica${many ? 's' : ''} ${replicas} ${many ? 'use' : 'uses'} another configuration than replica ${newest}, which read its file last. What is watched and who is notified depends on which replica does the work.`,
    action: 'Give all of them the same file and reload each. Show what one uses with: nestwatch config show',
  }),
  receiver_failing: ({ receiver, integration, others, failing, among, failures, lastError }) => ({
    title: `receiver ${receiver} accepts nothing${failing === among ? '' : ` through ${failing === 1 ? integration : `${failing} of its ${among} integrations`}`}`,
    summary: `Receiver ${receiver} accepts nothing through ${others && `${others}, nor through `}${integration}, ${howMany(failures, 'attempt')} in a row${lastError ? `: ${lastError}` : '.'}`,
    // Only the daemon knows which browsers are subscribed.
    action: `It is retried automatically. Test it ${/^browser\b/.test(integration) ? 'on the page of deliveries.' : `with: nestwatch test-receiver ${receiver}`}`,
  }),
  deliveries_dead: ({ receiver, count }) => ({
    title: `${howMany(count, 'notification')} to ${receiver} given up`,
    summary: `${howMany(count, 'notification')} to receiver ${receiver} ${count === 1 ? 'was' : 'were'} given up in the last seven days.`,
    action:
      'List them with: nestwatch deliveries --dead. Fix the receiver, then send them again with: nestwatch deliveries retry ID',
  }),
  quarantined: ({ region, feed, count }) => {
    const what = `${howMany(count, 'entry', 'entries')} of ${regionName(region)}`;
    return {
      title: `${what} unreadable`,
      summary: `${what} (${feed}) could not be parsed in the last hour, so nobody is notified of ${count === 1 ? 'its' : 'their'} content.`,
      action:
        'The log says what is wrong with them. If the service has changed its format, update nestwatch.',
    };
  },
  set_aside: ({ count, first }) => ({
    title: 'something was set aside',
    summary: `${howMany(count, 'thing')} failed and ${count === 1 ? 'was' : 'were'} set aside; everything else continues: ${first}`,
    action: 'GET /api/v1/status lists them as set_aside with the reasons. Fix or remove what they name.',
  }),
  region_down: ({ region, said }) => ({
    title: `${regionName(region)} is down`,
    summary: `${regionName(region)} does not answer: ${ended(said)}`,
    action: `Check regions.${region}.base_url and the network. The region is probed until it answers; then everything that was missed is read.`,
  }),
  region_unauthorized: ({ region, said }) => ({
    title: `${regionName(region)} refuses the token`,
    summary: `${regionName(region)} refuses the token: ${ended(said)}`,
    action: `Create a new API token as an organisation admin and use it for regions.${region}.token. Then everything that was missed is read.`,
  }),
  unlisted: ({ region, what, said, address, known }) => {
    const name = regionName(region);
    const rest = known > 0 ? 'only previously known Birds are watched' : 'nothing of it is watched';
    const unlisted = `${what} of ${name} cannot be listed`;
    return {
      title: `the ${unlisted}`,
      summary: `The ${unlisted}, so ${rest}: ${ended(said)}`,
      action:
        what === 'Nests'
          ? `Check regions.${region}.base_url: GET ${address}/nests must return the list of all Nests. Then everything that was missed is read.`
          : `Check regions.${region}.base_url and whether the token may read Birds: GET ${address}/nests/ID/birds must return the list of a Nest's Birds. Then everything that was missed is read.`,
    };
  },
  first_pass: ({ region, progress }, instant) => {
    const until = progress?.untilUs === undefined ? '' : `, done at about ${instant(progress.untilUs)}`;
    const far = progress
      ? `${progress.read} of ${howMany(progress.streams, 'stream')} read${until}`
      : 'its Nests and Birds are being listed';
    return {
      title: `first reading of ${regionName(region)} under way`,
      summary: `The first reading of ${regionName(region)} since the start is under way: ${far}.`,
      action: 'Wait. Until it is done, something may have happened that was not seen yet.',
    };
  },
  no_birds: ({ region, nests, excludedNests, globs }) => {
    const [why, action] =
      nests > 0
        ? [
            nests === 1 ? 'its only Nest has no Birds' : `its ${nests} Nests have no Birds`,
            'If there should be some, check whose token it is.',
          ]
        : excludedNests > 0
          ? [
              `of its ${howMany(excludedNests, 'Nest')} none matches nests.include (${globs}) without being excluded`,
              `Correct regions.${region}.nests: globs match a Nest's name or id and are case-sensitive.`,
            ]
          : ['it lists no Nest', 'Check whose token it is: it must be of an organisation admin.'];
    const title = `o Bird is watched in ${regionName(region)}`;
    return { title: `n${title}`, summary: `N${title}: ${why}.`, action: action! };
  },
  overdue: ({ region, feed, streams, late, oldestMs }) => {
    const name = regionName(region);
    const which = streams === 1 ? FEEDS[feed] : `${FEEDS[feed]} of ${late} of ${streams} Birds`;
    const age =
      oldestMs === undefined
        ? 'some were never read'
        : `the oldest reading is ${durationWords(oldestMs, 'one unit')} old`;
    return {
      title: `${name} is behind`,
      summary: `${which} in ${name} ${streams === 1 && feed === 'inventory' ? 'was' : 'were'} not read in time: ${age}.`,
      action: `If reading fails, the log says why. Otherwise raise regions.${region}.requests_per_second as far as the service allows, watch fewer Nests, or raise poll.max_interval.`,
    };
  },
  being_proven: ({ region }) => ({
    title: `${regionName(region)} is being proven complete`,
    summary: `All of ${regionName(region)} has been read since the start; audits are still proving that it is complete.`,
    action: "Wait. Audits are comparing what is kept with the service's counts.",
  }),
  not_proven: ({ region, feed, sinceUs }, instant) => ({
    title: `${regionName(region)} is not proven complete`,
    summary: `${FEEDS[feed]} of ${regionName(region)} are not proven to be complete ${sinceUs === undefined ? 'at all yet' : `since ${instant(sinceUs)}`}.`,
    action:
      'Audits catch up as far as the request rate allows. If entries are missing, the alert FeedIncomplete says where.',
  }),
  clock_wrong: ({ region, isServers, byMs, isBehind }) => {
    const by = durationWords(byMs, 'one unit');
    const ofServer = isServers ? " of the store's server" : '';
    return {
      title: `the clock${ofServer} is ${by} ${isBehind ? 'behind' : 'ahead'}`,
      summary: `${isServers ? `The clock${ofServer}` : "This machine's clock"} is ${by} ${isBehind ? 'behind' : 'ahead of'} that of ${regionName(region)}.`,
      action: `Set ${isServers ? `the clock${ofServer}` : "this machine's clock"}, preferably with NTP: ages, silences and digests depend on it.`,
    };
  },
};

/** Adds a full stop, unless the text ends with its own punctuation. */
function ended(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
