import { NestwatchError } from '../../errors.ts';
import { type HostPort, isLoopback, parseHostPort } from '../../http/web-address.ts';
import type { Edge } from '../../process-io.ts';
import { openSimulator } from '../../simulator/answers/simulator-server.ts';
import { openControl } from '../../simulator/control/control-server.ts';
import { createMovableClock } from '../../simulator/control/endpoint.ts';
import { createScenario } from '../../simulator/story/scenario.ts';
import { readBehaviours } from '../../simulator/world/behaviours.ts';
import { forked, seededRandom } from '../../simulator/world/seeded-random.ts';
import { createWorld } from '../../simulator/world/world.ts';
import { untilStopped } from '../at-terminal.ts';
import { textOfFile } from '../config-file.ts';

interface SimulateOptions {
  readonly listen: string;
  readonly region: string;
  readonly token: string;
  readonly seed: number;
  readonly birds: number;
  /** Per hour, for all Birds together. */
  readonly flights?: number;
  /** The part of them that fails. */
  readonly failures?: number;
  readonly faults?: string;
  readonly quiet?: boolean;
  readonly control?: string;
}

/** Serves one simulated region until a signal arrives. Its output can be pasted into a configuration. */
export async function simulate(edge: Edge, options: SimulateOptions): Promise<number> {
  const listen = parseHostPort(options.listen);
  if (!listen) throw new NestwatchError('usage', '--listen must be host:port, such as 127.0.0.1:4010');
  const place = options.control === undefined ? undefined : controlPlace(options.control);
  const clock = createMovableClock(edge.clock);
  const random = seededRandom(options.seed);
  const world = createWorld({
    region: options.region,
    clock,
    random: forked(random),
    token: options.token,
    behaviours:
      options.faults === undefined ? {} : readBehaviours(textOfFile(options.faults), options.faults),
  });
  const { birds, flights, failures, quiet: isQuiet = false } = options;
  createScenario(world, {
    ...{ random, birds, isQuiet },
    ...(flights !== undefined && { flightsPerHour: flights }),
    ...(failures !== undefined && { failureShare: failures }),
  });
  const server = await openSimulator({ world, host: listen.host || '127.0.0.1', port: listen.port }).catch(
    refusing('--listen'),
  );
  const control =
    place &&
    (await openControl({ world, clock }, place.host, place.port).catch(async (error: unknown) => {
      await server.close();
      return refusing('--control')(error);
    }));
  // Whoever reads the address may stop the command at once.
  const stopped = untilStopped(edge);
  edge.stdout.write(`base_url: ${server.url}\ntoken: ${options.token}\n`);
  if (control) edge.stdout.write(`# Tell it what happens: curl ${control.url}/\n`);
  await stopped;
  await Promise.all([server.close(), control?.close()]);
  return 0;
}

/** Says which option names the port that cannot be used. */
function refusing(option: string) {
  return (cause: unknown): never => {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new NestwatchError('port_in_use', `${option}: ${message}`, { cause });
  };
}

function controlPlace(text: string): HostPort {
  const place = parseHostPort(text);
  if (place && isLoopback(place.host)) return place;
  throw new NestwatchError(
    'usage',
    `--control ${text}: must be an address of this machine alone, such as 127.0.0.1:4011: whoever reaches it changes the simulated service`,
  );
}
