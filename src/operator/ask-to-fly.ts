/** Takes a person's wish that a Bird is started again. Whoever reads the region asks the service (`intake/fly-again.ts`). */
import { type FlyConfig, mayFly } from '../config/sections/regions-section.ts';
import {
  type Action,
  isOpen,
  sayAction,
  startFor,
  whyNotStarted,
  withheld,
} from '../domain/action/action.ts';
import type { Store } from '../store/store.ts';
import { dayAndTime } from '../text/instant-words.ts';

interface FlyWish {
  /** The same for every try of the same wish, so that it is taken once. */
  readonly id: string;
  readonly region: string;
  readonly birdId: string;
  /** Empty if no failed Flight is meant. */
  readonly failedFlightId: string;
  readonly by: string;
  /** Whether that is the name under which they logged in. */
  readonly isLoggedIn: boolean;
  readonly comment: string;
  /** The id of the last start for this failed Flight that they were shown, or empty: then no later one is repeated. */
  readonly seen?: string;
}

/** Of the Bird, among which a wish is looked for that was taken before. */
const MOST_ACTIONS = 50;

type Taken =
  | { readonly ok: true; readonly action: Action }
  | { readonly ok: false; readonly status: 403 | 404 | 409; readonly message: string };

const refused = (status: 403 | 404 | 409, message: string): Taken => ({ ok: false, status, message });

export function notAllowed(region: string): string {
  return `Nothing is started in ${region}: set \`regions.${region}.fly: true\` to allow it.`;
}

/** Because of this action. */
function nothingStarted(action: Action): string {
  return `Nothing was started. ${sayAction(action, dayAndTime)}`;
}

export async function askToFly(
  store: Store,
  config: FlyConfig,
  { id, region, birdId, failedFlightId, by, isLoggedIn, comment, seen }: FlyWish,
  nowUs: number,
): Promise<Taken> {
  if (!mayFly(config, region)) return refused(403, notAllowed(region));
  return store.transaction(async (tx): Promise<Taken> => {
    const ofBird = await tx.actions.ofBird(region, birdId, MOST_ACTIONS);
    const before = (await tx.actions.find(id)) ?? ofBird.find(({ approvedBy }) => approvedBy?.includes(id));
    if (before && (before.region !== region || before.birdId !== birdId)) {
      const other = before.bird || before.birdId;
      return refused(409, `Nothing was started: a wish for another Bird, ${other}, has this id.`);
    }
    if (before) return { ok: true, action: before };
    const start = startFor(failedFlightId, ofBird);
    if (start && seen !== undefined && seen !== start.id) return refused(409, nothingStarted(start));
    const bird = await tx.birds.find(region, birdId);
    if (!bird) return refused(404, 'No such Bird is known.');
    const why = whyNotStarted(bird);
    if (why !== undefined) return refused(409, why);
    const action: Action = {
      ...{ id, region, nestId: bird.nestId, nest: bird.nest, birdId, bird: bird.name },
      ...{ name: 'fly_again', state: 'wanted', by: [by], rule: '', comment, failedFlightId, reason: '' },
      ...{ wantedAtUs: nowUs, askedAtUs: 0, settledAtUs: 0 },
    };
    const other = ofBird.find(isOpen);
    const isApproved = other?.state === 'planned' && other.by.length > 0;
    if (other?.state === 'proposed' || isApproved) {
      const approved = approve(other, { id, by, isLoggedIn }, nowUs);
      if (approved.ok) await tx.actions.put([approved.action]);
      return approved;
    }
    // A person need not wait as long as a rule.
    if (other?.state === 'planned')
      await tx.actions.put([{ ...other, ...withheld('by_hand'), settledAtUs: nowUs }]);
    if (await tx.actions.add(action)) return { ok: true, action };
    return refused(409, other ? nothingStarted(other) : 'Nothing was started. Try again.');
  });
}

/** Approves what a rule proposed, by one more person. With enough of them the rule decides again. */
function approve(
  proposed: Action,
  { id, by: name, isLoggedIn }: Pick<FlyWish, 'id' | 'by' | 'isLoggedIn'>,
  nowUs: number,
): Taken {
  const { by, plan, approvedBy = [] } = proposed;
  const needed = plan?.approvals ?? 1;
  if (needed > 1 && !isLoggedIn)
    return refused(403, 'Two people have to approve this, each logged in by their own name.');
  if (by.includes(name)) return refused(409, `${name} has approved this already: another person has to.`);
  const all = [...by, name];
  const isEnough = all.length >= needed;
  const action: Action = {
    ...{ ...proposed, by: all, approvedBy: [...approvedBy, id] },
    ...(plan && isEnough && { state: 'planned', plan: { ...plan, dueAtUs: nowUs } }),
  };
  return { ok: true, action };
}
