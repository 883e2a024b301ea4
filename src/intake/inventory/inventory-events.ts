/** Makes events of what two readings of the inventory differ in, with a message for people. */
import { createHash } from 'node:crypto';
import type { EVENT_TYPES, Event } from '../../domain/alert/event.ts';
import type { User } from '../../service/resources.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { formatInstant } from '../../time/instant.ts';

type InventoryType = (typeof EVENT_TYPES)['inventory'][number];
type Change = InventoryType extends `inventory.${infer change}` ? change : never;

/** When a change was noticed, by our clock. */
export interface Noticing {
  /** When the reading began that first showed it. */
  readonly atUs: number;
  /** When the reading before it began; 0 if that is not known. */
  readonly sinceUs: number;
}

export type Person = Pick<User, 'id' | 'email' | 'firstName' | 'lastName'>;

interface Noticed extends Noticing {
  readonly change: Change;
  readonly nestId?: string;
  readonly nest?: string;
  readonly birdId?: string;
  readonly bird?: string;
  readonly person?: Person;
  readonly before?: string;
  readonly after?: string;
  /** Whether it was listed before, and was gone. */
  readonly isBack?: boolean;
}

/** Makes the events of one region. */
export type Notice = (noticed: Noticed) => Event;

export function createNotice(region: string, nowUs: () => number): Notice {
  return (noticed) => {
    const { change, atUs, nestId = '', nest = '', birdId = '', bird = '', person, before, after } = noticed;
    const sinceUs = Math.min(noticed.sinceUs, atUs);
    const identity = [change, nestId, birdId, person?.id ?? '', before ?? '', after ?? '', atUs];
    const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32);
    return {
      key: `${region}/inventory/${hash}`,
      region,
      feed: 'inventory',
      type: `inventory.${change}`,
      occurredAt: formatInstant(atUs),
      occurredAtUs: atUs,
      observedAtUs: nowUs(),
      nestId,
      nest,
      birdId,
      bird,
      message: messageOf({ ...noticed, sinceUs }),
      attributes: {
        ...(sinceUs > 0 && { noticed_since: formatInstant(sinceUs) }),
        ...(person && { user_id: person.id }),
        ...(person?.email && { email: person.email }),
        ...(person && nameOf(person) && { name: nameOf(person) }),
        ...(before && { before }),
        ...(after && { after }),
      },
    };
  };
}

function messageOf(noticed: Noticed): string {
  const { change, nestId, birdId, before, after, isBack, atUs, sinceUs } = noticed;
  const nest = noticed.nest || `Nest ${nestId}`;
  const bird = noticed.bird || `Bird ${birdId}`;
  const who = noticed.person ? noticed.person.email || nameOf(noticed.person) || noticed.person.id : '';
  const [since, at] = [dayAndTime(sinceUs), dayAndTime(atUs)];
  const when = sinceUs === 0 ? '' : since === at ? ` at ${at}` : ` between ${since} and ${at}`;
  switch (change) {
    case 'nest_created':
      return isBack ? `${nest} is listed again` : `${nest} was created`;
    case 'nest_gone':
      return `${nest} is no longer listed`;
    case 'nest_renamed':
      return `Nest renamed from "${before}" to "${after}"`;
    case 'bird_created':
      return isBack ? `${bird} is listed again, in ${nest}` : `${bird} was created in ${nest}`;
    case 'bird_gone':
      return `${bird} is no longer listed in ${nest}`;
    case 'bird_moved':
      return before
        ? `${bird} moved from ${before} to ${after}`
        : `${bird} moved to ${after} from a Nest that is not watched`;
    case 'bird_renamed':
      return `Bird renamed from "${before}" to "${after}"`;
    case 'bird_trigger_changed':
      return `Trigger of ${bird} changed from ${before} to ${after}`;
    case 'bird_published':
      return `${bird} is published`;
    case 'bird_unpublished':
      return `${bird} is no longer published`;
    case 'member_added':
      return `${who} became a member of ${nest}${when}. The interface does not say who added them.`;
    case 'member_removed':
      return `${who} is no longer a member of ${nest}`;
    case 'user_deactivated':
      return `User ${who} was deactivated`;
    case 'user_activated':
      return `User ${who} was activated`;
  }
}

function nameOf({ firstName, lastName }: Person): string {
  return `${firstName} ${lastName}`.trim();
}
