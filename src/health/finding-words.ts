/** What is said of findings in English. */
import { howMany } from '../text/counts.ts';
import { durationWords } from '../text/duration-words.ts';
import { regionName } from '../text/region-name.ts';
import type { FindingWords } from './finding.ts';

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
      'Free some space where store.url lies; reading goes on by itself, and all that was missed is read then.',
  }),
  store_fails: ({ message }) => ({
    title: 'the store fails',
    summary: `The store fails, so nothing new can be kept or sent: ${message}`,
    action: 'Check the disk and the permissions; the log has the whole error.',
  }),
  store_away: ({ message }) => ({
    title: 'the server of the store is away',
    summary: `The server of the store does not answer or refuses, so nothing new can be kept or sent: ${message}`,
    action: 'See to the server of store.url; everything goes on by itself once it answers.',
  }),
  disk_low: ({ freeMib, usedMib }) => ({
    title: `only ${freeMib} MiB free for the store`,
    summary: `Only ${freeMib} MiB are free on the disk of the store, which takes ${usedMib} MiB.`,
    action:
      'Free some space, or keep less by store.retention: when it is full, nothing new can be kept or sent.',
  }),
  nobody_notified: () => ({
    title: 'nobody is notified',
    summary: 'Nobody is notified of alerts: no route leads to a receiver that could send them to anybody.',
    action: 'Give a receiver email_configs, webhook_configs or the like, and name it in a route.',
  }),
  dead_end: ({ receiver, path }) => ({
    title: `receiver ${receiver} notifies nobody`,
    summary: `Alerts of ${path} go to receiver ${receiver}, which notifies nobody.`,
    action: 'Give it a way to people. If that is meant, call it null or blackhole.',
  }),
  config_refused: ({ mistakes, first, replicas, many }) => ({
    title: `the new configuration is not in force${replicas && ` at replica${many ? 's' : ''} ${replicas}`}`,
    summary: `The file of the configuration ${replicas && `of replica${many ? 's' : ''} ${replicas} `}has ${mistakes === 1 ? 'a mistake' : `${howMany(mistakes, 'mistake')}, the first`} at ${first}`,
    action: 'What was read before is in force. See all mistakes with: nestwatch check-config',
  }),
  configs_differ: ({ replicas, many, newest }) => ({
    title: `replica${many ? 's' : ''} ${replicas} ${many ? 'go' : 'goes'} by another configuration than ${newest}`,
    summary: `Replica${many ? 's' : ''} ${replicas} ${many ? 'go' : 'goes'} by another configuration than replica ${newest}, which has read its own last: what is watched and who is notified depends on which of them does it.`,
    action:
      'Give all of them the same file, and have each read it again. See what one goes by with: nestwatch config show',
  }),
  receiver_failing: ({ receiver, integration, failures, lastError }) => ({
    title: `receiver ${receiver} accepts nothing`,
    summary: `Receiver ${receiver} accepts nothing by ${integration}, ${howMany(failures, 'try', 'tries')} in a row${lastError ? `: ${lastError}` : '.'}`,
    action: `It is tried again by itself. Try it with: nestwatch test-receiver ${receiver}`,
  }),
  deliveries_dead: ({ receiver, count }) => ({
    title: `${howMany(count, 'notification')} to ${receiver} given up`,
    summary: `${howMany(count, 'notification')} to receiver ${receiver} ${count === 1 ? 'was' : 'were'} given up in the last seven days.`,
    action:
      'See them with: nestwatch deliveries --dead. Mend the receiver, then put them back with: nestwatch deliveries retry ID',
  }),
  quarantined: ({ region, feed, count }) => {
    const what = `${howMany(count, 'entry', 'entries')} of ${regionName(region)}`;
    return {
      title: `${what} unreadable`,
      summary: `${what} (${feed}) could not be read in the last hour: nobody hears what they say.`,
      action: 'The log says what is wrong with them. If the service has changed its form, update nestwatch.',
    };
  },
  set_aside: ({ count, first }) => ({
    title: 'something was set aside',
    summary: `${howMany(count, 'thing')} failed and ${count === 1 ? 'was' : 'were'} set aside, while all else goes on: ${first}`,
    action: 'GET /api/v1/status lists them as set_aside, with the reasons: mend or remove what they name.',
  }),
  region_down: ({ region, said }) => ({
    title: `${regionName(region)} is down`,
    summary: `${regionName(region)} does not answer: ${ended(said)}`,
    action: `Check regions.${region}.base_url and the way there. It is probed until it answers, and all that was missed is read then.`,
  }),
  region_unauthorized: ({ region, said }) => ({
    title: `${regionName(region)} refuses the token`,
    summary: `${regionName(region)} refuses the token: ${ended(said)}`,
    action: `Make a new API token as an organisation admin, and put it in the place of regions.${region}.token. All that was missed is read then.`,
  }),
  unlisted: ({ region, what, said, address, known }) => {
    const name = regionName(region);
    const rest = known > 0 ? 'only Birds that were known before are watched' : 'nothing of it is watched';
    const unlisted = `${what} of ${name} cannot be listed`;
    return {
      title: `the ${unlisted}`,
      summary: `The ${unlisted}, so ${rest}: ${ended(said)}`,
      action:
        what === 'Nests'
          ? `Check regions.${region}.base_url: GET ${address}/nests must answer with the list of all Nests. All that was missed is read then.`
          : `Check regions.${region}.base_url and whether the token may read Birds: GET ${address}/nests/ID/birds must answer with the list of a Nest's Birds. All that was missed is read then.`,
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
      action: 'Wait: until then something may have happened that was not seen yet.',
    };
  },
  no_birds: ({ region, nests, excludedNests, globs }) => {
    const [why, action] =
      nests > 0
        ? [`its ${howMany(nests, 'Nest')} have no Birds`, 'If it should have some, check whose token it is.']
        : excludedNests > 0
          ? [
              `of its ${howMany(excludedNests, 'Nest')} none fits nests.include (${globs}) and is not excluded`,
              `Correct regions.${region}.nests: globs fit a Nest's name or id, and case counts.`,
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
      action: `If its reading fails, the log says why. Otherwise raise regions.${region}.requests_per_second as far as the service allows, watch fewer Nests, or raise poll.max_interval.`,
    };
  },
  being_proven: ({ region }) => ({
    title: `${regionName(region)} is being proven complete`,
    summary: `All of ${regionName(region)} was read since the start, and is still being proven to be complete.`,
    action: 'Wait: audits count what is kept against what the service has.',
  }),
  not_proven: ({ region, feed, sinceUs }, instant) => ({
    title: `${regionName(region)} is not proven complete`,
    summary: `${FEEDS[feed]} of ${regionName(region)} are not proven to be complete ${sinceUs === undefined ? 'at all yet' : `since ${instant(sinceUs)}`}.`,
    action:
      'Audits catch up where requests allow it; an alert FeedIncomplete says where entries are missing.',
  }),
  clock_wrong: ({ region, isServers, byMs, isBehind }) => {
    const by = durationWords(byMs, 'one unit');
    const ofServer = isServers ? " of the store's server" : '';
    return {
      title: `the clock${ofServer} is ${by} ${isBehind ? 'behind' : 'ahead'}`,
      summary: `${isServers ? `The clock${ofServer}` : "This machine's clock"} is ${by} ${isBehind ? 'behind' : 'ahead of'} that of ${regionName(region)}.`,
      action: `Set ${isServers ? `the clock${ofServer}` : "this machine's clock"}, best by NTP: ages, silences and digests go by it.`,
    };
  },
};

/** With the full stop of a sentence, which may have brought its own. */
function ended(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
