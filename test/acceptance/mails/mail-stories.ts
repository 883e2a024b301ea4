/**
 * What happens, in the words of the people concerned. Each story produces the mails that are stored beside this file.
 */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { DEFAULT_RULES } from '../../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import { createAlertResolver } from '../../../src/operator/act-on-alerts.ts';
import type { World } from '../../../src/simulator/world/world.ts';
import { load } from '../../config/load.ts';
import { rule } from '../../domain/world.ts';
import type { Stage, StageOptions } from '../stage.ts';

export interface MailStory {
  /** Also the name of the file with its mails. */
  readonly name: string;
  readonly options?: StageOptions;
  /** It takes place in the Nest Support, whose ten Birds would dominate the polls of any other story. */
  readonly hasSupport?: true;
  /** Sets up the world before nestwatch starts. */
  readonly before?: (world: World, cast: Cast) => void;
  readonly steps: readonly Step[];
  /** Which mail tells what depends on seconds, so it is not told with restarts. */
  readonly isByTheSecond?: true;
  /** What holds at the end. */
  readonly check?: (stage: Stage) => Promise<void>;
}

/** Minutes that pass, or something that happens in the EU region. */
export type Step = number | ((world: World, cast: Cast, stage: Stage) => unknown);

/** The ids of the world's Nests and Birds, by name. */
export interface Cast {
  readonly nests: Map<string, string>;
  readonly birds: Map<string, string>;
  readonly flights: Map<string, string>;
}

/** Nests and their Birds. */
const NESTS: Readonly<Record<string, readonly string[]>> = {
  Marketing: ['Translate blog', 'Translate newsletter', 'Publish campaign'],
  Legal: ['Contracts'],
};
const SUPPORT = { Support: Array.from({ length: 10 }, (_, at) => `Help centre ${at + 1}`) };

export function setTheScene(world: World, cast: Cast, { hasSupport }: MailStory): void {
  for (const [nest, birds] of Object.entries({ ...NESTS, ...(hasSupport && SUPPORT) })) {
    const { id } = world.addNest({ name: nest });
    cast.nests.set(nest, id);
    for (const name of birds) {
      cast.birds.set(name, world.addBird(id, { name, triggerType: 'event' }).id);
    }
  }
}

const fails = (bird: string, errorMessages: string): Exclude<Step, number> => {
  return (world, cast) => {
    world.startFlight(cast.birds.get(bird)!, { endsAs: 'failed', fliesForMs: 20_000, errorMessages });
  };
};
const succeeds = (bird: string): Step => {
  return (world, cast) => {
    world.startFlight(cast.birds.get(bird)!, { endsAs: 'succeeded', fliesForMs: 5_000 });
  };
};

const triggerFails = (bird: string): Step => {
  return (world, { birds }) => world.eventError(birds.get(bird)!);
};
const activates = (bird: string, by?: string): Step => {
  return (world, { birds }) => world.activate(birds.get(bird)!, by);
};

/** A different `nests.include` for the EU region, read while the daemon runs. */
function watching(include: string): Step {
  return (_world, _cast, stage) =>
    stage.follows((config) => {
      const nests = { include: [include], exclude: [] };
      const regions = config.regions.map((one) => (one.name === 'eu' ? { ...one, nests } : one));
      return { ...config, regions };
    });
}

/** Somebody has reconnected it, and says so. */
async function resolvesConnection({ store, clock, daemon }: Stage): Promise<void> {
  const alerts = await store.transaction((tx) => tx.alerts.firing(undefined, 100));
  const resolver = createAlertResolver({
    store,
    rules: DEFAULT_RULES,
    clock,
    report: () => {},
    probe: (region) => daemon().probe(region),
    changed: () => {},
  });
  for (const { id, alertname } of alerts) {
    if (alertname === 'ConnectionDisconnected')
      await resolver.resolve(id, { createdBy: 'ann', comment: 'reconnected' });
  }
}

/** How README's own first configuration groups and folds. */
function firstConfiguration(): StageOptions {
  const [, text = ''] = /```yaml\n(regions:[\s\S]*?)```/.exec(readFileSync('README.md', 'utf8'))!;
  const { route, receivers } = load(text, { files: { '/run/secrets/eu_token': 'token' } });
  const { foldEndsMs } = receivers[0]!;
  return { route, ...(foldEndsMs !== undefined && { foldEndsMs }) };
}

/** Each trouble and its end is told. A trigger's last failures are told as the deactivation that followed. */
async function tellsAllInFewMails({ mails, lake, store }: Stage): Promise<void> {
  expect(mails.length).toBeLessThanOrEqual(14);
  const alerts = mails.flatMap(({ notification }) => notification.alerts);
  const told = new Set(alerts.flatMap(({ events }) => events.map(({ key }) => key)));
  const happened = lake().filter(({ type }) => /failed|notification|EventError|Deactivated/.test(type));
  const untold = happened.filter(({ id }) => !told.has(id)).map(({ type }) => type);
  expect(happened).toHaveLength(42);
  expect(untold).toEqual(Array(3).fill('nestwatch.bird_log.EventError'));
  const last = [...new Map(alerts.map((one) => [one.id, one])).values()];
  const [failing, ...others] = last.filter(({ status }) => status === 'firing');
  expect([failing?.labels.alertname, others]).toEqual(['BirdTriggerFailing', []]);
  const reasons = await store.transaction((tx) => tx.suppressions.ofAlert(failing!.id));
  // The fifth failure joins no alert: by then the deactivation is known.
  expect(reasons.at(-1)).toMatchObject({ reason: 'inhibited', lastSeq: 4 });
}

/** A rise in severity does not wait for `group_interval`. */
async function tellsRiseSoon({ mails }: Stage): Promise<void> {
  const { receivedAtUs, notification } = mails[1]!;
  const { labels, events } = notification.alerts[0]!;
  expect(labels).toMatchObject({ alertname: 'ConnectionDisconnected', severity: 'critical' });
  const waitAndPollUs = 60_000_000;
  expect(receivedAtUs - events[0]!.occurredAtUs).toBeLessThanOrEqual(waitAndPollUs);
}

const CAUSES = [
  'The TMS refused job 4711: quota of 1000 words exceeded',
  'Request timed out after 100 s (https://tms.example.com/jobs/18)',
  'Object reference not set to an instance of an object.\n   at Blackbird.Plugins.Tms.Jobs.Create(JobRequest input)\n   at System.Runtime.CompilerServices.TaskAwaiter.GetResult()',
];

/** Flushes fall between two polls. So a restart, which shifts polls by seconds, moves nothing into another mail. */
const betweenPolls: StageOptions = { route: { groupWaitMs: 45_000, groupIntervalMs: 300_000 } };

/** 200 failures of 14 Birds within ten minutes, with three causes. */
const storm: Step[] = Array.from({ length: 10 }, (_, minute): Step[] => [
  (world, { birds }) => {
    const ids = [...birds.values()];
    for (let count = 0; count < 20; count += 1) {
      const bird = (minute * 20 + count) % ids.length;
      world.startFlight(ids[bird]!, {
        endsAs: 'failed',
        fliesForMs: 1_000 + count * 2_000,
        errorMessages: CAUSES[bird % CAUSES.length]!,
      });
    }
  },
  1,
]).flat();

const PHRASE = { entityId: '118', entityName: 'Phrase TMS' };
const SHOP = Array.from({ length: 22 }, (_, at) => `Shop sync ${at + 1}`);

const story = (name: string, steps: readonly Step[]): MailStory => ({ name, steps });

export const MAIL_STORIES: readonly MailStory[] = [
  {
    name: 'a quarter of an hour',
    hasSupport: true,
    options: { regions: ['eu', 'us'], ...firstConfiguration() },
    isByTheSecond: true,
    check: tellsAllInFewMails,
    before(world, { birds }) {
      world.addUser({ firstName: 'Ann', email: 'ann@example.com' });
      if (world.region !== 'us') return;
      const { id } = world.addNest({ name: 'Shop' });
      for (const name of SHOP) birds.set(name, world.addBird(id, { name, triggerType: 'event' }).id);
    },
    steps: [
      1,
      succeeds('Publish campaign'),
      succeeds('Translate blog'),
      2,
      fails('Publish campaign', 'Variable targetLanguage is missing'),
      (world, { nests, birds }) => {
        const connection = { nestId: nests.get('Support')!, ...PHRASE, wording: 'new' } as const;
        world.disconnectConnection({ ...connection, exhausted: false });
        world.at(world.nowUs() + 81_000_000, () =>
          world.disconnectConnection({ ...connection, exhausted: true }),
        );
        for (const one of [1, 2, 3, 4, 5]) {
          world.at(world.nowUs() + (60 + one * 5) * 1e6, () =>
            world.startFlight(birds.get(`Help centre ${one}`)!, {
              endsAs: 'failed',
              fliesForMs: 8_000,
              errorMessages: 'Phrase TMS: 401 Unauthorized',
            }),
          );
        }
      },
      1,
      // The service tries a trigger again every 30 s.
      (world, { birds }) => {
        for (const at of [0, 1, 2, 3, 4]) {
          world.at(world.nowUs() + at * 30e6, () => world.eventError(birds.get('Contracts')!));
        }
      },
      (world, { birds }) => void world.publish(birds.get('Translate blog')!, 'ann@example.com'),
      1,
      fails('Translate blog', 'Liquid syntax error: unknown tag "iff"'),
      2,
      fails('Translate blog', 'Liquid syntax error: unknown tag "iff"'),
      fails('Help centre 9', CAUSES[1]!),
      succeeds('Publish campaign'),
      (_world, _cast, { worlds }) => worlds.us!.goDown(503),
      1,
      succeeds('Help centre 9'),
      1,
      fails('Help centre 9', CAUSES[1]!),
      succeeds('Translate blog'),
      ...[1, 2, 3, 4, 5].map((one) => succeeds(`Help centre ${one}`)),
      1,
      succeeds('Help centre 9'),
      activates('Contracts', 'ann@example.com'),
      (_world, _cast, stage) => resolvesConnection(stage),
      1,
      fails('Help centre 9', CAUSES[1]!),
      1,
      succeeds('Help centre 9'),
      (_world, _cast, { worlds }) => worlds.us!.comeUp(),
      2,
      (_world, { birds }, { worlds }) => {
        for (const [at, name] of SHOP.entries()) {
          worlds.us!.startFlight(birds.get(name)!, {
            endsAs: 'failed',
            fliesForMs: 5_000 + at * 1_000,
            errorMessages: `The shop did not take order ${4000 + at}: 502 Bad Gateway`,
          });
        }
      },
      4,
      (_world, { birds }, { worlds }) => {
        for (const name of SHOP)
          worlds.us!.startFlight(birds.get(name)!, { endsAs: 'succeeded', fliesForMs: 5_000 });
      },
      50,
    ],
  },
  story('first failure', [2, fails('Translate blog', CAUSES[0]!), 10]),
  story('recovery', [
    2,
    succeeds('Translate blog'),
    2,
    succeeds('Translate blog'),
    5,
    fails('Translate blog', CAUSES[1]!),
    4,
    fails('Translate blog', 'Request timed out after 100 s (https://tms.example.com/jobs/19)'),
    20,
    succeeds('Translate blog'),
    10,
  ]),
  {
    name: 'storm of 200 failures',
    hasSupport: true,
    options: { foldStormsMs: 300_000, ...betweenPolls },
    steps: [2, ...storm, 30],
  },
  {
    name: 'storm of 200 failures, each group by itself',
    hasSupport: true,
    options: betweenPolls,
    steps: [2, ...storm, 30],
  },
  {
    name: 'connection lost, then given up',
    check: tellsRiseSoon,
    steps: [
      2,
      (world, { nests }) => {
        const connection = { nestId: nests.get('Marketing')!, entityId: '118', entityName: 'Phrase TMS' };
        world.disconnectConnection({ ...connection, exhausted: false, wording: 'old' });
        world.at(world.nowUs() + 81_000_000, () =>
          world.disconnectConnection({ ...connection, exhausted: true, wording: 'old' }),
        );
      },
      20,
    ],
  },
  story('about to be deactivated', [2, triggerFails('Contracts'), 5, triggerFails('Contracts'), 15]),
  story('deactivated', [
    2,
    ...Array.from({ length: 5 }, (): Step[] => [triggerFails('Contracts'), 5]).flat(),
    15,
    activates('Contracts'),
    15,
  ]),
  {
    name: 'stuck',
    options: { rules: [rule('FlightStuck', { maxDurationMs: 3_600_000 })] },
    steps: [
      2,
      succeeds('Translate blog'),
      5,
      (world, { birds, flights }) =>
        void flights.set('stuck', world.startFlight(birds.get('Translate blog')!).id),
      70,
      (world, { flights }) => void world.endFlight(flights.get('stuck')!, 'succeeded'),
      10,
    ],
  },
  {
    name: 'stale',
    options: {
      rules: [
        rule('BirdStale', { match: parseMatchers('bird="Publish campaign"'), expectEveryMs: 3_600_000 }),
      ],
    },
    steps: [2, succeeds('Publish campaign'), 75, succeeds('Publish campaign'), 10],
  },
  story('silenced, and told at its end', [
    2,
    (_world, _cast, stage) => stage.silence('bird="Translate blog"', 30),
    fails('Translate blog', CAUSES[0]!),
    10,
    fails('Translate blog', 'The TMS refused job 4712: quota of 1000 words exceeded'),
    30,
  ]),
  story('flapping', [
    2,
    ...Array.from({ length: 4 }, (): Step[] => [
      fails('Translate blog', CAUSES[1]!),
      6,
      succeeds('Translate blog'),
      6,
    ]).flat(),
    45,
  ]),
  story('away for a day', [
    2,
    (world, cast, stage) => {
      world.goDown('reset');
      for (let hour = 0; hour < 18; hour += 1) {
        world.at(world.nowUs() + hour * 3_600_000_000, () => {
          fails('Translate blog', CAUSES[0]!)(world, cast, stage);
          fails('Contracts', CAUSES[1]!)(world, cast, stage);
        });
      }
    },
    18 * 60,
    succeeds('Contracts'),
    (world, { nests }) => {
      const connection = { nestId: nests.get('Marketing')!, entityId: '118', entityName: 'Phrase TMS' };
      world.disconnectConnection({ ...connection, exhausted: true, wording: 'new' });
    },
    6 * 60,
    (world) => world.comeUp(),
    20,
    fails('Translate blog', 'The TMS refused job 4712: quota of 1000 words exceeded'),
    10,
  ]),
  story('region down', [5, (world) => world.goDown(503), 30, (world) => world.comeUp(), 20]),
  {
    name: 'five fail in one Nest, then some change',
    hasSupport: true,
    steps: [
      2,
      ...[1, 2, 3, 4, 5].map((one) => fails(`Help centre ${one}`, CAUSES[0]!)),
      12,
      succeeds('Help centre 1'),
      succeeds('Help centre 2'),
      ...[6, 7].map((one) => fails(`Help centre ${one}`, CAUSES[1]!)),
      12,
      ...[3, 4, 5, 6, 7].map((one) => succeeds(`Help centre ${one}`)),
      12,
    ],
  },
  story('token refused', [5, (world) => world.refuseToken(), 20, (world) => world.acceptToken(), 20]),
  story('no Bird is watched any more', [5, watching('Marketng'), 20, watching('*'), 20]),
  {
    name: 'suspended by somebody',
    before: (world) => void world.addUser({ firstName: 'Ann', email: 'ann@example.com' }),
    steps: [
      7,
      // A minute later, when a restart is over: its first reading would see the status before the log.
      (world, { birds }) =>
        world.at(world.nowUs() + 60_000_000, () => void world.suspend(birds.get('Contracts')!)),
      15,
      activates('Contracts'),
      15,
    ],
  },
  {
    name: 'a receiver that is not reached',
    options: { answer: () => 503 },
    steps: [2, fails('Translate blog', CAUSES[0]!), 30],
  },
  {
    name: 'digest',
    hasSupport: true,
    options: {
      digests: [
        {
          name: 'daily',
          cron: '0 15 * * 1-5',
          timezone: 'Europe/Amsterdam',
          receiver: 'ops',
          skipEmpty: false,
        },
      ],
    },
    steps: [
      2,
      (world, { birds }) => {
        for (let count = 0; count < 6; count += 1) {
          const fliesForMs = (count + 4) * 60_000;
          world.startFlight(birds.get('Publish campaign')!, { endsAs: 'succeeded', fliesForMs });
        }
      },
      8,
      fails('Translate blog', CAUSES[0]!),
      fails('Translate newsletter', 'The TMS refused job 4712: quota of 1000 words exceeded'),
      7,
      fails('Contracts', CAUSES[1]!),
      8,
      (_world, _cast, stage) => stage.silence('bird="Help centre 1"', 60),
      fails('Help centre 1', 'Request timed out after 100 s (https://tms.example.com/jobs/21)'),
      7,
      succeeds('Help centre 1'),
      succeeds('Translate blog'),
      8,
      (world, { nests }) => {
        const connection = { nestId: nests.get('Marketing')!, entityId: '118', entityName: 'Phrase TMS' };
        world.disconnectConnection({ ...connection, exhausted: true, wording: 'new' });
      },
      3,
      (world) => world.goDown(503),
      6,
      (world) => world.comeUp(),
      12,
    ],
  },
];
