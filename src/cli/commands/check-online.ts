import { channelOf } from '../../channels/registry.ts';
import type { Config } from '../../config/config.ts';
import type { Place } from '../../domain/alert/fact.ts';
import { placeLabels } from '../../domain/alert/labels.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import { rulesFor } from '../../domain/evaluate/choose-rule.ts';
import { KINDS } from '../../domain/kinds/kinds.ts';
import { ERRORS, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { secretsIn, withoutSecrets } from '../../secret.ts';
import { howMany } from '../../text/duration-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { adviceOnLists, inspectRegion } from '../inspect-region.ts';
import { withClient } from '../with-client.ts';

interface OnlineResult {
  readonly what: string;
  /** Undefined if it works. */
  readonly failure?: string;
  /** What was found; absent for nothing. */
  readonly note?: string;
  /** What works but is probably not meant. */
  readonly warning?: string;
}

/** A rule that somebody wrote for some Birds hardly means more. */
const MANY_BIRDS = 50;

const MAX_REASON_CODE_POINTS = 300;

/**
 * Tests each token, mail server and other receiver's address once, and reports it for everything that uses it. For a
 * region it also reports what would be watched. Sends nothing.
 */
export async function* checkOnline(edge: Edge, config: Config): AsyncGenerator<OnlineResult> {
  const nests: Place[] = [];
  const birds: Place[] = [];
  let isWhole = true;
  for (const region of config.regions) {
    const listener = {
      nest: (place: Pick<Place, 'nestId' | 'nest'>) =>
        nests.push({ ...place, region: region.name, birdId: '', bird: '' }),
      bird: (place: Omit<Place, 'region'>) => birds.push({ ...place, region: region.name }),
      left: () => {
        isWhole = false;
      },
    };
    const inspect = () =>
      withClient(edge, { region, timeoutMs: region.timeoutMs }, (client) =>
        inspectRegion(client, region, config.poll, listener),
      );
    const tried = await outcome(inspect, region, (error) => adviceOnLists(error, region));
    if (tried.failure !== undefined) isWhole = false;
    yield { what: `regions.${region.name}`, ...tried };
  }
  yield* fitsOf(config.rules, { Nest: nests, Bird: birds }, isWhole);
  const outcomes = new Map<string, Promise<Tried>>();
  const listed = new Set<string>();
  for (const { name, integrations } of config.receivers) {
    for (const [index, integration] of integrations.entries()) {
      const probe = channelOf(integration).probe(integration);
      const what = `receiver ${name}, ${probe.server ?? `${integration.kind} ${index + 1}`}`;
      const tried = outcomes.get(probe.key) ?? outcome(() => probe.run().then(() => ({})), integration);
      outcomes.set(probe.key, tried);
      // Several addresses of one receiver usually use the same mail server.
      const line = `${what} ${probe.key}`;
      if (listed.has(line)) continue;
      listed.add(line);
      yield { what, ...(await tried) };
    }
  }
}

/** How many Birds or Nests each rule fits that was written for some of them, of those that were listed. */
function* fitsOf(
  rules: readonly Rule[],
  places: Readonly<Record<'Nest' | 'Bird', readonly Place[]>>,
  isWhole: boolean,
): Generator<OnlineResult> {
  for (const kind of KINDS) {
    const isOfEach = kind.judges?.of === 'bird';
    if (!kind.isOnRequest || !(isOfEach || kind.judgeRegion)) continue;
    const what = kind.labels.includes('bird') ? 'Bird' : 'Nest';
    for (const rule of rules.filter((one) => one.kind === kind.name)) {
      const count = places[what].filter(
        (place) => rulesFor(kind, placeLabels(place), [rule]).length > 0,
      ).length;
      const fits = `fits ${howMany(count, what)}`;
      const isLost = count === 0 && isWhole;
      yield {
        what: `rule ${rule.id}, ${kind.name}`,
        note: isWhole ? fits : `${fits} of those that were listed`,
        ...(isLost && { warning: `it fits no ${what}: check its \`match\`` }),
        ...(isOfEach &&
          count > MANY_BIRDS && { warning: `it ${fits}, each of which makes an alert of its own` }),
      };
    }
  }
}

type Tried = Omit<OnlineResult, 'what'>;

async function outcome(
  check: () => Promise<Omit<Tried, 'failure'>>,
  tried: object,
  advice = ({ code }: NestwatchError): string => ERRORS[code].help,
): Promise<Tried> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof NestwatchError) return { failure: `${error.message}. ${advice(error)}` };
    return { failure: reasonOf(error, tried) };
  }
}

/**
 * The error text of a mail server or TLS, without the secrets within what was tried. Addresses in it are those of the
 * configuration.
 */
export function reasonOf(error: unknown, tried: object): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0], tried);
  const text = error instanceof Error ? error.message : String(error);
  return plainText(withoutSecrets(text, secretsIn(tried)), MAX_REASON_CODE_POINTS);
}
