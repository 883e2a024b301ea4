/** Takes a person's wish that a Bird is started again. Whoever reads the region asks the service (`intake/fly-again.ts`). */
import type { Config } from '../config/config.ts';
import { type Action, isOpen, sayAction, whyNotStarted } from '../domain/action/action.ts';
import type { Store } from '../store/store.ts';
import { dayAndTime } from '../text/instant-words.ts';

/** What is configured about what nestwatch may do at the service. */
export interface FlyConfig {
  readonly regions?: readonly Pick<Config['regions'][number], 'name' | 'fly'>[];
}

export interface FlyWish {
  /** The same for every try of the same wish, so that it is taken once. */
  readonly id: string;
  readonly region: string;
  readonly birdId: string;
  /** Empty if no failed Flight is meant. */
  readonly failedFlightId: string;
  readonly by: string;
  readonly comment: string;
}

type Taken =
  | { readonly ok: true; readonly action: Action }
  | { readonly ok: false; readonly status: 403 | 404 | 409; readonly message: string };

export function mayFly({ regions = [] }: FlyConfig, region: string): boolean {
  return regions.some(({ name, fly }) => name === region && fly === true);
}

export function notAllowed(region: string): string {
  return `Nothing is started in ${region}: set \`regions.${region}.fly: true\` to allow it.`;
}

export async function askToFly(
  store: Store,
  config: FlyConfig,
  { id, region, birdId, failedFlightId, by, comment }: FlyWish,
  nowUs: number,
): Promise<Taken> {
  if (!mayFly(config, region)) return { ok: false, status: 403, message: notAllowed(region) };
  return store.transaction(async (tx): Promise<Taken> => {
    const before = await tx.actions.find(id);
    if (before) return { ok: true, action: before };
    const bird = await tx.birds.find(region, birdId);
    if (!bird) return { ok: false, status: 404, message: 'No such Bird is known.' };
    const why = whyNotStarted(bird);
    if (why !== undefined) return { ok: false, status: 409, message: why };
    const action: Action = {
      ...{ id, region, nestId: bird.nestId, nest: bird.nest, birdId, bird: bird.name },
      ...{ name: 'fly_again', state: 'wanted', by: [by], rule: '', comment, failedFlightId, reason: '' },
      ...{ wantedAtUs: nowUs, askedAtUs: 0, settledAtUs: 0 },
    };
    if (await tx.actions.add(action)) return { ok: true, action };
    const other = (await tx.actions.ofBird(region, birdId, 10)).find(isOpen);
    return { ok: false, status: 409, message: other ? sayAction(other, dayAndTime) : 'Try again.' };
  });
}
