/** What happens to people, as they would tell it; each story gives the mails that stand beside this file. */
import type { World } from '../../../src/simulator/world.ts';
import type { Stage, StageOptions } from '../stage.ts';

export interface MailStory {
  /** Also the name of the file with its mails. */
  readonly name: string;
  readonly options?: StageOptions;
  /** Sets the scene before nestwatch starts. */
  readonly before?: (world: World, cast: Cast) => void;
  readonly steps: readonly Step[];
}

/** Minutes that pass, or something that happens in the EU region. */
export type Step = number | ((world: World, cast: Cast, stage: Stage) => void);

/** Who plays: ids by name. */
export interface Cast {
  readonly nests: Map<string, string>;
  readonly birds: Map<string, string>;
  readonly flights: Map<string, string>;
}

/** Nests and their Birds in both regions; those of stories play in the EU. */
const NESTS: Readonly<Record<string, readonly string[]>> = {
  Marketing: ['Translate blog', 'Translate newsletter', 'Publish campaign'],
  Legal: ['Contracts'],
  Support: Array.from({ length: 10 }, (_, at) => `Help centre ${at + 1}`),
};

export function setTheScene(world: World, cast: Cast): void {
  for (const [nest, birds] of Object.entries(NESTS)) {
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

const CAUSES = [
  'The TMS refused job 4711: quota of 1000 words exceeded',
  'Request timed out after 100 s (https://tms.example.com/jobs/18)',
  'Object reference not set to an instance of an object.\n   at Blackbird.Plugins.Tms.Jobs.Create(JobRequest input)\n   at System.Runtime.CompilerServices.TaskAwaiter.GetResult()',
];

/** 200 failures of 14 Birds within ten minutes, of three causes. */
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

export const MAIL_STORIES: readonly MailStory[] = [
  {
    name: 'first failure',
    steps: [2, fails('Translate blog', 'The TMS refused job 4711: quota of 1000 words exceeded'), 10],
  },
  {
    name: 'recovery',
    steps: [
      2,
      fails('Translate blog', 'Request timed out after 100 s (https://tms.example.com/jobs/18)'),
      4,
      fails('Translate blog', 'Request timed out after 100 s (https://tms.example.com/jobs/19)'),
      20,
      succeeds('Translate blog'),
      10,
    ],
  },
  { name: 'storm of 200 failures', steps: [2, ...storm, 30] },
  {
    name: 'connection lost, then given up',
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
  {
    name: 'about to be deactivated',
    steps: [
      2,
      (world, { birds }) => void world.eventError(birds.get('Contracts')!),
      5,
      (world, { birds }) => void world.eventError(birds.get('Contracts')!),
      15,
    ],
  },
  {
    name: 'deactivated',
    steps: [
      2,
      ...Array.from({ length: 5 }, (): Step[] => [
        (world, { birds }) => void world.eventError(birds.get('Contracts')!),
        5,
      ]).flat(),
      15,
      (world, { birds }) => void world.activate(birds.get('Contracts')!),
      15,
    ],
  },
  {
    name: 'away for hours',
    options: { poll: { maxAlertAgeMs: 3_600_000 } },
    steps: [
      2,
      (world, cast, stage) => {
        world.goDown('reset');
        // Every quarter of an hour for an hour and a half.
        for (let count = 0; count < 6; count += 1) {
          world.at(world.nowUs() + count * 900_000_000, () => {
            fails('Translate blog', 'The TMS refused job 4711: quota of 1000 words exceeded')(
              world,
              cast,
              stage,
            );
            fails('Contracts', 'Request timed out after 100 s (https://tms.example.com/jobs/18)')(
              world,
              cast,
              stage,
            );
          });
        }
      },
      90,
      succeeds('Contracts'),
      (world, { nests }) => {
        const connection = { nestId: nests.get('Marketing')!, entityId: '118', entityName: 'Phrase TMS' };
        world.disconnectConnection({ ...connection, exhausted: true, wording: 'new' });
      },
      75,
      (world) => world.comeUp(),
      20,
      fails('Translate blog', 'The TMS refused job 4712: quota of 1000 words exceeded'),
      10,
    ],
  },
  {
    name: 'region down',
    steps: [5, (world) => world.goDown('503'), 30, (world) => world.comeUp(), 20],
  },
];
